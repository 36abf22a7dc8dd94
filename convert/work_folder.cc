// SPDX-License-Identifier: Apache-2.0
#include "convert/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "convert/source_file.h"
#include "writer/output_file.h"

namespace dovetail::detail {

namespace {

namespace fs = std::filesystem;

constexpr char kFactsName[] = "conversion";
constexpr char kLockName[] = "lock";
constexpr std::string_view kWorkPrefix = ".dovetail-";
constexpr std::string_view kPartialMark = ".partial-";
constexpr std::uint64_t kMaxFactsBytes = std::uint64_t{64} << 20;

std::string five_digits(std::uint32_t number) {
  const std::string digits = std::to_string(number);
  return digits.size() < 5 ? std::string(5 - digits.size(), '0') + digits : digits;
}

bool parse_number(std::string_view text, std::uint32_t& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

Error taken(const OutputFolder& folder) {
  return Error(Errc::busy, "another process is converting here").in_file(folder.path());
}

// Some file systems have no locks; there it is on the user not to start two.
Result<int> lock(const OutputFolder& folder) {
  for (;;) {
    const int descriptor = ::openat(folder.descriptor(), kLockName, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return Error::from_errno(errno, "cannot make the file").in_file(folder.path_of(kLockName));
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(descriptor);
      return taken(folder);
    }
    // The process that had it may have removed the folder's files between the two calls.
    struct stat mine {};
    struct stat there {};
    const bool same = ::fstat(descriptor, &mine) == 0 &&
                      ::fstatat(folder.descriptor(), kLockName, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                      mine.st_ino == there.st_ino;
    if (same) return descriptor;
    ::close(descriptor);
  }
}

Result<void> remove_entries(const std::string& folder, bool (*wanted)(const fs::path& name)) {
  std::error_code failed;
  std::vector<fs::path> found;
  const fs::directory_iterator end;
  for (fs::directory_iterator it(folder, failed); !failed && it != end; it.increment(failed)) {
    if (wanted(it->path().filename())) found.push_back(it->path());
  }
  for (auto it = found.begin(); !failed && it != found.end(); ++it) fs::remove_all(*it, failed);
  if (failed) return Error::from_errno(failed.value(), "cannot remove the files of a conversion").in_file(folder);
  return {};
}

}  // namespace

std::string part_name(const ConvertPart& part) {
  return "part-" + five_digits(part.number) + "-of-" + five_digits(part.parts);
}

std::string part_manifest_name(const ConvertPart& part) {
  return part_name(part) + ".dvt";
}

std::string work_folder_name(const ConvertPart& part) {
  return std::string(kWorkPrefix) + part_name(part);
}

std::optional<ConvertPart> part_of_work_folder(std::string_view name) {
  constexpr std::string_view kBegin = ".dovetail-part-";
  constexpr std::string_view kBetween = "-of-";
  if (!name.starts_with(kBegin)) return std::nullopt;
  const std::string_view numbers = name.substr(kBegin.size());
  const std::size_t between = numbers.find(kBetween);
  if (between == std::string_view::npos) return std::nullopt;
  ConvertPart part;
  if (!parse_number(numbers.substr(0, between), part.number) ||
      !parse_number(numbers.substr(between + kBetween.size()), part.parts) || part.number >= part.parts ||
      work_folder_name(part) != name) {
    return std::nullopt;
  }
  return part;
}

WorkFolder::WorkFolder(std::shared_ptr<OutputFolder> folder, ConvertPart part, int lock)
    : folder_(std::move(folder)), part_(part), lock_(lock) {}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : folder_(std::move(other.folder_)), part_(other.part_), lock_(std::exchange(other.lock_, -1)) {}

WorkFolder& WorkFolder::operator=(WorkFolder&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(part_, other.part_);
  std::swap(lock_, other.lock_);
  return *this;
}

WorkFolder::~WorkFolder() {
  if (lock_ >= 0) ::close(lock_);
}

Result<WorkFolder> WorkFolder::take(std::shared_ptr<OutputFolder> folder, const ConvertPart& part) {
  auto locked = lock(*folder);
  if (!locked) return locked.error();
  return WorkFolder(std::move(folder), part, *locked);
}

Result<WorkFolder> WorkFolder::create(const std::string& target, const ConvertPart& part) {
  auto folder = OutputFolder::create((fs::path(target) / work_folder_name(part)).native());
  if (!folder) return folder.error();
  auto work = take(*folder, part);
  if (!work) (*folder)->remove_created();
  return work;
}

Result<WorkFolder> WorkFolder::open(const std::string& target, const ConvertPart& part) {
  auto folder = OutputFolder::open((fs::path(target) / work_folder_name(part)).native());
  if (!folder) return folder.error();
  return take(std::move(*folder), part);
}

Result<std::optional<Facts>> WorkFolder::facts() const {
  auto there = folder_->contains(kFactsName);
  if (!there) return there.error();
  if (!*there) return std::nullopt;
  const std::string path = folder_->path_of(kFactsName);
  auto file = SourceFile::open(path);
  if (!file) return file.error();
  if (file->size() > kMaxFactsBytes)
    return Error(Errc::bad_message, "not the description of a conversion").in_file(path);
  std::vector<std::byte> bytes(file->size());
  auto read = file->read(bytes);
  if (!read) return read.error();
  auto facts = Facts::parse(as_chars(ByteView(bytes).first(*read)));
  if (!facts) return facts.error().in_file(path);
  return std::move(*facts);
}

Result<void> WorkFolder::keep_facts(const Facts& facts) const {
  auto file = OutputFile::create(folder_, kFactsName);
  if (!file) return file.error();
  const std::string text = facts.to_text();
  if (auto written = file->write(as_bytes(text)); !written) return written;
  return file->commit(true);
}

Result<std::shared_ptr<OutputFolder>> WorkFolder::output(const std::string& name) const {
  if (name.empty()) return folder_;
  return OutputFolder::create(folder_->path_of(name));
}

Result<void> WorkFolder::remove_partial_files() const {
  const auto is_partial = [](const fs::path& name) {
    return name.native().starts_with('.') && name.native().find(kPartialMark) != std::string::npos;
  };
  if (auto removed = remove_entries(folder_->path(), is_partial); !removed) return removed;
  std::error_code failed;
  const fs::directory_iterator end;
  for (fs::directory_iterator it(folder_->path(), failed); !failed && it != end; it.increment(failed)) {
    std::error_code unknown;
    if (!it->is_directory(unknown)) continue;
    if (auto removed = remove_entries(it->path().native(), is_partial); !removed) return removed;
  }
  return {};
}

Result<void> WorkFolder::clear() const {
  return remove_entries(folder_->path(), [](const fs::path& name) { return name != kLockName; });
}

void WorkFolder::remove() noexcept {
  std::error_code ignored;
  // What says what this is goes last: a process that is killed here leaves what the next one understands.
  (void)remove_entries(folder_->path(), [](const fs::path& name) {
    return name != kLockName && name != kFactsName && !name.native().starts_with("part-");
  });
  fs::remove_all(folder_->path(), ignored);
  folder_->remove_created();
}

}  // namespace dovetail::detail
