// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/decoder.h"

#include "sources/bytes/member_decoder.h"
#include "sources/bytes/snappy_blocks.h"

namespace dovetail::detail {

Result<std::unique_ptr<Decoder>> make_decoder(Compression compression) {
  if (compression == Compression::snappy) return std::unique_ptr<Decoder>(std::make_unique<SnappyBlocks>());
  return make_member_decoder(compression);
}

}  // namespace dovetail::detail
