// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/read_piece.h"

#include <cerrno>
#include <exception>
#include <utility>

namespace dovetail::detail {

namespace {

constexpr const char* kFileHangs = "earlier reads of the file hang";

/// What is to be done with the next piece that waits.
struct NextPiece {
  std::shared_ptr<Piece> piece;
  enum class Way : std::uint8_t { storage, apart, refused } way = Way::storage;
  const char* why = "";  ///< It is refused.
};

NextPiece take_next(RetryState& shared) {
  using Way = NextPiece::Way;
  const std::lock_guard lock(shared.mutex);
  const unsigned most_of_file =
      shared.places.any_lost() ? std::min(shared.most_of_file, kMostOfFileInTrouble) : shared.most_of_file;
  for (const std::shared_ptr<Piece>& piece : shared.waiting) {
    const std::size_t bytes = piece->bytes();
    const auto found = shared.files.find(piece->path());
    const FileTries tries = found == shared.files.end() ? FileTries() : found->second;
    const Places::Room room = shared.places.room_for(bytes);
    NextPiece next{.piece = piece};
    if (tries.given_up > 0) {
      next.way = Way::refused;
      next.why = kFileHangs;
    } else if (tries.first >= most_of_file || (tries.first > 0 && tries.bytes + bytes > kMostBytesOfFile)) {
      // Others of the file come back soon, or all hang: then only a try of another kind helps.
      const bool all_hang = tries.late == tries.first;
      if (all_hang && tries.apart < shared.most_apart_of_file()) {
        next.way = Way::apart;
      } else if (tries.any_live()) {
        continue;
      } else {
        next.way = Way::refused;
        next.why = kFileHangs;
      }
    } else if (room == Places::Room::never) {
      next.way = Way::refused;
      next.why = "so many reads hang that there is no room for this one";
    } else if (room == Places::Room::later) {
      break;
    } else {
      FileTries& counted = shared.files[piece->path()];
      ++counted.first;
      counted.bytes += bytes;
      shared.places.take(bytes);
      piece->first = Piece::First::out;
    }
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
    } else if (tries.apart < shared.most_apart_of_file()) {
      std::shared_ptr<Piece> piece = *at;
      shared.late.erase(at);
      return piece;
    }
  }
  return nullptr;
}

}  // namespace

void start_pieces(const RetryStatePtr& shared) noexcept {
  try {
    while (const std::shared_ptr<Piece> late = take_late(*shared)) late->read_second_apart();
    for (NextPiece next = take_next(*shared); next.piece != nullptr; next = take_next(*shared)) {
      switch (next.way) {
        case NextPiece::Way::storage:
          next.piece->read_in_storage();
          break;
        case NextPiece::Way::apart:
          next.piece->read_first_apart();
          break;
        case NextPiece::Way::refused:
          next.piece->refuse_for(ETIMEDOUT, next.why);
          break;
      }
    }
  } catch (const std::exception&) {
    // Short of memory. What waits begins when another one comes back, where there is one.
    Pieces waiting;
    {
      const std::lock_guard lock(shared->mutex);
      if (!shared->places.any_live()) waiting.swap(shared->waiting);
    }
    for (const std::shared_ptr<Piece>& piece : waiting) piece->refuse_for(ENOMEM, "there is no memory to read it");
  }
}

void Piece::read_in_storage() {
  std::shared_ptr<Buffer> buffer;
  try {
    buffer = std::make_shared<Buffer>(bytes_);
  } catch (const std::exception&) {
    free_place(end_first_try());
    return refuse_for(ENOMEM, "there is no memory to read it");
  }
  watch();
  if (!begin_try()) return free_place(end_first_try());
  const ReadInto into{*buffer};
  try {
    shared_->inner->read(file_, offset_, into,
                         [piece = self(), buffer = std::move(buffer)](const Result<void>& read) mutable {
                           const bool lost = piece->end_first_try();
                           try {
                             piece->come_back(read ? Answer(std::move(buffer)) : Answer(read.error()));
                           } catch (const std::exception&) {  // short of memory: its time will run out
                           }
                           buffer.reset();  // before its room is another's
                           piece->free_place(lost);
                           start_pieces(piece->shared_);
                         });
  } catch (const std::exception&) {
    const bool lost = end_first_try();
    come_back(Error::from_errno(ENOMEM));
    free_place(lost);
  }
}

