// SPDX-License-Identifier: Apache-2.0
// A reader on a device to which something happens at the n-th call of CUDA, for every n until a run
// passes untouched: it is cancelled, stopped or destroyed, the call fails, or the device does, for
// good. Only the emulated device can be told to.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <dovetail/batch_reader.h>
#include <dovetail/device_reader.h>

#include "tests/cuda/device_fixture.h"
#include "tests/cuda/emulated_calls.h"
#include "tests/reader/delivery/interrupted_trainer.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

using emulated_cuda::AtCall;
using emulated_cuda::context_broken;
using Trainer = InterruptedTrainer<DeviceReader, DeviceBatch, AtCall>;

// Calls that ask an event are many on a slow machine and few of them end an epoch: fewer samples
// than this can miss all.
constexpr std::uint64_t kStep = kSanitized ? 3 : 1;

const SampleShape kFewRecords{.shard_records = {40, 0, 25}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048};

class DeviceCallsTest : public DeviceTest {
 protected:
  DeviceCallsTest() : few_(make_sample(few_folder_.path("data"), kFewRecords)) {}

  const Dataset& few() const { return few_; }
  Result<DeviceReader> open() const {
    ReaderOptions of_host = options();
    of_host.plan.batch = 8;
    of_host.plan.tail = Tail::pad;
    Result<BatchReader> host = BatchReader::open(few_, of_host);
    if (!host.has_value()) return host.error();
    return DeviceReader::open(std::move(*host), {});
  }

  /// Adds the rows of a batch once its copy has ended, bytes checked; false where the device has
  /// failed for good.
  bool append(DeviceBatch& batch, Rows& rows) const {
    Result<void> waits = batch.wait_on(stream());
    if (!waits.has_value()) {
      EXPECT_THAT(waits, Fails(Errc::device_failed));
      waits = batch.wait_on(stream());
      EXPECT_TRUE(waits.has_value() || for_good_) << waits.error().to_string();
    }
    bool ready = false;
    EXPECT_TRUE(eventually([&] { return (ready = batch.ready()) || context_broken(); }));
    if (!ready) return false;
    // The device's memory is the host's here.
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      const std::uint64_t id = batch.ids()[row];
      const auto* const begin = reinterpret_cast<const char*>(batch.values() + batch.offsets()[row]);
      const std::string_view bytes(begin, static_cast<std::size_t>(batch.offsets()[row + 1] - batch.offsets()[row]));
      const bool empty = batch.status()[row] == RowStatus::empty;
      EXPECT_EQ(bytes, empty ? std::string() : sample_record(id, kFewRecords)) << "id " << id;
      rows.push_back({id, batch.status()[row]});
    }
    return true;
  }

  /// An epoch in which one call fails, or from there on all of them: what is delivered is right,
  /// until an error of the device, and nothing stays behind. Whether there were so many calls.
  bool read_with_failure(std::uint64_t n, cudaError_t error, bool for_good) {
    std::string failed;
    AtCall failure(
        n,
        [&](std::string_view function) {
          failed = function;
          if (for_good) emulated_cuda::break_context(error);
        },
        error);
    for_good_ = for_good;
    read_until_error();
    const bool struck = failure.disarm();
    SCOPED_TRACE(failed);
    const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
      return std::find(names.begin(), names.end(), failed) != names.end();
    };
    // These two say how others went, and have no failures of their own.
    if (is_one_of({"cudaGetLastError", "cudaPeekAtLastError"})) cudaGetLastError();
    if (for_good && struck) {
      emulated_cuda::reset();
      make_stream();
      return struck;
    }
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "a failure that was handled must not be left pending";
    // What cannot be freed stays, and so does what copies may still use.
    const bool may_stay = is_one_of({"cudaEventDestroy", "cudaEventSynchronize", "cudaFree", "cudaHostUnregister",
                                     "cudaStreamDestroy", "cudaStreamSynchronize"});
    EXPECT_EQ(cudaStreamDestroy(std::exchange(stream_, nullptr)), cudaSuccess);
    const bool gone = eventually([&] { return emulated_cuda::leftovers().empty() || may_stay; });
    EXPECT_TRUE(gone) << emulated_cuda::leftovers();
    try {
      emulated_cuda::reset();
    } catch (const std::logic_error&) {  // told already, or allowed
    }
    make_stream();
    return struck;
  }

  void make_stream() { ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }

  void read_until_error() {
    Rows rows;
    Result<DeviceReader> reader = open();
    if (!reader.has_value()) {
      ++refused_;
      EXPECT_THAT(reader, ::testing::AnyOf(Fails(Errc::device_failed), Fails(Errc::registration_failed)));
      EXPECT_THAT(reader, Fails().saying("cudaError"));
      return;
    }
    const Rows planned = test::planned(reader->plan(), 0, 0);
    Result<std::optional<DeviceBatch>> next = reader->next();
    bool readable = true;
    for (; readable && next.has_value() && next->has_value(); next = reader->next()) readable = append(**next, rows);
    EXPECT_LE(rows.size(), planned.size());
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), planned.begin()));
    if (!next.has_value()) {
      ++ended_;
      EXPECT_THAT(next, Fails(Errc::device_failed).saying("cudaError"));
    } else if (readable) {
      ++delivered_;
      EXPECT_EQ(rows, planned);
    }
    EXPECT_TRUE(readable || for_good_);
  }

  bool for_good_ = false;
  unsigned refused_ = 0;
  unsigned ended_ = 0;
  unsigned delivered_ = 0;

 private:
  TempFolder few_folder_;
  const Dataset few_;
};

