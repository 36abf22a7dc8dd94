// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated_state.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "tests/cuda/emulated_calls.h"

namespace dovetail::test::emulated_cuda::detail {
namespace {

// As CUDA's: pages of the host, and what its allocator gives on a device.
std::align_val_t alignment_of(Range::Kind kind) {
  return std::align_val_t{kind == Range::Kind::device ? 512u : 4096u};
}

std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

template <class Handle, class Object>
std::shared_ptr<Object> find(const std::map<Handle, std::shared_ptr<Object>>& objects, Handle handle) {
  const auto found = objects.find(handle);
  return found == objects.end() ? nullptr : found->second;
}

/// At the end of a thread that has streams of its own.
struct EndOfThread {
  ~EndOfThread() { State::get().end_thread(std::this_thread::get_id()); }
};

}  // namespace

ThreadState& this_thread() {
  thread_local ThreadState state;
  const std::uint64_t resets = State::get().resets.load(std::memory_order_relaxed);
  if (state.resets != resets) state = {.resets = resets};
  return state;
}

State& State::get() {
  // Never destroyed, as the program's own static objects may use it; but no thread outlives main().
  static State* const state = [] {
    std::atexit([] { State::get().clear(); });
    return new State;
  }();
  return *state;
}

State::State() {
  make_default_streams();
}

void State::make_default_streams() {
  default_streams_.clear();
  for (int device = 0; device < kMostDevices; ++device) default_streams_.push_back(std::make_shared<Stream>(device));
}

std::shared_ptr<Stream> State::stream(cudaStream_t handle) {
  if (handle == cudaStreamPerThread) return stream_of_thread();
  const std::shared_lock lock(mutex_);
  if (handle == nullptr || handle == cudaStreamLegacy) {
    return default_streams_[static_cast<std::size_t>(this_thread().device)];
  }
  return find(streams_, handle);
}

std::shared_ptr<Stream> State::stream_of_thread() {
  const std::pair key(std::this_thread::get_id(), this_thread().device);
  {
    const std::shared_lock lock(mutex_);
    if (auto found = find(streams_of_threads_, key)) return found;
  }
  thread_local const EndOfThread end;
  const std::lock_guard lock(mutex_);
  return streams_of_threads_.emplace(key, std::make_shared<Stream>(key.second)).first->second;
}

std::shared_ptr<Event> State::event(cudaEvent_t handle) const {
  const std::shared_lock lock(mutex_);
  return find(events_, handle);
}

cudaStream_t State::add_stream(int device) {
  reap();
  const std::lock_guard lock(mutex_);
  const auto handle = reinterpret_cast<cudaStream_t>(handles_ += 16);
  streams_.emplace(handle, std::make_shared<Stream>(device));
  return handle;
}

cudaEvent_t State::add_event(int device) {
  const std::lock_guard lock(mutex_);
  const auto handle = reinterpret_cast<cudaEvent_t>(handles_ += 16);
  events_.emplace(handle, std::make_shared<Event>(device));
  return handle;
}

bool State::remove_stream(cudaStream_t handle) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(handle);
    if (found == streams_.end()) return false;
    destroy(std::move(found->second));
    streams_.erase(found);
  }
  reap();
  return true;
}

void State::end_thread(std::thread::id thread) {
  {
    const std::lock_guard lock(mutex_);
    for (auto at = streams_of_threads_.begin(); at != streams_of_threads_.end();) {
      if (at->first.first != thread) {
        ++at;
        continue;
      }
      destroy(std::move(at->second));
      at = streams_of_threads_.erase(at);
    }
  }
  reap();
}

void State::destroy(std::shared_ptr<Stream> stream) {
  (void)captures.end(*stream);
  stream->close();
  destroyed_streams_.push_back(std::move(stream));
}

bool State::remove_event(cudaEvent_t handle) {
  const std::lock_guard lock(mutex_);
  return events_.erase(handle) != 0;
}

std::vector<std::shared_ptr<Stream>> State::all_streams() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<Stream>> all = default_streams_;
  all.insert(all.end(), destroyed_streams_.begin(), destroyed_streams_.end());
  for (const auto& [handle, stream] : streams_) all.push_back(stream);
  for (const auto& [thread, stream] : streams_of_threads_) all.push_back(stream);
  return all;
}

void State::reap() {
  if (Stream::on_a_stream()) return;  // somebody else will
  std::vector<std::shared_ptr<Stream>> done;
  {
    const std::lock_guard lock(mutex_);
    const auto busy = std::stable_partition(destroyed_streams_.begin(), destroyed_streams_.end(),
                                            [](const auto& stream) { return stream->idle(); });
    done.assign(std::make_move_iterator(destroyed_streams_.begin()), std::make_move_iterator(busy));
    destroyed_streams_.erase(destroyed_streams_.begin(), busy);
  }
  for (const auto& stream : done) stream->join();
}

bool State::add_range(const void* begin, Range range) {
  const std::lock_guard lock(mutex_);
  const std::uintptr_t at = address_of(begin);
  const auto next = ranges_.lower_bound(at);
  if (next != ranges_.end() && next->first - at < range.bytes) return false;
  if (next != ranges_.begin()) {
    const auto& [before, known] = *std::prev(next);
    if (at - before < known.bytes) return false;
  }
  ranges_.emplace_hint(next, at, range);
  return true;
}

