// SPDX-License-Identifier: Apache-2.0
#include "tools/command/text_file.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <dovetail/state.h>

#include "tests/support/fails.h"
#include "tests/tools/plan_shapes.h"
#include "tools/command/sink.h"
#include "tools/plan/plan_file.h"

namespace dovetail::tools {
namespace {

namespace fs = std::filesystem;

State some_state() {
  State state;
  state.seed = 7;
  state.content = {1, 2};
  state.epoch = 3;
  state.phases = {{10, 4, 8}, {0, 2, 16}};
  return state;
}

TEST(TextFileTest, ReplacesTheWholeFileAndLeavesNothingBeside) {
  const std::string folder = test_file("folder");
  fs::create_directories(folder);
  const std::string path = folder + "/text";
  ASSERT_TRUE(replace_text(path, "a much longer text"));
  ASSERT_TRUE(replace_text(path, "short\n"));
  EXPECT_EQ(read_text(path, 100, "a text").value(), "short\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  fs::remove_all(folder);
}

TEST(TextFileTest, AFolderThatIsNotThereIsAnErrorThatNamesTheFile) {
  EXPECT_THAT(replace_text(test_file("nowhere") + "/text", "x"), test::Fails(ErrorKind::io).saying("nowhere"));
}

TEST(TextFileTest, AFolderIsNoFileToWrite) {
  const std::string folder = test_file("target");
  fs::create_directories(folder);
  EXPECT_THAT(check_outputs({folder}, {}), test::Fails().saying("name a file in it"));
  fs::remove_all(folder);
}

TEST(TextFileTest, WritersOfOneLongNameDoNotMeet) {
  const std::string folder = test_file("folder");
  fs::create_directories(folder);
  const std::string path = folder + "/" + std::string(250, 'n');
  std::vector<std::thread> writers;
  std::atomic<int> failed = 0;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 25; ++i) failed += replace_text(path, std::string(1000, letter)) ? 0 : 1;
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  const std::string text = read_text(path, 1000, "a text").value();
  EXPECT_EQ(text, std::string(1000, text.front()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  fs::remove_all(folder);
}

TEST(TextFileTest, ANewFileIsNeverMadeThroughALink) {
  const std::string folder = test_file("folder");
  fs::create_directories(folder);
  fs::create_symlink("victim", folder + "/link");
  EXPECT_FALSE(Sink::create_new(folder + "/link"));
  EXPECT_FALSE(fs::exists(folder + "/victim"));
  fs::remove_all(folder);
}

TEST(TextFileTest, AFileHasItsNameWhenItIsFinishedAndNoLinkLeadsAway) {
  const std::string folder = test_file("folder");
  fs::create_directories(folder);
  const std::string path = folder + "/text";
  const auto text_of = [](const std::string& of) { return read_text(of, 100, "a text").value(); };
  ASSERT_TRUE(replace_text(folder + "/old", "old"));
  fs::create_hard_link(folder + "/old", path);
  {
    NewFile file = NewFile::create(path).value();
    file.sink().write("new");
    EXPECT_EQ(text_of(path), "old");
  }
  EXPECT_EQ(text_of(path), "old") << "it was not finished";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
  NewFile one = NewFile::create(path).value();
  NewFile other = NewFile::create(path).value();
  one.sink().write("one");
  other.sink().write("other");
  ASSERT_TRUE(one.finish());
  EXPECT_EQ(text_of(path), "one");
  ASSERT_TRUE(other.finish());
  EXPECT_EQ(text_of(path), "other");
  EXPECT_EQ(text_of(folder + "/old"), "old");
  fs::remove_all(folder);
}

TEST(TextFileTest, AnOutputReplacesNoInputNoOtherOutputAndNoFileOfDovetail) {
  const std::string folder = test_file("folder");
  fs::create_directories(folder);
  const std::string input = folder + "/input";
  ASSERT_TRUE(replace_text(input, "text"));
  ASSERT_TRUE(replace_text(folder + "/packed", "text"));
  ASSERT_TRUE(replace_text(folder + "/packed.dvi", "its index"));
  fs::create_hard_link(input, folder + "/hard");
  fs::create_symlink("input", folder + "/soft");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{input}, "this is the input"},
      {{folder + "/./input"}, "this is the input"},
      {{folder + "/hard"}, "this is the input"},
      {{"", folder + "/soft"}, "this is the input"},
      {{folder + "/new", folder + "/other", folder + "/./new"}, "two outputs"},
      {{folder + "/packed"}, "a file of Dovetail's"},
      {{"s3://bucket/name"}, "this is a remote address"},
      {{folder + "/new", "", folder + "/other", ""}, ""},
      {{"/dev/null", "/dev/null"}, ""},
  };
  for (const auto& [outputs, says] : cases) {
    const auto possible = check_outputs(outputs, {"/nowhere", input, "/dev/null"});
    EXPECT_EQ(possible.has_value(), says.empty()) << outputs.front();
    if (possible) continue;
    EXPECT_THAT(possible, test::Fails(ErrorKind::usage).saying(says));
  }
  fs::remove_all(folder);
}

TEST(TextFileTest, DevicesAreWrittenToAsTheyAre) {
  ASSERT_TRUE(replace_text("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(TextFileTest, RefusesToReadMoreThanAllowed) {
  const std::string path = test_file("text");
  ASSERT_TRUE(replace_text(path, "12345"));
  EXPECT_TRUE(read_text(path, 5, "a list"));
  EXPECT_THAT(read_text(path, 4, "a list"), test::Fails(Errc::unknown_format).saying("so it is not a list"));
  fs::remove(path);
}

TEST(StateFileTest, BothFormsAreReadBack) {
  const std::string path = test_file("state");
  ASSERT_TRUE(write_state(path, some_state()));
  EXPECT_EQ(read_state(path).value(), some_state());
  const std::vector<std::byte> bytes = some_state().to_bytes();
  std::ofstream(path, std::ios::binary) << as_chars(bytes);
  EXPECT_EQ(read_state(path).value(), some_state());
  fs::remove(path);
}

TEST(StateFileTest, WhatIsNoStateIsAnErrorThatNamesTheFile) {
  const std::string path = test_file("state");
  const std::pair<std::string, Errc> cases[] = {{"", Errc::bad_state},
                                                {"dvt:", Errc::bad_state},
                                                {" dvt:AAAA", Errc::bad_state},
                                                {"hello", Errc::unknown_format},
                                                {"{\"dovetail_plan\":1}", Errc::unknown_format},
                                                {std::string(10'000, 'x'), Errc::unknown_format}};
  for (const auto& [text, code] : cases) {
    ASSERT_TRUE(replace_text(path, text));
    EXPECT_THAT(read_state(path), test::Fails(code).in(path)) << text;
  }
  fs::remove(path);
}

}  // namespace
}  // namespace dovetail::tools
