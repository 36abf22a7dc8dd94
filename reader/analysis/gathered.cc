// SPDX-License-Identifier: Apache-2.0
#include <dovetail/gathered.h>

#include <algorithm>
#include <string>

namespace dovetail {

namespace {

constexpr std::uint64_t kNoRow = ~std::uint64_t{0};

Error wrong(const std::string& what) {
  return Error(Errc::invalid_option, "gathered rows: " + what);
}

Error missing(std::uint64_t id, std::uint64_t records, std::size_t gathered) {
  return wrong("record " + std::to_string(id) + " is missing; there are " + std::to_string(gathered) + " rows for " +
               std::to_string(records) + " records");
}

std::string named(std::uint64_t row) {
  return "row " + std::to_string(row);
}

/// Whether a row with `status` is preferred to another row, with status `than`, of the same record.
bool counts_more(RowStatus status, RowStatus than) {
  const auto worth = [](RowStatus of) { return of == RowStatus::first ? 2 : is_damaged(of) ? 0 : 1; };
  return worth(status) > worth(than);
}

}  // namespace

Result<GatheredRows> GatheredRows::place(std::uint64_t records, std::span<const std::uint64_t> ids,
                                         std::span<const RowStatus> status) {
  if (ids.size() != status.size()) {
    return wrong(std::to_string(ids.size()) + " ids, but " + std::to_string(status.size()) + " statuses");
  }
  GatheredRows placed;
  placed.gathered_ = ids.size();
  std::vector<std::uint64_t>& rows = placed.rows_;
  // A smaller table is enough if there are fewer rows than records: some record below ids.size() +
  // 1 is then missing.
  rows.assign(static_cast<std::size_t>(std::min<std::uint64_t>(records, ids.size() + 1)), kNoRow);
  for (std::uint64_t row = 0; row < ids.size(); ++row) {
    const std::uint64_t id = ids[row];
    if (static_cast<std::size_t>(status[row]) >= kRowStatuses) {
      return wrong(named(row) + " has status " + std::to_string(static_cast<unsigned>(status[row])) +
                   ", which is not a status");
    }
    if (status[row] == RowStatus::empty) {
      if (id != kNoId) return wrong(named(row) + " is empty, but names record " + std::to_string(id));
      continue;
    }
    if (id >= records) {
      return wrong(named(row) + " has id " + std::to_string(id) + ", but the dataset has " + std::to_string(records) +
                   " records");
    }
    if (id >= rows.size()) continue;
    std::uint64_t& of_record = rows[id];
    if (of_record == kNoRow || counts_more(status[row], status[of_record])) {
      of_record = row;
    } else if (status[row] == RowStatus::first && status[of_record] == RowStatus::first) {
      return wrong("record " + std::to_string(id) + " is delivered for the first time in row " +
                   std::to_string(of_record) + " and in row " + std::to_string(row));
    }
  }
  for (std::uint64_t id = 0; id < rows.size(); ++id) {
    if (rows[id] == kNoRow) return missing(id, records, ids.size());
    if (is_damaged(status[rows[id]])) placed.damaged_.push_back(id);
  }
  return placed;
}

Result<void> GatheredRows::check_values(std::size_t values, std::size_t width) const {
  // Divide rather than multiply: the product of the caller's numbers might overflow.
  const bool fits = gathered_ == 0 || width == 0 ? values == 0 : values % width == 0 && values / width == gathered_;
  if (fits) return {};
  return wrong(std::to_string(values) + " values, but " + std::to_string(gathered_) + " rows of " +
               std::to_string(width));
}

}  // namespace dovetail
