// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <dovetail/batch_reader.h>

namespace deal {

/// What all ranks are told on the command line.
struct Settings {
  std::string dataset;
  std::uint32_t batch = 64;  ///< Rows per rank and step.
  dovetail::Tail tail = dovetail::Tail::drop;
  std::uint32_t epochs = 1;
};

/// The rows of one step of one rank, wherever they lie.
struct Rows {
  std::span<const std::int64_t> offsets;  ///< One more than there are rows, from 0.
  std::span<const std::uint64_t> ids;
  std::span<const dovetail::RowStatus> status;
  dovetail::ByteView values;
};

/// Gives a rank its rows, step by step.
class RowSource {
 public:
  virtual ~RowSource() = default;
  /// The rows of the next step, valid until the next call; nothing after the last step of the last
  /// epoch. Throws `dovetail::Exception`.
  virtual std::optional<Rows> next() = 0;
};

/// The batches of all epochs of a reader, without the ends between them.
class Batches {
 public:
  explicit Batches(dovetail::BatchReader reader, std::uint32_t epochs)
      : reader_(std::move(reader)), left_(reader_.total_steps(epochs).value()) {}

  std::uint64_t left() const noexcept { return left_; }
  std::optional<dovetail::Batch> next();

 private:
  dovetail::BatchReader reader_;
  std::uint64_t left_;
};

/// A reader that delivers the given rows of the given ranks.
dovetail::BatchReader open_reader(const Settings& settings, const dovetail::RankContext& ranks, std::uint32_t batch,
                                  std::uint32_t lanes);

}  // namespace deal
