// SPDX-License-Identifier: Apache-2.0
#include "tools/records/write_dataset.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/guard_memory.h"
#include "format/try.h"
#include "reader/dataset/block_loader.h"
#include "reader/dataset/parallel.h"
#include "reader/dataset/shard_file.h"

namespace dovetail::tools {

namespace {

// Large enough that the turns take no time, and small enough that block and text stay in the cache
// of a core.
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 18;
constexpr std::uint64_t kRecordBytes = 32;               // what a form adds to a record, about
constexpr std::size_t kMostText = std::size_t{1} << 20;  // that a piece keeps until its turn

/// The blocks of one shard that are written, and how they are divided into pieces.
struct ShardPart {
  std::uint32_t shard = 0;
  std::uint64_t first_id = 0;  // of the shard
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t piece_blocks = 1;
  std::size_t first_piece = 0;

  std::size_t end_piece() const noexcept { return first_piece + (end - begin + piece_blocks - 1) / piece_blocks; }
};

/// Lets pieces write in their order.
class Turns {
 public:
  explicit Turns(Sink& out) : out_(out) {}

  /// Whether a failure before piece `index` keeps it from being written.
  bool ended_before(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return index >= end_;
  }
  /// Pieces from `index` on are not written.
  void end_before(std::size_t index) {
    const std::lock_guard lock(mutex_);
    end_ = std::min(end_, index);
    changed_.notify_all();
  }
  /// Waits until all pieces before `index` are written, and writes text of it. False if the output
  /// ends before the piece or in it.
  bool write(std::size_t index, std::string_view text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == index || index >= end_; });
    if (index >= end_) return false;
    lock.unlock();
    out_.write(text);
    if (out_.good()) return true;
    end_before(0);
    return false;
  }
  /// The turn of the next piece. Needs: a `write` of piece `index` that returned true.
  void end_turn(std::size_t index) {
    const std::lock_guard lock(mutex_);
    next_ = index + 1;
    changed_.notify_all();
  }

 private:
  Sink& out_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
  std::size_t end_ = ~std::size_t{0};
};

class DatasetWriter {
 public:
  DatasetWriter(Sink& out, const Dataset& dataset, const IdRange& range, OutputForm form)
      : dataset_(dataset), first_(range.first), end_(*range.end), form_(form), turns_(out) {}

  Result<void> run(unsigned threads) {
    divide();
    const std::size_t pieces = parts_.empty() ? 0 : parts_.back().end_piece();
    return detail::for_each_index(pieces, threads, [this](std::size_t index) { return write_piece(index); });
  }

 private:
  /// What one thread works with.
  struct Worker {
    std::uint32_t shard = 0;
    std::optional<detail::ShardFile> file;
    detail::BlockLoader loader;
    std::string text;
  };

  void divide();
  Result<void> write_piece(std::size_t index);
  /// Appends the records of a piece of `part` to the text of the worker. Writes what is too long to
  /// be kept.
  Result<void> format_piece(const ShardPart& part, std::size_t index, Worker& worker);
  Result<void> open(Worker& worker, std::uint32_t shard) const;
  /// A worker that has this shard open, if there is one.
  std::unique_ptr<Worker> take_worker(std::uint32_t shard);
  void give_back(std::unique_ptr<Worker> worker);

