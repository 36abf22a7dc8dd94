// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/two_tries.h"

#include <cerrno>
#include <utility>

namespace dovetail::detail {

bool TwoTries::begin_try() {
  const std::lock_guard lock(mutex_);
  if (answered_) return false;
  ++tries_out_;
  return true;
}

void TwoTries::come_back(Answer given) {
  {
    const std::lock_guard lock(mutex_);
    --tries_out_;
    if (!given.has_value()) {
      if (!failure_.has_value()) failure_ = given.error();
      if (tries_out_ > 0) return;
      given = *failure_;
    }
  }
  if (!take_turn()) return;
  watch_.end(*this);
  answer(std::move(given));
}

bool TwoTries::give_up() {
  if (answered()) return false;
  // First what needs memory: whoever has the turn has to answer.
  const HungRead hung = what();
  std::string why = hung.bytes == 0 ? "opening it" : "reading " + std::to_string(hung.bytes) + " bytes";
  why += " has hung, also when it was asked for once more";
  {
    const std::lock_guard lock(mutex_);
    if (failure_.has_value()) why += "; one of them has failed: " + failure_->to_string();
  }
  Answer given_up = Error::from_errno(ETIMEDOUT, why).at(hung.file, hung.offset);
  if (!take_turn()) return false;
  // Before the answer: whoever gets it may look, and ask for more.
  watch_.count_given_up();
  note_given_up();
  answer(std::move(given_up));
  return true;
}

}  // namespace dovetail::detail
