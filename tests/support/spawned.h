// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spawn.h>
#include <unistd.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dovetail::test {

/// Starts another program of the tests, in the emulator that runs this one if there is one. Gives
/// the child's number.
inline pid_t spawn(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
#ifdef DOVETAIL_EMULATOR
  std::istringstream emulator(DOVETAIL_EMULATOR);
  words.assign(std::istream_iterator<std::string>(emulator), {});
#endif
  words.push_back(program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  EXPECT_EQ(::posix_spawn(&child, argv.front(), nullptr, nullptr, argv.data(), environ), 0) << argv.front();
  return child;
}

}  // namespace dovetail::test