  const Dataset& dataset_;
  const std::uint64_t first_;
  const std::uint64_t end_;
  const OutputForm form_;
  std::vector<ShardPart> parts_;
  Turns turns_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

// Only the blocks of the range count. A shard that cannot be opened keeps all its blocks: the error
// is found again when its turn comes, after the records before it.
void DatasetWriter::divide() {
  if (first_ == end_) return;
  std::uint64_t first_id = first_ - dataset_.locate(first_).record;
  for (std::uint32_t shard = dataset_.locate(first_).shard; first_id < end_; ++shard) {
    const ShardInfo& info = dataset_.shards()[shard];
    const std::uint64_t end_id = first_id + info.records;
    ShardPart part{.shard = shard, .first_id = first_id, .end = info.blocks};
    part.first_piece = parts_.empty() ? 0 : parts_.back().end_piece();
    const std::uint64_t text_bytes = info.raw_bytes + kRecordBytes * info.records;
    part.piece_blocks = std::max<std::size_t>(1, kPieceBytes * info.blocks / std::max<std::uint64_t>(1, text_bytes));
    if (first_ > first_id || end_ < end_id) {
      auto worker = std::make_unique<Worker>();
      if (open(*worker, shard)) {
        part.begin = worker->file->block_of(std::max(first_, first_id) - first_id);
        part.end = worker->file->block_of(std::min(end_, end_id) - 1 - first_id) + 1;
        idle_.push_back(std::move(worker));
      }
    }
    parts_.push_back(part);
    first_id = end_id;
  }
}

Result<void> DatasetWriter::write_piece(std::size_t index) {
  if (turns_.ended_before(index)) return {};
  const auto after =
      std::upper_bound(parts_.begin(), parts_.end(), index,
                       [](std::size_t piece, const ShardPart& part) { return piece < part.first_piece; });
  const ShardPart& part = *std::prev(after);
  try {
    std::unique_ptr<Worker> worker = take_worker(part.shard);
    worker->text.clear();
    Result<void> read =
        detail::guard_memory(dataset_.shard_path(part.shard), [&] { return format_piece(part, index, *worker); });
    if (!read) turns_.end_before(index + 1);
    const bool written = turns_.write(index, worker->text);
    give_back(std::move(worker));
    if (!written) return {};  // the output ends before what may have failed here
    turns_.end_turn(index);
    return read;
  } catch (...) {
    turns_.end_before(index);  // nobody waits for this turn
    throw;
  }
}

Result<void> DatasetWriter::format_piece(const ShardPart& part, std::size_t index, Worker& worker) {
  DOVETAIL_TRY(open(worker, part.shard));
  const std::size_t begin = part.begin + (index - part.first_piece) * part.piece_blocks;
  const std::size_t end = begin + std::min(part.piece_blocks, part.end - begin);
  for (std::size_t block = begin; block < end; ++block) {
    DOVETAIL_ASSIGN(const format::BlockRecords records, worker.loader.load(*worker.file, block));
    const std::uint64_t first_id = part.first_id + worker.file->first_record(block);
    const std::uint64_t end_id = std::min(end_, first_id + records.size());
    for (std::uint64_t id = std::max(first_, first_id); id < end_id; ++id) {
      const ByteView bytes = records[static_cast<std::uint32_t>(id - first_id)];
      append_record(worker.text, {id, part.shard, id - part.first_id, bytes}, form_);
      if (worker.text.size() < kMostText) continue;
      if (!turns_.write(index, worker.text)) return {};
      worker.text.clear();
    }
  }
  return {};
}

Result<void> DatasetWriter::open(Worker& worker, std::uint32_t shard) const {
  if (worker.file && worker.shard == shard) return {};
  worker.file.reset();
  DOVETAIL_ASSIGN(detail::ShardFile file, detail::open_shard(dataset_, shard));
  worker.file.emplace(std::move(file));
  worker.shard = shard;
  return {};
}

std::unique_ptr<DatasetWriter::Worker> DatasetWriter::take_worker(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Worker>();
  auto taken = std::find_if(idle_.begin(), idle_.end(), [&](const auto& worker) { return worker->shard == shard; });
  if (taken == idle_.end()) --taken;
  std::swap(*taken, idle_.back());
  std::unique_ptr<Worker> worker = std::move(idle_.back());
  idle_.pop_back();
  return worker;
}

void DatasetWriter::give_back(std::unique_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

}  // namespace

Result<void> write_dataset(Sink& out, const Dataset& dataset, const IdRange& range, OutputForm form, unsigned threads) {
  return DatasetWriter(out, dataset, range, form).run(threads);
}

}  // namespace dovetail::tools
