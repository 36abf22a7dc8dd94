// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/recorded_calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

namespace dovetail::testing {
namespace {

struct Recording {
  std::mutex mutex;
  bool on = false;
  std::string folder;
  std::vector<RecordedCall> calls;
  std::map<int, std::size_t> open_files;  // by descriptor
  std::size_t files = 0;
};

Recording& recording() {
  static Recording shared;
  return shared;
}

std::string path_of(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  return size < 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(size));
}

/// Adds a call that was made in the recorded folder.
template <class Note>
void note(int folder, Note add) {
  Recording& shared = recording();
  const std::lock_guard lock(shared.mutex);
  if (shared.on && path_of(folder) == shared.folder) add(shared);
}

/// Adds a call on a file that was made there.
template <class Note>
void note_file(int descriptor, Note add) {
  Recording& shared = recording();
  const std::lock_guard lock(shared.mutex);
  if (!shared.on) return;
  if (const auto file = shared.open_files.find(descriptor); file != shared.open_files.end()) add(shared, file->second);
}

/// Names and bytes, each as they are and as they are for certain.
struct Disk {
  struct File {
    std::string bytes;
    std::size_t synced = 0;
  };
  std::vector<File> files;
  std::map<std::string, std::size_t> names;
  std::vector<RecordedCall> pending;  // changes of names since they were synced
};

void change_names(std::map<std::string, std::size_t>& names, const RecordedCall& call) {
  using Kind = RecordedCall::Kind;
  if (call.kind == Kind::create) {
    names[call.name] = call.file;
    return;
  }
  const auto from = names.find(call.name);
  if (from == names.end()) return;  // of a change that is not there without the one before it
  const std::size_t file = from->second;
  if (call.kind != Kind::link) names.erase(from);
  if (call.kind != Kind::remove) names[call.to] = file;
}

LeftFiles left(const Disk& disk, const std::map<std::string, std::size_t>& names, int quarters) {
  LeftFiles files;
  for (const auto& [name, file] : names) {
    const Disk::File& of = disk.files[file];
    const std::size_t unsynced = of.bytes.size() - of.synced;
    files[name] = of.bytes.substr(0, of.synced + unsynced * static_cast<std::size_t>(quarters) / 4);
  }
  return files;
}

}  // namespace

std::vector<RecordedCall> record_calls(const std::string& folder, const std::function<void()>& work) {
  Recording& shared = recording();
  {
    const std::lock_guard lock(shared.mutex);
    shared.calls.clear();
    shared.open_files.clear();
    shared.files = 0;
    shared.folder = std::filesystem::canonical(folder);
    shared.on = true;
  }
  work();
  const std::lock_guard lock(shared.mutex);
  shared.on = false;
  return std::move(shared.calls);
}

