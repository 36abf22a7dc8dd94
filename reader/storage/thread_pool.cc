// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/thread_pool.h"

namespace dovetail::detail {

ThreadPool::ThreadPool(unsigned threads) {
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { context_.run(); });
  } catch (...) {
    join();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  join();
}

void ThreadPool::join() {
  open_.reset();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace dovetail::detail
