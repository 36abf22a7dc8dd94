// SPDX-License-Identifier: Apache-2.0
#include "convert/shard_agreement.h"

#include <optional>
#include <utility>

#include <boost/system/errc.hpp>

#include <dovetail/convert.h>
#include <dovetail/record_reader.h>

#include "convert/carried.h"
#include "format/try.h"
#include "sources/shard_records.h"

namespace dovetail::detail {

namespace {

/// The metadata of a shard that are carried on.
struct Words {
  std::string path;
  std::string record_type;
  std::string schema;
  std::string classes;
};

Words words_of(std::string path, const ShardDescription& shard) {
  const auto classes = shard.metadata.find(std::string(kClassesKey));
  return {std::move(path), shard.record_type, shard.schema,
          classes == shard.metadata.end() ? std::string() : classes->second};
}

Result<void> check_same(std::string_view what, const std::string& here, const std::string& there, const Words& other) {
  if (here == there) return {};
  return Error(Errc::invalid_option, "the " + std::string(what) + " is \"" + here + "\" here, but \"" + there +
                                         "\" in " + other.path + "; convert the shards of each dataset separately");
}

Result<void> check_agree(const Words& here, const Words& other) {
  DOVETAIL_TRY(check_same("record type", here.record_type, other.record_type, other));
  DOVETAIL_TRY(check_same("schema", here.schema, other.schema, other));
  return check_classes_agree(here.classes, other.classes, other.path);
}

}  // namespace

Result<void> check_shards_agree(const std::string& path, const SourceOptions& options) {
  DOVETAIL_ASSIGN(const auto listing, list_dataset(path, options));
  std::optional<Words> first;
  for (const ShardShare& share : listing.shares) {
    if (options.cancelled && options.cancelled()) {
      return Error(make_error_code(boost::system::errc::operation_canceled), "interrupted").in_file(path);
    }
    const auto reader = RecordReader::open(*listing.dataset, share.shard);
    if (!reader) continue;
    Words words = words_of(listing.dataset->shard_path(share.shard), reader->shard());
    if (!first) {
      first = std::move(words);
    } else if (auto agree = check_agree(words, *first); !agree) {
      return agree.error().in_file(words.path);
    }
  }
  return {};
}

}  // namespace dovetail::detail
