// SPDX-License-Identifier: Apache-2.0
#include "recover/shard_claims.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace dovetail::detail {

namespace {

/// The numbers that one structure states.
struct Claim {
  std::string_view who;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> records = {};
  std::optional<std::uint64_t> blocks = {};
};

/// A number that both manifest and footer state.
struct Field {
  std::string_view name;
  std::uint64_t (*value)(const ShardInfo&);
};

constexpr std::array kFields = {
    Field{"records per run", [](const ShardInfo& info) { return info.run_records; }},
    Field{"raw bytes", [](const ShardInfo& info) { return info.raw_bytes; }},
    Field{"stored bytes", [](const ShardInfo& info) { return info.stored_bytes; }},
    Field{"bytes in the smallest record", [](const ShardInfo& info) { return std::uint64_t{info.min_record_bytes}; }},
    Field{"bytes in the largest record", [](const ShardInfo& info) { return std::uint64_t{info.max_record_bytes}; }},
    Field{"raw bytes in the largest block", [](const ShardInfo& info) { return std::uint64_t{info.max_block_raw}; }},
    Field{"stored bytes in the largest block",
          [](const ShardInfo& info) { return std::uint64_t{info.max_block_stored}; }},
    Field{"records in the largest block", [](const ShardInfo& info) { return std::uint64_t{info.max_block_records}; }},
};

class Comparison {
 public:
  Comparison(const std::string& file, const ShardClaims& claims) : file_(file), claims_(claims) {
    const ShardScan& scan = claims.scan;
    if (claims.entry != nullptr) {
      said_.push_back({"the manifest", 0, 0, claims.entry->records, claims.entry->blocks});
    }
    if (scan.trailer_position) {
      said_.push_back(
          {"the trailer", *scan.trailer_position, format::kTrailerBytes, scan.trailer.records, scan.trailer.blocks});
    }
    if (claims.footer != nullptr) said_.push_back(at_footer("the footer"));
    if (claims.footer != nullptr) said_.back().records = claims.footer->records;
    if (claims.footer != nullptr) said_.back().blocks = claims.footer->blocks;
    if (scan.footer) said_.push_back(at_footer("the head of the footer"));
    if (scan.footer) said_.back().records = scan.footer->header.first_record;
    if (scan.index) {
      said_.push_back({"the head of the index", scan.index->position, scan.index->header.span_bytes(),
                       scan.index->header.first_record, scan.index->header.stored_bytes / format::kIndexEntryBytes});
    }
  }

  std::vector<LostRange> run(std::optional<std::uint64_t> expected_records, bool intact) {
    const bool whole = expected_records == claims_.decoded.records;
    compare_counts(" records", &Claim::records, whole, expected_records, claims_.decoded.records);
    compare_counts(" blocks", &Claim::blocks, whole, std::nullopt, claims_.decoded.blocks);
    compare_fields();
    compare_fingerprints(whole);
    if (intact && regions_.empty()) compare_places();
    return std::move(regions_);
  }

 private:
  Claim at_footer(std::string_view who) const {
    const FoundMessage& footer = *claims_.scan.footer;
    return {who, footer.position, footer.header.span_bytes()};
  }

  void tell(const Claim& claim, std::string reason) {
    regions_.push_back({.file = file_, .offset = claim.offset, .bytes = claim.bytes, .reason = std::move(reason)});
  }

  // Compares claims with the blocks found if these are complete. Otherwise compares with the
  // believed claim, or the first claim.
  void compare_counts(std::string_view unit, std::optional<std::uint64_t> Claim::*count, bool whole,
                      std::optional<std::uint64_t> believed, std::uint64_t found) {
    const auto is_believed = [&](const Claim& claim) {
      return claim.*count && (!believed || claim.*count == believed);
    };
    const auto other = std::find_if(said_.begin(), said_.end(), is_believed);
    const bool by_found = whole || other == said_.end();
    const std::uint64_t right = by_found ? found : *((*other).*count);
    const std::string what = by_found ? (whole ? "there are " : "there are at least ") : std::string(other->who) + ' ';
    for (const Claim& claim : said_) {
      if (!(claim.*count) || claim.*count == right) continue;
      if (!whole && by_found && *(claim.*count) > found) continue;
      tell(claim, std::string(claim.who) + " says " + std::to_string(*(claim.*count)) + std::string(unit) + ", " +
                      what + std::to_string(right));
    }
  }

  void compare_fields() {
    if (claims_.entry == nullptr || claims_.footer == nullptr) return;
    for (const Field& field : kFields) {
      const std::uint64_t entry = field.value(*claims_.entry);
      const std::uint64_t footer = field.value(*claims_.footer);
      if (entry == footer) continue;
      tell(at_footer("the footer"), "the manifest says " + std::to_string(entry) + ' ' + std::string(field.name) +
                                        ", the footer " + std::to_string(footer));
    }
  }

  void compare_fingerprints(bool whole) {
    const ShardInfo* const entry = claims_.entry;
    const ShardInfo* const footer = claims_.footer;
    const auto is_other = [&](const ShardInfo* info) {
      return whole && info != nullptr && info->records == claims_.decoded.records &&
             info->fingerprint != claims_.decoded.fingerprint;
    };
    if (is_other(entry)) tell({.who = {}}, "the fingerprint of the records differs from the manifest's");
    if (is_other(footer)) {
      tell(at_footer("the footer"), "the fingerprint of the records differs from the footer's");
    }
    if (!whole && entry != nullptr && footer != nullptr && entry->fingerprint != footer->fingerprint) {
      tell(at_footer("the footer"), "manifest and footer have different fingerprints of the records");
    }
  }

  void compare_places() {
    const ShardScan& scan = claims_.scan;
    const auto compare_size = [&](const Claim& claim, std::uint64_t said) {
      if (said == scan.file_bytes) return;
      tell(claim, std::string(claim.who) + " says " + std::to_string(said) + " bytes of the file, there are " +
                      std::to_string(scan.file_bytes));
    };
    for (const Claim& claim : said_) {
      if (claim.who == "the manifest") compare_size(claim, claims_.entry->file_bytes);
      if (claim.who != "the trailer") continue;
      compare_size(claim, scan.trailer.file_bytes);
      if (scan.footer && scan.trailer.footer_offset != scan.footer->position) {
        tell(claim, "the trailer says that the footer is at " + std::to_string(scan.trailer.footer_offset) +
                        ", it is at " + std::to_string(scan.footer->position));
      }
    }
  }

  const std::string& file_;
  const ShardClaims& claims_;
  std::vector<Claim> said_;
  std::vector<LostRange> regions_;
};

}  // namespace

std::vector<LostRange> disagreements(const std::string& file, const ShardClaims& claims,
                                     std::optional<std::uint64_t> expected_records, bool intact) {
  return Comparison(file, claims).run(expected_records, intact);
}

}  // namespace dovetail::detail
