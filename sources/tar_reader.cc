// SPDX-License-Identifier: Apache-2.0
#include "sources/tar_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <exception>
#include <utility>

#include "format/text/lower_case.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

constexpr std::uint64_t kTarBlock = 512;
// Bytes that libarchive may read before it returns something: headers, long names, the map of a
// sparse file. It refuses single ones above 1 MiB. But a map may have any length, and takes twelve
// times its bytes in memory.
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{4} << 20;

std::uint64_t whole_blocks(std::uint64_t bytes) {
  return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// A pax name is UTF-8. Other names are bytes of unknown encoding. libarchive has only one of the
// two forms.
std::optional<std::string> name_of(archive_entry* entry) {
  if (const char* const name = ::archive_entry_pathname_utf8(entry)) return name;
  if (const char* const name = ::archive_entry_pathname(entry)) return name;
  return std::nullopt;
}

// Reserves at most `end` bytes; a vector alone could take twice the bytes that it needs.
void make_room(std::vector<std::byte>& out, std::uint64_t needed, std::uint64_t end) {
  if (needed <= out.capacity()) return;
  out.reserve(static_cast<std::size_t>(std::min(std::max(needed, std::uint64_t{2} * out.capacity()), end)));
}

// libarchive would try to go on behind a damaged header. Treat such a header as an error.
bool usable(int status) {
  return status == ARCHIVE_OK || status == ARCHIVE_WARN;
}

/// Maps offsets in a decoded stream to places in the file, for a reader that runs ahead of the
/// records that it has returned.
/// Cost: one entry per piece between the two ends.
class StreamPlaces {
 public:
  /// Adds the next piece of the stream. Does not keep its bytes.
  void add(const StreamPiece& piece) {
    pieces_.push_back({decoded_end_, piece});
    decoded_end_ += piece.bytes.size();
  }
  /// Drops pieces before the offset.
  void forget_before(std::uint64_t decoded_offset) {
    while (pieces_.size() > 1 && pieces_[1].decoded_begin <= decoded_offset) pieces_.pop_front();
  }
  /// Needs: an offset that was not dropped.
  RecordPlace at(std::uint64_t decoded_offset) const {
    std::size_t i = pieces_.size();
    while (i-- > 0) {
      const Entry& entry = pieces_[i];
      if (entry.decoded_begin <= decoded_offset) return place_in(entry.piece, decoded_offset - entry.decoded_begin);
    }
    return {};
  }
  std::uint64_t decoded_end() const noexcept { return decoded_end_; }

 private:
  struct Entry {
    std::uint64_t decoded_begin = 0;
    StreamPiece piece;
  };
  std::deque<Entry> pieces_;
  std::uint64_t decoded_end_ = 0;
};

struct ArchiveEnd {
  void operator()(archive* tar) const noexcept { ::archive_read_free(tar); }
};

}  // namespace

struct TarReader::State {
  std::string path;
  std::unique_ptr<ByteStream> stream;
  std::unique_ptr<archive, ArchiveEnd> tar;
  StreamPlaces places;
  std::optional<Error> stream_failure;
  std::exception_ptr thrown;
  std::uint64_t content_end = 0;  // end of the last nonzero byte that the stream has returned
  std::uint64_t header_at = 0;    // of the current entry
  std::uint64_t entries_end = 0;  // end of the entries so far, with their padding
  std::uint64_t claimed = 0;      // bytes of the current entry
  bool unread = false;            // the bytes of the current entry were not skipped yet
  bool ended = false;
  std::uint64_t ignored = 0;
  std::uint64_t most_end = UINT64_MAX;  // limit of the bytes that libarchive may take from the stream

  Result<bool> pull(ByteView& bytes) {
    DOVETAIL_ASSIGN(auto piece, stream->next());
    if (!piece) return false;
    bytes = piece->bytes;
    const auto last = std::find_if(bytes.rbegin(), bytes.rend(), [](std::byte byte) { return byte != std::byte{0}; });
    if (last != bytes.rend()) content_end = places.decoded_end() + static_cast<std::uint64_t>(bytes.rend() - last);
    places.add(*piece);
    return true;
  }

  static la_ssize_t feed(archive* tar, void* self, const void** buffer) {
    auto& state = *static_cast<State*>(self);
    if (state.places.decoded_end() >= state.most_end) {
      const std::string limit = std::to_string(kMaxHeaderBytes);
      ::archive_set_error(tar, EINVAL, "the headers of a member are longer than %s bytes", limit.c_str());
      return -1;
    }
    ByteView bytes;
    Result<bool> more = false;
    try {
      more = state.pull(bytes);
    } catch (...) {  // thrown by the caller's function; must not pass through C code
      state.thrown = std::current_exception();
      more = Error::from_errno(ECANCELED);
    }
    if (!more) {
      state.stream_failure = more.error();
      ::archive_set_error(tar, EIO, "the stream failed");
      return -1;
    }
    *buffer = bytes.data();
    return static_cast<la_ssize_t>(bytes.size());
  }

  Error failure_at(std::uint64_t decoded_offset) {
    if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
    if (stream_failure) return stream_failure->in_file(path);
    const char* const text = ::archive_error_string(tar.get());
    const std::string reason = text != nullptr ? text : "libarchive gives no reason";
    // libarchive does not report a cut archive that has not even a header.
    const bool cut = reason.find("runcated") != std::string::npos || places.decoded_end() < kTarBlock;
    // Behind the first member, it is a damaged tar.
    const bool foreign = ::archive_format(tar.get()) == 0;
    return Error(cut ? Errc::truncated : Errc::malformed_input,
                 foreign ? "this is not a tar, or its first header is damaged or cut (libarchive: " + reason +
                               "); give the folder if the records are single files"
                         : "tar: " + reason)
        .at(path, places.at(decoded_offset).offset);
  }

