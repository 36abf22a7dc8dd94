// SPDX-License-Identifier: Apache-2.0
#include "format/crc32c/crc32c.h"

#include <cctype>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

#include <gtest/gtest.h>

#include "format/crc32c/crc32c_backends.h"
#include "tests/support/sample_records.h"

namespace dovetail::format {
namespace {

std::vector<Crc32cBackend> usable_backends() {
  const Crc32cBackends all = crc32c_usable_backends();
  return {all.items, all.items + all.count};
}

std::uint32_t crc_with(const Crc32cBackend& backend, ByteView bytes, std::uint32_t before = 0) {
  return ~backend.update(~before, bytes.data(), bytes.size());
}

/// Every back end must give the same answers.
class Crc32cBackendTest : public ::testing::TestWithParam<Crc32cBackend> {};

TEST_P(Crc32cBackendTest, GivesThePublishedValues) {
  std::string ascending(32, '\0');
  std::iota(ascending.begin(), ascending.end(), '\0');
  const std::string descending(ascending.rbegin(), ascending.rend());
  const struct {
    std::string bytes;
    std::uint32_t crc;
  } vectors[] = {
      // RFC 3720, section B.4
      {std::string(32, '\0'), 0x8A9136AAu},
      {std::string(32, '\xFF'), 0x62A8AB43u},
      {ascending, 0x46DD794Eu},
      {descending, 0x113FDB5Cu},
      {"123456789", 0xE3069283u},
      {"", 0},
  };
  for (const auto& vector : vectors) EXPECT_EQ(crc_with(GetParam(), as_bytes(vector.bytes)), vector.crc);
}

TEST_P(Crc32cBackendTest, AgreesWithThePortableCodeAtEveryLengthAndAlignment) {
  const std::string text = test::noise(600 + 64, 1);
  for (const std::size_t start : {0u, 1u, 3u, 7u, 8u, 13u, 63u}) {
    for (std::size_t size = 0; size <= 600; ++size) {
      const ByteView bytes = as_bytes(text).subspan(start, size);
      ASSERT_EQ(GetParam().update(0x12345678u, bytes.data(), size), crc32c_portable(0x12345678u, bytes.data(), size))
          << "start " << start << ", size " << size;
    }
  }
}

TEST_P(Crc32cBackendTest, AgreesWithThePortableCodeOnLongInput) {
  const std::string text = test::noise((1 << 20) + 5, 2);
  EXPECT_EQ(crc_with(GetParam(), as_bytes(text)), crc_with({"", crc32c_portable}, as_bytes(text)));
}

TEST_P(Crc32cBackendTest, ContinuesFromEverySplit) {
  const std::string text = test::noise(700, 3);
  const std::uint32_t whole = crc_with(GetParam(), as_bytes(text));
  for (std::size_t split = 0; split <= text.size(); ++split) {
    const std::uint32_t left = crc_with(GetParam(), as_bytes(text).first(split));
    ASSERT_EQ(crc_with(GetParam(), as_bytes(text).subspan(split), left), whole) << "split at " << split;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Crc32cBackendTest, ::testing::ValuesIn(usable_backends()), [](const auto& instance) {
  std::string name;
  for (const char c : std::string_view(instance.param.name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
});

TEST(Crc32cTest, IsTheSameWhicheverBackEndsItUses) {
  const std::string text = test::noise(2 * kCrc32cLargeBytes, 4);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const ByteView bytes = as_bytes(text).first(size);
    ASSERT_EQ(crc32c(bytes), crc_with({"", crc32c_portable}, bytes));
    ASSERT_EQ(crc32c(as_bytes(text).subspan(size), crc32c(bytes)), crc32c(as_bytes(text)));
  }
}

TEST(Crc32cTest, TakesTheFastPathWhereTheProcessorHasIt) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") == 0) GTEST_SKIP() << "this processor has no SSE4.2";
  Crc32cUpdate* const native = &crc32c_sse42;
#elif defined(__aarch64__)
  if ((::getauxval(AT_HWCAP) & HWCAP_CRC32) == 0) GTEST_SKIP() << "this processor has no CRC32 instructions";
  Crc32cUpdate* const native = &crc32c_armv8;
#endif
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_EQ(crc32c_choice().small.update, native);
#if defined(DOVETAIL_TEST_HAS_ISAL)
  EXPECT_EQ(crc32c_choice().large.update, &crc32c_isal);
#else
  EXPECT_EQ(crc32c_choice().large.update, native);
#endif
#else
  GTEST_SKIP() << "only x86-64 and Arm have a fast path of ours";
#endif
}

#if defined(__x86_64__)
// Whether the upper halves of the vector registers are in use, where the processor tells.
bool tells_registers_in_use() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __builtin_cpu_supports("avx") != 0 && __get_cpuid_count(0xD, 1, &eax, &ebx, &ecx, &edx) != 0 &&
         (eax & (1u << 2)) != 0;
}
bool upper_halves_in_use() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & (1u << 2)) != 0;
}
void use_upper_halves() {
  __asm__ volatile("vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n\tvinsertf128 $1, %%xmm0, %%ymm0, %%ymm0" ::: "xmm0");
}
void clear_upper_halves() {
  __asm__ volatile("vzeroupper");
}
#endif

// SSE instructions that follow would be slow.
TEST_P(Crc32cBackendTest, LeavesTheUpperHalvesOfVectorRegistersClear) {
#if defined(__x86_64__)
  if (!tells_registers_in_use()) GTEST_SKIP() << "this processor does not tell which registers are in use";
  clear_upper_halves();
  if (upper_halves_in_use()) GTEST_SKIP() << "this processor calls cleared registers used";
  const std::string text = test::noise(1 << 16, 6);
  use_upper_halves();
  const bool seen = upper_halves_in_use();
  clear_upper_halves();
  (void)GetParam().update(0, as_bytes(text).data(), text.size());
  const bool used = upper_halves_in_use();
  EXPECT_TRUE(seen);
  EXPECT_FALSE(used);
#else
  GTEST_SKIP() << "only x86-64 has this penalty";
#endif
}

TEST(MaskedCrcTest, UnmaskingUndoesMasking) {
  // The masked CRC of "123456789", as TFRecord stores it.
  EXPECT_EQ(mask_crc(0xE3069283u), 0xC78AB0E5u);
  test::Draws draws(5);
  for (int i = 0; i < 1000; ++i) {
    const auto crc = static_cast<std::uint32_t>(draws.next());
    ASSERT_EQ(unmask_crc(mask_crc(crc)), crc);
  }
}

}  // namespace
}  // namespace dovetail::format
