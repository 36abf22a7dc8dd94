// SPDX-License-Identifier: Apache-2.0
#include "bench/transfer_calls.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>

namespace dovetail::bench {

namespace {

class Counter {
 public:
  explicit Counter(const char* name) : name_(name), next_(first_) { first_ = this; }
  void operator++() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }
  static CallCounts all() {
    CallCounts counts;
    for (const Counter* counter = first_; counter != nullptr; counter = counter->next_) {
      counts[counter->name_] = counter->calls_.load(std::memory_order_relaxed);
    }
    return counts;
  }

 private:
  static constinit Counter* first_;
  const char* name_;
  Counter* next_;
  std::atomic<std::uint64_t> calls_ = 0;
};
constinit Counter* Counter::first_ = nullptr;

}  // namespace

CallCounts count_calls() {
  return Counter::all();
}

CallCounts calls_between(const CallCounts& before, const CallCounts& after) {
  CallCounts between;
  for (const auto& [name, calls] : after) between[name] = calls - before.at(name);
  return between;
}

bool grows_a_pool(const std::string& call) {
  return call.starts_with("cudaEventCreate");
}

}  // namespace dovetail::bench

// The linker sends every call of `name` to `__wrap_name`, and `__real_name` to the runtime.
#define DOVETAIL_COUNTED(name, parameters, arguments) \
  namespace {                                         \
  dovetail::bench::Counter counter_of_##name(#name);  \
  }                                                   \
  extern "C" cudaError_t __real_##name parameters;    \
  extern "C" cudaError_t __wrap_##name parameters {   \
    ++counter_of_##name;                              \
    return __real_##name arguments;                   \
  }                                                   \
  static_assert(true)

DOVETAIL_COUNTED(cudaDeviceSynchronize, (), ());
DOVETAIL_COUNTED(cudaEventCreate, (cudaEvent_t * event), (event));
DOVETAIL_COUNTED(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags));
DOVETAIL_COUNTED(cudaEventSynchronize, (cudaEvent_t event), (event));
DOVETAIL_COUNTED(cudaFree, (void* memory), (memory));
DOVETAIL_COUNTED(cudaFreeHost, (void* memory), (memory));
DOVETAIL_COUNTED(cudaHostAlloc, (void** memory, std::size_t bytes, unsigned flags), (memory, bytes, flags));
DOVETAIL_COUNTED(cudaHostRegister, (void* memory, std::size_t bytes, unsigned flags), (memory, bytes, flags));
DOVETAIL_COUNTED(cudaHostUnregister, (void* memory), (memory));
DOVETAIL_COUNTED(cudaMalloc, (void** memory, std::size_t bytes), (memory, bytes));
DOVETAIL_COUNTED(cudaMallocAsync, (void** memory, std::size_t bytes, cudaStream_t stream), (memory, bytes, stream));
DOVETAIL_COUNTED(cudaMallocHost, (void** memory, std::size_t bytes), (memory, bytes));
DOVETAIL_COUNTED(cudaMemcpy, (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind),
                 (to, from, bytes, kind));
DOVETAIL_COUNTED(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags));
DOVETAIL_COUNTED(cudaStreamSynchronize, (cudaStream_t stream), (stream));
