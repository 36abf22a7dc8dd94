// SPDX-License-Identifier: Apache-2.0
#include "recover/salvage_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include "format/try.h"

namespace dovetail::detail {

namespace {

// The unit of the page cache's reads. If the system's pages are larger, their parts fail one after
// the other.
constexpr std::uint64_t kPageBytes = 4096;

}  // namespace

bool is_of_the_medium(const Error& error) noexcept {
  // In this order: a bad sector; data or checksums on several file systems; a bad sector without
  // the page cache; the target of a remote disk.
  constexpr std::array kReasons = {EIO, EBADMSG, EUCLEAN, ENODATA, EILSEQ, EREMOTEIO};
  const boost::system::error_code& code = error.code();
  return code.category() == boost::system::generic_category() &&
         std::find(kReasons.begin(), kReasons.end(), code.value()) != kReasons.end();
}

Result<SalvageFile> SalvageFile::open(const std::string& path) {
  auto file = SourceFile::open(path);
  if (!file && is_of_the_medium(file.error())) file = SourceFile::open(path);
  if (!file) return file.error();
  if (file->is_being_written()) {
    return Error(Errc::unfinished, "a process is writing this file; let it finish or stop it, or recover from a copy")
        .in_file(path);
  }
  return SalvageFile(std::move(*file));
}

Result<std::size_t> SalvageFile::read_at(std::uint64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t at = offset + done;
    const auto behind = holes_.upper_bound(at);
    std::uint64_t end = offset + out.size();
    if (behind != holes_.begin() && std::prev(behind)->second > at) {
      end = std::min(end, std::prev(behind)->second);
      std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(done), end - at, std::byte{0});
      done += static_cast<std::size_t>(end - at);
      continue;
    }
    if (behind != holes_.end()) end = std::min(end, behind->first);
    const std::span<std::byte> wanted = out.subspan(done, static_cast<std::size_t>(end - at));
    auto got = file_.read_at(at, wanted);
    if (got) {
      done += *got;
      if (*got < wanted.size()) break;
      continue;
    }
    if (!is_of_the_medium(got.error()) || !got.error().offset()) return got.error();
    done = static_cast<std::size_t>(*got.error().offset() - offset);  // the bytes before were read
    DOVETAIL_ASSIGN(auto more, try_again(got.error(), out.subspan(done)));
    done += more;
    if (more == 0 && !is_unreadable(offset + done, 1)) break;
  }
  return done;
}

Result<std::size_t> SalvageFile::try_again(const Error& error, std::span<std::byte> out) {
  const std::uint64_t at = *error.offset();
  const std::uint64_t page = at - at % kPageBytes;
  const std::uint64_t end = page + kPageBytes;
  auto got = file_.read_at(at, out.first(std::min<std::size_t>(out.size(), end - at)));
  if (got) return got;
  if (!is_of_the_medium(got.error())) return got.error();
  if (!read_error_) read_error_ = got.error();
  add_hole(page, at < size() ? std::min(end, size()) : end);
  return 0;
}

void SalvageFile::add_hole(std::uint64_t begin, std::uint64_t end) {
  unreadable_bytes_ += end - begin;
  const auto behind = holes_.find(end);
  if (behind != holes_.end()) {
    end = behind->second;
    holes_.erase(behind);
  }
  const auto before = holes_.lower_bound(begin);
  if (before != holes_.begin() && std::prev(before)->second == begin) {
    std::prev(before)->second = end;
  } else {
    holes_.emplace(begin, end);
  }
}

bool SalvageFile::is_unreadable(std::uint64_t offset, std::uint64_t bytes) const {
  if (holes_.empty()) return false;
  const auto behind = holes_.lower_bound(offset + bytes);
  return behind != holes_.begin() && std::prev(behind)->second > offset;
}

}  // namespace dovetail::detail