std::vector<LeftFiles> left_by_crash(const LeftFiles& before, const std::vector<RecordedCall>& calls,
                                     std::size_t count) {
  using Kind = RecordedCall::Kind;
  Disk disk;
  std::size_t made = 0;
  for (const RecordedCall& call : calls) made = std::max(made, call.file + 1);
  disk.files.resize(made);
  for (const auto& [name, bytes] : before) {
    disk.names[name] = disk.files.size();
    disk.files.push_back({bytes, bytes.size()});
  }
  for (std::size_t i = 0; i < count; ++i) {
    const RecordedCall& call = calls[i];
    switch (call.kind) {
      case Kind::write:
        disk.files[call.file].bytes += call.bytes;
        break;
      case Kind::sync:
        disk.files[call.file].synced = disk.files[call.file].bytes.size();
        break;
      case Kind::sync_folder:
        for (const RecordedCall& change : disk.pending) change_names(disk.names, change);
        disk.pending.clear();
        break;
      case Kind::create:
      case Kind::rename:
      case Kind::link:
      case Kind::remove:
        disk.pending.push_back(call);
        break;
    }
  }
  std::set<std::map<std::string, std::size_t>> names{disk.names};
  std::map<std::string, std::size_t> first_ones = disk.names;
  for (const RecordedCall& change : disk.pending) {
    change_names(first_ones, change);
    names.insert(first_ones);
  }
  // One change alone is known to the file system by the names that there really are.
  std::map<std::string, std::size_t> really = disk.names;
  for (const RecordedCall& change : disk.pending) {
    const auto from = really.find(change.name);
    std::map<std::string, std::size_t> alone = disk.names;
    if (from != really.end()) alone[change.name] = from->second;
    change_names(alone, change);
    names.insert(alone);
    change_names(really, change);
  }
  std::vector<LeftFiles> all;
  for (const auto& some : names) {
    for (const int quarters : {0, 2, 4}) all.push_back(left(disk, some, quarters));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace dovetail::testing

using dovetail::testing::note;
using dovetail::testing::note_file;
using dovetail::testing::RecordedCall;
using dovetail::testing::Recording;

extern "C" {

int __real_openat(int folder, const char* path, int flags, ...);
int __real_close(int file);
ssize_t __real_write(int file, const void* bytes, std::size_t size);
int __real_fsync(int file);
int __real_fdatasync(int file);
int __real_renameat(int from_folder, const char* from, int to_folder, const char* to);
int __real_renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags);
int __real_linkat(int from_folder, const char* from, int to_folder, const char* to, int flags);
int __real_unlinkat(int folder, const char* path, int flags);

int __wrap_openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
  va_end(arguments);
  const int file = __real_openat(folder, path, flags, mode);
  if (file < 0 || (flags & O_CREAT) == 0) return file;
  note(folder, [&](Recording& shared) {
    const std::size_t number = shared.files++;
    shared.open_files[file] = number;
    shared.calls.push_back({.kind = RecordedCall::Kind::create, .file = number, .name = path, .to = {}, .bytes = {}});
  });
  return file;
}

int __wrap_close(int file) {
  note_file(file, [&](Recording& shared, std::size_t) { shared.open_files.erase(file); });
  return __real_close(file);
}

ssize_t __wrap_write(int file, const void* bytes, std::size_t size) {
  const ssize_t written = __real_write(file, bytes, size);
  if (written < 0) return written;
  note_file(file, [&](Recording& shared, std::size_t number) {
    shared.calls.push_back({.kind = RecordedCall::Kind::write,
                            .file = number,
                            .name = {},
                            .to = {},
                            .bytes = std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(written))});
  });
  return written;
}

int __wrap_fdatasync(int file) {
  const int done = __real_fdatasync(file);
  if (done != 0) return done;
  note_file(file, [&](Recording& shared, std::size_t number) {
    shared.calls.push_back({.kind = RecordedCall::Kind::sync, .file = number, .name = {}, .to = {}, .bytes = {}});
  });
  return done;
}

int __wrap_fsync(int file) {
  const int done = __real_fsync(file);
  if (done != 0) return done;
  note(file, [](Recording& shared) {
    shared.calls.push_back({.kind = RecordedCall::Kind::sync_folder, .file = 0, .name = {}, .to = {}, .bytes = {}});
  });
  return done;
}

static int noted(int done, RecordedCall::Kind kind, int folder, const char* from, const char* to) {
  if (done != 0) return done;
  note(folder, [&](Recording& shared) {
    shared.calls.push_back({.kind = kind, .file = 0, .name = from, .to = to, .bytes = {}});
  });
  return done;
}

int __wrap_renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return noted(__real_renameat(from_folder, from, to_folder, to), RecordedCall::Kind::rename, from_folder, from, to);
}

int __wrap_renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return noted(__real_renameat2(from_folder, from, to_folder, to, flags), RecordedCall::Kind::rename, from_folder, from,
               to);
}

int __wrap_linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  return noted(__real_linkat(from_folder, from, to_folder, to, flags), RecordedCall::Kind::link, from_folder, from, to);
}

int __wrap_unlinkat(int folder, const char* path, int flags) {
  return noted(__real_unlinkat(folder, path, flags), RecordedCall::Kind::remove, folder, path, "");
}

}  // extern "C"
