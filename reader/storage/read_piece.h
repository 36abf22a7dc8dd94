// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reader/storage/retry_state.h"
#include "reader/storage/two_tries.h"

namespace dovetail::detail {

inline bool is_timeout(const Error& error) {
  return error.code() == boost::system::errc::timed_out;
}

/// What was asked for, answered with its last piece.
class Request {
 public:
  Request(std::size_t pieces, Storage::ReadHandler done) : left_(pieces), done_(std::move(done)) {}

  void end_piece(const Result<void>& outcome) {
    {
      const std::lock_guard lock(mutex_);
      // As a reader from front to back would have met it, but first what was given up: nothing is then read again.
      if (!outcome && (!error_ || before(outcome.error(), *error_))) error_ = outcome.error();
      if (--left_ > 0) return;
    }
    std::move(done_)(error_ ? Result<void>(*error_) : Result<void>());
  }

 private:
  static bool before(const Error& a, const Error& b) {
    if (is_timeout(a) != is_timeout(b)) return is_timeout(a);
    return a.offset() < b.offset();
  }

  std::mutex mutex_;
  std::size_t left_;
  std::optional<Error> error_;
  Storage::ReadHandler done_;
};

/// A part of a read, into a buffer of its own for each try.
class Piece final : public TwoTries {
 public:
  using Buffer = std::vector<std::byte>;

  Piece(RetryStatePtr shared, InputFile file, std::uint64_t offset, ReadInto into, std::shared_ptr<Request> request)
      : TwoTries(shared->watch),
        shared_(std::move(shared)),
        file_(std::move(file)),
        offset_(offset),
        into_(into),
        bytes_(into.size()),
        request_(std::move(request)) {}

  HungRead what() const override { return {.file = file_.path(), .offset = offset_, .bytes = bytes_, .age = {}}; }
  std::size_t bytes() const noexcept { return bytes_; }
  const std::string& path() const noexcept { return file_.path(); }

  /// The first try in the storage. Guarded by the mutex of what is shared.
  enum class First : std::uint8_t { none, out, late, lost };
  First first = First::none;
  Pieces::iterator place{};  ///< While it waits for room; likewise guarded.

  /// The first try. Needs: its place is taken.
  void read_in_storage();
  /// The first try of a second reading, past the page cache.
  void read_again();
  /// The first try where the storage has no room for it, because all of its file hang there.
  void read_first_apart();
  /// The second try: through a descriptor of its own. Whether it is on its way.
  bool read_second_apart();
  using TwoTries::refuse_for;

  bool retry() override;
  bool give_up() override;

 private:
  std::shared_ptr<Piece> self() { return std::static_pointer_cast<Piece>(shared_from_this()); }
  /// What is known of the first try is over, but for its place. Whether that was lost.
  bool end_first_try() noexcept;
  void free_place(bool lost) noexcept;
  void count_try_apart() override;
  void end_try_apart() noexcept override;
  void after_try_apart() noexcept override;
  void note_given_up() noexcept override;
  void lose_tries() noexcept override;
  void answer(Answer answer) override {
    const AnswerCount count(*shared_);
    if (answer.has_value()) {
      const Buffer& bytes = *static_cast<const Buffer*>(answer->get());
      const std::size_t of_first = into_.first.size();
      std::copy_n(bytes.data(), of_first, into_.first.data());
      std::copy_n(bytes.data() + of_first, into_.second.size(), into_.second.data());
    }
    const std::shared_ptr<Request> request = std::move(request_);
    request->end_piece(answer.has_value() ? Result<void>() : Result<void>(answer.error()));
  }

  Answer read_from(const InputFile& file) const {
    try {
      auto buffer = std::make_shared<Buffer>(bytes_);
      if (auto read = file.read(offset_, *buffer); !read) return read.error();
      return buffer;
    } catch (const std::exception&) {
      return Error::from_errno(ENOMEM).at(file_.path(), offset_);
    }
  }
  static Answer read_elsewhere(const TwoTries& tries) {
    const auto& piece = static_cast<const Piece&>(tries);
    auto file = InputFile::open(piece.path());
    if (!file) return file.error();
    if (file->identity() != piece.file_.identity()) {
      return Error(Errc::file_changed, "it is another file than the one that was opened")
          .at(piece.path(), piece.offset_);
    }
    return piece.read_from(*file);
  }

  const RetryStatePtr shared_;
  const InputFile file_;
  const std::uint64_t offset_;
  const ReadInto into_;  // not to be touched once it is answered
  const std::size_t bytes_;
  std::shared_ptr<Request> request_;
  // Guarded as `first`.
  bool accuses_ = false;     // its file, of hanging
  bool over_ = false;        // nobody waits for its tries
  unsigned jobs_apart_ = 0;  // tries
};

/// Starts what waits, as far as there is room, and second tries that could not begin before. To be called whenever a try has
/// ended, or is lost.
void start_pieces(const RetryStatePtr& shared) noexcept;

}  // namespace dovetail::detail
