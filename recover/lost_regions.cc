// SPDX-License-Identifier: Apache-2.0
#include "recover/lost_regions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "format/text/count_of.h"

namespace dovetail::detail {

namespace {

using format::kAlignment;

// In the order of `Finding`.
constexpr std::array<std::string_view, 11> kFindings = {
    "no block was found here",
    "a header fails its checksum",
    "a block of an unknown type",
    "a block of another file",
    "a block fails its checksum",
    "a block extends beyond the end of the file",
    "too many headers claim these bytes to try all",
    "a duplicate block",
    "a block that contradicts the others",
    "a block does not decode",
    "bytes that cannot be read, even on a second try",
};
static_assert(kFindings.size() == static_cast<std::size_t>(Finding::unreadable) + 1);

/// The bytes between two neighbouring structures.
struct Stretch {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool told = false;
};

bool is_part_of_file(const ShardScan& scan, const FoundBlock& block) noexcept {
  const auto is = [&](const std::optional<FoundMessage>& message) {
    return message && message->position == block.position;
  };
  if (block.rejected) return false;
  return block.is_data() || format::is_skippable(block.type) || is(scan.metadata) || is(scan.index) || is(scan.footer);
}

std::vector<Stretch> bytes_between(const ShardScan& scan) {
  std::vector<Stretch> parts;
  parts.reserve(scan.blocks.size() + 3);
  for (const FoundBlock& block : scan.blocks) {
    if (is_part_of_file(scan, block)) parts.push_back({block.position, std::min(block.end(), scan.file_bytes)});
  }
  for (const auto& position : {scan.header_position, scan.trailer_position}) {
    if (position) parts.push_back({*position, *position + kAlignment});
  }
  parts.push_back({scan.file_bytes, scan.file_bytes});
  std::sort(parts.begin(), parts.end(),
            [](const Stretch& a, const Stretch& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::vector<Stretch> between;
  std::uint64_t end = 0;
  for (const Stretch& part : parts) {
    if (part.begin > end) between.push_back({end, part.begin});
    end = part.end;
  }
  return between;
}

/// Walks over the structures that a file should have, in their order. Makes one region of all
/// structures missing at one place.
class RegionWalk {
 public:
  explicit RegionWalk(const ShardScan& scan) : scan_(scan), between_(bytes_between(scan)) {}

  void missing(std::string_view structure) { names_ += (names_.empty() ? "" : ", ") + std::string(structure); }

  void missing_records(std::uint64_t first, std::uint64_t end) {
    first_record_ = first;
    end_record_ = end;
    records_ = true;
  }

  void found(std::uint64_t begin, std::uint64_t end) {
    close(begin);
    place_ = std::min(end, scan_.file_bytes);
  }

  void maybe(const std::optional<FoundMessage>& message, std::string_view name) {
    message ? found(message->position, message->position + message->header.span_bytes()) : missing(name);
  }

  void maybe(const std::optional<std::uint64_t>& position, std::string_view name) {
    position ? found(*position, *position + kAlignment) : missing(name);
  }

  std::vector<LostRange> finish() {
    close(scan_.file_bytes);
    for (Stretch& stretch : between_) {
      if (!stretch.told) tell(&stretch, stretch.begin);
    }
    tell_padding();
    std::stable_sort(regions_.begin(), regions_.end(),
                     [](const LostRange& a, const LostRange& b) { return a.offset < b.offset; });
    return std::move(regions_);
  }

 private:
  // One region for all blocks, because a file may have millions. It counts the bytes of their padding
  // only, without the good bytes between them.
  void tell_padding() {
    std::uint64_t blocks = 0;
    LostRange region{.file = {}, .reason = {}};
    for (const DirtyPadding& padding : scan_.padding) {
      if (stretch_at(padding.position) != nullptr) continue;
      if (blocks++ == 0) region.offset = padding.position;
      region.bytes += padding.bytes;
    }
    if (blocks == 0) return;
    region.reason = "padding that is not zero, of " + format::count_of(blocks, "block");
    regions_.push_back(std::move(region));
  }

  Stretch* stretch_at(std::uint64_t position) {
    const auto behind = std::upper_bound(between_.begin(), between_.end(), position,
                                         [](std::uint64_t at, const Stretch& s) { return at < s.begin; });
    return behind == between_.begin() || (behind - 1)->end <= position ? nullptr : &*(behind - 1);
  }

  // Attributes missing structures in front of `next` to the bytes behind the last structure found,
  // or else to the bytes before `next`.
  void close(std::uint64_t next) {
    if (names_.empty() && !records_) return;
    Stretch* at = stretch_at(place_);
    if ((at == nullptr || at->told) && next > 0) at = stretch_at(next - 1);
    if (at != nullptr && at->told) at = nullptr;
    tell(at, place_);
    names_.clear();
    records_ = false;
  }

  void tell(Stretch* stretch, std::uint64_t place) {
    LostRange region{.file = {}, .offset = place, .first_record = 0, .end_record = 0, .reason = {}};
    std::string_view found = place >= scan_.file_bytes ? "the file ends here" : "its bytes are not in the file";
    if (stretch != nullptr) {
      stretch->told = true;
      region.offset = stretch->begin;
      region.bytes = stretch->end - stretch->begin;
      found = finding_in(*stretch);
    }
    if (records_) {
      region.first_record = first_record_;
      region.end_record = end_record_;
    }
    region.reason = names_.empty() ? std::string(found) : names_ + ": " + std::string(found);
    regions_.push_back(std::move(region));
  }

  std::string_view finding_in(const Stretch& stretch) const {
    const auto note = std::lower_bound(scan_.notes.begin(), scan_.notes.end(), stretch.begin,
                                       [](const ScanNote& n, std::uint64_t at) { return n.position < at; });
    const bool inside = note != scan_.notes.end() && note->position < stretch.end;
    return kFindings[static_cast<std::size_t>(inside ? note->finding : Finding::no_header)];
  }

  const ShardScan& scan_;
  std::vector<Stretch> between_;
  std::vector<LostRange> regions_;
  std::uint64_t place_ = 0;  // behind the last structure found
  std::string names_;
  bool records_ = false;
  std::uint64_t first_record_ = 0;
  std::uint64_t end_record_ = 0;
};

}  // namespace

std::vector<LostRange> lost_regions(const ShardScan& scan, std::optional<std::uint64_t> expected_records) {
  RegionWalk walk(scan);
  walk.maybe(scan.header_position, "the file header");
  walk.maybe(scan.metadata, "the metadata block");
  std::uint64_t next_record = 0;
  for (const FoundBlock& block : scan.blocks) {
    if (!block.is_data() || block.rejected) continue;
    if (block.first_record > next_record) walk.missing_records(next_record, block.first_record);
    walk.found(block.position, block.end());
    next_record = block.end_record();
  }
  const std::uint64_t end = expected_records.value_or(std::max(next_record, scan.cut_end_record));
  if (end > next_record) walk.missing_records(next_record, end);
  if (!expected_records) walk.missing("an unknown number of records");
  walk.maybe(scan.index, "the index block");
  walk.maybe(scan.footer, "the footer block");
  walk.maybe(scan.trailer_position, "the trailer");
  return walk.finish();
}

void tell_region(LostRange region, std::uint64_t most, RecoverReport& report) {
  ++report.lost_regions;
  report.lost_records += region.end_record - region.first_record;
  if (report.lost.size() < most) report.lost.push_back(std::move(region));
}

}  // namespace dovetail::detail
