// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <vector>

#include "reader/memory/pages.h"
#include "tests/support/advice.h"

namespace dovetail::detail {
namespace {

/// A fresh anonymous mapping.
class Mapping {
 public:
  explicit Mapping(std::size_t bytes) : bytes_(bytes) {
    begin_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  ~Mapping() { ::munmap(begin_, bytes_); }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(begin_), bytes_}; }

  std::size_t resident_pages() const {
    std::vector<unsigned char> pages(bytes_ / 4096);
    if (::mincore(begin_, bytes_, pages.data()) != 0) return 0;
    std::size_t resident = 0;
    for (const unsigned char page : pages) resident += page & 1u;
    return resident;
  }

 private:
  void* begin_;
  std::size_t bytes_;
};

TEST(PopulateTest, GivesEveryPageAndKeepsWhatIsThere) {
  if (test::takes_any_advice()) GTEST_SKIP() << "advice about memory is not followed here";
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{16} << 20, (std::size_t{40} << 20) + 4096}) {
    for (const unsigned threads : {1u, 4u}) {
      const Mapping mapping(bytes);
      mapping.bytes()[bytes - 1] = std::byte{42};
      ASSERT_TRUE(populate(mapping.bytes(), threads).has_value());
      EXPECT_EQ(mapping.resident_pages(), bytes / 4096);
      EXPECT_EQ(mapping.bytes()[bytes - 1], std::byte{42});
      EXPECT_EQ(mapping.bytes()[0], std::byte{0});
    }
  }
}

TEST(NumaTest, KnowsNoNodeOfADeviceThatIsNotThere) {
  EXPECT_EQ(numa_node_of_pci("ffff:ff:1f.7"), std::nullopt);
  EXPECT_EQ(numa_node_of_pci(""), std::nullopt);
}

TEST(NumaTest, PrefersANodeForARange) {
  const Mapping mapping(1 << 20);
  const Result<void> preferred = prefer_numa_node(mapping.bytes(), 0);
  if (!preferred.has_value()) GTEST_SKIP() << preferred.error().to_string();
  int policy = -1;
  unsigned long nodes[16] = {};
  ASSERT_EQ(::syscall(SYS_get_mempolicy, &policy, nodes, sizeof(nodes) * 8, mapping.bytes().data(), MPOL_F_ADDR), 0);
  EXPECT_EQ(policy, MPOL_PREFERRED);
  EXPECT_EQ(nodes[0], 1u);
  std::memset(mapping.bytes().data(), 1, mapping.bytes().size());
}

TEST(NumaTest, RefusesNodesThatAreNotThere) {
  const Mapping mapping(4096);
  EXPECT_FALSE(prefer_numa_node(mapping.bytes(), -1).has_value());
  EXPECT_FALSE(prefer_numa_node(mapping.bytes(), 1000).has_value());
}

}  // namespace
}  // namespace dovetail::detail
