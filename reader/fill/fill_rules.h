// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/batch_reader.h>

namespace dovetail::detail {

class ColumnDecoders;

/// Of records that do not fit the columns, so many are told apart: with the wrong columns that is every record.
inline constexpr std::size_t kNamedUnfit = 100;

/// What filling must know of the reader's options and of the dataset.
struct FillRules {
  OnDamage on_damage = OnDamage::fail;
  Oversize oversize = Oversize::fail;
  std::uint32_t rank = 0;
  std::uint32_t batch_rows = 1;
  std::uint32_t rows_per_lane = 1;       ///< Rows of a batch that come from one lane; consecutive.
  std::size_t slab_bytes = 0;            ///< From one batch of a slot to the next.
  std::uint32_t record_bytes = 0;        ///< Of each record, where they come as `Entry`.
  ColumnDecoders* columns = nullptr;     ///< Where records become columns;
  const Transform* transform = nullptr;  ///< by this, if it is not by their features.
  std::uint64_t seed = 0;                ///< For the transform.
};

/// What has been counted while rows were filled.
struct FillCounts {
  std::uint64_t direct_reads = 0;  ///< Of records, or with `OrderKind::global` blocks, that are in no run.
  std::uint64_t direct_bytes = 0;
  std::uint64_t waiting_reads = 0;  ///< Of these, those that had to wait.
  std::uint64_t retried_reads = 0;
  std::uint64_t unfit_records = 0;
};

}  // namespace dovetail::detail
