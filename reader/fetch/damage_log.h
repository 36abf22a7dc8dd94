// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/reader_stats.h>

namespace dovetail::detail {

/// Records of a shard that cannot be delivered: those of a damaged block, or of a shard that cannot
/// be opened.
struct Loss {
  std::uint32_t shard = 0;
  std::uint64_t first_record = 0;  ///< Records [first_record, end_record) of the shard.
  std::uint64_t end_record = 0;
  Error error;               ///< Names the file, and the offset of the block.
  bool whole_shard = false;  ///< The shard cannot be opened; its blocks may be good.
};

/// Whether a read or an opening failed for a reason that says nothing about the data: the process
/// lacks memory, threads or descriptors, or the reader is being stopped. No policy on damage
/// applies.
bool is_no_damage(const Error& error);

/// The records that a reader cannot deliver: each damaged block or shard once, and records that do
/// not fit the columns. A block stays noted, because rows of an earlier read may still need the note.
/// So if it is mended, its records count as lost while another block of the run is damaged.
///
/// Threads: any.
class DamageLog {
 public:
  /// The most unfit records that are noted one by one. With wrong columns, every record is unfit.
  static constexpr std::size_t kNamedUnfit = 100;

  /// `log` gets a line for each loss; it may be empty.
  explicit DamageLog(const Dataset& dataset, std::function<void(std::string_view)> log = {})
      : dataset_(dataset), log_(std::move(log)) {}

  /// `first_id` is the dataset id of record `loss.first_record`.
  void note(std::uint64_t first_id, Loss loss);
  /// Notes a record that does not fit the columns. The first record beyond `kNamedUnfit` notes that
  /// the rest is not logged.
  void note_unfit(std::uint64_t id, const Loss& loss);
  /// Logs what was noted since the last call. Call it with no lock held: `log` is code of the user.
  void report();
  std::vector<LostRange> ranges() const;

  /// Whether the record lies in a damaged block.
  bool is_damaged(std::uint64_t id) const noexcept;
  /// The loss of the record's block, or else of its shard. Needs: one of them is noted.
  Loss loss_of(std::uint64_t id) const;

 private:
  using Losses = std::map<std::uint64_t, Loss>;  // by the first id; losses do not overlap
  static const Loss* find(const Losses& losses, std::uint64_t id) noexcept;
  void add_locked(const Loss& loss);
  void log_locked(std::string line);

  const Dataset dataset_;
  const std::function<void(std::string_view)> log_;
  mutable std::mutex mutex_;
  Losses blocks_;
  Losses shards_;
  std::set<std::uint64_t> unfit_;  // ids
  bool more_unfit_ = false;        // more than `kNamedUnfit` were noted
  std::vector<LostRange> ranges_;
  std::vector<std::string> lines_;  // for `report`
  std::atomic<bool> has_lines_ = false;
};

}  // namespace dovetail::detail
