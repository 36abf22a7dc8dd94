// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace dovetail::test {

/// While it lives, two names cannot be exchanged, as on some file systems. One at a time; what
/// stands in for `renameat2` asks `now`.
class ExchangeRefused {
 public:
  ExchangeRefused() { refused_ = true; }
  ExchangeRefused(const ExchangeRefused&) = delete;
  ExchangeRefused& operator=(const ExchangeRefused&) = delete;
  ~ExchangeRefused() { refused_ = false; }

  static bool now() noexcept { return refused_; }

 private:
  static inline std::atomic<bool> refused_ = false;
};

}  // namespace dovetail::test
