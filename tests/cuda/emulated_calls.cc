// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated_calls.h"

#include <utility>

#include "tests/support/nth_event.h"

namespace dovetail::test::emulated_cuda {
namespace {

// Written while nothing is armed and no call is under way that saw it armed.
AtCall::At action;
cudaError_t failure = cudaSuccess;

NthEvent nth_call;

}  // namespace

AtCall::AtCall(std::uint64_t n, At at, cudaError_t error) {
  action = std::move(at);
  failure = error;
  nth_call.arm(n);
}

AtCall::~AtCall() {
  nth_call.disarm();
  nth_call.settle();
  action = nullptr;
}

bool AtCall::disarm() noexcept {
  return nth_call.disarm();
}

cudaError_t detail::meet_call(std::string_view function) {
  cudaError_t status = cudaSuccess;
  nth_call.meet([&] {
    action(function);
    status = failure;
  });
  return status;
}

}  // namespace dovetail::test::emulated_cuda