bool Piece::end_first_try() noexcept {
  const std::lock_guard lock(shared_->mutex);
  const auto of_file = shared_->files.find(path());
  FileTries& tries = of_file->second;
  const bool lost = first == First::lost;
  --tries.first;
  tries.bytes -= bytes_;
  if (first != First::out) --tries.late;
  if (lost) --tries.lost;
  if (accuses_) --tries.given_up;
  if (tries.over()) shared_->files.erase(of_file);
  first = First::none;
  return lost;
}

void Piece::free_place(bool lost) noexcept {
  const std::lock_guard lock(shared_->mutex);
  lost ? shared_->places.give_back_lost(bytes_) : shared_->places.give_back(bytes_);
}

void Piece::read_again() {
  const bool taken = try_apart(shared_->again, Turn::first, [](const TwoTries& tries) {
    const auto& piece = static_cast<const Piece&>(tries);
    piece.file_.drop_cache(piece.offset_, piece.bytes_);
    return piece.read_from(piece.file_);
  });
  if (!taken) start_pieces(shared_);
}

void Piece::read_first_apart() {
  try_apart(shared_->apart, Turn::first, &Piece::read_elsewhere);
}

bool Piece::read_second_apart() {
  return try_apart(shared_->apart, Turn::second, &Piece::read_elsewhere);
}

void Piece::count_try_apart() {
  const std::lock_guard lock(shared_->mutex);
  FileTries& tries = shared_->files[path()];
  ++tries.apart;
  ++jobs_apart_;
  if (over_) ++tries.lost;
}

void Piece::end_try_apart() noexcept {
  const std::lock_guard lock(shared_->mutex);
  const auto of_file = shared_->files.find(path());
  --jobs_apart_;
  --of_file->second.apart;
  if (over_) --of_file->second.lost;
  if (of_file->second.over()) shared_->files.erase(of_file);
}

void Piece::after_try_apart() noexcept {
  start_pieces(shared_);
}

bool Piece::retry() {
  shared_->note_hung();
  {
    const std::lock_guard lock(shared_->mutex);
    const auto found = shared_->files.find(path());
    if (found != shared_->files.end()) {
      FileTries& tries = found->second;
      if (first == First::out) {
        first = First::late;
        ++tries.late;
      }
      if (tries.given_up > 0) return false;
      if (tries.apart - jobs_apart_ >= shared_->most_apart_of_file()) {  // its own first try aside
        shared_->late.push_back(self());
        return false;
      }
    }
  }
  if (read_second_apart()) return true;
  start_pieces(shared_);
  return false;
}

bool Piece::give_up() {
  const bool gave = TwoTries::give_up();
  if (gave) start_pieces(shared_);
  return gave;
}

void Piece::note_given_up() noexcept {
  const std::lock_guard lock(shared_->mutex);
  if (first != First::late) return;  // it has come back meanwhile, or was never out
  accuses_ = true;
  ++shared_->files.find(path())->second.given_up;
}

void Piece::lose_tries() noexcept {
  bool lacks_place = false;
  {
    const std::lock_guard lock(shared_->mutex);
    over_ = true;
    if (const auto of_file = shared_->files.find(path()); of_file != shared_->files.end()) {
      FileTries& tries = of_file->second;
      tries.lost += jobs_apart_;
      if (first != First::none) {
        ++tries.lost;
        if (first == First::out) ++tries.late;
        first = First::lost;
        shared_->places.lose(bytes_);
        lacks_place = shared_->inner->facts().adds_places && shared_->places.lacks_one();
        if (lacks_place) shared_->places.make_up();  // right away, or others would find no place
      }
    }
  }
  TwoTries::lose_tries();
  if (!lacks_place || shared_->inner->add_place()) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->places.fail_to_make_up();
}

}  // namespace dovetail::detail
