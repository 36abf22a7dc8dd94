// SPDX-License-Identifier: Apache-2.0
#include "convert/record_shapes.h"

#include <algorithm>
#include <functional>
#include <string>

namespace dovetail::detail {

namespace {

constexpr std::size_t kMostShapes = 256;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

}  // namespace

bool RecordShape::has(std::string_view name) const {
  return std::binary_search(names.begin(), names.end(), name);
}

void RecordShapes::add(std::uint64_t id, const LineCursor& cursor) {
  if (too_many_ || !features_.parse(cursor.record())) return;
  joined_.clear();
  std::size_t names = 0;
  for (const format::FeatureView& feature : features_.all()) {
    if (feature.count == 0) continue;
    joined_ += std::to_string(feature.name.size()) + ' ';
    joined_ += feature.name;
    ++names;
  }
  if (joined_.size() + names * sizeof(std::string) > kMostBytes) return give_up();
  const std::uint64_t hash = std::hash<std::string>()(joined_);
  if (const auto found = shapes_.find(hash); found != shapes_.end() && found->second.first < id) {
    ++found->second.records;
    return;
  }
  RecordShape shape{.names = {}, .records = 1, .first = id, .file = cursor.file(), .line = cursor.line()};
  for (const format::FeatureView& feature : features_.all()) {
    if (feature.count != 0) shape.names.emplace_back(feature.name);
  }
  take(hash, shape);
}

void RecordShapes::merge(const RecordShapes& other) {
  if (other.too_many_) give_up();
  for (const auto& [hash, shape] : other.shapes_) take(hash, shape);
}

std::vector<const RecordShape*> RecordShapes::all() const {
  std::vector<const RecordShape*> shapes;
  for (const auto& [hash, shape] : shapes_) shapes.push_back(&shape);
  std::sort(shapes.begin(), shapes.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  return shapes;
}

void RecordShapes::give_up() {
  too_many_ = true;
  shapes_.clear();
}

void RecordShapes::take(std::uint64_t hash, const RecordShape& shape) {
  if (too_many_) return;
  const auto [found, added] = shapes_.emplace(hash, shape);
  if (added) {
    for (const std::string& name : shape.names) bytes_ += sizeof(std::string) + name.size();
    if (shapes_.size() > kMostShapes || bytes_ > kMostBytes) give_up();
    return;
  }
  RecordShape& known = found->second;
  const std::uint64_t records = known.records + shape.records;
  if (shape.first < known.first) known = shape;
  known.records = records;
}

}  // namespace dovetail::detail
