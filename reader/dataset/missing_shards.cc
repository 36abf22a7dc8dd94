// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/missing_shards.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reader/dataset/glob.h"
#include "reader/dataset/paths.h"

namespace dovetail::detail {
namespace {

/// A shard's place in its dataset. Sorted they are the datasets one after the other, each in the order of its shards.
struct Place {
  std::uint32_t dataset = 0;  // the half of the file id that its shards share
  std::uint32_t number = 0;
  const std::string* name = nullptr;
};

using Places = std::vector<Place>;

Places places_of(const std::vector<ShardInfo>& shards) {
  Places places;
  places.reserve(shards.size());
  for (const ShardInfo& shard : shards) {
    // The file id of a TFRecord is made of checksums. Of its bytes none are headers, as they are in every shard.
    if (shard.stored_bytes == shard.file_bytes) continue;
    const auto number = static_cast<std::uint32_t>(shard.file_id);
    places.push_back({static_cast<std::uint32_t>(shard.file_id >> 32), number, &shard.name});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.dataset, a.number) < std::pair(b.dataset, b.number);
  });
  return places;
}

/// The numbers that are missing, in words: the first gaps, and how many numbers there are in all.
class Gaps {
 public:
  void add(std::uint32_t begin, std::uint32_t end) {
    count_ += end - begin;
    if (++gaps_ > kNamed) return;
    if (!text_.empty()) text_ += ", ";
    text_ += std::to_string(begin);
    if (end - begin > 1) text_ += " to " + std::to_string(end - 1);
  }
  bool any() const noexcept { return count_ != 0; }
  std::string words() const {
    const std::string more = gaps_ > kNamed ? " and more" : "";
    if (count_ == 1) return "shard number " + text_ + " is missing";
    return "shard numbers " + text_ + more + " are missing, " + std::to_string(count_) + " in all,";
  }

 private:
  static constexpr std::size_t kNamed = 8;
  std::string text_;
  std::size_t gaps_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace

std::vector<Error> missing_shards(const std::string& folder, const std::vector<ShardInfo>& shards, std::size_t unread) {
  const Places places = places_of(shards);
  std::vector<Error> errors;
  for (auto first = places.begin(); first != places.end();) {
    const auto end =
        std::find_if(first, places.end(), [&](const Place& place) { return place.dataset != first->dataset; });
    Gaps gaps;
    std::uint32_t next = 0;
    for (auto place = first; place != end; ++place) {
      if (place->number > next) gaps.add(next, place->number);
      next = place->number + 1;
    }
    const bool alone = end - first == 1 && places.size() > 1;
    if (gaps.any() && !alone) {
      const std::string among =
          unread == 0 ? "" : " (unless they are among the " + std::to_string(unread) + " files that cannot be opened)";
      const Place& last = *(end - 1);
      errors.push_back(Error(Errc::missing_shard,
                             "there is no good manifest, and " + gaps.words() + " of the dataset whose number " +
                                 std::to_string(last.number) + " is " + *last.name + among +
                                 "; bring back what is missing, best with the manifest, or name the files to be read "
                                 "without it, as with " +
                                 shard_pattern(join_path(folder, folder_of(*last.name))))
                           .in_file(folder));
    }
    first = end;
  }
  return errors;
}

}  // namespace dovetail::detail
