// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of all targets: make_corpus FOLDER makes FOLDER/TARGET/NAME. Run it anew where
// the format changes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <dovetail/plan.h>
#include <dovetail/state.h>
#include <dovetail/tfrecord_index.h>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/messages.h"
#include "format/shard_decoder.h"
#include "format/tfrecord/tfrecord_index.h"
#include "fuzz/corpus.h"
#include "fuzz/hostile_dataset.h"
#include "fuzz/repair.h"
#include "fuzz/support.h"
#include "tests/convert/sources.h"
#include "tests/format/example_messages.h"
#include "tests/format/golden_shards.h"
#include "tools/plan/plan_file.h"

namespace dovetail::fuzz {
namespace {

using test::Records;

std::string byte(unsigned value) {
  return std::string(1, static_cast<char>(value));
}

std::string le(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (; text.size() < bytes; value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

class Corpus {
 public:
  explicit Corpus(std::string root) : root_(std::move(root)) {}
  void put(const std::string& target, const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories(root_ + '/' + target);
    test::write_file(root_ + '/' + target + '/' + name, bytes);
  }

 private:
  std::string root_;
};

std::string chars(const test::Bytes& bytes) {
  return std::string(as_chars(bytes));
}

test::Bytes golden(const std::string& name) {
  for (const auto& shard : test::golden_shards()) {
    if (shard.name == name) return shard.bytes;
  }
  return {};
}

/// A footer whose largest record is smaller than one of its records.
test::Bytes below_its_largest_record(test::Bytes file) {
  const format::ShardTail tail = format::decode_tail(file, file.size()).value();
  format::Footer footer = tail.footer;
  footer.info.max_record_bytes -= 1;
  const std::string text = format::encode(footer);
  std::copy_n(as_bytes(text).begin(), text.size(),
              file.begin() + static_cast<std::ptrdiff_t>(tail.trailer.footer_offset + format::kBlockHeaderBytes));
  repair_shard(file, 0);
  return file;
}

/// The first block of records behind all others, where the trailer was.
test::Bytes with_its_first_block_last(test::Bytes file) {
  const auto index = test::read_shard(file).value().index;
  const std::size_t from = index.front().offset;
  test::Bytes moved(file.begin() + static_cast<std::ptrdiff_t>(from),
                    file.begin() + static_cast<std::ptrdiff_t>(index[1].offset));
  file.resize(file.size() - format::kTrailerBytes);
  format::store_le(moved.data() + 8, std::uint64_t{file.size()});
  const std::size_t sealed = format::kBlockHeaderBytes - 4;
  format::store_le(moved.data() + sealed, format::crc32c(std::span(moved).first(sealed)));
  file[from] ^= std::byte{1};
  file.insert(file.end(), moved.begin(), moved.end());
  return file;
}

/// What targets found once.
void put_found_shards(const Corpus& corpus, const test::Bytes& runs) {
  const std::string small = chars(below_its_largest_record(runs));
  corpus.put("shard_fuzz", "record_above_the_limit.dvt", small);
  corpus.put("shard_file_fuzz", "record_above_the_limit.dvt", small);
  test::Bytes manifest = golden("manifest.dvt");
  manifest[7] ^= std::byte{0x40};
  corpus.put("recover_fuzz", "manifest_without_header", chars(manifest));
  corpus.put("recover_fuzz", "block_behind_the_index", chars(with_its_first_block_last(golden("snappy.dvt"))));
}

void put_shards(const Corpus& corpus) {
  for (const auto& shard : test::golden_shards()) {
    if (shard.bytes.size() > 8192) continue;
    corpus.put("shard_fuzz", shard.name, chars(shard.bytes));
    corpus.put("shard_file_fuzz", shard.name, chars(shard.bytes));
    corpus.put("recover_fuzz", shard.name, chars(shard.bytes));
    if (shard.name.starts_with("manifest")) corpus.put("manifest_fuzz", shard.name, chars(shard.bytes));
  }
  test::ShardSpec spec = {.records = {}, .codec = Codec::snappy, .run_records = 8, .block_records = 3};
  for (std::size_t i = 0; i < 20; ++i) spec.records.push_back(test::prose(i * 13 % 90, i));
  const test::Bytes runs = test::make_shard(spec).bytes;
  corpus.put("shard_fuzz", "runs", chars(runs));
  corpus.put("shard_file_fuzz", "runs", chars(runs));
  put_found_shards(corpus, runs);
}

void put_messages(const Corpus& corpus) {
  const auto shard = test::make_shard({.records = {"one", "two", "three"}});
  format::Footer footer{.info = shard.info, .index_offset = 640, .index_crc = 0x12345678};
  footer.info.file_bytes = 0;
  corpus.put("messages_fuzz", "metadata",
             byte(0) + format::encode(format::Metadata{"text", "fuzz", {{"a", "b"}}, "x:i64"}));
  corpus.put("messages_fuzz", "footer", byte(1) + format::encode(footer));
  using namespace std::string_literals;
  corpus.put("messages_fuzz", "long_unknown_field", "\x02\x0A\x0Apart\0\0t\x02i/2\xD1\xDFH"s);
  ShardInfo info = shard.info;
  info.name = "part-0.dvt";
  corpus.put("messages_fuzz", "shard_info", byte(2) + format::encode(info));
  const std::string file = scratch_folder() + "/indexed.tfrecord";
  test::write_file(file, test::tfrecord_bytes(indexed_records()));
  const TfrecordIndexReport report = index_tfrecord(file, {.block_bytes = 1024, .run_records = 16}).value();
  const std::string facts = format::encode(format::TfrecordFacts{report.shard, 7});
  corpus.put("messages_fuzz", "facts", byte(3) + facts);
  const auto index = test::read_shard(test::read_file(report.index)).value();
  const auto& stored = index.records;
  std::string blocks;
  for (std::size_t i = 1; i < stored.size(); ++i) blocks += stored[i];
  corpus.put("messages_fuzz", "index", byte(4) + byte(static_cast<unsigned>(stored[0].size())) + stored[0] + blocks);
}

/// Indexes of the file that the target has.
void put_sidecars(const Corpus& corpus) {
  const std::string file = scratch_folder() + "/fixed.tfrecord";
  test::write_file(file, test::tfrecord_bytes(indexed_records()));
  for (const std::uint64_t run_records : {1u, 7u, 64u}) {
    const auto report = index_tfrecord(file, {.block_bytes = 1024, .run_records = run_records}, true).value();
    corpus.put("sidecar_fuzz", "runs_of_" + std::to_string(run_records), chars(test::read_file(report.index)));
  }
}

void put_states(const Corpus& corpus) {
  auto shape = std::make_shared<DatasetShape>();
  for (const std::uint64_t records : {37u, 74u, 111u}) shape->shards.push_back({records, 8, 10 * records});
  shape->fingerprint = {3, 4};
  for (const Tail tail : {Tail::drop, Tail::pad, Tail::wrap}) {
    const Plan plan = Plan::make(shape, {.world = 2, .batch = 4, .tail = tail}).value();
    const State state = plan.state({1, 3}).value();
    const std::string name = std::to_string(static_cast<int>(tail));
    corpus.put("state_fuzz", "bytes_" + name, byte(0) + byte(2) + chars(state.to_bytes()));
    corpus.put("state_fuzz", "text_" + name, byte(1) + byte(62) + state.to_text());
    corpus.put("state_fuzz", "plan_" + name, byte(2) + to_text(tools::saved_plan(plan, state)));
    const Plan changed = Plan::resume(shape, state.options(3, 5), state).value();
    corpus.put("state_fuzz", "changed_" + name, byte(0) + byte(22) + chars(changed.state({1, 5}).value().to_bytes()));
  }
}

void put_texts(const Corpus& corpus) {
  const char* const kSchemas[] = {"image:u8[28,28,1], label:i64, tokens:i32[*], weight:f32=1",
                                  "\"odd \\\"name\":bytes=\"none\", f:bytes[*]=[], g:f64[*,2]=[], h:f16=0.5",
                                  "a:u64=18446744073709551615, b:i8=-128, c:f32=nan, d:f64=-inf"};
  int number = 0;
  for (const char* schema : kSchemas) corpus.put("schema_fuzz", std::to_string(number++), schema);
  const char* const kWords[] = {"3:17", ":", "3,1", "0=3:1,1000=0.7:0.3", "train=0.9,val=0.1", "a=0.5,b"};
  for (unsigned i = 0; i < std::size(kWords); ++i)
    corpus.put("command_fuzz", std::to_string(i), byte(i / 2) + kWords[i]);
  corpus.put("command_fuzz", "arguments", byte(3) + "--small\n64K\n--large=1G\n--count\n7\n--real\n0.5\nPATH");
  corpus.put("command_fuzz", "part", byte(4) + "3/8");
  corpus.put("command_fuzz", "help", byte(3) + "--help");
}

void put_tfrecords(const Corpus& corpus) {
  const std::string bytes = test::tfrecord_bytes({"", "one", test::prose(300, 1), "last"});
  for (unsigned how = 0; how < 4; ++how) corpus.put("tfrecord_fuzz", "how_" + std::to_string(how), byte(how) + bytes);
  corpus.put("index_fuzz", "plain", byte(0) + le(0, 2) + bytes);
  const std::string dali = "0 16\n16 19\n35 316\n351 20\n";
  corpus.put("index_fuzz", "dali", byte(9) + le(dali.size(), 2) + dali + bytes);
  corpus.put("tfrecord_fuzz", "gzip", byte(0) + test::gzip(bytes));
  corpus.put("tfrecord_fuzz", "two_members", byte(0) + test::gzip(bytes) + test::gzip(bytes));
  corpus.put("tfrecord_fuzz", "zlib", byte(0) + test::zlib(bytes));
  corpus.put("tfrecord_fuzz", "snappy", byte(0) + test::snappy_blocks(bytes, 100));
}

void put_sources(const Corpus& corpus) {
  const auto put = [&](const std::string& name, unsigned kind, unsigned bits, const std::string& bytes) {
    const std::string input = byte(kind) + byte(bits) + bytes;
    corpus.put("sources_fuzz", name, input);
    corpus.put("convert_fuzz", name, byte(16 + kind % 4) + byte(0) + input);
    corpus.put("convert_fuzz", name + "_mixed", byte(64 + 4 + kind % 2 * 8 + 2) + byte(1) + input);
  };
  put("lines", 0, 4, "one\n\ntwo\r\nthree");
  put("lines_gzip", 0, 5, "one\n\ntwo\r\nthree");
  put("jsonl", 1, 4, "{\"a\":[1,2.5e3,null]}\n\n[true,\"\\u00e9\"]\n");
  put("tar", 2, 4,
      test::tar_bytes({{"d/a.txt", "text"}, {"d/a.cls", "7"}, {"d/b.txt", ""}, {"d", "", '5'}, {"l", "", '2'}}));
  put("csv", 3, 4, "n,x,\"a \"\"b\"\"\"\n1,2.5,\"line\nbreak\"\n-2,,c\n");
  put("csv_raw", 3, 8 | 32, "1,2\n3,4\n");
  put("tsv", 4, 4, "n\tx\n1\ta b\n");
  const std::string columns = R"("column_names":["n","t"],"column_encodings":["int","str"],"column_sizes":[8,null])";
  const std::string sample = le(3, 4) + le(9, 8) + "abc";
  const std::string description = '{' + columns + '}';
  const std::uint64_t first = 4 + 4 * 3 + description.size();
  const std::string shard = le(2, 4) + le(first, 4) + le(first + sample.size(), 4) + le(first + 2 * sample.size(), 4) +
                            description + sample + sample;
  const std::string index =
      R"({"shards":[{)" + columns + R"(,"compression":null,"format":"mds","hashes":[],)" +
      R"("raw_data":{"basename":"shard.00000.mds","bytes":)" + std::to_string(shard.size()) +
      R"(,"hashes":{}},"samples":2,"size_limit":67108864,"version":2,"zip_data":null}],"version":2})";
  put("mds", 5, 2 | 4, le(index.size(), 2) + index + shard);
  const std::string magic = le(0xCED7230A, 4);
  const std::string image = le(0, 4) + le(0x3F800000, 4) + le(7, 8) + le(0, 8) + "jpeg";
  const std::string records = magic + le(image.size(), 4) + image + magic + le(1u << 29 | 4, 4) + "part" + magic +
                              le(3u << 29 | 2, 4) + "of" + le(0, 2);
  put("recordio", 6, 4, records);
  put("recordio_index", 6, 2 | 4, le(9, 2) + "0\t0\n1\t36\n" + records);
  const std::string images{
      "\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02"
      "abcdefghijkl",
      28};
  const std::string labels{"\0\0\x08\x01\0\0\0\x03\1\2\3", 11};
  put("idx", 7, 4, images);
  put("idx_labels", 7, 2 | 4, le(labels.size(), 2) + labels + images);
  put("detect", 8, 0, test::tfrecord_bytes({"a", "b"}));
  const auto file = [](const std::string& name, const std::string& bytes) {
    return byte(static_cast<unsigned>(8 * name.size())) + name + le(bytes.size(), 2) + bytes;
  };
  const std::string link = byte(8 * 4 + 6) + "link" + byte(5) + "cat/a";
  put("folder", 9, 4, file("cat/a", "one") + file("cat/b", "") + file("dog/a.txt", "three"));
  put("folder_labels", 9, 4 | 64, file("cat/a", "one") + file("dog/b", "two") + link + byte(8 * 1 + 7) + "p");
  put("tfrecord", 10, 4, test::tfrecord_bytes({"a", "b", "c"}));
  for (unsigned layout = 0; layout < kLayouts; ++layout) {
    const std::string number = std::to_string(layout);
    put("dataset_" + number, 11, 2 | 4, byte(layout) + byte(0));
    put("damaged_" + number, 11, 2, byte(layout) + byte(1) + byte(0) + byte(8 + 2) + le(2 * 96 + 70, 2));
    put("part_" + number, 11, 2 | 32 | 64, byte(layout) + byte(3) + byte(9) + byte(0));
  }
}

/// The bytes that reader_fuzz takes from the front: layout, options, then changes of files.
void put_readings(const Corpus& corpus) {
  struct Reading {
    const char* name;
    unsigned bits, shape, batch, depth, change_at;
    std::string changes;
  };
  const std::string flipped =
      byte(1) + byte(0) + byte(8 + 2) + le(2 * 96 + 70, 2);  // in the first block of the first file
  const std::string forged = byte(2 + 4 * 15) + byte(0) + byte(8 + 1) + le(2 * 96 + 70, 2) + "x";
  const std::string gone = byte(0) + byte(1) + byte(7) + le(0, 2) + byte(0);
  const std::string cut = byte(1) + byte(0) + byte(4) + le(500, 2);
  const std::string swapped = byte(1) + byte(1) + byte(7) + le(0, 2) + byte(1);
  const Reading kReadings[] = {
      {"plain", 1, 4, 6, 0, 0, ""},
      {"ranks", 1, 4 + 3 * 16, 4, 8, 0, ""},
      {"small_memory", 9, 4, 8, 64, 0, ""},
      {"flipped_fail", 1, 5, 6, 0, 0, flipped},
      {"flipped_empty", 5, 4, 6, 0, 0, flipped},
      {"flipped_substitute", 3, 8, 6, 0, 0, flipped},
      {"flipped_meanwhile", 3, 1, 3, 0, 2, flipped},
      {"forged", 3, 4, 6, 0, 0, forged},
      {"forged_glob", 2, 6, 6, 0, 0, forged},
      {"gone", 3, 4, 6, 0, 0, gone},
      {"gone_meanwhile", 5, 4, 3, 8, 1, gone},
      {"cut", 4, 4, 6, 0, 0, cut},
      {"swapped", 3, 20, 6, 0, 0, swapped},
      {"swapped_glob", 2, 4, 6, 0, 0, swapped},
  };
  for (unsigned layout = 0; layout < kLayouts; ++layout) {
    for (const Reading& reading : kReadings) {
      corpus.put("reader_fuzz", reading.name + ('_' + std::to_string(layout)),
                 byte(layout) + byte(reading.bits) + byte(reading.shape) + byte(reading.batch) + byte(0) + byte(4) +
                     byte(16) + byte(1) + byte(0) + byte(reading.depth) + le(1000, 2) + byte(0) +
                     byte(reading.change_at) + reading.changes);
    }
  }
}

void put_others(const Corpus& corpus) {
  using namespace std::string_literals;
  const std::string png = "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\0\x02\0\0\0\x03\x08\x02\0\0\0"s;
  const std::string jpeg = "\xFF\xD8\xFF\xE0\0\x04xy\xFF\xC0\0\x0B\x08\0\x03\0\x02\x01\x01\x11\0"s;
  const std::string numpy = "\x93NUMPY\x01\0\x36\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"s;
  corpus.put("payload_fuzz", "png", png);
  corpus.put("payload_fuzz", "jpeg", jpeg);
  corpus.put("payload_fuzz", "gif", "GIF89a\x02\0\x03\0"s);
  corpus.put("payload_fuzz", "webp", "RIFF\x1A\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\x01\0\0\x02\0\0"s);
  corpus.put("payload_fuzz", "numpy", numpy);
  corpus.put("payload_fuzz", "json", "{\"a\": [1, \"<b>\"],\n \"c\": null}");
  corpus.put("payload_fuzz", "text", "<script>alert(\"x\")</script> & \xC3\xA9\n");
  corpus.put("round_trip_fuzz", "small", byte(1) + byte(4) + byte(20) + "hello" + byte(0) + byte(40) + "worldworld");
  corpus.put("round_trip_fuzz", "large",
             byte(0) + byte(0) + byte(255) + le(4000, 2) + "sixteen letters." + byte(9) + "ab");
  corpus.put("snappy_decoder_fuzz", "literal", byte(16) + byte(5) + byte(16) + "hello");
  corpus.put("snappy_decoder_fuzz", "copies", byte(0x80) + byte(8) + "abc" + byte(0x0E) + byte(3) + byte(0));
  test::Draws draws(1);
  for (int i = 0; i < 8; ++i) {
    const std::string example = test::random_example(draws);
    corpus.put("columns_fuzz", "usual_" + std::to_string(i), byte(0) + example);
    corpus.put("payload_fuzz", "example_" + std::to_string(i), example);
    corpus.put("columns_fuzz", "schema_" + std::to_string(i), "b:i64[*]=[], e:bytes=\"\"" + byte(0) + example);
  }
}

void make(const std::string& root) {
  const Corpus corpus(root);
  put_shards(corpus);
  put_messages(corpus);
  put_sidecars(corpus);
  put_states(corpus);
  put_texts(corpus);
  put_tfrecords(corpus);
  put_sources(corpus);
  put_readings(corpus);
  put_others(corpus);
}

}  // namespace
}  // namespace dovetail::fuzz

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: make_corpus FOLDER\n"), 2;
  dovetail::fuzz::make(argv[1]);
  return 0;
}
