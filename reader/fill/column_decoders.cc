// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/column_decoders.h"

#include "format/try.h"

namespace dovetail::detail {

Result<std::unique_ptr<ColumnDecoders>> ColumnDecoders::make(const Schema& schema) {
  DOVETAIL_ASSIGN(ColumnDecoder decoder, ColumnDecoder::make(schema));
  return std::unique_ptr<ColumnDecoders>(new ColumnDecoders(std::move(decoder)));
}

ColumnDecoders::ColumnDecoders(ColumnDecoder first)
    : first_(std::make_unique<const ColumnDecoder>(std::move(first))),
      schema_(std::make_shared<const Schema>(first_->schema())) {
  free_.reserve(kMostKept);
}

std::unique_ptr<ColumnDecoder> ColumnDecoders::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<ColumnDecoder> decoder = std::move(free_.back());
      free_.pop_back();
      return decoder;
    }
  }
  return std::make_unique<ColumnDecoder>(*first_);
}

void ColumnDecoders::give_back(std::unique_ptr<ColumnDecoder> decoder) noexcept {
  // After an unusual batch, drop the decoder rather than keep its memory. Memory grows by doubling,
  // hence the factor 2.
  if (decoder->memory_bytes() / 2 > held_limit_) return;
  const std::lock_guard lock(mutex_);
  if (free_.size() < free_.capacity()) free_.push_back(std::move(decoder));
}

}  // namespace dovetail::detail
