// SPDX-License-Identifier: Apache-2.0
// Rows that a function of the user fills.
#include <dovetail/transform.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <dovetail/batch_reader.h>
#include <dovetail/record_reader.h>

#include "format/try.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"

namespace dovetail::test {
namespace {

constexpr const char* kTransformed = "id:u64, seed:u64[2], ends:u8[2]=7, body:u8[*], name:bytes, words:bytes[*]";
constexpr std::uint64_t kPlanSeed = 77;

/// What the columns of a record are, told by its id and bytes.
struct Expected {
  explicit Expected(std::uint64_t id, std::uint32_t epoch, ByteView record)
      : seed{kPlanSeed, epoch},
        body(record.begin() + static_cast<std::ptrdiff_t>(record.size() / 3), record.end()),
        name("record " + std::to_string(id)),
        words(id % 4, name) {
    if (!record.empty()) ends = {record.front(), record.back()};
  }
  std::array<std::uint64_t, 2> seed;
  std::array<std::byte, 2> ends{std::byte{7}, std::byte{7}};  // the fallback
  std::vector<std::byte> body;
  std::string name;
  std::vector<std::string> words;
};

Result<void> fill_row(const TransformInput& input, RowWriter& row) {
  const Expected expected(input.id, input.epoch, input.record);
  row.values<std::uint64_t>(0)[0] = input.id;
  const std::span<std::uint64_t> seed = row.values<std::uint64_t>(1);
  seed[0] = input.seed;
  seed[1] = input.epoch;
  if (!input.record.empty()) {
    DOVETAIL_TRY(row.set(2, expected.ends));
  }
  DOVETAIL_TRY(row.set(3, expected.body));
  DOVETAIL_TRY(row.set(4, as_bytes(expected.name)));
  const std::vector<std::string_view> words(expected.words.begin(), expected.words.end());
  return row.set_texts(5, words);
}

/// The same work in one call for a batch.
decltype(Transform::fill_batch) in_batches(decltype(Transform::fill) fill) {
  return [fill = std::move(fill)](std::span<const TransformInput> records) -> Result<Transform::FillRow> {
    EXPECT_FALSE(records.empty());
    return Transform::FillRow([fill, records](std::size_t i, RowWriter& row) { return fill(records[i], row); });
  };
}

bool is_good(RowStatus status) {
  return status == RowStatus::first || status == RowStatus::repeated;
}

void expect_row(const Batch& batch, std::uint32_t row, const SampleShape& shape) {
  const auto ragged = [&](std::size_t column) {
    const ColumnView view = batch.column(column);
    return view.values.subspan(static_cast<std::size_t>(view.offsets[row]),
                               static_cast<std::size_t>(view.offsets[row + 1] - view.offsets[row]));
  };
  const std::uint64_t id = batch.ids()[row];
  const auto& ends = batch.column(2).values;
  if (!is_good(batch.status()[row])) {
    EXPECT_EQ(batch.column(0).as<std::uint64_t>()[row], 0u);
    EXPECT_EQ(ends[2 * row], std::byte{0});
    EXPECT_TRUE(ragged(3).empty());
    EXPECT_EQ(batch.column(4).text(row), "");
    return;
  }
  const std::string record = sample_record(id, shape);
  const Expected expected(id, batch.epoch(), as_bytes(record));
  EXPECT_EQ(batch.column(0).as<std::uint64_t>()[row], id);
  EXPECT_EQ(batch.column(1).as<std::uint64_t>()[2 * row], kPlanSeed);
  EXPECT_EQ(batch.column(1).as<std::uint64_t>()[2 * row + 1], batch.epoch());
  EXPECT_TRUE(std::equal(expected.ends.begin(), expected.ends.end(), ends.begin() + 2 * row));
  EXPECT_TRUE(std::ranges::equal(ragged(3), expected.body)) << "record " << id;
  EXPECT_EQ(batch.column(4).text(row), expected.name);
  const ColumnView words = batch.column(5);
  ASSERT_EQ(words.offsets[row + 1] - words.offsets[row], static_cast<std::int64_t>(expected.words.size()));
  for (std::size_t i = 0; i < expected.words.size(); ++i) {
    EXPECT_EQ(words.text(static_cast<std::size_t>(words.offsets[row]) + i), expected.words[i]);
  }
}

class TransformTest : public test::SampleReaderTest {
 protected:
  static ReaderOptions options(decltype(Transform::fill) fill = fill_row, const char* columns = kTransformed) {
    ReaderOptions options = SampleReaderTest::options(0, 1, 24, Tail::pad);
    options.epochs = 2;
    options.plan.seed = kPlanSeed;
    options.columns = parse_schema(columns).value();
    options.transform.fill = std::move(fill);
    return options;
  }

