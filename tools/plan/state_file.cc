// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/state_file.h"

#include <string_view>

#include <dovetail/bytes.h>

#include "tools/command/text_file.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kMaxStateBytes = 4096;
constexpr std::string_view kTextPrefix = "dvt:";
// The binary form begins with its version number, which is not a character of the text form.
constexpr unsigned char kLastVersionByte = 8;

Error no_state(const std::string& path) {
  return Error(Errc::unknown_format, "this is not a state of a reader; `dovetail read --state-out FILE` writes one")
      .in_file(path);
}

}  // namespace

Result<State> read_state(const std::string& path) {
  const Result<std::string> content = read_text(path, kMaxStateBytes);
  if (!content) return content.error().is(Errc::bad_state) ? no_state(path) : content.error();
  const bool bytes = !content->empty() && static_cast<unsigned char>(content->front()) <= kLastVersionByte;
  const std::size_t first = content->find_first_not_of(" \t\r\n");
  if (!bytes && first != std::string::npos && content->compare(first, kTextPrefix.size(), kTextPrefix) != 0) {
    return no_state(path);
  }
  Result<State> state = bytes ? State::from_bytes(as_bytes(*content)) : State::from_text(*content);
  if (!state) return state.error().in_file(path);
  return state;
}

Result<void> write_state(const std::string& path, const State& state) {
  return replace_text(path, state.to_text() + '\n');
}

}  // namespace dovetail::tools
