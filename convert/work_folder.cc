// SPDX-License-Identifier: Apache-2.0
#include "convert/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <new>
#include <utility>

#include "convert/put_away.h"
#include "format/layout.h"
#include "format/try.h"
#include "sources/bytes/names.h"
#include "sources/bytes/source_file.h"
#include "writer/dataset_files.h"
#include "writer/output_file.h"

namespace dovetail::detail {

namespace {

constexpr char kFactsName[] = "conversion";
constexpr std::string_view kWorkPrefix = ".dovetail-";
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
    const int descriptor = ::openat(folder.descriptor(), kLockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EINTR) continue;
    if (descriptor < 0) return Error::from_errno(errno, "cannot make the file").in_file(folder.path_of(kLockName));
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(descriptor);
      return taken(folder);
    }
    // The process that had it may have removed the folder's files between the two calls.
    struct stat mine {};
    struct stat there {};
    const bool looked =
        ::fstat(descriptor, &mine) == 0 && ::fstatat(folder.descriptor(), kLockName, &there, AT_SYMLINK_NOFOLLOW) == 0;
    const int reason = looked ? 0 : errno;
    if (looked && mine.st_ino == there.st_ino) return descriptor;
    ::close(descriptor);
    if (!looked && reason != ENOENT) {
      return Error::from_errno(reason, "cannot look at the file").in_file(folder.path_of(kLockName));
    }
  }
}

Error is_a_link(const OutputFolder& folder) {
  return Error(Errc::already_exists, "a link where a conversion keeps what it has finished; remove the link")
      .in_file(folder.path());
}

// Whether a folder lies where its path says. Where another process has removed it the error is that it is missing.
Result<void> check_place(const OutputFolder& folder) {
  if (is_no_link(folder)) return {};
  struct stat named {};
  if (::lstat(folder.path().c_str(), &named) == 0 && S_ISLNK(named.st_mode)) return is_a_link(folder);
  return Error::from_errno(ENOENT, "another process has removed the folder").in_file(folder.path());
}

// Whether something was removed, or removed and made again, between two looks.
bool came_and_went(const Error& error) {
  return error.code() == boost::system::errc::no_such_file_or_directory ||
         error.code() == boost::system::errc::file_exists;
}

// The target may be a link.
bool is_in_place(const OutputFolder& target) {
  struct stat named {};
  struct stat opened {};
  const char* path = target.path().empty() ? "." : target.path().c_str();
  return ::stat(path, &named) == 0 && ::fstat(target.descriptor(), &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

Error not_ours(const std::string& path) {
  return Error(Errc::already_exists, "not made by a conversion, and in the way of one; move it elsewhere")
      .in_file(path);
}

// What is in a work folder beside the lock.
struct Contents {
  std::vector<std::string> files;    // ours; what says that all are there comes first, and what says what they are last
  std::vector<std::string> outputs;  // folders with the shards of a split, and files in them that are ours
  std::vector<std::vector<std::string>> output_files;
  std::optional<std::string> foreign;  // path of something that no conversion makes
};

Result<void> look_into_output(const OutputFolder& folder, const std::string& name, Contents& contents) {
  DOVETAIL_ASSIGN(auto output, OutputFolder::open(folder.path_of(name)));
  if (!is_no_link(*output)) return not_ours(output->path());
  DOVETAIL_ASSIGN(auto names, output->names());
  contents.outputs.push_back(name);
  std::vector<std::string>& files = contents.output_files.emplace_back();
  for (std::string& file : names) {
    if (shard_number_of(file) || is_partial_name(file))
      files.push_back(std::move(file));
    else
      contents.foreign = output->path_of(file);
  }
  return {};
}

Result<Contents> look_into(const OutputFolder& folder, const ConvertPart& part) {
  DOVETAIL_ASSIGN(auto names, folder.names());
  // A process that is killed while it removes these leaves what the next one understands.
  Contents contents;
  const std::string manifest = part_manifest_name(part);
  contents.files.push_back(manifest);
  for (std::string& name : names) {
    if (name == kLockName || name == kFactsName || name == manifest || name == kMergedName) continue;
    if (shard_number_of(name) || is_partial_name(name)) {
      contents.files.push_back(std::move(name));
    } else if (!name.starts_with('.') && is_folder(folder, name)) {
      DOVETAIL_TRY(look_into_output(folder, name, contents));
    } else {
      contents.foreign = folder.path_of(name);
    }
  }
  contents.files.emplace_back(kFactsName);
  return contents;
}

// Parts of another count would hold other ranges of the same shards.
Result<void> check_counts(const OutputFolder& target, const std::vector<std::string>& names, const ConvertPart& part) {
  for (const std::string& name : names) {
    const auto other = part_of_work_folder(name);
    if (!other || other->parts == part.parts) continue;
    return Error(Errc::state_mismatch, "here is a conversion of " + std::to_string(other->parts) +
                                           " parts, and this one has " + std::to_string(part.parts) +
                                           "; finish that one, take another folder, or remove this")
        .in_file(target.path_of(name));
  }
  return {};
}

Result<void> remove_files(const OutputFolder& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    DOVETAIL_TRY(folder.remove(name));
  }
  return {};
}

Result<void> remove_contents(const OutputFolder& folder, const Contents& contents) {
  DOVETAIL_TRY(folder.remove(contents.files.front()));
  for (std::size_t i = 0; i != contents.outputs.size(); ++i) {
    DOVETAIL_ASSIGN(auto output, OutputFolder::open(folder.path_of(contents.outputs[i])));
    if (!is_no_link(*output)) return not_ours(output->path());
    DOVETAIL_TRY(remove_files(*output, contents.output_files[i]));
    if (::unlinkat(folder.descriptor(), contents.outputs[i].c_str(), AT_REMOVEDIR) != 0 && errno != ENOTEMPTY) {
      return Error::from_errno(errno, "cannot remove the folder").in_file(output->path());
    }
  }
  return remove_files(folder, contents.files);
}

}  // namespace

