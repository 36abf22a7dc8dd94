// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>
#include <type_traits>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {

/// What is done to a reader at some moment.
enum class Act { cancel, stop, destroy };
inline constexpr std::array kActs{Act::cancel, Act::stop, Act::destroy};
inline std::ostream& operator<<(std::ostream& out, Act act) {
  constexpr std::array<const char*, 3> kNames{"cancel", "stop", "destroy"};
  return out << kNames.at(static_cast<std::size_t>(act));
}

/// A trainer that asks a reader for batch after batch of its only epoch, to which something happens
/// at one event.
///
/// `Event` is an object that is armed for its n-th event as long as it lives: made of the number
/// and of what is to happen, with a `disarm()` that tells whether it has.
template <class Reader, class Batch, class Event>
class InterruptedTrainer {
 public:
  struct Ways {
    std::function<Reader()> open;
    std::function<void(Batch&, Rows&)> append;  ///< Adds the rows of a batch, bytes checked.
  };

  InterruptedTrainer(Ways ways, Act act) : ways_(std::move(ways)), act_(act) {}

  /// Whether there were so many events.
  bool run_until_event(std::uint64_t n) {
    Event event(n, [this](auto&&...) { happen(); });  // before the reader begins to read
    reader_ = ways_.open();
    opened_ = true;
    const Rows planned = test::planned(reader_->plan(), 0, 0);
    ask();
    while (!over_) context_.run_one();
    const bool struck = event.disarm();
    while (struck && !acted_) context_.run_one();
    EXPECT_EQ(asked_, completed_) << "a handler runs once";
    if (!struck || act_ == Act::cancel) {
      EXPECT_EQ(rows_, planned) << "a reader that was only cancelled delivers the epoch";
    }
    EXPECT_LE(rows_.size(), planned.size());
    EXPECT_TRUE(std::equal(rows_.begin(), rows_.end(), planned.begin()));
    if (reader_ && struck && act_ == Act::stop) {
      EXPECT_THAT(reader_->next(), Fails(ErrorKind::cancelled));
    }
    reader_.reset();
    context_.poll();
    EXPECT_EQ(asked_, completed_);
    return struck;
  }

 private:
  // On a thread of the reader, as a rule: the trainer's does it, while that one waits in the middle
  // of its call.
  void happen() {
    auto moment = std::make_shared<std::promise<void>>();
    std::future<void> at_work = moment->get_future();
    const bool waits = opened_ && std::this_thread::get_id() != trainer_;  // else the trainer may wait for this thread
    boost::asio::post(context_, [this, moment] {
      if (act_ != Act::cancel) moment->set_value();  // it waits for the call to end
      act();
      acted_ = true;
      if (act_ == Act::cancel) moment->set_value();
    });
    if (!waits) return;
    at_work.wait();
    if (act_ != Act::cancel) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

  void act() {
    switch (act_) {
      case Act::cancel:
        return signal_.emit(boost::asio::cancellation_type::total);
      case Act::stop:
        return reader_->stop();
      case Act::destroy:
        return reader_.reset();
    }
  }

  void ask() {
    if (!reader_) {
      over_ = true;
      return;
    }
    ++asked_;
    auto arrived = [this](boost::system::error_code error, std::optional<Batch> batch) {
      ++completed_;
      take(error, std::move(batch));
    };
    // Not behind an any_completion_handler, whose executor may be let go when the context is gone.
    auto handler = boost::asio::bind_cancellation_slot(signal_.slot(), boost::asio::bind_executor(context_, arrived));
    if constexpr (std::is_same_v<Reader, BatchReader>) {
      reader_->async_next(std::move(handler));
    } else {
      reader_->async_next_device(std::move(handler));
    }
  }

  void take(boost::system::error_code error, std::optional<Batch> batch) {
    if (error == boost::asio::error::operation_aborted && act_ == Act::cancel) return ask();
    if (error) {
      EXPECT_EQ(error, boost::asio::error::operation_aborted);
      EXPECT_NE(act_, Act::cancel);
      over_ = true;
    } else if (batch) {
      ways_.append(*batch, rows_);
      batch.reset();
      ask();
    } else {
      over_ = true;
    }
  }

  const Ways ways_;
  const Act act_;
  const std::thread::id trainer_ = std::this_thread::get_id();
  boost::asio::io_context context_;
  const boost::asio::executor_work_guard<boost::asio::io_context::executor_type> busy_{context_.get_executor()};
  boost::asio::cancellation_signal signal_;
  std::optional<Reader> reader_;
  std::atomic<bool> opened_ = false;
  Rows rows_;
  unsigned asked_ = 0;
  unsigned completed_ = 0;
  bool over_ = false;
  bool acted_ = false;
};

}  // namespace dovetail::test
