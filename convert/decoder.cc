// SPDX-License-Identifier: Apache-2.0
#include "convert/decoder.h"

#include <utility>

#include "convert/inflater.h"
#include "convert/snappy_blocks.h"

namespace dovetail::detail {

Result<std::unique_ptr<Decoder>> make_decoder(Compression compression) {
  if (compression == Compression::snappy) return std::unique_ptr<Decoder>(std::make_unique<SnappyBlocks>());
  auto inflater = Inflater::make(compression);
  if (!inflater) return inflater.error();
  return std::unique_ptr<Decoder>(std::make_unique<Inflater>(std::move(*inflater)));
}

}  // namespace dovetail::detail
