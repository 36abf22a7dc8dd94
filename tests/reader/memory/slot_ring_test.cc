// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/slot_ring.h"

#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "reader/memory/batch_keeper.h"
#include "reader/memory/poison.h"
#include "tests/reader/memory/batch_of.h"
#include "tests/support/fails.h"

namespace dovetail::detail {
namespace {

TEST(BatchKeeperTest, KeepsASlotFromEverBeingFilledAgain) {
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(2, 4096, {.registration = Registration::preferred, .provider = {}}).value();
  for (int i = 0; i < 2; ++i) {
    BatchKeeper keeper;
    keeper.keep(test::batch_of(ring->acquire()));
  }
  EXPECT_EQ(ring->acquire(), nullptr);
}

TEST(SlotRingTest, HandsOutEverySlotOnceAndNoMore) {
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(3, 4096, {.registration = Registration::preferred, .provider = {}}).value();
  std::vector<std::shared_ptr<SlotLease>> leases;
  std::set<const std::byte*> places;
  for (int i = 0; i < 3; ++i) {
    leases.push_back(ring->acquire());
    ASSERT_NE(leases.back(), nullptr);
    EXPECT_EQ(leases.back()->bytes().size(), 4096u);
    std::memset(leases.back()->bytes().data(), i, 4096);
    places.insert(leases.back()->bytes().data());
  }
  EXPECT_EQ(places.size(), 3u);
  EXPECT_EQ(ring->acquire(), nullptr);
  leases.pop_back();
  EXPECT_NE(ring->acquire(), nullptr);
}

TEST(SlotRingTest, CountsBatchesFromHandOverToRelease) {
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(2, 4096, {.registration = Registration::off, .provider = {}}).value();
  const auto released = std::make_shared<test::FreedSlots>();
  ring->listen(released);
  std::shared_ptr<SlotLease> lease = ring->acquire();
  EXPECT_EQ(ring->held(), 0u);
  {
    const Batch batch = test::batch_of(std::move(lease));
    EXPECT_EQ(ring->held(), 1u);
    EXPECT_EQ(released->count, 0);
  }
  EXPECT_EQ(ring->held(), 0u);
  EXPECT_EQ(released->count, 1);
}

TEST(SlotRingTest, ASlotIsFreeOnceAllOfItsBatchesAre) {
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(1, 4096, {.registration = Registration::off, .provider = {}}).value();
  const auto released = std::make_shared<test::FreedSlots>();
  ring->listen(released);
  std::shared_ptr<SlotLease> lease = ring->acquire();
  const std::byte* const slot = lease->bytes().data();
  std::vector<Batch> batches;
  for (std::uint32_t i = 0; i < 4; ++i) batches.push_back(test::batch_of(lease, i * 1024, i));
  lease.reset();
  EXPECT_EQ(ring->held(), 4u);
  EXPECT_EQ(batches[3].slab().data(), slot + 3 * 1024);
  batches[3] = std::move(batches[0]);
  EXPECT_EQ(ring->held(), 3u);
  batches[2].release();
  batches.pop_back();
  EXPECT_EQ(ring->held(), 1u);
  EXPECT_EQ(released->count, 0);
  EXPECT_EQ(ring->acquire(), nullptr);
  batches.clear();
  EXPECT_EQ(ring->held(), 0u);
  EXPECT_EQ(released->count, 1);
  EXPECT_NE(ring->acquire(), nullptr);
}

TEST(SlotRingTest, SpilledMemoryKeepsItsSlotTakenSoThatBatchesStayFew) {
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(1, 4096, {.registration = Registration::preferred, .provider = {}}).value();
  std::shared_ptr<SlotLease> lease = ring->acquire();
  for (const std::size_t bytes : {std::size_t{1} << 16, std::size_t{1} << 20}) {
    lease = ring->spill(*lease, bytes).value();
    EXPECT_TRUE(lease->spilled());
    EXPECT_FALSE(lease->registered());
    EXPECT_GE(lease->bytes().size(), bytes);
    EXPECT_EQ(ring->acquire(), nullptr);
  }
  {
    const Batch batch = test::batch_of(std::move(lease));
    EXPECT_EQ(ring->held(), 1u);
    EXPECT_EQ(ring->acquire(), nullptr);
  }
  EXPECT_EQ(ring->held(), 0u);
  EXPECT_NE(ring->acquire(), nullptr);
}

TEST(SlotRingTest, ABatchKeepsTheMemoryAfterTheRingIsLetGo) {
  std::shared_ptr<SlotRing> ring = SlotRing::make(1, 4096, {.registration = Registration::off, .provider = {}}).value();
  std::shared_ptr<SlotLease> lease = ring->acquire();
  ring.reset();
  std::memset(lease->bytes().data(), 7, lease->bytes().size());
  EXPECT_EQ(lease->bytes()[4095], std::byte{7});
}

TEST(SlotRingTest, AFreeSlotIsMadeUseless) {
  if (!kPoisons) GTEST_SKIP() << "only in builds with assertions";
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(1, 4096, {.registration = Registration::off, .provider = {}}).value();
  std::shared_ptr<SlotLease> lease = ring->acquire();
  std::byte* const slot = lease->bytes().data();
  std::memset(slot, 7, 4096);
  lease.reset();
  lease = ring->acquire();  // under AddressSanitizer it may not be read before
  EXPECT_EQ(lease->bytes().data(), slot);
  EXPECT_EQ(slot[0], kPoison);
  EXPECT_EQ(slot[4095], kPoison);
}

TEST(SlotRingDeathTest, ReadingAFreeSlotIsReported) {
#ifndef DOVETAIL_ADDRESS_SANITIZER
  GTEST_SKIP() << "only with AddressSanitizer";
#else
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(1, 4096, {.registration = Registration::off, .provider = {}}).value();
  std::optional<Batch> batch = test::batch_of(ring->acquire());
  const volatile std::uint64_t* const id = batch->ids().data();
  batch.reset();
  EXPECT_DEATH((void)*id, "use-after-poison");
#endif
}

TEST(SlotRingTest, AStreamWithoutADeviceIsAnErrorAndTheBatchStays) {
  if (HostRegistration::device(-1).has_value()) GTEST_SKIP() << "there is a device";
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(1, 4096, {.registration = Registration::off, .provider = {}}).value();
  Batch batch = test::batch_of(ring->acquire());
  const Result<void> released = batch.release(DeviceStream{});
  ASSERT_THAT(released, test::Fails(Errc::device_failed));
  EXPECT_EQ(batch.rows(), 1u);
  EXPECT_EQ(ring->held(), 1u);
  batch.release();
  EXPECT_NE(ring->acquire(), nullptr);
}

TEST(HostMemoryTest, SaysWhyItIsNotRegistered) {
  const HostMemory off = HostMemory::make(1 << 16, {.registration = Registration::off, .provider = {}}).value();
  EXPECT_FALSE(off.registered());
  EXPECT_FALSE(off.note().empty());
  const HostMemory preferred =
      HostMemory::make(1 << 16, {.registration = Registration::preferred, .provider = {}}).value();
  EXPECT_EQ(preferred.registered(), preferred.note().empty());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(preferred.bytes().data()) % 4096, 0u);
}

TEST(HostMemoryTest, RequiredRegistrationSucceedsOrIsAnError) {
  const Result<HostMemory> required =
      HostMemory::make(1 << 16, {.registration = Registration::required, .provider = {}});
  if (required.has_value()) {
    EXPECT_TRUE(required->registered());
  } else {
    EXPECT_THAT(required, test::Fails(Errc::registration_failed));
    EXPECT_FALSE(required.error().detail().empty());
  }
}

TEST(HostMemoryTest, RefusesNothingAndTheImpossible) {
  EXPECT_FALSE(HostMemory::make(0, {.registration = Registration::off, .provider = {}}).has_value());
  EXPECT_FALSE(HostMemory::make(SIZE_MAX, {.registration = Registration::off, .provider = {}}).has_value());
  EXPECT_FALSE(SlotRing::make(0, 4096, {.registration = Registration::off, .provider = {}}).has_value());
  EXPECT_FALSE(SlotRing::make(2, SIZE_MAX / 2 + 2, {.registration = Registration::off, .provider = {}}).has_value());
}

}  // namespace
}  // namespace dovetail::detail
