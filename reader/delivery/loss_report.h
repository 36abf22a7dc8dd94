// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <dovetail/reader_options.h>
#include <dovetail/reader_stats.h>

#include "reader/fetch/damage_log.h"

namespace dovetail::detail {

/// Reports records that cannot be delivered: in the statistics, and in the log unless the first
/// such record ends the reader.
///
/// Ownership: borrows its arguments.
/// Threads:   any. The log is called with no lock held.
class LossReport {
 public:
  LossReport(const ReaderOptions& options, DamageLog& damage) : options_(options), damage_(damage) {}

  /// Takes new entries from the damage log. Call this before rows are handed over: `ranges` then
  /// covers all damage in rows that the trainer has.
  void note_damage();
  /// Adds records that do not fit the columns, each record once, up to `kNamedUnfit` records. The
  /// first record beyond them logs that the rest is not logged.
  void note_unfit(const std::vector<Loss>& unfit);
  std::vector<LostRange> ranges() const;

 private:
  /// Logs what `text` returns, unless the first loss ends the reader.
  template <class Text>
  void warn(const Text& text) const;

  const ReaderOptions& options_;
  DamageLog& damage_;
  mutable std::mutex mutex_;
  std::vector<LostRange> ranges_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> unfit_;  // shard, record
  bool more_unfit_ = false;                                  // more than `kNamedUnfit` were noted
};

}  // namespace dovetail::detail
