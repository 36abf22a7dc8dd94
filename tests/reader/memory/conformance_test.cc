// SPDX-License-Identifier: Apache-2.0
// What holds for the memory of slots wherever it comes from. Built twice: against the CUDA runtime,
// where a device may be missing, and against one that is emulated.

#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/batch_reader.h>

#include "reader/memory/host_memory.h"
#include "reader/memory/host_registration.h"
#include "reader/memory/slot_ring.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/reader/memory/batch_of.h"
#include "tests/support/fails.h"

namespace dovetail::detail {
namespace {

enum class Kind { pageable, registered, provided, provided_registered };

void PrintTo(Kind kind, std::ostream* out) {
  const char* const names[] = {"pageable", "registered", "provided", "provided_registered"};
  *out << names[static_cast<int>(kind)];
}

/// Memory as a framework would pin it.
class Framework {
 public:
  explicit Framework(bool pins) : pins_(pins) {}

  Result<SlotMemory> give(std::size_t bytes) {
    bytes_ = (bytes + 4095) / 4096 * 4096;
    void* const mapping = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return Error::from_errno(errno, "mmap");
    begin_ = static_cast<std::byte*>(mapping);
    if (pins_) pin_ = HostRegistration::make({begin_, bytes_}, HostRegistration::device(-1).value()).value();
    ++given_;
    return SlotMemory{.bytes = {begin_, bytes_}, .owner = std::shared_ptr<void>(begin_, [this](void*) { ++let_go_; })};
  }
  ~Framework() {
    if (begin_ != nullptr && pin_.unregister()) ::munmap(begin_, bytes_);
  }

  bool still_pinned() const { return HostRegistration::is_page_locked({begin_, bytes_}); }
  int given() const { return given_; }
  int let_go() const { return let_go_; }

 private:
  bool pins_;
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  HostRegistration pin_;
  int given_ = 0;
  int let_go_ = 0;
};

class MemoryConformanceTest : public test::SampleReaderTest, public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    const Result<RegistrationDevice> device = HostRegistration::device(-1);
    if (page_locked() && !device.has_value()) GTEST_SKIP() << device.error().to_string();
  }

  bool provided() const { return GetParam() == Kind::provided || GetParam() == Kind::provided_registered; }
  bool page_locked() const { return GetParam() == Kind::registered || GetParam() == Kind::provided_registered; }
  Registration registration() const {
    return page_locked() ? Registration::required : provided() ? Registration::preferred : Registration::off;
  }
  SlotMemoryProvider provider() {
    if (!provided()) return {};
    return [this](std::size_t bytes) { return framework_.give(bytes); };
  }
  HostMemoryOptions memory() { return {.registration = registration(), .provider = provider(), .threads = 3}; }

  Framework framework_{page_locked()};
};

TEST_P(MemoryConformanceTest, SaysWhatItIsAndWhy) {
  const std::shared_ptr<SlotRing> ring = SlotRing::make(3, 8192, memory()).value();
  EXPECT_EQ(ring->registered(), page_locked());
  EXPECT_EQ(ring->memory().provided(), provided());
  EXPECT_EQ(ring->memory().note().empty(), page_locked()) << ring->memory().note();
  EXPECT_EQ(HostRegistration::is_page_locked(ring->memory().bytes()), page_locked());
  EXPECT_EQ(ring->memory().registration_time().count() > 0, GetParam() == Kind::registered);
}

TEST_P(MemoryConformanceTest, EverySlotIsWritableAndAlignedAndOfItsOwn) {
  constexpr std::size_t kSlotBytes = 40960;
  const std::shared_ptr<SlotRing> ring = SlotRing::make(5, kSlotBytes, memory()).value();
  std::vector<std::shared_ptr<SlotLease>> leases;
  while (std::shared_ptr<SlotLease> lease = ring->acquire()) {
    ASSERT_EQ(lease->bytes().size(), kSlotBytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lease->bytes().data()) % SlabLayout::kAlignment, 0u);
    EXPECT_EQ(lease->registered(), page_locked());
    std::memset(lease->bytes().data(), static_cast<int>(leases.size()) + 1, kSlotBytes);
    leases.push_back(std::move(lease));
  }
  ASSERT_EQ(leases.size(), 5u);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    for (const std::byte byte : leases[i]->bytes()) ASSERT_EQ(byte, static_cast<std::byte>(i + 1));
  }
}

TEST_P(MemoryConformanceTest, LivesAsLongAsTheLastBatchAndThenGoesBack) {
  std::shared_ptr<SlotRing> ring = SlotRing::make(2, 4096, memory()).value();
  std::shared_ptr<SlotLease> lease = ring->acquire();
  std::memset(lease->bytes().data(), 7, 4096);
  std::optional<Batch> batch = test::batch_of(std::move(lease));
  const std::weak_ptr<SlotRing> alive = ring;
  ring.reset();
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(batch->registered(), page_locked());
  EXPECT_EQ(framework_.let_go(), 0);
  batch.reset();
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(framework_.given(), provided() ? 1 : 0);
  EXPECT_EQ(framework_.let_go(), provided() ? 1 : 0);
  if (GetParam() == Kind::provided_registered) {
    EXPECT_TRUE(framework_.still_pinned()) << "what the caller registered is the caller's to unregister";
  }
}

