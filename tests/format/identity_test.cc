// SPDX-License-Identifier: Apache-2.0
#include <dovetail/identity.h>

#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

TEST(Hash128Test, WritesTheMostSignificantDigitFirst) {
  EXPECT_EQ((Hash128{0x0123456789ABCDEFull, 0xFEDCBA9876543210ull}).to_hex(), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ((Hash128{0, 1}).to_hex(), "00000000000000000000000000000001");
}

TEST(Hash128Test, ReadsWhatItWrites) {
  const Hash128 hash{0x8123456789ABCDEFull, 0xFEDCBA9876543210ull};
  EXPECT_EQ(Hash128::from_hex(hash.to_hex()).value(), hash);
  EXPECT_EQ(Hash128::from_hex("8123456789ABCDEFFEDCBA9876543210").value(), hash);
}

TEST(Hash128Test, AddsAndSubtractsModulo2To128) {
  const Hash128 most{~0ull, ~0ull};
  EXPECT_EQ(most + (Hash128{0, 1}), Hash128{});
  EXPECT_EQ(Hash128{} - (Hash128{0, 1}), most);
  EXPECT_EQ((Hash128{0, ~0ull}) + (Hash128{0, 1}), (Hash128{1, 0}));
}

TEST(DatasetIdTest, WritesTheFirstByteFirst) {
  DatasetId id;
  id.bytes[0] = 0xA1;
  id.bytes[15] = 0x0F;
  EXPECT_EQ(id.to_hex(), "a100000000000000000000000000000f");
  EXPECT_EQ(DatasetId::from_hex(id.to_hex()).value(), id);
}

TEST(DatasetIdTest, RefusesWhatIsNot32HexDigits) {
  for (const char* text : {"", "0", "a100000000000000000000000000000", "a100000000000000000000000000000f0",
                           "g100000000000000000000000000000f", "a10000000000000000000000000000 f"}) {
    EXPECT_THAT(DatasetId::from_hex(text), Fails(Errc::invalid_option)) << text;
    EXPECT_FALSE(Hash128::from_hex(text));
  }
}

TEST(DatasetIdTest, RandomIdsDiffer) {
  EXPECT_NE(DatasetId::random(), DatasetId::random());
}

}  // namespace
}  // namespace dovetail::test
