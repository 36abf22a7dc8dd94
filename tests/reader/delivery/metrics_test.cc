// SPDX-License-Identifier: Apache-2.0
// `ReaderOptions::metrics`: a Prometheus textfile that the reader keeps up to date.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/use_future.hpp>

#include <dovetail/batch_reader.h>

#include "reader/trace/metrics_file.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/as_nobody.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using detail::MetricsFile;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Samples by their names and labels; an empty map for a text that is not whole.
std::map<std::string, double> samples_of(const std::string& path) {
  std::map<std::string, double> samples;
  std::istringstream lines(text_of(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t space = line.rfind(' ');
    EXPECT_NE(space, line.npos) << line;
    samples[line.substr(0, space)] = std::stod(line.substr(space + 1));
  }
  // The last line of all.
  return samples.empty() || lines.str().find("dovetail_reader_info{") == std::string::npos ||
                 !lines.str().ends_with('\n')
             ? std::map<std::string, double>()
             : samples;
}

double batches_in(const std::string& path, const std::string& labels = "rank=\"0\",world=\"1\"") {
  const auto samples = samples_of(path);
  const auto found = samples.find("dovetail_reader_batches_total{" + labels + '}');
  return found == samples.end() ? -1 : found->second;
}

class MetricsTest : public test::SampleReaderTest {
 protected:
  ReaderOptions options(std::uint32_t rank = 0, std::uint32_t world = 1) const {
    ReaderOptions options = SampleReaderTest::options(rank, world, 16);
    options.metrics = path();
    options.epochs = 2;
    return options;
  }
  std::string path(const std::string& name = "reader.prom") const { return own_.path(name); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(own_.path()), fs::directory_iterator()));
  }

 private:
  TempFolder own_;
};

TEST_F(MetricsTest, TheFileHasTheLabelsOfTheRankAndIsReadableForTheExporter) {
  BatchReader reader = BatchReader::open(dataset(), options(1, 3)).value();
  EXPECT_EQ(batches_in(path(), "rank=\"1\",world=\"3\""), 0) << "from the beginning";
  struct stat found {};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0644u);
}

TEST_F(MetricsTest, TheEndOfAnEpochAndStoppingWriteTheStatistics) {
  BatchReader reader = BatchReader::open(dataset(), options()).value();
  const auto steps = static_cast<double>(reader.steps(0).value());
  while (reader.next().value().has_value()) EXPECT_EQ(batches_in(path()), 0) << "15 s have not passed";
  EXPECT_EQ(batches_in(path()), steps);
  ASSERT_TRUE(reader.next().value().has_value());
  EXPECT_EQ(batches_in(path()), steps);
  reader.stop();
  const ReaderStats stats = reader.stats();
  const auto samples = samples_of(path());
  const std::string labels = "rank=\"0\",world=\"1\"";
  EXPECT_EQ(samples.at("dovetail_reader_batches_total{" + labels + '}'), static_cast<double>(stats.batches));
  EXPECT_EQ(samples.at("dovetail_reader_delivered_bytes_total{" + labels + '}'), static_cast<double>(stats.bytes));
  EXPECT_EQ(samples.at("dovetail_reader_reads_total{" + labels + '}'), static_cast<double>(stats.reads));
  EXPECT_EQ(samples.at("dovetail_reader_rows_total{" + labels + ",status=\"first\"}"),
            static_cast<double>(stats.rows_first));
  EXPECT_EQ(files(), 1u) << "nothing is left beside it";
}

TEST_F(MetricsTest, AnEpochThatIsReadAsynchronouslyWritesThemBeforeItsEndIsToldAndADestroyedReaderToo) {
  std::optional<BatchReader> reader = BatchReader::open(dataset(), options()).value();
  const auto steps = static_cast<double>(reader->steps(0).value());
  while (reader->async_next(boost::asio::use_future).get().has_value()) continue;
  EXPECT_EQ(batches_in(path()), steps);
  ASSERT_TRUE(reader->async_next(boost::asio::use_future).get().has_value());
  reader.reset();
  EXPECT_EQ(batches_in(path()), steps + 1);
}

TEST_F(MetricsTest, TheFileIsReplacedAndNeverSeenInPart) {
  ReaderOptions options = this->options();
  options.epochs = 0;
  BatchReader reader = BatchReader::open(dataset(), options).value();
  const int before = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(before, 0);
  std::atomic<bool> done = false;
  std::thread scrape([&] {
    while (!done) EXPECT_GE(batches_in(path()), 0);
  });
  for (int ends = 0; ends < 100;) ends += reader.next().value().has_value() ? 0 : 1;
  done = true;
  scrape.join();
  struct stat old {};
  ASSERT_EQ(::fstat(before, &old), 0);
  ::close(before);
  EXPECT_EQ(old.st_nlink, 0u) << "a scrape that has begun keeps the file that it has opened";
}

TEST_F(MetricsTest, ARelativePathIsOfTheFolderWhereTheReaderIsOpened) {
  const fs::path before = fs::current_path();
  ReaderOptions options = this->options();
  options.metrics = "reader.prom";
  fs::current_path(fs::path(path()).parent_path());
  std::optional<BatchReader> reader = BatchReader::open(dataset(), options).value();
  fs::current_path(before);
  ASSERT_TRUE(reader->next().value().has_value());
  reader.reset();
  EXPECT_EQ(batches_in(path()), 1);
}