  // Limits the bytes that libarchive may take from the stream in one call.
  template <class Call>
  int limited(Call&& call) {
    most_end = places.decoded_end() + kMaxHeaderBytes;
    const int status = call();
    most_end = UINT64_MAX;
    return status;
  }

  std::uint64_t position() const { return static_cast<std::uint64_t>(::archive_filter_bytes(tar.get(), 0)); }

  // libarchive takes the end of the file, or a single block of zeros, for the end of the archive.
  Result<void> check_end() {
    ByteView bytes;
    for (;;) {
      DOVETAIL_ASSIGN(const auto more, pull(bytes));
      if (!more) break;
    }
    const std::uint64_t end = places.decoded_end();
    if (content_end > entries_end) {
      return Error(Errc::malformed_input,
                   "tar: there is data after the end of the archive; check whether the file has several tars")
          .at(path, places.at(entries_end).offset);
    }
    if (end < entries_end + 2 * kTarBlock) {
      return Error(Errc::truncated, "tar: the two blocks of zeros that end an archive are missing")
          .at(path, places.at(end).offset);
    }
    return {};
  }

  Result<void> leave_entry() {
    if (::archive_read_data_skip(tar.get()) < ARCHIVE_WARN) return failure_at(header_at);
    entries_end = whole_blocks(position());
    unread = false;
    return {};
  }
};

MemberName split_member_name(std::string_view name) {
  const std::size_t base = name.find_last_of('/') + 1;  // 0 if there is no slash
  const std::size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) return {};
  return {name.substr(0, dot), format::lower_case(name.substr(dot + 1))};
}

TarReader::TarReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarReader::TarReader(TarReader&&) noexcept = default;
TarReader::~TarReader() = default;

Result<TarReader> TarReader::open(std::string path, std::unique_ptr<ByteStream> stream) {
  auto state = std::make_unique<State>();
  state->path = std::move(path);
  state->stream = std::move(stream);
  state->tar.reset(::archive_read_new());
  archive* const tar = state->tar.get();
  if (tar == nullptr) return Error::from_errno(ENOMEM).in_file(state->path);
  if (::archive_read_support_format_tar(tar) != ARCHIVE_OK) return state->failure_at(0);
  if (::archive_read_open(tar, state.get(), nullptr, &State::feed, nullptr) != ARCHIVE_OK) {
    return state->failure_at(0);
  }
  return TarReader(std::move(state));
}

Result<std::optional<TarMember>> TarReader::next() {
  State& state = *state_;
  for (;;) {
    if (state.ended) return std::nullopt;
    if (state.unread) {
      DOVETAIL_TRY(state.leave_entry());
    }
    archive_entry* entry = nullptr;
    const int status = state.limited([&] { return ::archive_read_next_header(state.tar.get(), &entry); });
    if (status == ARCHIVE_EOF) {
      DOVETAIL_TRY(state.check_end());
      state.ended = true;
      return std::nullopt;
    }
    state.header_at = state.entries_end;
    if (!usable(status)) return state.failure_at(state.header_at);
    state.places.forget_before(state.header_at);
    state.unread = true;
    if (::archive_entry_filetype(entry) == AE_IFREG && ::archive_entry_hardlink(entry) == nullptr) {
      auto name = name_of(entry);
      const RecordPlace place = state.places.at(state.header_at);
      if (!name) return Error(Errc::malformed_input, "tar: an entry has no name").at(state.path, place.offset);
      state.claimed = static_cast<std::uint64_t>(std::max<la_int64_t>(::archive_entry_size(entry), 0));
      return TarMember{std::move(*name), place};
    }
    ++state.ignored;
  }
}

Result<void> TarReader::read(std::vector<std::byte>& out, std::uint64_t limit) {
  State& state = *state_;
  const std::uint64_t begin = out.size();
  if (state.claimed > limit - std::min(limit, begin)) {
    return Error(Errc::record_too_large,
                 "the member claims " + std::to_string(state.claimed) + " bytes; the limit is " + std::to_string(limit))
        .at(state.path, state.places.at(state.header_at).offset);
  }
  const std::uint64_t end = begin + state.claimed;
  for (;;) {
    const void* block = nullptr;
    std::size_t bytes = 0;
    la_int64_t offset = 0;
    const int status =
        state.limited([&] { return ::archive_read_data_block(state.tar.get(), &block, &bytes, &offset); });
    if (status == ARCHIVE_EOF) break;
    if (!usable(status)) return state.failure_at(state.header_at);
    // A hole may precede the data.
    const std::uint64_t at = begin + static_cast<std::uint64_t>(offset);
    if (at < out.size() || at > end || bytes > end - at) {
      return Error(Errc::malformed_input, "tar: a member has more bytes than it claims")
          .at(state.path, state.places.at(state.header_at).offset);
    }
    make_room(out, at + bytes, end);
    out.resize(static_cast<std::size_t>(at));
    const auto* const data = static_cast<const std::byte*>(block);
    out.insert(out.end(), data, data + bytes);
  }
  make_room(out, end, end);
  out.resize(static_cast<std::size_t>(end));
  return state.leave_entry();
}

std::uint64_t TarReader::ignored() const noexcept {
  return state_->ignored;
}

}  // namespace dovetail::detail