std::string part_name(const ConvertPart& part) {
  return format::kPartManifestPrefix + five_digits(part.number) + "-of-" + five_digits(part.parts);
}

std::string part_manifest_name(const ConvertPart& part) {
  return part_name(part) + ".dvt";
}

std::string work_folder_name(const ConvertPart& part) {
  return std::string(kWorkPrefix) + part_name(part);
}

std::optional<ConvertPart> part_of_work_folder(std::string_view name) {
  constexpr std::string_view kBetween = "-of-";
  if (!name.starts_with(kPartFolderPrefix)) return std::nullopt;
  const std::string_view numbers = name.substr(kPartFolderPrefix.size());
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
    : target_(std::move(other.target_)),
      folder_(std::move(other.folder_)),
      part_(other.part_),
      process_(other.process_),
      lock_(std::exchange(other.lock_, -1)) {}

WorkFolder& WorkFolder::operator=(WorkFolder&& other) noexcept {
  std::swap(target_, other.target_);
  std::swap(folder_, other.folder_);
  std::swap(part_, other.part_);
  std::swap(process_, other.process_);
  std::swap(lock_, other.lock_);
  return *this;
}

WorkFolder::~WorkFolder() {
  let_go();
}

void WorkFolder::let_go() noexcept {
  if (lock_ < 0) return;
  // A process that was forked meanwhile has the same lock: it would keep it for as long as it lives, and must not let it go.
  if (!process_.forked()) (void)::flock(lock_, LOCK_UN);
  ::close(std::exchange(lock_, -1));
}

// What is removed in it later must not be somebody else's.
Result<std::shared_ptr<OutputFolder>> WorkFolder::find(const std::string& target, const ConvertPart& part) {
  auto folder = OutputFolder::open((std::filesystem::path(target) / work_folder_name(part)).native());
  if (!folder) return folder;
  DOVETAIL_TRY(check_place(**folder));
  return folder;
}

Result<WorkFolder> WorkFolder::take(std::shared_ptr<OutputFolder> folder, const ConvertPart& part) {
  DOVETAIL_TRY(check_place(*folder));
  DOVETAIL_ASSIGN(auto locked, lock(*folder));
  WorkFolder work(std::move(folder), part, locked);
  // Whoever had the lock may have removed the folder.
  DOVETAIL_TRY(check_place(*work.folder_));
  return work;
}

Result<WorkFolder> WorkFolder::create(const std::string& target, const ConvertPart& part,
                                      std::chrono::milliseconds patience) {
  constexpr int kTries = 20;
  for (int tries = 1;; ++tries) {
    auto above = OutputFolder::create(target);
    auto work = above ? create_in(*above, part, patience) : Result<WorkFolder>(above.error());
    if (work) {
      work->target_ = std::move(*above);
      return work;
    }
    if (above) (*above)->remove_created();
    // Another process may remove its part, and the target that it made, between any two calls here.
    if (!came_and_went(work.error()) || tries == kTries) return work;
  }
}

// Who holds the lock of the target finds the folders of all parts that have begun. Where the file system has no locks, of two that
// begin at once neither may find the other's.
Result<WorkFolder> WorkFolder::create_in(const std::shared_ptr<OutputFolder>& target, const ConvertPart& part,
                                         std::chrono::milliseconds patience) {
  auto alone = TargetLock::take(target, patience);
  if (!alone) return alone.error();
  const auto names = target->names();  // once: thousands of processes may wait for it
  if (!names) return names.error();
  DOVETAIL_TRY(check_counts(*target, *names, part));
  sweep_away(*target, *names);
  auto folder = OutputFolder::create(target->path_of(work_folder_name(part)));
  if (!folder) return folder.error();
  auto work = take(*folder, part);
  if (work && !is_in_place(*target)) {
    work = Error::from_errno(ENOENT, "another process has removed the folder").in_file(target->path());
  }
  if (!work) (*folder)->remove_created();
  return work;
}

Result<WorkFolder> WorkFolder::open(const std::string& target, const ConvertPart& part) {
  DOVETAIL_ASSIGN(auto folder, find(target, part));
  return take(std::move(folder), part);
}

Result<WorkFolder> WorkFolder::visit(const std::string& target, const ConvertPart& part) {
  DOVETAIL_ASSIGN(auto folder, find(target, part));
  return WorkFolder(std::move(folder), part, -1);
}

Result<std::optional<Facts>> WorkFolder::facts() const {
  return read_facts(kFactsName);
}

Result<std::optional<Facts>> WorkFolder::merged() const {
  return read_facts(kMergedName);
}

Result<std::optional<Facts>> WorkFolder::read_facts(const char* name) const {
  DOVETAIL_ASSIGN(auto there, folder_->contains(name));
  if (!there) return std::nullopt;
  const std::string path = folder_->path_of(name);
  DOVETAIL_ASSIGN(auto file, SourceFile::open(path));
  if (file.size() > kMaxFactsBytes)
    return Error(Errc::bad_message, "not the description of a conversion").in_file(path);
  std::vector<std::byte> bytes(file.size());
  DOVETAIL_ASSIGN(auto read, file.read(bytes));
  auto facts = Facts::parse(as_chars(ByteView(bytes).first(read)));
  if (!facts) return facts.error().in_file(path);
  return std::move(*facts);
}

Result<void> WorkFolder::keep_facts(const Facts& facts) const {
  const std::string text = facts.to_text();
  if (text.size() > kMaxFactsBytes) {
    return Error(Errc::invalid_option, "sources: their names and the options take " + std::to_string(text.size()) +
                                           " bytes, and at most " + std::to_string(kMaxFactsBytes) +
                                           " can be kept; name folders, or convert in several calls")
        .in_file(folder_->path_of(kFactsName));
  }
  DOVETAIL_ASSIGN(auto file, OutputFile::create(folder_, kFactsName));
  DOVETAIL_TRY(file.write(as_bytes(text)));
  return file.commit(true);
}

Result<void> WorkFolder::mark_merged() const {
  const int folder = folder_->descriptor();
  // It may have been marked before.
  if (::renameat(folder, kFactsName, folder, kMergedName) != 0 && errno != ENOENT) {
    return Error::from_errno(errno, "cannot give the file its name").in_file(folder_->path_of(kMergedName));
  }
  return folder_->sync();
}

Result<std::shared_ptr<OutputFolder>> WorkFolder::output(const std::string& name) const {
  if (name.empty()) return folder_;
  auto output = OutputFolder::create(folder_->path_of(name));
  if (output && !is_no_link(**output)) return not_ours((*output)->path());
  return output;
}

Result<bool> WorkFolder::is_empty() const {
  DOVETAIL_ASSIGN(auto names, folder_->names());
  return std::all_of(names.begin(), names.end(), [](const std::string& name) { return name == kLockName; });
}

Result<void> WorkFolder::remove_partial_files() const {
  DOVETAIL_ASSIGN(auto contents, look_into(*folder_, part_));
  const auto drop_others = [](std::vector<std::string>& names) {
    std::erase_if(names, [](const std::string& name) { return !is_partial_name(name); });
  };
  drop_others(contents.files);
  for (std::vector<std::string>& files : contents.output_files) drop_others(files);
  for (std::size_t i = 0; i != contents.outputs.size(); ++i) {
    DOVETAIL_ASSIGN(auto output, OutputFolder::open(folder_->path_of(contents.outputs[i])));
    DOVETAIL_TRY(remove_files(*output, contents.output_files[i]));
  }
  return remove_files(*folder_, contents.files);
}

Result<void> WorkFolder::clear() const {
  DOVETAIL_ASSIGN(const auto contents, look_into(*folder_, part_));
  if (contents.foreign) return not_ours(*contents.foreign);
  DOVETAIL_TRY(remove_contents(*folder_, contents));
  return folder_->remove(kMergedName);
}

void WorkFolder::remove() noexcept {
  try {
    const auto contents = look_into(*folder_, part_);
    const bool emptied = contents && remove_contents(*folder_, *contents) && !contents->foreign;
    std::string path = folder_->path();
    // Without the mark that it was merged, or was begun, a folder would be a part that is not finished: so it is none before that
    // goes.
    if (emptied) {
      if (auto away = put_away(path, part_name(part_))) {
        path = std::move(*away);
        let_go();  // NFS keeps a file that is open under another name, and with it the folder
      }
    }
    // Held until it is closed, whether it has a name or not.
    ::unlinkat(folder_->descriptor(), kLockName, 0);
    if (emptied) ::unlinkat(folder_->descriptor(), kMergedName, 0);
    ::rmdir(path.c_str());
    folder_->remove_created();
    if (target_) target_->remove_created();
  } catch (const std::bad_alloc&) {
    return;  // the next conversion or merging here removes it
  }
}

}  // namespace dovetail::detail
