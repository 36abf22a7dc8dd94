// SPDX-License-Identifier: Apache-2.0
#include <dovetail/error.h>

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/error.hpp>

namespace dovetail::test {
namespace {

TEST(ErrorCodeTest, EqualValuesCompareEqual) {
  EXPECT_EQ(make_error_code(Errc::truncated), make_error_code(Errc::truncated));
  EXPECT_NE(make_error_code(Errc::truncated), make_error_code(Errc::unfinished));
  const boost::system::error_code converted = Errc::truncated;
  EXPECT_EQ(converted, make_error_code(Errc::truncated));
  EXPECT_STREQ(converted.category().name(), "dovetail");
  EXPECT_TRUE(converted.failed());
}

TEST(ErrorCodeTest, DoesNotEqualTheSystemCodeOfTheSameNumber) {
  const boost::system::error_code system(static_cast<int>(Errc::truncated), boost::system::generic_category());
  EXPECT_NE(make_error_code(Errc::truncated), system);
}

TEST(ErrorCodeTest, WorksAsStandardErrorCode) {
  const std::error_code code = make_error_code(Errc::truncated);
  EXPECT_EQ(code, std::error_code(make_error_code(Errc::truncated)));
  EXPECT_NE(code, std::error_code(make_error_code(Errc::unfinished)));
  EXPECT_STREQ(code.category().name(), "dovetail");
  EXPECT_EQ(code.message(), "truncated");
}

TEST(ErrorCodeTest, EqualsTheCodeOfAnotherSharedObjectThatHoldsItsOwnCopyOfTheLibrary) {
  using Probe = void(boost::system::error_code*);
  boost::system::error_code codes[2];
  const boost::system::error_category* categories[2];
  const char* const paths[] = {DOVETAIL_ERROR_PROBE_A, DOVETAIL_ERROR_PROBE_B};
  for (int i = 0; i < 2; ++i) {
    void* const object = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(object, nullptr) << dlerror();
    auto* const probe = reinterpret_cast<Probe*>(dlsym(object, "dovetail_error_probe"));
    ASSERT_NE(probe, nullptr) << dlerror();
    probe(&codes[i]);
    categories[i] = &codes[i].category();
  }
#if !defined(DOVETAIL_TEST_SHARED_LIBRARY)
  ASSERT_NE(categories[0], categories[1]) << "the objects share one copy, so this shows nothing";
#endif
  EXPECT_EQ(codes[0], codes[1]);
  EXPECT_EQ(codes[0], make_error_code(Errc::slots_held));
  EXPECT_EQ(Error(codes[0]).kind(), ErrorKind::usage);
}

TEST(ErrorCodeTest, EveryValueHasItsOwnMessage) {
  std::vector<std::string> messages;
  for (int value = 1; value <= 80; ++value) {
    const std::string message = error_category().message(value);
    if (message != "unknown error") messages.push_back(message);
    char buffer[64];
    EXPECT_EQ(message, error_category().message(value, buffer, sizeof buffer));
  }
  EXPECT_EQ(messages.size(), 40u);
  std::sort(messages.begin(), messages.end());
  EXPECT_EQ(std::adjacent_find(messages.begin(), messages.end()), messages.end());
}

TEST(ErrorTest, SaysWhatIsKnownAndNothingElse) {
  const Error bare(Errc::truncated);
  EXPECT_EQ(bare.to_string(), "truncated");
  EXPECT_EQ(Error(Errc::truncated, "footer").to_string(), "truncated: footer");
  EXPECT_EQ(bare.in_file("a.dvt").to_string(), "a.dvt: truncated");
  EXPECT_EQ(Error(Errc::truncated, "footer").at("a.dvt", 64).to_string(), "a.dvt:64: truncated: footer");
  EXPECT_EQ(bare.at("", 64).to_string(), "offset 64: truncated");
  EXPECT_EQ(bare.path(), "");
  EXPECT_EQ(bare.detail(), "");
  EXPECT_EQ(bare.offset(), std::nullopt);
}

TEST(ErrorTest, KeepsTheFirstPlaceThatWasKnown) {
  const Error error = Error(Errc::truncated).at("a.dvt", 64);
  EXPECT_EQ(error.in_file("b.dvt").path(), "a.dvt");
  EXPECT_EQ(error.at("b.dvt", 128).to_string(), "a.dvt:64: truncated");
  EXPECT_EQ(error.at("a.dvt", 128).offset(), 64u);
  EXPECT_EQ(Error(Errc::truncated).at("", 64).in_file("b.dvt").to_string(), "b.dvt:64: truncated");
  EXPECT_EQ(Error(Errc::truncated).in_file("a.dvt").at("a.dvt", 5).offset(), 5u);
  EXPECT_EQ(Error(Errc::truncated).in_file("a.dvt").at("", 5).to_string(), "a.dvt:5: truncated");
  EXPECT_EQ(Error(Errc::truncated).in_file("a.dvt").at("b.dvt", 5).offset(), std::nullopt);
  EXPECT_EQ(Error(Errc::truncated).in_file("").path(), "");
}

TEST(ErrorTest, StaysUsableAfterItWasMovedFrom) {
  Error error = Error(Errc::truncated, "footer").at("a.dvt", 64);
  const Error taken = std::move(error);
  EXPECT_EQ(taken.to_string(), "a.dvt:64: truncated: footer");
  EXPECT_EQ(error.path(), "");                // NOLINT(bugprone-use-after-move): that is the claim
  EXPECT_EQ(error.to_string(), "truncated");  // NOLINT(bugprone-use-after-move)
  static_assert(std::is_nothrow_move_constructible_v<Error>);
  static_assert(std::is_nothrow_move_assignable_v<Error>);
}

TEST(ErrorTest, KindFollowsTheCode) {
  const std::pair<Errc, ErrorKind> expected[] = {
      {Errc::not_dovetail, ErrorKind::damaged},
      {Errc::file_changed, ErrorKind::damaged},
      {Errc::missing_shard, ErrorKind::damaged},
      {Errc::misplaced_shard, ErrorKind::damaged},
      {Errc::invalid_option, ErrorKind::usage},
      {Errc::resource_limit, ErrorKind::usage},
      {Errc::several_datasets, ErrorKind::usage},
      {Errc::foreign_file, ErrorKind::usage},
      {Errc::closed, ErrorKind::usage},
      {Errc::slots_held, ErrorKind::usage},
      {Errc::registration_failed, ErrorKind::usage},
      {Errc::device_failed, ErrorKind::io},
      {Errc::stream_captured, ErrorKind::usage},
  };
  for (const auto& [code, kind] : expected) EXPECT_EQ(Error(code).kind(), kind) << Error(code).to_string();
  for (const int value : {ENOSPC, EIO, ENOENT, EACCES}) EXPECT_EQ(Error::from_errno(value).kind(), ErrorKind::io);
  EXPECT_EQ(Error(boost::asio::error::make_error_code(boost::asio::error::operation_aborted)).kind(),
            ErrorKind::cancelled);
  EXPECT_EQ(Error::from_errno(ECANCELED).kind(), ErrorKind::cancelled);
}

TEST(ErrorTest, KeepsTheCodeOfTheSystem) {
  const Error error = Error::from_errno(ENOSPC, "while writing").at("a.dvt", 4096);
  EXPECT_EQ(error.code(), boost::system::errc::no_space_on_device);
  EXPECT_EQ(error.to_string(), "a.dvt:4096: No space left on device: while writing");
}

TEST(ResultTest, ThrowsTheErrorUnchangedWhenAskedForTheMissingValue) {
  const Result<int> result = Error(Errc::truncated, "footer").at("a.dvt", 64);
  ASSERT_FALSE(result);
  try {
    result.value();
    FAIL() << "no exception";
  } catch (const Exception& exception) {
    EXPECT_STREQ(exception.what(), "a.dvt:64: truncated: footer");
    EXPECT_TRUE(exception.error().is(Errc::truncated));
    EXPECT_EQ(exception.error().offset(), 64u);
  }
}

}  // namespace
}  // namespace dovetail::test
