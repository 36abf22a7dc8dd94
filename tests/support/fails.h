// SPDX-License-Identifier: Apache-2.0
// A matcher for failures, and those of GoogleMock under their bare names.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>

#include <dovetail/error.h>

namespace dovetail {

inline void PrintTo(const Error& error, std::ostream* out) {
  *out << error.to_string();
}

template <class T>
void PrintTo(const Result<T>& result, std::ostream* out) {
  *out << (result ? "a value" : result.error().to_string());
}

namespace test {

using namespace ::testing;

/// Matches an Error, or a Result that holds one, by all that is given:
/// `Fails(Errc::busy).in(path).saying("locked")`.
class Fails {
 public:
  using is_gtest_matcher = void;

  Fails() = default;
  explicit Fails(Errc code) : code_(make_error_code(code)) {}
  explicit Fails(boost::system::errc::errc_t code) : condition_(make_error_condition(code)) {}
  explicit Fails(ErrorKind kind) : kind_(kind) {}

  Fails& of(ErrorKind kind) {
    kind_ = kind;
    return *this;
  }
  Fails& in(std::string_view path) {
    path_ = path;
    return *this;
  }
  Fails& at(std::uint64_t offset) {
    offset_ = offset;
    return *this;
  }
  /// May be called for several parts of the detail.
  Fails& saying(std::string_view text) {
    texts_.emplace_back(text);
    return *this;
  }

  template <class T>
  bool MatchAndExplain(const Result<T>& result, std::ostream* out) const {
    return !result && MatchAndExplain(result.error(), out);
  }
  bool MatchAndExplain(const Error& error, std::ostream* /*out*/) const {
    for (const std::string& text : texts_) {
      if (error.detail().find(text) == std::string::npos) return false;
    }
    return error.code().failed() && (!code_ || error.code() == *code_) &&
           (!condition_ || error.code() == *condition_) && (!kind_ || error.kind() == *kind_) &&
           (!path_ || error.path() == *path_) && (!offset_ || error.offset() == offset_);
  }
  void DescribeTo(std::ostream* out) const {
    *out << "fails";
    if (code_) *out << " with \"" << code_->message() << '"';
    if (condition_) *out << " with \"" << condition_->message() << '"';
    if (kind_) *out << " of kind " << static_cast<int>(*kind_);
    if (path_) *out << " in " << *path_;
    if (offset_) *out << " at " << *offset_;
    for (const std::string& text : texts_) *out << ", saying \"" << text << '"';
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "is not what ";
    DescribeTo(out);
  }

 private:
  std::optional<boost::system::error_code> code_;
  std::optional<boost::system::error_condition> condition_;
  std::optional<ErrorKind> kind_;
  std::optional<std::string> path_;
  std::optional<std::uint64_t> offset_;
  std::vector<std::string> texts_;
};

}  // namespace test
}  // namespace dovetail
