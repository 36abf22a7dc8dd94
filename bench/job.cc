// SPDX-License-Identifier: Apache-2.0
#include "bench/job.h"

#include <cstring>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>

namespace dovetail::bench {

void Delivered::take(const std::byte* values, std::span<const std::int64_t> offsets) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (offsets[i + 1] - offsets[i] < static_cast<std::int64_t>(sizeof(std::uint64_t))) continue;
    std::uint64_t word;
    std::memcpy(&word, values + offsets[i], sizeof(word));
    sum += word;
  }
  words += sum;
  batches += 1;
  bytes += static_cast<std::uint64_t>(offsets.back() - offsets.front());
}

void Delivered::take_ids(std::span<const std::uint64_t> of_rows) noexcept {
  for (const std::uint64_t id : of_rows) {
    ids += id;
    id_squares += id * id;
    id_prefixes += ids;
  }
}

void Delivered::add(const Delivered& other) noexcept {
  batches += other.batches;
  rows += other.rows;
  bytes += other.bytes;
  words += other.words;
  ids += other.ids;
  id_squares += other.id_squares;
  id_prefixes += other.id_prefixes;
}

std::string to_text(const Job& job) {
  return boost::json::serialize(boost::json::value_from(job));
}

Job job_from_text(const std::string& text) {
  return boost::json::value_to<Job>(boost::json::parse(text));
}

std::string to_text(const Outcome& outcome) {
  return boost::json::serialize(boost::json::value_from(outcome));
}

Outcome outcome_from_text(const std::string& text) {
  return boost::json::value_to<Outcome>(boost::json::parse(text));
}

}  // namespace dovetail::bench