std::optional<Range> State::remove_range(const void* begin, Range::Kind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(address_of(begin));
  if (found == ranges_.end() || found->second.kind != kind) return std::nullopt;
  const Range range = found->second;
  ranges_.erase(found);
  return range;
}

std::optional<Range> State::range_beginning(const void* begin) const {
  const std::shared_lock lock(mutex_);
  const auto found = ranges_.find(address_of(begin));
  return found == ranges_.end() ? std::nullopt : std::optional(found->second);
}

State::Place State::place_of(const void* begin, std::size_t bytes) const {
  const std::shared_lock lock(mutex_);
  const std::uintptr_t at = address_of(begin);
  const auto next = ranges_.upper_bound(at);
  if (next != ranges_.begin()) {
    const auto& [before, range] = *std::prev(next);
    const std::size_t offset = at - before;
    if (offset < range.bytes) return {.whole = bytes <= range.bytes - offset, .range = range};
  }
  return {.whole = next == ranges_.end() || next->first - at >= bytes, .range = std::nullopt};
}

std::size_t State::bytes_of(Range::Kind kind, int device) const {
  const std::shared_lock lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [begin, range] : ranges_) bytes += range.kind == kind && range.device == device ? range.bytes : 0;
  return bytes;
}

std::vector<int> State::contexts() const {
  std::vector<int> devices;
  for (int device = 0; device < kMostDevices; ++device) {
    if ((contexts_.load(std::memory_order_relaxed) >> device & 1u) != 0) devices.push_back(device);
  }
  return devices;
}

std::string State::leftovers() const {
  if (broken != cudaSuccess) return "";
  const std::shared_lock lock(mutex_);
  std::string text;
  const auto count = [&](std::size_t number, const std::string& what) {
    if (number == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  const auto ranges = [&](Range::Kind kind) {
    return static_cast<std::size_t>(
        std::count_if(ranges_.begin(), ranges_.end(), [&](const auto& entry) { return entry.second.kind == kind; }));
  };
  const auto at_work = [](const std::vector<std::shared_ptr<Stream>>& streams) {
    return static_cast<std::size_t>(
        std::count_if(streams.begin(), streams.end(), [](const auto& stream) { return !stream->idle(); }));
  };
  std::vector<std::shared_ptr<Stream>> of_threads;
  for (const auto& [thread, stream] : streams_of_threads_) of_threads.push_back(stream);
  count(streams_.size(), "stream");
  count(at_work(destroyed_streams_), "busy destroyed stream");
  count(at_work(default_streams_), "busy default stream");
  count(at_work(of_threads), "busy stream of a thread");
  count(captures.count(), "capture");
  count(events_.size(), "event");
  count(ranges(Range::Kind::registered), "host registration");
  count(ranges(Range::Kind::host_allocated), "host allocation");
  count(ranges(Range::Kind::device), "device allocation");
  return text;
}

void State::clear() {
  const std::vector<std::shared_ptr<Stream>> streams = all_streams();
  for (const auto& stream : streams) stream->abandon(cudaErrorCudartUnloading);  // all of them before any is waited for
  for (const auto& stream : streams) {
    stream->close();
    stream->join();
  }
  const std::lock_guard lock(mutex_);
  streams_.clear();
  streams_of_threads_.clear();
  destroyed_streams_.clear();
  make_default_streams();
  events_.clear();
  for (const auto& [begin, range] : ranges_) {
    if (range.kind != Range::Kind::registered) release(reinterpret_cast<void*>(begin), range.kind);
  }
  ranges_.clear();
  captures.clear();
  contexts_ = 0;
  device_count = 1;
  driver_version = kDriverAtFirst;
  broken = cudaSuccess;
  copy_delay = std::chrono::microseconds(0);
  for (auto& count : calls) count = 0;
  for (auto& failure : failures) failure = cudaSuccess;
  ++resets;
}

void* allocate(std::size_t bytes, Range::Kind kind) noexcept {
  void* const begin = ::operator new(bytes, alignment_of(kind), std::nothrow);
  // What nobody has copied there should not look like what was there before.
  if (begin != nullptr && kind == Range::Kind::device) std::memset(begin, 0xCD, bytes);
  return begin;
}

void release(void* begin, Range::Kind kind) noexcept {
  ::operator delete(begin, alignment_of(kind));
}

cudaError_t wait_for_device(int device) {
  for (const auto& stream : State::get().all_streams()) {
    if (stream->device() != device) continue;
    if (const cudaError_t status = stream->wait(stream->last()); status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

cudaError_t begin(Function function) {
  State& state = State::get();
  state.calls[function.index].fetch_add(1, std::memory_order_relaxed);
  if (this_thread().in_host_function) return cudaErrorNotPermitted;
  if (const cudaError_t failed = meet_call(kFunctions[function.index]); failed != cudaSuccess) return failed;
  if (const cudaError_t broken = state.broken; broken != cudaSuccess) return broken;
  std::atomic<cudaError_t>& failure = state.failures[function.index];
  if (failure.load(std::memory_order_relaxed) == cudaSuccess) return cudaSuccess;
  return failure.exchange(cudaSuccess);
}

cudaError_t end(cudaError_t status) {
  // "Not ready" is an answer, not an error.
  if (status != cudaSuccess && status != cudaErrorNotReady) this_thread().last_error = status;
  return status;
}

}  // namespace dovetail::test::emulated_cuda::detail
