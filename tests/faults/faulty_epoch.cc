// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/faulty_epoch.h"

#include <optional>

#include "tests/reader/delivery/reader_fixture.h"

namespace dovetail::test {

FaultyEpochTest::FaultyEpochTest(const SampleShape& shape)
    : shape_(shape), dataset_(make_sample(folder_.path("data"), shape)) {}

ReaderOptions FaultyEpochTest::options(OnDamage on_damage, StorageKind storage) {
  return {.plan = {.batch = 8, .tail = Tail::pad, .open_runs = 4, .pool = 16},
          .epochs = 1,
          .on_damage = on_damage,
          .storage = storage,
          .decode_threads = 2,
          .registration = Registration::off};
}

bool FaultyEpochTest::read_epoch(const ReaderOptions& options) const {
  Result<BatchReader> reader = BatchReader::open(dataset_, options);
  if (!reader.has_value()) {
    ADD_FAILURE() << "opening a reader reads nothing: " << reader.error().to_string();
    return false;
  }
  const Rows rows = planned(reader->plan(), 0, 0);
  std::size_t at = 0;
  bool all = true;
  for (;;) {
    const Result<std::optional<Batch>> batch = reader->next();
    if (!batch.has_value()) {
      // Too many open files, or too little memory, are no damage of a shard.
      const bool shortage = batch.error().code() == boost::system::errc::too_many_files_open ||
                            batch.error().code() == boost::system::errc::not_enough_memory;
      EXPECT_TRUE(!shortage || reader->stats().damaged.empty());
      EXPECT_TRUE(shortage || options.on_damage == OnDamage::fail) << batch.error().to_string();
      EXPECT_FALSE(reader->error()->path().empty()) << batch.error().to_string();
      return false;
    }
    if (!batch->has_value()) break;
    for (std::uint32_t row = 0; row < (*batch)->rows(); ++row, ++at) {
      EXPECT_EQ((*batch)->ids()[row], rows.at(at).id);
      all = check_row(**batch, row, rows[at].status) && all;
    }
  }
  EXPECT_EQ(at, rows.size()) << "the epoch has ended too early";
  EXPECT_EQ(all, reader->stats().damaged.empty());
  if (options.on_damage == OnDamage::fail) {
    EXPECT_TRUE(all);
  }
  return all;
}

bool FaultyEpochTest::check_row(const Batch& batch, std::uint32_t row, RowStatus planned) const {
  const RowStatus status = batch.status()[row];
  if (status == planned) {
    if (status == RowStatus::empty) return true;
    EXPECT_EQ(as_chars(batch.row(row)), sample_record(batch.ids()[row], shape_));
    return true;
  }
  if (status == RowStatus::damaged_empty) {
    EXPECT_TRUE(batch.row(row).empty());
    return false;
  }
  EXPECT_EQ(status, RowStatus::substituted);
  for (std::uint32_t other = 0; other < batch.rows(); ++other) {
    if (batch.status()[other] != RowStatus::first) continue;
    if (as_chars(batch.row(row)) == sample_record(batch.ids()[other], shape_)) return false;
  }
  ADD_FAILURE() << "bytes of no row of the batch";
  return false;
}

}  // namespace dovetail::test