  /// Reads to the end; the rows, whose columns are checked.
  static Rows read(BatchReader& reader) {
    Rows rows;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const Batch& batch : reader.epoch()) {
        for (std::uint32_t row = 0; row < batch.rows(); ++row) {
          expect_row(batch, row, kSampleShape);
          rows.push_back({batch.ids()[row], batch.status()[row]});
        }
      }
    }
    EXPECT_FALSE(reader.error().has_value()) << reader.error()->to_string();
    return rows;
  }

  static Error read_to_error(const ReaderOptions& options) {
    BatchReader reader = BatchReader::open(dataset(), options).value();
    for (int batch = 0; batch < 1000; ++batch) {
      const auto next = reader.next();
      if (!next.has_value()) return next.error();
    }
    ADD_FAILURE() << "it goes on";
    return Error();
  }
};

struct OrderCase {
  OrderKind order;
  Tail tail;
  unsigned threads;
  bool in_batches = false;
};
class TransformOrders : public TransformTest, public ::testing::WithParamInterface<OrderCase> {};

TEST_P(TransformOrders, FillsTheRowsThatThePlanGives) {
  ReaderOptions options = this->options();
  options.plan.order = GetParam().order;
  options.plan.tail = GetParam().tail;
  options.decode_threads = GetParam().threads;
  if (GetParam().in_batches) {
    options.transform.fill = nullptr;
    options.transform.fill_batch = in_batches(fill_row);
  }
  BatchReader reader = BatchReader::open(dataset(), options).value();
  Rows expected = planned(reader.plan(), 0, 0);
  const Rows second = planned(reader.plan(), 0, 1);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(read(reader), expected);
}

INSTANTIATE_TEST_SUITE_P(Orders, TransformOrders,
                         ::testing::Values(OrderCase{OrderKind::shuffle, Tail::pad, 1},
                                           OrderCase{OrderKind::shuffle, Tail::wrap, 3},
                                           OrderCase{OrderKind::sequential, Tail::drop, 2},
                                           OrderCase{OrderKind::global, Tail::pad, 2},
                                           OrderCase{OrderKind::shuffle, Tail::pad, 3, true},
                                           OrderCase{OrderKind::sequential, Tail::drop, 1, true},
                                           OrderCase{OrderKind::global, Tail::pad, 2, true}));