TEST_P(MemoryConformanceTest, SpilledMemoryIsPlain) {
  const std::shared_ptr<SlotRing> ring = SlotRing::make(1, 4096, memory()).value();
  const std::shared_ptr<SlotLease> lease = ring->acquire();
  const std::shared_ptr<SlotLease> larger = ring->spill(*lease, 1 << 20).value();
  EXPECT_FALSE(larger->registered());
  EXPECT_FALSE(HostRegistration::is_page_locked(larger->bytes()));
}

TEST_P(MemoryConformanceTest, AReaderDeliversTheSame) {
  for (const HugePages pages : {HugePages::automatic, HugePages::on, HugePages::off}) {
    ReaderOptions options = SampleReaderTest::options(0, 1, 32);
    options.registration = Registration::off;
    BatchReader plain = BatchReader::open(dataset(), options).value();
    options.registration = registration();
    options.slot_memory = provider();
    options.huge_pages = pages;
    BatchReader reader = BatchReader::open(dataset(), options).value();
    EXPECT_EQ(reader.registered(), page_locked());
    EXPECT_EQ(test::read_epoch(reader, test::kSampleShape), test::read_epoch(plain, test::kSampleShape));
    const ReaderStats stats = reader.stats();
    EXPECT_EQ(stats.registered, page_locked());
    EXPECT_EQ(stats.provided_memory, provided());
    EXPECT_EQ(stats.registration_note.empty(), page_locked());
  }
}

TEST_P(MemoryConformanceTest, AFallbackIsLoggedInOneLine) {
  ReaderOptions options = SampleReaderTest::options(0, 1, 32);
  std::vector<std::string> lines;
  options.log = [&](std::string_view line) { lines.emplace_back(line); };
  options.registration = GetParam() == Kind::pageable ? Registration::off : Registration::preferred;
  options.slot_memory = provider();
  const BatchReader reader = BatchReader::open(dataset(), options).value();
  // Where there is no device, nobody misses its memory.
  const bool misses = GetParam() == Kind::provided && HostRegistration::device(-1).has_value();
  ASSERT_EQ(lines.size(), misses ? 1u : 0u);
  if (!lines.empty()) {
    EXPECT_NE(lines[0].find(reader.stats().registration_note), std::string::npos) << lines[0];
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, MemoryConformanceTest,
                         ::testing::Values(Kind::pageable, Kind::registered, Kind::provided, Kind::provided_registered),
                         ::testing::PrintToStringParamName());

HostMemoryOptions provided_by(SlotMemoryProvider provider, Registration registration = Registration::preferred) {
  return {.registration = registration, .provider = std::move(provider)};
}

TEST(ProvidedMemoryTest, MustBeLargeEnoughAndAligned) {
  alignas(4096) static std::byte memory[3 * 4096];
  const auto given = [](std::size_t at, std::size_t bytes) {
    return provided_by([=](std::size_t) { return SlotMemory{.bytes = {memory + at, bytes}, .owner = {}}; });
  };
  EXPECT_TRUE(HostMemory::make(8192, given(0, 8192)).has_value());
  EXPECT_TRUE(HostMemory::make(8192, given(256, 8192)).has_value());
  EXPECT_THAT(HostMemory::make(8192, given(0, 8191)), test::Fails(Errc::invalid_option));
  EXPECT_THAT(HostMemory::make(8192, given(64, 8192)), test::Fails(Errc::invalid_option));
}

TEST(ProvidedMemoryTest, ARefusalIsTheReadersError) {
  const auto refuses = [](std::size_t) -> Result<SlotMemory> { return Error(Errc::resource_limit, "no more pins"); };
  EXPECT_EQ(HostMemory::make(4096, provided_by(refuses)).error().detail(), "no more pins");
}

TEST(ProvidedMemoryTest, AnExceptionOfTheProviderIsAnErrorWithItsText) {
  const auto throws = [](std::size_t) -> Result<SlotMemory> { throw std::runtime_error("no more pins"); };
  const Result<HostMemory> refused = HostMemory::make(4096, provided_by(throws));
  ASSERT_THAT(refused, test::Fails(Errc::registration_failed));
  EXPECT_EQ(refused.error().detail(), "slot_memory threw: no more pins");
}

TEST(ProvidedMemoryTest, AnErrorThatTheProviderThrowsIsTheReadersError) {
  const auto throws = [](std::size_t) -> Result<SlotMemory> {
    throw Exception(Error(Errc::resource_limit, "no more pins"));
  };
  EXPECT_THAT(HostMemory::make(4096, provided_by(throws)), test::Fails(Errc::resource_limit));
}

TEST(ProvidedMemoryTest, LackOfMemoryOfTheProviderIsThatOfTheReader) {
  const auto throws = [](std::size_t) -> Result<SlotMemory> { throw std::bad_alloc(); };
  EXPECT_THROW((void)HostMemory::make(4096, provided_by(throws)), std::bad_alloc);
}

TEST(ProvidedMemoryTest, MustBeKnownToCudaWhereThatIsRequired) {
  alignas(4096) static std::byte memory[4096];
  const auto plain = [](std::size_t) -> Result<SlotMemory> { return SlotMemory{.bytes = memory, .owner = {}}; };
  const Result<HostMemory> required = HostMemory::make(4096, provided_by(plain, Registration::required));
  ASSERT_THAT(required, test::Fails(Errc::registration_failed));
  EXPECT_FALSE(required.error().detail().empty());
}

}  // namespace
}  // namespace dovetail::detail
