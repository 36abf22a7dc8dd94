// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

namespace deal {

std::optional<dovetail::Batch> Batches::next() {
  if (left_ == 0) return std::nullopt;
  std::optional<dovetail::Batch> batch = reader_.next().value();
  if (!batch.has_value()) batch = reader_.next().value();  // that was the end of an epoch
  --left_;
  return batch;
}

dovetail::BatchReader open_reader(const Settings& settings, const dovetail::RankContext& ranks, std::uint32_t batch,
                                  std::uint32_t lanes) {
  dovetail::ReaderOptions options;
  options.ranks = ranks;
  options.plan.batch = batch;
  options.plan.lanes = lanes;
  options.plan.tail = settings.tail;
  options.epochs = settings.epochs;
  // All ranks together get the same memory, whoever reads.
  options.memory_bytes = (256ull << 20) * lanes / ranks.world;
  return dovetail::BatchReader::open(dovetail::Dataset::open(settings.dataset).value(), options).value();
}

}  // namespace deal
