// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/recorded_calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>

#include "tests/faults/exchange_refused.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;
using Kind = RecordedCall::Kind;
using Change = RecordedCall::Change;

struct Recorder {
  std::mutex mutex;
  bool on = false;
  Recording recorded;
  Names now;
  std::map<int, Node> open_files;  // by descriptor
  std::map<ino_t, Node> folders;

  Node make(bool is_folder) {
    recorded.nodes.push_back({is_folder, {}});
    return recorded.nodes.size() - 1;
  }
  void add_folder(Node node, const struct stat& status) {
    folders[status.st_ino] = node;
    recorded.nodes[node].bytes = std::to_string(status.st_ino);
  }
  std::optional<Node> find(Node folder, const std::string& name) const {
    const auto found = now.find({folder, name});
    return found == now.end() ? std::nullopt : std::optional(found->second);
  }
  void add(std::vector<Change> changes);
};

Recorder& recorder() {
  static Recorder shared;
  return shared;
}

void change_names(const std::vector<Change>& changes, Names& names) {
  for (const Change& change : changes) {
    if (change.node) {
      names[{change.folder, change.name}] = *change.node;
    } else {
      names.erase({change.folder, change.name});
    }
  }
}

void Recorder::add(std::vector<Change> changes) {
  change_names(changes, now);
  recorded.calls.push_back(
      {.kind = Kind::change_names, .node = 0, .bytes = {}, .in_place = false, .changes = std::move(changes)});
}

/// Adds a call that was made in a folder below the one that is recorded.
template <class Note>
void note(const struct stat& folder, Note add) {
  Recorder& shared = recorder();
  const std::lock_guard lock(shared.mutex);
  if (!shared.on) return;
  if (const auto found = shared.folders.find(folder.st_ino); found != shared.folders.end()) add(shared, found->second);
}

template <class Note>
void note(int folder, Note add) {
  struct stat status {};
  if (::fstat(folder, &status) == 0) note(status, add);
}

template <class Note>
void note_above(const char* path, Note add) {
  struct stat status {};
  const fs::path whole = path;
  if (::stat(whole.parent_path().c_str(), &status) != 0) return;
  note(status, [&](Recorder& shared, Node folder) { add(shared, folder, whole.filename().native()); });
}

/// Adds a call on a file that was made there.
template <class Note>
void note_file(int descriptor, Note add) {
  Recorder& shared = recorder();
  const std::lock_guard lock(shared.mutex);
  if (!shared.on) return;
  if (const auto file = shared.open_files.find(descriptor); file != shared.open_files.end()) add(shared, file->second);
}

/// What is there before anything is recorded.
void look_at(const fs::path& folder, Node number, Recorder& shared) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0) shared.add_folder(number, status);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const Node node = shared.make(entry.is_directory());
    shared.now[{number, entry.path().filename()}] = node;
    if (entry.is_directory()) {
      look_at(entry.path(), node, shared);
    } else {
      std::ifstream file(entry.path(), std::ios::binary);
      shared.recorded.nodes[node].bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
  }
}

/// Bytes as they are, and how many of them for certain.
struct SyncedBytes {
  std::string all;
  std::size_t synced = 0;
};

void add_left(const Recording& recording, const std::vector<SyncedBytes>& bytes, const Names& names,
              std::size_t quarters, Node folder, const std::string& path, LeftFiles& left) {
  for (auto it = names.lower_bound({folder, {}}); it != names.end() && it->first.first == folder; ++it) {
    const std::string below = path + it->first.second;
    const SyncedBytes& of = bytes[it->second];
    if (recording.nodes[it->second].is_folder) {
      left[below + '/'] = of.all;
      add_left(recording, bytes, names, quarters, it->second, below + '/', left);
    } else {
      left[below] = of.all.substr(0, of.synced + (of.all.size() - of.synced) * quarters / 4);
    }
  }
}

}  // namespace

Recording record_calls(const std::string& folder, const std::function<void()>& work) {
  Recorder& shared = recorder();
  {
    const std::lock_guard lock(shared.mutex);
    shared.recorded = {};
    shared.now.clear();
    shared.open_files.clear();
    shared.folders.clear();
    look_at(folder, shared.make(true), shared);
    shared.recorded.names = shared.now;
    shared.on = true;
  }
  work();
  const std::lock_guard lock(shared.mutex);
  shared.on = false;
  return std::move(shared.recorded);
}

