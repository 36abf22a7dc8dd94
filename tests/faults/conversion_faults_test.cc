// SPDX-License-Identifier: Apache-2.0
// Converting, merging, exporting, indexing and recovering while the n-th call of the system fails,
// or the process is killed there, for every n until a run passes untouched: what the undisturbed
// run makes, or what was there, after which the next run makes it.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_source.h>
#include <dovetail/recover.h>
#include <dovetail/tfrecord_export.h>
#include <dovetail/tfrecord_index.h>

#include "tests/faults/faulty_conversions.h"
#include "tests/faults/system_faults.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

class ConversionFaultsTest : public FaultyConversionTest {
 protected:
  using Convert = std::function<Result<void>()>;

  /// Whether files get their names together, or one by one; then partial ones that could not be
  /// removed stay.
  enum class Appears : bool { as_a_whole, file_by_file };

  /// Runs it undisturbed, and then with every fault; `begin` makes what is there before.
  void with_every_fault(
      const Convert& convert, const std::function<void()>& begin = [] {}, Appears appears = Appears::as_a_whole) {
    begin();
    convert().value();
    const Files expected = left();
    ASSERT_FALSE(expected.empty());
    const auto restart = [&] {
      fs::remove_all(out_);
      fs::remove_all(staged_);
      begin();
    };
    restart();
    const Files before = left();
    const auto work = [&] {
      const Result<void> done = convert();
      if (done) return true;
      EXPECT_FALSE(done.error().path().empty()) << done.error().to_string();
      return false;
    };
    const auto settle = [&](bool good, bool killed) {
      const Files now = visible(left());
      const bool whole = now == visible(expected) || (!good && now == visible(before));
      EXPECT_TRUE(whole || (!good && appears == Appears::file_by_file)) << ::testing::PrintToString(names_of(now));
      if (!whole) expect_files_of(before, expected, now);
      // What could not be removed goes with the next run. One that was killed may have done
      // everything.
      const bool done = left() == expected && !fs::exists(staged_);
      if (!done || (!good && !killed)) {
        const Result<void> again = convert();
        EXPECT_TRUE(again) << again.error().to_string();
        const bool may_stay = FaultAt::removal_failed() && appears == Appears::file_by_file;
        EXPECT_TRUE(may_stay ? visible(left()) == visible(expected) : left() == expected)
            << ::testing::PrintToString(names_of(left()));
        EXPECT_FALSE(fs::exists(staged_));
      }
      restart();
    };
    const std::uint64_t faults = test::with_every_fault(work, [&](bool good) { settle(good, false); });
    EXPECT_GT(faults, 30 / kFaultStep);
    count_faults(faults);
    if (appears == Appears::file_by_file) return;
    count_faults(with_every_kill(work, [&](bool ended) { settle(ended, !ended); }), "kills");
  }

  /// After an error: each file with a final name is the one that was there, or that should come.
  static void expect_files_of(const Files& before, const Files& expected, const Files& now) {
    for (const auto& file : now) {
      const auto is_in = [&file](const Files& files) {
        const auto found = files.find(file.first);
        return found != files.end() && found->second == file.second;
      };
      EXPECT_TRUE(is_in(before) || is_in(expected)) << file.first;
    }
  }

  Result<void> convert_all(const ConvertOptions& wanted) const { return outcome(convert(out_, wanted)); }
};

TEST_F(ConversionFaultsTest, TfrecordsBecomeTheDatasetOrAnError) {
  const ConvertOptions wanted = small({put_tfrecords(3, 12, 5)}, 3);
  with_every_fault([&] { return convert_all(wanted); });
}

TEST_F(ConversionFaultsTest, ADatasetReplacesAnotherOrDoesNot) {
  const ConvertOptions older = small({put("older.txt", "some\nthat\nwas\nthere\n")}, 4);
  ConvertOptions wanted = small({put_tfrecords(2, 12, 5)}, 2);
  wanted.writer.shard.overwrite = true;
  with_every_fault([&] { return convert_all(wanted); }, [&] { convert(out_, older).value(); });
}

TEST_F(ConversionFaultsTest, FilesBecomeTheDatasetOrAnError) {
  for (int i = 0; i < 6; ++i) put("tree/" + std::to_string(i % 2) + "/" + std::to_string(i), std::string(400, 'a'));
  ConvertOptions wanted = small({folder_ / "tree"}, 2);
  wanted.from = SourceFormat::folder;
  wanted.source.labels = true;
  with_every_fault([&] { return convert_all(wanted); });
}

TEST_F(ConversionFaultsTest, MembersOfTarsBecomeTheDatasetOrAnError) {
  std::vector<TarEntry> entries;
  for (int i = 0; i < 8; ++i) entries.push_back({std::to_string(i) + ".bin", std::string(700, static_cast<char>(i))});
  const std::string tar = tar_bytes(entries);
  const ConvertOptions wanted = small({put("a.tar", tar), put("b.tar.gz", gzip(tar))}, 2);
  with_every_fault([&] { return convert_all(wanted); });
}

