// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/read_piece.h"

namespace dovetail::detail {

namespace {

/// What is to be done with the next piece that waits.
struct NextPiece {
  std::shared_ptr<Piece> piece;
  enum class Way : std::uint8_t { storage, apart, fail } way = Way::storage;
};

NextPiece take_next(RetryState& shared) {
  using Way = NextPiece::Way;
  const std::lock_guard lock(shared.mutex);
  for (const std::shared_ptr<Piece>& piece : shared.waiting) {
    const std::size_t bytes = piece->bytes();
    if (shared.bytes_in_flight > 0 && shared.bytes_in_flight + bytes > kFirstTryBytes) break;
    const auto found = shared.files.find(piece->path());
    const FileTries tries = found == shared.files.end() ? FileTries() : found->second;
    Way way = Way::storage;
    if (tries.given_up > 0) {
      way = Way::fail;
    } else if (tries.first >= shared.most_of_file || (tries.first > 0 && tries.bytes + bytes > kMostBytesOfFile)) {
      // Others of the file come back soon, or all hang: then only a try of another kind helps.
      if (tries.late < tries.first || tries.apart >= kMostApartOfFile) continue;
      way = Way::apart;
    }
    if (way == Way::storage) {
      FileTries& counted = shared.files[piece->path()];
      ++counted.first;
      counted.bytes += bytes;
      shared.bytes_in_flight += bytes;
      ++shared.in_storage;
    }
    piece->first = way == Way::storage ? Piece::First::out : Piece::First::none;
    NextPiece next{.piece = piece, .way = way};
    shared.waiting.erase(piece->place);
    return next;
  }
  return {};
}

/// A late one that may be tried apart now, or none.
std::shared_ptr<Piece> take_late(RetryState& shared) {
  Pieces gone;  // destroyed without the lock
  const std::lock_guard lock(shared.mutex);
  for (auto next = shared.late.begin(); next != shared.late.end();) {
    const auto at = next++;
    const auto found = shared.files.find((*at)->path());
    const FileTries tries = found == shared.files.end() ? FileTries() : found->second;
    if ((*at)->answered() || tries.given_up > 0) {
      gone.splice(gone.end(), shared.late, at);
    } else if (tries.apart < kMostApartOfFile) {
      std::shared_ptr<Piece> piece = *at;
      shared.late.erase(at);
      return piece;
    }
  }
  return nullptr;
}

}  // namespace

void start_pieces(const RetryStatePtr& shared) {
  // Short of memory, what waits begins with the next piece that comes back, and what was taken is late or given up in time.
  try {
    while (const std::shared_ptr<Piece> late = take_late(*shared)) late->read_apart();
    for (NextPiece next = take_next(*shared); next.piece != nullptr; next = take_next(*shared)) {
      switch (next.way) {
        case NextPiece::Way::storage:
          next.piece->read_in_storage();
          break;
        case NextPiece::Way::apart:
          next.piece->read_apart();
          break;
        case NextPiece::Way::fail:
          next.piece->fail_like_others();
          break;
      }
    }
  } catch (const std::exception&) {
  }
}

void Piece::end_first_try() {
  const std::lock_guard lock(shared_->mutex);
  const auto of_file = shared_->files.find(path());
  FileTries& tries = of_file->second;
  --tries.first;
  tries.bytes -= bytes_;
  if (first == First::late) --tries.late;
  if (first == First::given_up) --tries.given_up, --tries.late;
  if (tries.over()) shared_->files.erase(of_file);
  first = First::none;
  shared_->bytes_in_flight -= bytes_;
  --shared_->in_storage;
}

void Piece::read_in_storage() {
  if (!begin_try()) return end_first_try();
  try {
    const auto buffer = std::make_shared<Buffer>(bytes_);
    shared_->inner->read(file_, offset_, ReadInto{*buffer}, [piece = self(), buffer](const Result<void>& read) {
      piece->end_first_try();
      piece->come_back(read.has_value() ? Answer(buffer) : Answer(read.error()));
      start_pieces(piece->shared_);
    });
  } catch (const std::exception&) {
    end_first_try();
    come_back(Error::from_errno(ENOMEM));
  }
}

bool Piece::try_apart(std::function<Answer()> work) {
  if (!begin_try()) return false;
  try {
    const std::lock_guard lock(shared_->mutex);
    ++shared_->files[path()].apart;
  } catch (const std::exception&) {
    come_back(Error::from_errno(ENOMEM));
    return false;
  }
  const auto end = [piece = self()] {
    const std::lock_guard lock(piece->shared_->mutex);
    const auto of_file = piece->shared_->files.find(piece->path());
    --of_file->second.apart;
    if (of_file->second.over()) piece->shared_->files.erase(of_file);
  };
  try {
    run_apart(shared_, [piece = self(), end, work = std::move(work)] {
      Answer given = piece->answered() ? Answer(Error::from_errno(ECANCELED)) : work();
      end();
      piece->come_back(std::move(given));
      start_pieces(piece->shared_);
    });
  } catch (const std::exception&) {
    end();
    come_back(Error::from_errno(ENOMEM));
    return false;
  }
  return true;
}

bool Piece::retry() {
  {
    const std::lock_guard lock(shared_->mutex);
    if (first == First::out) {
      first = First::late;
      ++shared_->files[path()].late;
    }
    const auto found = shared_->files.find(path());
    if (found != shared_->files.end() && found->second.given_up > 0) return false;
    if (found != shared_->files.end() && found->second.apart >= kMostApartOfFile) {
      shared_->late.push_back(self());
      return false;
    }
  }
  return read_apart();
}

bool Piece::give_up() {
  const bool gave = TwoTries::give_up();
  if (gave) start_pieces(shared_);
  return gave;
}

void Piece::note_given_up() noexcept {
  const std::lock_guard lock(shared_->mutex);
  if (first != First::late) return;  // it has come back meanwhile, or was never out
  first = First::given_up;
  ++shared_->files.find(path())->second.given_up;
}

}  // namespace dovetail::detail
