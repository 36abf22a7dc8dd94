// SPDX-License-Identifier: Apache-2.0
// Converting and recovering while the n-th allocation fails, or all from there on, for every n
// until a run passes untouched: the undisturbed files, or an error after which the next run makes
// them.
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <future>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <dovetail/record_reader.h>
#include <dovetail/recover.h>

#include "tests/faults/failing_memory.h"
#include "tests/faults/faulty_conversions.h"

namespace {
std::atomic<bool> has_no_decoders = false;
}

// In place of the library's.
extern "C" ZSTD_DCtx* ZSTD_createDCtx() {
  return has_no_decoders ? nullptr : ZSTD_createDStream();
}

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

class ConversionMemoryTest : public test::FaultyConversionTest {
 protected:
  ConvertOptions small() { return FaultyConversionTest::small({put_tfrecords(2, 6, 5)}, 2); }
};

TEST_F(ConversionMemoryTest, AConversionIsWholeOrAnErrorAfterWhichItIs) {
  const ConvertOptions wanted = small();
  convert(out_, wanted).value();
  const Files expected = left();
  fs::remove_all(out_);
  with_every_failure([&] { return outcome(convert(out_, wanted)); },
                     [&](bool good) {
                       EXPECT_TRUE(visible(left()) == (good || fs::exists(out_) ? expected : Files()))
                           << ::testing::PrintToString(names_of(left()));
                       if (!good || left() != expected) {
                         const auto again = convert(out_, wanted);
                         EXPECT_TRUE(again) << again.error().to_string();
                       }
                       EXPECT_TRUE(left() == expected) << ::testing::PrintToString(names_of(left()));
                       EXPECT_FALSE(fs::exists(staged_));
                       fs::remove_all(out_);
                     });
}

TEST_F(ConversionMemoryTest, ARecoveryIsWholeOrNotThere) {
  convert(folder_ / "data", small()).value();
  const std::string damaged = folder_ / "data/shard-000001.dvt";
  Bytes bytes = read_file(damaged);
  bytes[bytes.size() / 2] ^= std::byte{1};
  write_file(damaged, as_chars(bytes));
  const std::string source = folder_ / "data";
  RecoverOptions wanted;
  wanted.dataset_id = sample_dataset_id();
  recover(source, out_, wanted).value();
  const Files expected = left();
  fs::remove_all(out_);
  with_every_failure([&] { return outcome(recover(source, out_, wanted)); },
                     [&](bool good) {
                       EXPECT_TRUE(visible(left()) == (good || fs::exists(out_) ? expected : Files()))
                           << ::testing::PrintToString(names_of(left()));
                       // What could not be removed without memory goes with the next one.
                       wanted.overwrite = true;
                       EXPECT_TRUE(recover(source, out_, wanted));
                       wanted.overwrite = false;
                       EXPECT_TRUE(left() == expected) << ::testing::PrintToString(names_of(left()));
                       EXPECT_FALSE(fs::exists(staged_));
                       fs::remove_all(out_);
                     });
}

TEST_F(ConversionMemoryTest, RecoveryDoesNotTakeAMissingDecoderForDamage) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "line " + std::to_string(i) + '\n';
  ConvertOptions wanted = options({put("a.txt", lines)}, 1);
  wanted.writer.shard.codec = Codec::zstd;
  const std::string source = folder_ / "data";
  convert(source, wanted).value();
  const auto on_new_thread = [&] {
    return std::async(std::launch::async, [&] { return recover(source, out_); }).get();
  };
  has_no_decoders = true;
  const Result<RecoverReport> refused = on_new_thread();
  has_no_decoders = false;
  ASSERT_FALSE(refused) << refused->lost_records << " records lost";
  EXPECT_EQ(refused.error().code().value(), ENOMEM) << refused.error().to_string();
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_EQ(on_new_thread().value().shards.at(0).records, 100u);
}

}  // namespace
}  // namespace dovetail::test
