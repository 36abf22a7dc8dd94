// SPDX-License-Identifier: Apache-2.0
// A slot is filled again only after the copies that its batches were released with.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/use_future.hpp>

#include <dovetail/batch_reader.h>

#include "reader/memory/poison.h"
#include "reader/memory/slot_ring.h"
#include "tests/cuda/device_fixture.h"
#include "tests/reader/memory/batch_of.h"

namespace dovetail::test {
namespace {

using detail::SlotLease;
using detail::SlotRing;

class SlotLifeTest : public DeviceTest {
 protected:
  enum class Event { recorded, ignored };

  /// Reads four epochs, copying each batch to its own place behind work that holds the stream up;
  /// how many copies are not what the batch was.
  std::size_t wrong_copies(Event event, Registration registration = Registration::required) {
    ReaderOptions of_reader = options(4);
    of_reader.registration = registration;
    BatchReader reader = BatchReader::open(dataset(), of_reader).value();
    std::vector<std::vector<std::byte>> expected;
    std::vector<std::unique_ptr<DeviceBytes>> copies;
    Hold hold(stream_);
    std::atomic<bool> done = false;
    std::thread later([&] {
      // With the event the reader comes to a stand; without, it need not wait for anything.
      const int turns = event == Event::recorded ? 100 : 100'000;
      for (int i = 0; i < turns && !done; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      hold.let_go();
    });
    for (int epoch = 0; epoch < 4; ++epoch) {
      while (std::optional<Batch> batch = reader.next().value()) {
        const ByteView slab = batch->slab();
        expected.push_back(copy_of(slab));
        copies.push_back(std::make_unique<DeviceBytes>(slab.size()));
        EXPECT_EQ(cudaMemcpyAsync(copies.back()->data(), slab.data(), slab.size(), cudaMemcpyHostToDevice, stream_),
                  cudaSuccess);
        if (event == Event::recorded) {
          EXPECT_TRUE(batch->release(stream()).has_value());
        } else {
          batch->release();
        }
      }
    }
    done = true;
    later.join();
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(expected.size(), 4 * reader.steps(0).value());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) wrong += copies[i]->read() == expected[i] ? 0 : 1;
    return wrong;
  }
};

TEST_F(SlotLifeTest, ASlowCopyGetsTheBytesOfItsBatch) {
  EXPECT_EQ(wrong_copies(Event::recorded), 0u);
}

TEST_F(SlotLifeTest, SoItDoesOutOfPlainPages) {
  EXPECT_EQ(wrong_copies(Event::recorded, Registration::off), 0u);
}

TEST_F(SlotLifeTest, WithoutTheEventItWouldNot) {
#if defined(DOVETAIL_ADDRESS_SANITIZER) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer reports it, and ends the program";
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer reports it, and ends the program";
#endif
#endif
  EXPECT_GT(wrong_copies(Event::ignored), 0u);
}

TEST_F(SlotLifeTest, TheTrainerWaitsForNoCopyAndTheReaderFillsNothingEarly) {
  BatchReader reader = BatchReader::open(dataset(), options()).value();
  const std::uint32_t slots = reader.stats().slots;
  Hold hold(stream_);
  DeviceBytes copy(reader.slab_bytes());
  std::vector<ByteView> views;
  std::vector<std::vector<std::byte>> expected;
  while (views.size() < slots) {
    std::optional<Batch> batch = reader.next().value();
    ASSERT_TRUE(batch.has_value());
    views.push_back(batch->slab());
    expected.push_back(copy_of(batch->slab()));
    ASSERT_EQ(cudaMemcpyAsync(copy.data(), views.back().data(), views.back().size(), cudaMemcpyHostToDevice, stream_),
              cudaSuccess);
    ASSERT_TRUE(batch->release(stream()).has_value());
    EXPECT_EQ(batch->rows(), 0u);
  }
  auto next = reader.async_next(boost::asio::use_future);
  EXPECT_EQ(next.wait_for(kAMoment), std::future_status::timeout);
  for (std::size_t i = 0; i < views.size(); ++i) EXPECT_EQ(copy_of(views[i]), expected[i]);
  EXPECT_GT(reader.stats().waiting_for_slot.count(), 0);
  hold.let_go();
  EXPECT_TRUE(next.get().has_value());
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
}

TEST_F(SlotLifeTest, ASlotIsFreeAfterAllOfItsBatchesAndAllOfTheirStreams) {
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(1, 4096, {.registration = Registration::required, .provider = {}}).value();
  const auto freed = std::make_shared<FreedSlots>();
  ring->listen(freed);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  std::vector<Batch> batches;
  {
    const std::shared_ptr<SlotLease> lease = ring->acquire();
    for (std::uint32_t i = 0; i < 4; ++i) batches.push_back(batch_of(lease, i * 1024, i));
  }
  Hold first(stream_);
  Hold second(other);
  EXPECT_TRUE(batches[0].release(stream()).has_value());
  EXPECT_TRUE(batches[1].release(DeviceStream{other}).has_value());
  batches[2].release();
  EXPECT_EQ(ring->held(), 1u);
  second.let_go();
  EXPECT_TRUE(batches[3].release(DeviceStream{other}).has_value());
  EXPECT_EQ(ring->held(), 0u) << "the trainer holds none";
  std::this_thread::sleep_for(kAMoment);
  EXPECT_EQ(freed->count, 0);
  EXPECT_EQ(ring->acquire(), nullptr);
  first.let_go();
  EXPECT_TRUE(eventually([&] { return freed->count == 1; }));
  EXPECT_NE(ring->acquire(), nullptr);
  ASSERT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(SlotLifeTest, ALaterSlotDoesNotWaitForAnEarlierOne) {
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(2, 4096, {.registration = Registration::required, .provider = {}}).value();
  Batch slow = batch_of(ring->acquire(), 0, 0);
  Batch quick = batch_of(ring->acquire(), 0, 1);
  Hold hold(stream_);
  EXPECT_TRUE(slow.release(stream()).has_value());
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_TRUE(quick.release(DeviceStream{other}).has_value());
  EXPECT_TRUE(eventually([&] { return ring->free_slots() == 1; }));
  hold.let_go();
  EXPECT_TRUE(eventually([&] { return ring->free_slots() == 2; }));
  ASSERT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(SlotLifeTest, MemoryStaysForACopyThatOutlivesReaderAndBatches) {
  std::optional<BatchReader> reader = BatchReader::open(dataset(), options()).value();
  std::optional<Batch> batch = reader->next().value();
  const std::vector<std::byte> expected = copy_of(batch->slab());
  const DeviceBytes copy(expected.size());
  Hold hold(stream_);
  ASSERT_EQ(cudaMemcpyAsync(copy.data(), batch->slab().data(), expected.size(), cudaMemcpyHostToDevice, stream_),
            cudaSuccess);
  ASSERT_TRUE(batch->release(stream()).has_value());
  auto gone = std::async(std::launch::async, [&] { reader.reset(); });
  EXPECT_EQ(gone.wait_for(kAMoment), std::future_status::timeout);
  hold.let_go();
  gone.get();
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(copy.read(), expected);
}

TEST_F(SlotLifeTest, SpilledMemoryStaysForItsCopy) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(1, 4096, {.registration = Registration::required, .provider = {}}).value();
  std::shared_ptr<SlotLease> lease = ring->spill(*ring->acquire(), kBytes).value();
  std::memset(lease->bytes().data(), 5, kBytes);
  Batch batch = batch_of(std::move(lease));
  Hold hold(stream_);
  ASSERT_TRUE(batch.release(stream()).has_value());
  EXPECT_FALSE(ring->has_free());
  hold.let_go();
  EXPECT_TRUE(eventually([&] { return ring->has_free(); }));
}

TEST_F(SlotLifeTest, ReleasingNothingIsNothing) {
  BatchReader reader = BatchReader::open(dataset(), options()).value();
  Batch batch = std::move(*reader.next().value());
  batch.release();
  EXPECT_TRUE(batch.release(stream()).has_value());
}

// As a reader is that is destroyed while it hears of a slot.
class LastOwner final : public detail::SlotListener {
 public:
  explicit LastOwner(std::shared_ptr<SlotRing> ring) : ring_(std::move(ring)) {}
  void slot_is_free() noexcept override {
    ring_.reset();
    gone_.set_value();
  }
  std::future<void> gone() { return gone_.get_future(); }

 private:
  std::shared_ptr<SlotRing> ring_;
  std::promise<void> gone_;
};

TEST_F(SlotLifeTest, TheThreadThatFreesASlotMayBeTheLastToUseTheRing) {
  for (int round = 0; round != 20; ++round) {
    std::shared_ptr<SlotRing> ring =
        SlotRing::make(1, 4096, {.registration = Registration::required, .provider = {}}).value();
    const std::weak_ptr<SlotRing> alive = ring;
    const auto last = std::make_shared<LastOwner>(ring);
    ring->listen(last);
    std::future<void> gone = last->gone();
    std::optional<Hold> hold(stream_);
    std::shared_ptr<SlotLease> lease = ring->acquire();
    ASSERT_TRUE(lease->wait_for(stream()).has_value());
    lease.reset();
    ring.reset();
    hold->let_go();
    ASSERT_EQ(gone.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!alive.expired() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_TRUE(alive.expired());
  }
}

}  // namespace
}  // namespace dovetail::test