TEST_F(MetricsTest, AFileThatCannotBeWrittenIsAnErrorOfOpen) {
  ReaderOptions options = this->options();
  options.metrics = path("missing/reader.prom");
  EXPECT_THAT(BatchReader::open(dataset(), options), Fails().in(options.metrics));

  fs::create_directory(path("locked"));
  options.metrics = path("locked/reader.prom");
  fs::permissions(path("locked").substr(0, path("locked").rfind('/')), fs::perms::others_exec, fs::perm_options::add);
  const FolderPermissions locked(path("locked"), kAllMayRead | kAllMaySearch);
  const AsNobody nobody;
  if (nobody.may(path("locked"), W_OK)) GTEST_SKIP() << "this process may write everywhere";
  const Error refused = BatchReader::open(dataset(), options).error();
  EXPECT_EQ(refused.path(), options.metrics);
  EXPECT_EQ(refused.code(), boost::system::errc::permission_denied) << refused.to_string();
}

TEST_F(MetricsTest, WhatIsNoFileOfMetricsIsNeverReplaced) {
  std::ofstream(path("notes")) << "mine, and longer than what is compared";
  std::ofstream(path("short")) << "mine";
  fs::create_symlink("notes", path("link"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& name : {path("notes"), path("short"), path("link"), path("pipe"), path(".")}) {
    ReaderOptions options = this->options();
    options.metrics = name;
    const Result<BatchReader> opened = BatchReader::open(dataset(), options);
    ASSERT_THAT(opened, Fails(Errc::already_exists)) << name;
  }
  EXPECT_EQ(text_of(path("short")), "mine");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  std::ofstream(path("empty")).close();
  for (int time = 0; time < 2; ++time) {  // the second finds what the first has written
    ReaderOptions options = this->options();
    options.metrics = path("empty");
    EXPECT_TRUE(BatchReader::open(dataset(), options).has_value());
  }
}

TEST_F(MetricsTest, AFileThatCannotBeWrittenLaterIsOneWarning) {
  std::mutex mutex;
  std::vector<std::string> log;
  ReaderOptions options = this->options();
  fs::create_directory(path("gone"));
  options.metrics = path("gone/reader.prom");
  options.registration = Registration::off;
  options.log = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    log.emplace_back(line);
  };
  BatchReader reader = BatchReader::open(dataset(), options).value();
  fs::remove_all(path("gone"));
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (reader.next().value().has_value()) continue;
  }
  reader.stop();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_NE(log[0].find("the metrics of the reader are not written: " + options.metrics), log[0].npos) << log[0];
}

TEST_F(MetricsTest, AFileOfAnotherRankIsOneWarning) {
  std::mutex mutex;
  std::vector<std::string> log;
  const auto open = [&](std::uint32_t rank) {
    ReaderOptions options = this->options(rank, 2);
    options.registration = Registration::off;
    options.log = [&](std::string_view line) {
      const std::lock_guard lock(mutex);
      log.emplace_back(line);
    };
    return BatchReader::open(dataset(), options).value();
  };
  open(0).stop();
  open(1).stop();
  EXPECT_TRUE(log.empty()) << "the file of a run before, of any rank";
  BatchReader first = open(0);
  BatchReader second = open(1);
  while (first.next().value().has_value()) continue;
  while (second.next().value().has_value()) continue;
  first.stop();
  second.stop();
  const std::string begin = path() + ": rank ";
  const std::string end = "; give each rank its own file";
  EXPECT_EQ(log, (std::vector{begin + "0 replaces the metrics of rank 1" + end,
                              begin + "1 replaces the metrics of rank 0" + end}))
      << "one of each reader";
}

TEST_F(MetricsTest, AForkedChildWritesNothing) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not follow a process with threads into a fork";
  std::optional<BatchReader> reader = BatchReader::open(dataset(), options()).value();
  ASSERT_TRUE(reader->next().value().has_value());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    (void)reader->next();
    reader->stop();
    reader.reset();
    ::_exit(0);
  }
  int status = 1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(batches_in(path()), 0);
  reader.reset();
  EXPECT_EQ(batches_in(path()), 1);
}

TEST_F(MetricsTest, ABatchWritesThemOnceTheIntervalHasPassed) {
  ReaderStats stats;
  MetricsFile file(options(), [&] { return stats; });
  file.write();
  EXPECT_FALSE(fs::exists(path())) << "not before it has begun";
  ASSERT_TRUE(file.begin().has_value());
  MetricsFile::Clock::time_point now = MetricsFile::Clock::now() + MetricsFile::kInterval;
  struct {
    std::chrono::nanoseconds later;
    bool end_of_epoch;
    double written;
  } const kTimes[] = {{0s, false, 1}, {14s, false, 1}, {1s, false, 3}, {1s, true, 4}, {14s, false, 4}, {1s, false, 6}};
  for (const auto& [later, end_of_epoch, written] : kTimes) {
    ++stats.batches;
    now += later;
    file.handed_over(end_of_epoch, now);
    EXPECT_EQ(batches_in(path()), written) << "of " << stats.batches;
  }
}

}  // namespace
}  // namespace dovetail::test
