// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_data.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <dovetail/dataset_writer.h>
#include <dovetail/tfrecord_index.h>

#include "bench/contestants.h"
#include "bench/files.h"
#include "bench/leveldb_log.h"
#include "format/tfrecord/tfrecord.h"

namespace dovetail::bench {

namespace {

namespace fs = std::filesystem;

constexpr char kRecipeName[] = "recipe.txt";

/// Gives the records one after the other and adds up what they are.
class Records {
 public:
  explicit Records(const Workload& workload) : workload_(workload), buffer_(workload.max_record_bytes()) {}

  ByteView next() {
    const auto record = std::span(buffer_).first(workload_.record_bytes(all_.rows));
    workload_.fill(all_.rows, record);
    const std::array<std::int64_t, 2> offsets{0, static_cast<std::int64_t>(record.size())};
    all_.take(record.data(), offsets);
    all_.ids += all_.rows;
    all_.id_squares += all_.rows * all_.rows;
    all_.rows += 1;
    return record;
  }
  Delivered all() const {
    Delivered all = all_;
    all.batches = 0;
    return all;
  }

 private:
  const Workload& workload_;
  std::vector<std::byte> buffer_;
  Delivered all_;
};

void write_shards(const Workload& workload, Codec codec, const DataSettings& settings, const std::string& folder,
                  Records& records) {
  DatasetWriterOptions options;
  options.shard.codec = codec;
  options.shard.run_bytes = settings.run_bytes;
  options.shard.block_bytes = settings.block_bytes;
  options.shard.dataset_id = DatasetId{};
  options.shard.dataset_id->bytes.fill(static_cast<std::uint8_t>(workload.kind()));
  options.shard_bytes = 0;
  auto writer = DatasetWriter::create(folder, options).value();
  bool first = true;
  for (const std::uint64_t count : workload.shard_records()) {
    if (!first) writer.next_shard().value();
    first = false;
    for (std::uint64_t i = 0; i < count; ++i) writer.append(records.next()).value();
  }
  writer.finish().value();
}

/// Calls `write(file, count)` for a new file for each shard, and `written(path)` once it is
/// complete.
template <class Write, class Written>
void write_files(const Workload& workload, const std::string& folder, const std::string& suffix, const Write& write,
                 const Written& written) {
  std::uint32_t number = 0;
  for (const std::uint64_t count : workload.shard_records()) {
    char name[32];
    std::snprintf(name, sizeof(name), "/shard-%06u", number++);
    const std::string path = folder + name + suffix;
    // Written in small pieces, a file lies in small pieces in the page cache too, and is slower to
    // read.
    std::vector<char> buffer(std::size_t{1} << 20);
    std::ofstream file;
    file.rdbuf()->pubsetbuf(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    file.open(path, std::ios::binary);
    write(file, count);
    if (!file.flush()) throw std::runtime_error(path + " cannot be written");
    file.close();
    written(path);
  }
}

void write_logs(const Workload& workload, const std::string& folder, Records& records) {
  const auto write = [&](std::ofstream& file, std::uint64_t count) {
    LogWriter log(file);
    for (std::uint64_t i = 0; i < count; ++i) log.append(records.next());
  };
  write_files(workload, folder, ".log", write, [](const std::string&) {});
}

void write_tfrecords(const Workload& workload, const DataSettings& settings, const std::string& folder,
                     Records& records) {
  const auto write = [&](std::ofstream& file, std::uint64_t count) {
    const auto put = [&](ByteView bytes) {
      file.write(as_chars(bytes).data(), static_cast<std::streamsize>(bytes.size()));
    };
    for (std::uint64_t i = 0; i < count; ++i) {
      const ByteView record = records.next();
      std::array<std::byte, format::kTfrecordHeaderBytes> header;
      std::array<std::byte, format::kTfrecordFooterBytes> footer;
      format::encode_tfrecord_header(record.size(), header);
      format::encode_tfrecord_footer(record, footer);
      put(header);
      put(record);
      put(footer);
    }
  };
  const auto index = [&](const std::string& path) {
    index_tfrecord(path, {.block_bytes = settings.block_bytes, .run_bytes = settings.run_bytes}).value();
  };
  write_files(workload, folder, ".tfrecord", write, index);
}

std::string recipe_of(const Workload& workload, Form form, const DataSettings& settings) {
  std::ostringstream text;
  text << Workload::recipe() << '\n' << workload.name() << ' ' << to_string(form) << ' ' << workload.records();
  if (form != Form::lmdb && form != Form::log)
    text << " run_bytes " << settings.run_bytes << " block_bytes " << settings.block_bytes;
  text << '\n';
  return text.str();
}

Delivered make(const Workload& workload, Form form, const DataSettings& settings, const std::string& folder) {
  std::fprintf(stderr, "making %s\n", folder.c_str());
  fs::remove_all(folder);
  fs::create_directories(folder);
  Records records(workload);
  switch (form) {
    case Form::stored:
    case Form::snappy:
      write_shards(workload, form == Form::stored ? Codec::none : Codec::snappy, settings, folder, records);
      break;
    case Form::tfrecord:
      write_tfrecords(workload, settings, folder, records);
      break;
    case Form::log:
      write_logs(workload, folder, records);
      break;
    case Form::lmdb: {
      std::uint64_t bytes = 0;
      for (std::uint64_t i = 0; i < workload.records(); ++i) bytes += workload.record_bytes(i);
      write_lmdb(folder + "/data.lmdb", workload.records(), bytes, [&](std::uint64_t) { return records.next(); });
      break;
    }
  }
  return records.all();
}

/// The sums of data that were made before by the same recipe.
bool read_recipe(const std::string& path, const std::string& recipe, Delivered& all) {
  std::ifstream file(path);
  std::string kept(recipe.size(), '\0');
  if (!file.read(kept.data(), static_cast<std::streamsize>(kept.size())) || kept != recipe) return false;
  return static_cast<bool>(file >> all.rows >> all.bytes >> all.words >> all.ids >> all.id_squares);
}

}  // namespace

std::string_view to_string(Form form) noexcept {
  constexpr std::string_view names[] = {"stored", "snappy", "tfrecord", "lmdb", "log"};
  return names[static_cast<std::size_t>(form)];
}

Data prepare(const Workload& workload, Form form, const DataSettings& settings) {
  Data data;
  data.path = settings.folder + '/' + std::string(workload.name()) + '-' + std::string(to_string(form));
  const std::string recipe_path = data.path + '/' + kRecipeName;
  const std::string recipe = recipe_of(workload, form, settings);
  if (!read_recipe(recipe_path, recipe, data.all)) {
    data.all = make(workload, form, settings, data.path);
    std::ofstream file(recipe_path);
    file << recipe << data.all.rows << ' ' << data.all.bytes << ' ' << data.all.words << ' ' << data.all.ids << ' '
         << data.all.id_squares << '\n';
    if (!file.flush()) throw std::runtime_error(recipe_path + " cannot be written");
  }
  constexpr std::string_view suffixes[] = {".dvt", ".dvt", ".tfrecord", ".lmdb", ".log"};
  data.files = files_in(data.path, suffixes[static_cast<std::size_t>(form)]);
  for (const std::string& path : data.files) data.file_bytes += fs::file_size(path);
  if (form == Form::lmdb) data.path += "/data.lmdb";
  return data;
}

}  // namespace dovetail::bench