TEST_F(ConversionFaultsTest, LinesBecomeTheDatasetOrAnError) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "line " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 50), '.') + '\n';
  const ConvertOptions wanted = small({put("a.txt", text), put("b.txt.gz", gzip(text))}, 3);
  with_every_fault([&] { return convert_all(wanted); });
}

TEST_F(ConversionFaultsTest, AShuffledSplitIsWholeOrAnError) {
  ConvertOptions wanted = small({put_tfrecords(2, 20, 6)}, 2);
  wanted.shuffle_seed = 3;
  wanted.memory_bytes = 4 << 20;
  wanted.split = {{"train", 0.7}, {"val", 0.3}};
  with_every_fault([&] { return convert_all(wanted); });
}

TEST_F(ConversionFaultsTest, ASplitReplacesWhatWasThereAsAWhole) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "older " + std::to_string(i) + '\n';
  ConvertOptions older = small({put("older.txt", lines)}, 3);
  ConvertOptions wanted = small({put_tfrecords(2, 12, 6)}, 2);
  wanted.split = {{"train", 0.6}, {"val", 0.4}};
  wanted.writer.shard.overwrite = true;
  for (const bool split : {false, true}) {
    if (split) older.split = wanted.split;
    fs::remove_all(out_);
    with_every_fault([&] { return convert_all(wanted); }, [&] { convert(out_, older).value(); });
  }
}

TEST_F(ConversionFaultsTest, PartsAndTheirMergingAreWholeOrAnError) {
  const ConvertOptions wanted = small({put_tfrecords(2, 12, 7)}, 3);
  with_every_fault([&]() -> Result<void> {
    for (std::uint32_t part = 0; part < 2; ++part) {
      ConvertOptions own = wanted;
      own.part = ConvertPart{part, 2};
      const auto converted = convert(out_, own);
      // Where only removing what is merged was disturbed, merging again does that.
      if (!converted && !(converted.error().is(Errc::already_exists) && Dataset::open(out_))) return converted.error();
    }
    const auto merged = merge(out_);
    if (!merged && merged.error().is(Errc::empty_input) && Dataset::open(out_)) return {};
    return outcome(merged);
  });
}

TEST_F(ConversionFaultsTest, AnExportIsWholeOrNotThere) {
  convert(folder_ / "data", small({put_tfrecords(2, 20, 8)}, 3)).value();
  for (const TfrecordCompression compression : {TfrecordCompression::none, TfrecordCompression::gzip}) {
    TfrecordExportOptions wanted{.sources = {folder_ / "data"}, .compression = compression};
    wanted.jobs = 2;
    wanted.overwrite = true;
    with_every_fault([&] { return outcome(export_tfrecords(out_, wanted)); }, [] {}, Appears::file_by_file);
  }
}

TEST_F(ConversionFaultsTest, AnExportReplacesAnotherAndNeverStandsBesideIt) {
  convert(folder_ / "data", small({put_tfrecords(2, 20, 8)}, 3)).value();
  convert(folder_ / "older", small({put("older.txt", "some\nthat\nwere\nthere\n")}, 3)).value();
  const auto begin = [&] { export_tfrecords(out_, {.sources = {folder_ / "older"}}).value(); };
  begin();
  const Files older = left();
  fs::remove_all(out_);
  with_every_fault(
      [&] {
        const auto exported = export_tfrecords(out_, {.sources = {folder_ / "data"}, .overwrite = true, .jobs = 2});
        const Files now = visible(left());
        const auto is_old = [&](const auto& file) { return older.at(file.first) == file.second; };
        const auto old = std::count_if(now.begin(), now.end(), is_old);
        EXPECT_TRUE(old == 0 || static_cast<std::size_t>(old) == now.size()) << "old files between new ones";
        if (now.size() != older.size()) {
          EXPECT_FALSE(RecordSource::open(out_)) << "some are missing, and nothing says so";
        }
        return outcome(exported);
      },
      begin, Appears::file_by_file);
}

TEST_F(ConversionFaultsTest, AnIndexIsWholeOrNotThere) {
  const std::string records = tfrecord_bytes(sample_records(60, 500, 9));
  const auto begin = [&] { put("out/a.tfrecord", records); };
  TfrecordIndexOptions wanted;
  wanted.block_bytes = 1024;
  with_every_fault([&] { return outcome(index_tfrecord(out_ + "/a.tfrecord", wanted)); }, begin, Appears::file_by_file);
  // The one for DALI comes last, and elsewhere, so that what is beside the file is as above.
  fs::create_directory(folder_ / "elsewhere");
  wanted.write_dali_index = folder_ / "elsewhere/a.idx";
  with_every_fault(
      [&] {
        fs::remove(*wanted.write_dali_index);
        const auto indexed = index_tfrecord(out_ + "/a.tfrecord", wanted);
        EXPECT_TRUE(!indexed || fs::exists(*wanted.write_dali_index));
        return outcome(indexed);
      },
      begin, Appears::file_by_file);
}

}  // namespace
}  // namespace dovetail::test
