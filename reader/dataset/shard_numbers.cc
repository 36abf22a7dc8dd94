// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/shard_numbers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "format/text/count_of.h"
#include "reader/dataset/glob.h"
#include "reader/dataset/paths.h"

namespace dovetail::detail {
namespace {

/// A shard's number in its dataset, and the position of its name among all names.
struct Place {
  std::uint32_t dataset = 0;  // the half of the file id that all shards of a dataset share
  std::uint32_t number = 0;
  std::size_t position = 0;
};

using Places = std::vector<Place>;

/// Sorted by dataset, then by shard number.
Places places_of(const std::vector<ShardInfo>& shards) {
  Places places;
  places.reserve(shards.size());
  for (std::size_t position = 0; position < shards.size(); ++position) {
    const ShardInfo& shard = shards[position];
    // Skip TFRecords: their file id is made of checksums. They have no headers, which every shard
    // has.
    if (shard.stored_bytes == shard.file_bytes) continue;
    const auto number = static_cast<std::uint32_t>(shard.file_id);
    places.push_back({static_cast<std::uint32_t>(shard.file_id >> 32), number, position});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.dataset, a.number, a.position) < std::tie(b.dataset, b.number, b.position);
  });
  return places;
}

/// The missing numbers, as text: the first gaps, and the count of all missing numbers.
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

/// The shards of one dataset.
struct OneDataset {
  const std::string& folder;
  const std::vector<ShardInfo>& shards;
  std::span<const Place> places;

  const std::string& name(const Place& place) const { return shards[place.position].name; }
  std::string pattern() const { return shard_pattern(join_path(folder, folder_of(name(places.back())))); }
};

std::optional<Error> find_gaps(const OneDataset& dataset, std::size_t unread) {
  Gaps gaps;
  std::uint32_t next = 0;
  for (const Place& place : dataset.places) {
    if (place.number > next) gaps.add(next, place.number);
    next = place.number + 1;
  }
  if (!gaps.any()) return std::nullopt;
  const std::string among =
      unread == 0 ? "" : " (unless they are in " + format::count_of(unread, "file") + " that cannot be opened)";
  const Place& last = dataset.places.back();
  return Error(Errc::missing_shard,
               "there is no good manifest, and " + gaps.words() + " of the dataset whose number " +
                   std::to_string(last.number) + " is " + dataset.name(last) + among +
                   "; restore the missing files, or the manifest too; or name the files to read without it, as "
                   "with " +
                   dataset.pattern())
      .in_file(dataset.folder);
}

std::optional<Error> find_misplaced(const OneDataset& dataset) {
  const auto wrong = std::adjacent_find(
      dataset.places.begin(), dataset.places.end(),
      [](const Place& a, const Place& b) { return a.number == b.number || a.position > b.position; });
  if (wrong == dataset.places.end()) return std::nullopt;
  const Place& first = *wrong;
  const Place& second = *(wrong + 1);
  const std::string what = first.number == second.number
                               ? dataset.name(first) + " and " + dataset.name(second) + " are both shard number " +
                                     std::to_string(first.number) + " of one dataset; remove one"
                               : dataset.name(first) + " is shard number " + std::to_string(first.number) +
                                     " of its dataset and " + dataset.name(second) + " number " +
                                     std::to_string(second.number) +
                                     ", but their names sort in the other order; rename them";
  return Error(Errc::misplaced_shard, "there is no good manifest, and " + what +
                                          ", restore the manifest, or name the files to read as they are, as "
                                          "with " +
                                          dataset.pattern())
      .in_file(dataset.folder);
}

}  // namespace

std::vector<Error> check_shard_numbers(const std::string& folder, const std::vector<ShardInfo>& shards,
                                       std::size_t unread) {
  const Places places = places_of(shards);
  std::vector<Error> errors;
  for (auto first = places.begin(); first != places.end();) {
    const auto end =
        std::find_if(first, places.end(), [&](const Place& place) { return place.dataset != first->dataset; });
    const OneDataset dataset{folder, shards, {first, end}};
    const bool alone = end - first == 1 && places.size() > 1;
    std::optional<Error> error = alone ? std::nullopt : find_gaps(dataset, unread);
    if (!error) error = find_misplaced(dataset);
    if (error) errors.push_back(*std::move(error));
    first = end;
  }
  return errors;
}

}  // namespace dovetail::detail