std::vector<LeftFiles> left_by_crash(const Recording& recording, std::size_t count) {
  std::vector<SyncedBytes> bytes;
  for (const Recording::Content& node : recording.nodes) bytes.push_back({node.bytes, node.bytes.size()});
  Names durable = recording.names;
  std::vector<std::vector<Change>> pending;
  for (std::size_t i = 0; i < count; ++i) {
    const RecordedCall& call = recording.calls[i];
    switch (call.kind) {
      case Kind::write:
        if (call.in_place) bytes[call.node] = {};
        bytes[call.node].all += call.bytes;
        break;
      case Kind::sync:
        bytes[call.node].synced = bytes[call.node].all.size();
        break;
      case Kind::change_names:
        pending.push_back(call.changes);
        break;
      case Kind::sync_folder: {
        const auto concerns = [&](const std::vector<Change>& changes) {
          return std::any_of(changes.begin(), changes.end(), [&](const Change& c) { return c.folder == call.node; });
        };
        for (const auto& changes : pending) {
          if (concerns(changes)) change_names(changes, durable);
        }
        std::erase_if(pending, concerns);
        break;
      }
    }
  }
  std::set<Names> names{durable};
  Names first_ones = durable;
  for (const std::vector<Change>& changes : pending) {
    change_names(changes, first_ones);
    names.insert(first_ones);
    Names alone = durable;
    change_names(changes, alone);
    names.insert(alone);
  }
  std::set<LeftFiles> all;
  for (const Names& some : names) {
    for (const std::size_t quarters : {0u, 2u, 4u}) {
      LeftFiles left;
      add_left(recording, bytes, some, quarters, 0, {}, left);
      all.insert(std::move(left));
    }
  }
  return {all.begin(), all.end()};
}

}  // namespace dovetail::test

using dovetail::test::Kind;
using dovetail::test::Node;
using dovetail::test::note;
using dovetail::test::note_above;
using dovetail::test::note_file;
using dovetail::test::Recorder;

extern "C" {

int __real_openat(int folder, const char* path, int flags, ...);
int __real_close(int file);
ssize_t __real_pwrite(int file, const void* bytes, std::size_t size, off_t offset);
ssize_t __real_write(int file, const void* bytes, std::size_t size);
int __real_mkdir(const char* path, mode_t mode);
int __real_rmdir(const char* path);
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
  note(folder, [&](Recorder& shared, Node in) {
    const auto there = shared.find(in, path);
    const Node node = there ? *there : shared.make(false);
    shared.open_files[file] = node;
    if (!there) shared.add({{in, path, node}});
  });
  return file;
}

int __wrap_close(int file) {
  note_file(file, [&](Recorder& shared, Node) { shared.open_files.erase(file); });
  return __real_close(file);
}

static ssize_t noted_write(int file, const void* bytes, ssize_t written, bool in_place) {
  if (written < 0) return written;
  note_file(file, [&](Recorder& shared, Node node) {
    std::string text(static_cast<const char*>(bytes), static_cast<std::size_t>(written));
    shared.recorded.calls.push_back(
        {.kind = Kind::write, .node = node, .bytes = std::move(text), .in_place = in_place, .changes = {}});
  });
  return written;
}

ssize_t __wrap_write(int file, const void* bytes, std::size_t size) {
  return noted_write(file, bytes, __real_write(file, bytes, size), false);
}

/// Writers use it for all of a small file.
ssize_t __wrap_pwrite(int file, const void* bytes, std::size_t size, off_t offset) {
  return noted_write(file, bytes, __real_pwrite(file, bytes, size, offset), true);
}

int __wrap_fdatasync(int file) {
  note_file(file, [](Recorder& shared, Node node) {
    shared.recorded.calls.push_back({.kind = Kind::sync, .node = node, .bytes = {}, .in_place = false, .changes = {}});
  });
  return 0;
}

int __wrap_fsync(int file) {
  note(file, [](Recorder& shared, Node node) {
    shared.recorded.calls.push_back(
        {.kind = Kind::sync_folder, .node = node, .bytes = {}, .in_place = false, .changes = {}});
  });
  return 0;
}

int __wrap_mkdir(const char* path, mode_t mode) {
  const int done = __real_mkdir(path, mode);
  if (done != 0) return done;
  note_above(path, [&](Recorder& shared, Node in, const std::string& name) {
    struct stat status {};
    const Node node = shared.make(true);
    if (::stat(path, &status) == 0) shared.add_folder(node, status);
    shared.add({{in, name, node}});
  });
  return done;
}

int __wrap_rmdir(const char* path) {
  const int done = __real_rmdir(path);
  if (done != 0) return done;
  note_above(path, [](Recorder& shared, Node in, const std::string& name) { shared.add({{in, name, {}}}); });
  return done;
}

int __wrap_renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  const bool exchange = flags == RENAME_EXCHANGE;
  if (exchange && dovetail::test::ExchangeRefused::now()) {
    errno = EINVAL;
    return -1;
  }
  const int done = __real_renameat2(from_folder, from, to_folder, to, flags);
  if (done != 0) return done;
  struct stat status {};
  if (::fstat(to_folder, &status) != 0) return done;
  note(from_folder, [&](Recorder& shared, Node in) {
    const Node other = shared.folders.at(status.st_ino);
    const auto replaced = exchange ? shared.find(other, to) : std::nullopt;
    shared.add({{in, from, replaced}, {other, to, shared.find(in, from)}});
  });
  return done;
}

int __wrap_renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return __wrap_renameat2(from_folder, from, to_folder, to, 0);
}

int __wrap_linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  const int done = __real_linkat(from_folder, from, to_folder, to, flags);
  if (done != 0) return done;
  note(from_folder, [&](Recorder& shared, Node in) { shared.add({{in, to, shared.find(in, from)}}); });
  return done;
}

int __wrap_unlinkat(int folder, const char* path, int flags) {
  const int done = __real_unlinkat(folder, path, flags);
  if (done != 0) return done;
  note(folder, [&](Recorder& shared, Node in) { shared.add({{in, path, {}}}); });
  return done;
}

}  // extern "C"
