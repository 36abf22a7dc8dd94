// SPDX-License-Identifier: Apache-2.0
#include "convert/record_split.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "format/layout.h"
#include "format/text/number_text.h"
#include "format/try.h"
#include "sources/bytes/hashes.h"

namespace dovetail {

namespace {

constexpr double kShareSlack = 1e-9;  // rounding error of sums of decimal fractions

Error wrong_split(const std::string& why) {
  return Error(Errc::invalid_option, "split: " + why);
}

Result<double> parse_share(std::string_view text) {
  const auto share = format::parse_number<double>(text);
  if (share && *share > 0 && *share <= 1) return *share;
  return wrong_split("'" + std::string(text) + "' is not a share, a number above 0 and up to 1");
}

// A conversion has files of these names beside the folders of a split.
bool is_taken(std::string_view name) {
  return name == "conversion" || name == "lock" || name.ends_with(format::kShardSuffix);
}

}  // namespace

Result<std::vector<SplitShare>> parse_split(std::string_view text) {
  std::vector<SplitShare> shares;
  std::optional<std::size_t> open;
  double sum = 0;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    const std::size_t equals = item.find('=');
    SplitShare share{std::string(item.substr(0, equals)), 0};
    if (equals != std::string_view::npos) {
      DOVETAIL_ASSIGN(auto number, parse_share(item.substr(equals + 1)));
      share.share = number;
      sum += share.share;
    } else if (open) {
      return wrong_split("both '" + shares[*open].name + "' and '" + share.name + "' have no share");
    } else {
      open = shares.size();
    }
    shares.push_back(std::move(share));
  }
  if (open) shares[*open].share = 1 - sum;
  auto checked = detail::RecordSplit::make(shares, 0);
  if (!checked) return checked.error();
  return shares;
}

namespace detail {

// A name must not be skipped as hidden.
bool is_folder_name(std::string_view name) noexcept {
  return !name.empty() && name.front() != '.' && name.front() != ' ' && name.back() != ' ' && name.size() <= 200 &&
         !is_taken(name) && name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

Result<RecordSplit> RecordSplit::make(const std::vector<SplitShare>& shares, std::uint64_t seed) {
  RecordSplit split;
  split.seed_ = seed;
  if (shares.empty()) return split;
  split.names_.clear();
  double sum = 0;
  for (const SplitShare& share : shares) {
    if (!is_folder_name(share.name)) return wrong_split("'" + share.name + "' cannot be the name of a folder");
    if (std::find(split.names_.begin(), split.names_.end(), share.name) != split.names_.end()) {
      return wrong_split("'" + share.name + "' occurs twice");
    }
    if (!(share.share > kShareSlack)) return wrong_split("'" + share.name + "' has no share");
    split.names_.push_back(share.name);
    sum += share.share;
    const double end = std::ldexp(std::min(sum, 1.0), 64);
    split.ends_.push_back(end >= std::ldexp(1.0, 64) ? ~std::uint64_t{0} : static_cast<std::uint64_t>(end));
  }
  if (!(std::abs(sum - 1) <= kShareSlack)) {
    return wrong_split("the shares add up to " + std::to_string(sum) +
                       ", not to 1; a name without a share gets the rest");
  }
  split.ends_.pop_back();
  return split;
}

std::size_t RecordSplit::output_of(std::string_view key, ByteView record) const noexcept {
  if (ends_.empty()) return 0;
  const std::uint64_t hash = keyed_hash(key.empty() ? record : as_bytes(key), seed_);
  return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), hash) - ends_.begin());
}

}  // namespace detail

}  // namespace dovetail