TEST_F(DeviceCallsTest, AHandlerRunsOnceWhateverHappensWhenever) {
  const Trainer::Ways ways{.open = [this] { return open().value(); },
                           .append = [this](DeviceBatch& batch, Rows& rows) { EXPECT_TRUE(append(batch, rows)); }};
  for (const Act act : kActs) {
    std::uint64_t n = 1;
    for (bool struck = true; struck && !HasFailure(); n += kStep) {
      SCOPED_TRACE(::testing::Message() << act << " at call " << n);
      struck = Trainer(ways, act).run_until_event(n);
    }
    EXPECT_GT(n, 100u);
    std::cout << act << ": " << (n - 1) / kStep - 1 << " calls\n";
  }
}

TEST_F(DeviceCallsTest, ACallThatFailsEndsAnEpochOrChangesNothing) {
  std::uint64_t calls = 0;
  // Neither is one after which a device runs nothing any more: memory would be used again at once.
  for (const cudaError_t error : {cudaErrorMemoryAllocation, cudaErrorUnknown}) {
    std::uint64_t n = 1;
    for (bool struck = true; struck && !HasFailure(); n += kStep) {
      SCOPED_TRACE(::testing::Message() << cudaGetErrorName(error) << " at call " << n);
      struck = read_with_failure(n, error, false);
    }
    calls += (n - 1) / kStep - 1;
  }
  EXPECT_GT(refused_ * kStep, 5u);
  EXPECT_GT(ended_ * kStep, 50u);
  EXPECT_GT(delivered_ * kStep, 20u);
  std::cout << calls << " calls: " << refused_ << " kept it from opening, " << ended_ << " ended the epoch\n";
}

TEST_F(DeviceCallsTest, ADeviceThatFailsForGoodEndsAnEpoch) {
  std::uint64_t n = 1;
  for (bool struck = true; struck && !HasFailure(); n += kStep) {
    SCOPED_TRACE(::testing::Message() << "from call " << n << " on");
    struck = read_with_failure(n, cudaErrorIllegalAddress, true);
  }
  EXPECT_GT(refused_ * kStep, 5u);
  EXPECT_GT(ended_ * kStep, 20u);
  std::cout << (n - 1) / kStep - 1 << " calls: " << refused_ << " kept it from opening, " << ended_
            << " ended the epoch\n";
}

}  // namespace
}  // namespace dovetail::test