TEST_F(TransformTest, RunsOnTheReadersThreadsOnlyAndSeveralAtATime) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> running = 0;
  std::promise<void> both;
  const std::shared_future<void> met = both.get_future().share();
  ReaderOptions options = this->options([&](const TransformInput& input, RowWriter& row) {
    {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    if (++running == 2) both.set_value();  // the first two calls are of two batches, each waits for the other
    met.wait();
    return fill_row(input, row);
  });
  options.decode_threads = 2;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  EXPECT_EQ(read(reader).size() % 24, 0u);
  EXPECT_EQ(threads.size(), 2u);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

class TransformRejects : public TransformTest, public ::testing::WithParamInterface<bool> {};

TEST_P(TransformRejects, RecordsByPolicy) {
  struct Case {
    const char* what;
    Result<void> (*reject)(RowWriter&);
    const char* reason;
  };
  const Case cases[] = {
      {"error", [](RowWriter&) -> Result<void> { return Error(Errc::rejected_record, "too dark"); }, "too dark"},
      {"error of the system", [](RowWriter&) -> Result<void> { return Error::from_errno(EIO, "camera"); }, "camera"},
      {"exception", [](RowWriter&) -> Result<void> { throw std::runtime_error("no\nJPEG"); }, "no\\nJPEG"},
      {"other exception", [](RowWriter&) -> Result<void> { throw 5; }, "not a std::exception"},
      {"unset", [](RowWriter&) -> Result<void> { return {}; }, "column \"id\" is not set"},
      {"wrong size", [](RowWriter& row) { return row.set(0, as_bytes("abc")); }, "column \"id\": 3 bytes, expected 8"},
      {"no such column", [](RowWriter& row) { return row.set(6, {}); }, "column 6 is set, but the schema has 6"},
      {"texts", [](RowWriter& row) { return row.set(5, as_bytes("abc")); }, "use set_texts"},
      {"no texts", [](RowWriter& row) { return row.set_texts(4, {}); }, "not have a list of texts"},
  };
  const auto rejected = [](std::uint64_t id) { return id % 10 == 3; };
  for (const Case& tried : cases) {
    SCOPED_TRACE(tried.what);
    ReaderOptions options = this->options([&](const TransformInput& input, RowWriter& row) -> Result<void> {
      DOVETAIL_TRY(fill_row(input, row));
      if (tried.what == std::string("unset") && rejected(input.id)) return {};
      return rejected(input.id) ? tried.reject(row) : Result<void>();
    });
    if (tried.what == std::string("unset")) {
      options.transform.fill = [&](const TransformInput& input, RowWriter& row) -> Result<void> {
        return rejected(input.id) ? tried.reject(row) : fill_row(input, row);
      };
    }
    if (GetParam()) options.transform.fill_batch = in_batches(std::exchange(options.transform.fill, nullptr));
    const Error error = read_to_error(options);
    EXPECT_EQ(error.code(), make_error_code(Errc::rejected_record));
    EXPECT_THAT(error.to_string(), AllOf(HasSubstr(tried.reason), HasSubstr("), needed by rank 0 at step"),
                                         HasSubstr("rejected by the transform")));
    EXPECT_FALSE(error.path().empty());

    options.on_damage = OnDamage::empty;
    options.epochs = 2;
    BatchReader reader = BatchReader::open(dataset(), options).value();
    std::uint64_t empty = 0;
    for (const Row& row : read(reader)) {
      if (row.status == RowStatus::empty) continue;
      ASSERT_EQ(row.status == RowStatus::damaged_empty, rejected(row.id)) << row.id;
      empty += rejected(row.id);
    }
    EXPECT_EQ(reader.stats().unfit_records, empty);
    EXPECT_EQ(reader.stats().damaged.size(), 100u) << "the first of them are named, each once";
    EXPECT_THAT(reader.stats().damaged.front().reason, HasSubstr(tried.reason));

    options.on_damage = OnDamage::substitute;
    BatchReader substituting = BatchReader::open(dataset(), options).value();
    for (const Batch& batch : substituting.epoch()) {
      for (std::uint32_t row = 0; row < batch.rows(); ++row) {
        if (batch.ids()[row] == kNoId) continue;
        ASSERT_EQ(batch.status()[row] == RowStatus::substituted, rejected(batch.ids()[row]));
        ASSERT_FALSE(rejected(batch.column(0).as<std::uint64_t>()[row]));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InBatches, TransformRejects, ::testing::Bool());

TEST_F(TransformTest, AnErrorOfABatchRejectsAllItsRecordsByPolicy) {
  using Reject = Result<Transform::FillRow> (*)();
  const Reject rejects[] = {
      [] { return Result<Transform::FillRow>(Error(Errc::rejected_record, "too dark")); },
      []() -> Result<Transform::FillRow> { throw std::runtime_error("too dark"); },
  };
  constexpr std::uint64_t kRejected = 500;
  for (const Reject reject : rejects) {
    ReaderOptions options = this->options(nullptr);
    options.transform.fill_batch = [&](std::span<const TransformInput> records) -> Result<Transform::FillRow> {
      for (const TransformInput& input : records) {
        if (input.id == kRejected) return reject();
      }
      return in_batches(fill_row)(records);
    };
    const Error error = read_to_error(options);
    EXPECT_EQ(error.code(), make_error_code(Errc::rejected_record));
    EXPECT_THAT(error.to_string(), AllOf(HasSubstr("too dark, for all 24 records of the batch; record "),
                                         HasSubstr("rejected by the transform")));
    for (const OnDamage policy : {OnDamage::empty, OnDamage::substitute}) {
      options.on_damage = policy;
      BatchReader reader = BatchReader::open(dataset(), options).value();
      std::size_t rejected = 0;
      for (const Batch& batch : reader.epoch()) {
        const bool of_it = std::ranges::count(batch.ids(), kRejected) > 0;
        if (of_it) {
          EXPECT_THAT(batch.status(), Each(RowStatus::damaged_empty));
        }
        for (std::uint32_t row = 0; row < batch.rows(); ++row) {
          expect_row(batch, row, kSampleShape);
          rejected += batch.status()[row] == RowStatus::damaged_empty;
        }
      }
      EXPECT_EQ(rejected, 24u);
    }
  }
}

TEST_F(TransformTest, ABatchHasItsGoodRecordsInTheOrderOfTheirRows) {
  TempFolder folder;
  const Dataset damaged_dataset = make_sample(folder.path("dataset"), kSampleShape);
  const BlockInfo damaged = describe_shard(damaged_dataset.shard_path(0)).value().blocks.at(3);
  flip_bit(damaged_dataset.shard_path(0), damaged.offset + 64 + damaged.stored_bytes / 2);
  for (const OrderKind order : {OrderKind::shuffle, OrderKind::global}) {
    std::mutex mutex;
    std::set<std::vector<std::uint64_t>> lists;
    ReaderOptions options = this->options(nullptr);
    options.plan.order = order;
    options.epochs = 1;
    options.on_damage = OnDamage::empty;
    options.transform.fill_batch = [&](std::span<const TransformInput> records) {
      std::vector<std::uint64_t> ids;
      for (const TransformInput& input : records) ids.push_back(input.id);
      const std::lock_guard lock(mutex);
      lists.insert(std::move(ids));
      return in_batches(fill_row)(records);
    };
    BatchReader reader = BatchReader::open(damaged_dataset, options).value();
    std::uint32_t lost = 0;
    std::size_t batches = 0;
    for (const Batch& batch : reader.epoch()) {
      std::vector<std::uint64_t> good;
      for (std::uint32_t row = 0; row < batch.rows(); ++row) {
        expect_row(batch, row, kSampleShape);
        if (is_good(batch.status()[row])) good.push_back(batch.ids()[row]);
        lost += batch.status()[row] == RowStatus::damaged_empty;
      }
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(lists.contains(good)) << "step " << batch.step();
      ++batches;
    }
    EXPECT_FALSE(reader.error().has_value());
    EXPECT_EQ(lost, damaged.records);
    EXPECT_EQ(lists.size(), batches) << "one call each";
  }
}

TEST_F(TransformTest, WantOfMemoryEndsTheReader) {
  ReaderOptions options = this->options([](const TransformInput& input, RowWriter& row) -> Result<void> {
    if (input.id % 100 == 50) throw std::bad_alloc();
    return fill_row(input, row);
  });
  options.on_damage = OnDamage::empty;
  EXPECT_EQ(read_to_error(options).code(), boost::system::errc::not_enough_memory);
}

TEST_F(TransformTest, TheScopeIsHeldAroundCallsOnTheirThread) {
  thread_local bool held = false;
  std::atomic<int> scopes = 0;
  ReaderOptions options = this->options([&](const TransformInput& input, RowWriter& row) -> Result<void> {
    if (!held) return Error(Errc::rejected_record, "without the scope");
    return fill_row(input, row);
  });
  options.transform.scope = [&]() -> std::shared_ptr<void> {
    ++scopes;
    held = true;
    return {&held, [](bool* of_this_thread) {
              EXPECT_EQ(of_this_thread, &held);
              *of_this_thread = false;
            }};
  };
  BatchReader reader = BatchReader::open(dataset(), options).value();
  const std::size_t rows = read(reader).size();
  EXPECT_GT(scopes.load(), 0);
  EXPECT_LT(scopes.load(), static_cast<int>(rows) / 4) << "one for many calls";
}

TEST_F(TransformTest, StopsAndGoesWhileCallsRun) {
  std::atomic<bool> go = false;
  std::atomic<int> inside = 0;
  const auto wait = [&](const TransformInput& input, RowWriter& row) {
    ++inside;
    while (!go) std::this_thread::yield();
    return fill_row(input, row);
  };
  for (const auto& [destroys, batches] : {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    go = false;
    inside = 0;
    ReaderOptions options = this->options(wait);
    if (batches) options.transform.fill_batch = in_batches(std::exchange(options.transform.fill, nullptr));
    std::optional<BatchReader> reader = BatchReader::open(dataset(), options).value();
    boost::asio::io_context context;
    auto batch = reader->async_next(boost::asio::bind_executor(context, boost::asio::use_future));
    while (inside == 0) std::this_thread::yield();
    std::thread releases([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      go = true;
    });
    if (destroys) {
      reader.reset();
    } else {
      reader->stop();
      EXPECT_THAT(reader->next(), Fails(ErrorKind::cancelled));
    }
    releases.join();
    context.run();
    EXPECT_THROW(batch.get(), boost::system::system_error) << "the request is cancelled, once";
  }
}

TEST_F(TransformTest, StopsAfterTheCallThatRuns) {
  std::atomic<bool> go = false;
  std::atomic<int> calls = 0;
  ReaderOptions options = this->options([&](const TransformInput& input, RowWriter& row) {
    ++calls;
    while (!go) std::this_thread::yield();
    return fill_row(input, row);
  });
  options.decode_threads = 1;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  auto batch = reader.async_next(boost::asio::use_future);
  while (calls == 0) std::this_thread::yield();
  std::thread stops([&] { reader.stop(); });
  EXPECT_THROW(batch.get(), boost::system::system_error) << "cancelled: from here on the reader stops";
  go = true;
  stops.join();
  EXPECT_EQ(calls, 1) << "the other records of the batch are left";
}

TEST_F(TransformTest, WaitingForItIsCountedByItself) {
  ReaderOptions options = this->options([](const TransformInput& input, RowWriter& row) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    return fill_row(input, row);
  });
  BatchReader reader = BatchReader::open(dataset(), options).value();
  read(reader);
  const ReaderStats stats = reader.stats();
  EXPECT_GT(stats.waiting_for_transform.count(), 0);
  EXPECT_GE(stats.time_transforming, std::chrono::microseconds(20) * (2 * kSampleRecords));
  EXPECT_EQ(stats.time_gathering.count(), 0);
}

TEST_F(TransformTest, RowsOfAnySizeStayWithinTheBudgetOrFail) {
  const auto grow = [](const TransformInput& input, RowWriter& row) {
    return row.set(0, std::vector<std::byte>(input.id % 200 == 199 ? 300'000 : input.record.size()));
  };
  ReaderOptions options = this->options(grow, "body:u8[*]");
  options.memory_bytes = 1'000'000;
  const Error error = read_to_error(options);
  EXPECT_EQ(error.code(), make_error_code(Errc::batch_too_large)) << error.to_string();

  options.oversize = Oversize::spill;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  std::uint64_t large = 0;
  for (const Batch& batch : reader.epoch()) large += batch.values().size() > 300'000;
  EXPECT_GT(large, 0u);
  EXPECT_GE(reader.stats().spilled_batches, large);
}

TEST_F(TransformTest, NeedsColumns) {
  ReaderOptions options = this->options();
  options.columns.reset();
  EXPECT_THAT(BatchReader::open(dataset(), options), Fails().saying("transform needs columns"));
}

TEST_F(TransformTest, HasOneFunction) {
  ReaderOptions options = this->options();
  options.transform.fill_batch = in_batches(fill_row);
  EXPECT_THAT(BatchReader::open(dataset(), options), Fails().saying("fill and fill_batch; set only one of them"));
}

}  // namespace
}  // namespace dovetail::test
