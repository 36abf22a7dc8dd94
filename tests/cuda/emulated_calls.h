// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace dovetail::test::emulated_cuda {

/// While it lives, the n-th call of all functions from now, on whatever thread, runs `at` with its
/// name before it does anything, once, and then fails if `error` is one. Only one may live at a
/// time.
class AtCall {
 public:
  using At = std::function<void(std::string_view function)>;

  AtCall(std::uint64_t n, At at, cudaError_t error = cudaSuccess);
  AtCall(const AtCall&) = delete;
  AtCall& operator=(const AtCall&) = delete;
  /// Waits for `at` where it runs.
  ~AtCall();

  /// From now on nothing happens any more; whether `at` has begun.
  bool disarm() noexcept;
};

namespace detail {
/// A call begins; why it fails right away.
cudaError_t meet_call(std::string_view function);
}  // namespace detail

}  // namespace dovetail::test::emulated_cuda
