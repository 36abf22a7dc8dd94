// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated_captures.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace dovetail::test::emulated_cuda::detail {
namespace {

auto is_of(const Stream& stream) {
  return [&stream](const std::shared_ptr<Capture>& capture) { return capture->stream() == &stream; };
}

}  // namespace

bool Captures::begin(std::shared_ptr<Stream> stream, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(mutex_);
  if (std::any_of(captures_.begin(), captures_.end(), is_of(*stream))) return false;
  captures_.push_back(std::make_shared<Capture>(std::move(stream), mode));
  return true;
}

std::shared_ptr<Capture> Captures::end(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(captures_.begin(), captures_.end(), is_of(stream));
  if (found == captures_.end()) return nullptr;
  const std::shared_ptr<Capture> ended = *found;
  captures_.erase(found);
  return ended;
}

std::shared_ptr<Capture> Captures::of(const Stream& stream) const {
  const std::shared_lock lock(mutex_);
  const auto found = std::find_if(captures_.begin(), captures_.end(), is_of(stream));
  return found == captures_.end() ? nullptr : *found;
}

std::size_t Captures::count() const {
  const std::shared_lock lock(mutex_);
  return captures_.size();
}

bool Captures::any_global() const {
  const std::shared_lock lock(mutex_);
  return std::any_of(captures_.begin(), captures_.end(),
                     [](const auto& capture) { return capture->mode() == cudaStreamCaptureModeGlobal; });
}

template <class Condition>
bool Captures::invalidate_where(const Condition& condition) {
  const std::shared_lock lock(mutex_);
  bool any = false;
  for (const auto& capture : captures_) {
    if (!condition(*capture)) continue;
    capture->invalidate();
    any = true;
  }
  return any;
}

cudaError_t Captures::check_unsafe_call(cudaStreamCaptureMode mode_of_thread) {
  if (mode_of_thread == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  const auto forbids = [thread = std::this_thread::get_id()](const Capture& capture) {
    return capture.forbids_unsafe_calls(thread);
  };
  return invalidate_where(forbids) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t Captures::check_device(int device) {
  const auto is_there = [device](const Capture& capture) { return capture.stream()->device() == device; };
  return invalidate_where(is_there) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

void Captures::invalidate_all() {
  (void)invalidate_where([](const Capture&) { return true; });
}

void Captures::clear() {
  const std::lock_guard lock(mutex_);
  captures_.clear();
}

}  // namespace dovetail::test::emulated_cuda::detail
