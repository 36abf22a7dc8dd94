// SPDX-License-Identifier: Apache-2.0
// MosaicML's shards and their index, as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dovetail::test {

inline std::string le(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (; text.size() < bytes; value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

inline const std::string kMdsColumns =
    R"("column_names":["n","half","text"],"column_encodings":["int","float16","str"],"column_sizes":[8,2,null])";

inline std::string mds_sample(std::int64_t number, std::uint16_t half, const std::string& text) {
  return le(text.size(), 4) + le(static_cast<std::uint64_t>(number), 8) + le(half, 2) + text;
}

inline std::string mds_shard(const std::vector<std::string>& samples, const std::string& columns = kMdsColumns) {
  const std::string description = '{' + columns + '}';
  std::uint64_t at = 4 + 4 * (samples.size() + 1) + description.size();
  std::string head = le(samples.size(), 4) + le(at, 4);
  std::string body;
  for (const std::string& each : samples) {
    head += le(at += each.size(), 4);
    body += each;
  }
  return head + description + body;
}

inline std::string mds_entry(const std::string& name, std::size_t bytes, std::size_t samples,
                             const std::string& more = "\"zip_data\":null", const std::string& columns = kMdsColumns) {
  return '{' + columns + R"(,"compression":null,"format":"mds","hashes":[],"raw_data":{"basename":")" + name +
         R"(","bytes":)" + std::to_string(bytes) + R"(,"hashes":{}},"samples":)" + std::to_string(samples) +
         R"(,"size_limit":67108864,"version":2,)" + more + '}';
}

inline std::string mds_index(const std::string& entries) {
  return R"({"shards":[)" + entries + R"(],"version":2})";
}

}  // namespace dovetail::test
