// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/two_tries.h"

#include <cerrno>
#include <exception>
#include <string>
#include <utility>

namespace dovetail::detail {

namespace {
constexpr const char* kNoThreadLeft = "so many reads hang that no thread is left for this one";
constexpr const char* kNoThread = "no thread can be started for it";
}  // namespace

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
  lose_tries();
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
  lose_tries();
  answer(std::move(given_up));
  return true;
}

void TwoTries::refuse_for(int error, const char* why) noexcept {
  refused_error_ = error;
  why_refused_ = why;
  watch_.refuse(shared_from_this());
}

Error TwoTries::refusal() const noexcept {
  try {
    const HungRead refused = what();
    return Error::from_errno(refused_error_, why_refused_).at(refused.file, refused.offset);
  } catch (const std::exception&) {  // short of memory, for which nobody shall wait
    return Error::from_errno(refused_error_);
  }
}

void TwoTries::refuse() {
  Answer error = refusal();
  if (take_turn()) answer(std::move(error));
}

bool TwoTries::try_apart(const std::shared_ptr<ApartThreads>& threads, Turn turn, Work work) noexcept {
  bool counted = false;
  try {
    count_try_apart();
    counted = true;
    const ApartThreads::JobPtr job = job_apart(turn, work);
    {
      const std::lock_guard lock(mutex_);
      Apart& free = apart_[0].job == nullptr ? apart_[0] : apart_[1];
      free = {.threads = threads, .job = job};
    }
    const ApartThreads::Taken taken = threads->run(job);
    if (taken == ApartThreads::Taken::yes) return true;
    if (turn == Turn::first) {
      taken == ApartThreads::Taken::lost ? refuse_for(ETIMEDOUT, kNoThreadLeft) : refuse_for(EAGAIN, kNoThread);
    }
  } catch (const std::exception&) {
    if (turn == Turn::first) refuse_for(ENOMEM, "there is no memory to read it");
  }
  if (counted) end_try_apart();
  return false;
}

ApartThreads::JobPtr TwoTries::job_apart(Turn turn, Work work) {
  const auto given = std::make_shared<std::optional<Answer>>();
  return std::make_shared<ApartThreads::Job>(
      [self = shared_from_this(), turn, given, work] {
        if (turn == Turn::first) self->watch();
        if (!self->begin_try()) return;
        given->emplace(Error::from_errno(ENOMEM));
        *given = work(*self);
      },
      [self = shared_from_this(), turn, given](ApartThreads::Fate fate) {
        self->end_job_apart(turn, fate, std::exchange(*given, std::nullopt));
      });
}

void TwoTries::end_job_apart(Turn turn, ApartThreads::Fate fate, std::optional<Answer> given) noexcept {
  end_try_apart();
  try {
    if (given.has_value()) come_back(std::move(*given));
  } catch (const std::exception&) {  // short of memory: its time will run out
  }
  if (turn == Turn::first && fate == ApartThreads::Fate::dropped) refuse_for(ETIMEDOUT, kNoThreadLeft);
  if (turn == Turn::first && fate == ApartThreads::Fate::stopped) refuse_for(ECANCELED, "the reader is stopped");
  after_try_apart();
}

void TwoTries::lose_tries() noexcept {
  std::array<Apart, 2> apart;
  {
    const std::lock_guard lock(mutex_);
    apart.swap(apart_);
  }
  for (const Apart& lost : apart) {
    if (lost.job != nullptr) lost.threads->lose(*lost.job);
  }
}

}  // namespace dovetail::detail
