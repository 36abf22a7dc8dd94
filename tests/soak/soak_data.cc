// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/soak_data.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <dovetail/dataset_writer.h>
#include <dovetail/plan.h>

#include "format/example/example_encoder.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/files.h"

namespace dovetail::test {

namespace {

std::size_t hash_of(std::string_view bytes) {
  return std::hash<std::string_view>()(bytes);
}

SoakData sampled(const std::string& folder, const std::string& name, const SampleShape& shape) {
  SoakData data{
      .name = name, .dataset = make_sample(folder + "/" + name, shape), .hashes = {}, .columns = {}, .damaged = false};
  for (std::uint64_t id = 0; id < data.dataset.records(); ++id)
    data.hashes.push_back(hash_of(sample_record(id, shape)));
  return data;
}

/// A block of the first shard fails its check, and the last shard is gone.
SoakData damaged(const std::string& folder, const SampleShape& shape) {
  SoakData data = sampled(folder, "damaged", shape);
  const std::string first = data.dataset.shard_path(0);
  flip_bit(first, std::filesystem::file_size(first) / 2);
  std::filesystem::remove(data.dataset.shard_path(static_cast<std::uint32_t>(data.dataset.shards().size() - 1)));
  data.damaged = true;
  return data;
}

std::string name_of_example(std::uint64_t id) {
  return "record " + std::string(id % 40, 'x') + std::to_string(id);
}

SoakData examples(const std::string& folder) {
  constexpr std::uint64_t kRecords = 900;
  DatasetWriterOptions options{.shard = {.block_bytes = 4096,
                                         .run_records = 32,
                                         .schema = parse_schema("label:i64, name:bytes, tokens:i64[*]").value()},
                               .shard_bytes = 0,
                               .encode_threads = 1};
  DatasetWriter writer = DatasetWriter::create(folder + "/examples", options).value();
  std::vector<std::size_t> hashes;
  std::vector<std::byte> record;
  for (std::uint64_t id = 0; id < kRecords; ++id) {
    if (id % 300 == 0 && id > 0) writer.next_shard().value();
    const std::string name = name_of_example(id);
    const std::vector<std::int64_t> tokens(id % 50, static_cast<std::int64_t>(id));
    format::ExampleEncoder encoder;  // keeps no bytes, only where they are
    encoder.add_int("label", static_cast<std::int64_t>(id));
    encoder.add_bytes("name", as_bytes(name));
    encoder.add_ints("tokens", tokens);
    record.clear();
    encoder.encode(record).value();
    writer.append(record).value();
    hashes.push_back(hash_of(name));
  }
  writer.finish().value();
  return {.name = "examples",
          .dataset = Dataset::open(folder + "/examples").value(),
          .hashes = std::move(hashes),
          .columns = options.shard.schema,
          .damaged = false};
}

[[noreturn]] void refuse(const SoakData& data, const Batch& batch, std::uint32_t row, const char* why) {
  throw std::runtime_error(data.name + ": epoch " + std::to_string(batch.epoch()) + ", step " +
                           std::to_string(batch.step()) + ", row " + std::to_string(row) + ": " + why);
}

/// What a row holds, as `SoakData::hashes` has it.
std::size_t hash_of_row(const SoakData& data, const Batch& batch, std::uint32_t row) {
  return hash_of(data.columns ? batch.column("name")->text(row) : as_chars(batch.row(row)));
}

}  // namespace

std::vector<SoakData> make_soak_data(const std::string& folder) {
  std::vector<SoakData> all;
  all.push_back(sampled(folder, "one_size",
                        {.shard_records = {700, 1, 650, 649},
                         .min_bytes = 600,
                         .max_bytes = 600,
                         .codec = Codec::none,
                         .block_bytes = 16 << 10,
                         .run_records = 64}));
  all.push_back(sampled(folder, "compressed",
                        {.shard_records = {501, 77, 0, 512, 1, 240}, .max_bytes = 2000, .block_bytes = 8192}));
  all.push_back(sampled(folder, "large",
                        {.shard_records = {30, 34, 33},
                         .min_bytes = 20 << 10,
                         .max_bytes = 60 << 10,
                         .codec = Codec::none,
                         .block_bytes = 64 << 10}));
  all.push_back(
      sampled(folder, "tiny", {.shard_records = {2500, 2400}, .min_bytes = 8, .max_bytes = 40, .codec = Codec::none}));
  all.push_back(sampled(folder, "many_shards", {.shard_records = std::vector<std::uint64_t>(150, 5)}));
  all.push_back(
      damaged(folder, {.shard_records = {400, 300, 200}, .max_bytes = 900, .codec = Codec::none, .block_bytes = 4096}));
  all.push_back(examples(folder));
  return all;
}

Delivered& Delivered::operator+=(const Delivered& other) {
  digest += other.digest;
  batches += other.batches;
  rows += other.rows;
  lost += other.lost;
  return *this;
}

void check_batch(const SoakData& data, const Batch& batch, Delivered& delivered) {
  ++delivered.batches;
  for (std::uint32_t row = 0; row < batch.rows(); ++row) {
    const std::uint64_t id = batch.ids()[row];
    const RowStatus status = batch.status()[row];
    const bool empty =
        status == RowStatus::empty || status == RowStatus::damaged_empty || status == RowStatus::repeated_damaged_empty;
    if (status == RowStatus::empty) {
      if (id != kNoId || !batch.row(row).empty()) refuse(data, batch, row, "is not empty");
      continue;
    }
    if (id >= data.hashes.size()) refuse(data, batch, row, "has an id that the dataset has not");
    ++delivered.rows;
    if (is_counted(status)) delivered.digest += record_digest(id);
    if (status == RowStatus::first || status == RowStatus::repeated) {
      if (hash_of_row(data, batch, row) != data.hashes[id]) refuse(data, batch, row, "has other bytes than its record");
      if (data.columns && batch.column("label")->as<std::int64_t>()[row] != static_cast<std::int64_t>(id)) {
        refuse(data, batch, row, "has another label than its record");
      }
      continue;
    }
    if (!data.damaged) refuse(data, batch, row, "is lost, and nothing is damaged");
    ++delivered.lost;
    if (empty) {
      if (!batch.row(row).empty()) refuse(data, batch, row, "has bytes, and was lost");
      continue;
    }
    const auto good = [&](std::uint32_t other) {
      return batch.status()[other] <= RowStatus::repeated && batch.status()[other] != RowStatus::empty &&
             hash_of_row(data, batch, row) == data.hashes[batch.ids()[other]];
    };
    bool found = false;
    for (std::uint32_t other = 0; other < batch.rows() && !found; ++other) found = good(other);
    if (!found) refuse(data, batch, row, "has bytes of no good row of its batch");
  }
}

}  // namespace dovetail::test
