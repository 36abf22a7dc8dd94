// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/step_errors.h"

#include <cstddef>
#include <string>

#include "format/example/example_wire.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"

namespace dovetail::detail {

namespace {

/// For damage that a check of all files finds. A shard that is not of this dataset, or has vanished,
/// is perhaps whole, so its rows should not be given up.
std::string remedy_of(const Error& failure) {
  if (failure.kind() != ErrorKind::damaged || failure.is(Errc::manifest_mismatch) || failure.is(Errc::file_changed)) {
    return {};
  }
  return "; `dovetail verify` lists all damage, and on_damage = substitute or empty goes on without the lost rows";
}

}  // namespace

Error batch_too_large(const StepName& step, std::uint64_t bytes, std::uint64_t capacity) {
  return Error(Errc::batch_too_large, "step " + std::to_string(step.step) + " of epoch " + std::to_string(step.epoch) +
                                          " needs at least " + std::to_string(bytes) +
                                          " bytes for its rows, but a slot has " + std::to_string(capacity) +
                                          "; raise memory_bytes, lower the batch, or let it spill");
}

Error needed_at_step(const Loss& loss, const StepName& step) {
  const Error& failure = loss.error;
  const std::string text = failure.detail() + (failure.detail().empty() ? "" : "; ") + "records [" +
                           std::to_string(loss.first_record) + ", " + std::to_string(loss.end_record) +
                           ") of the shard, needed by rank " + std::to_string(step.rank) + " at step " +
                           std::to_string(step.step) + " of epoch " + std::to_string(step.epoch) + remedy_of(failure);
  const Error needed(failure.code(), text);
  return failure.offset() ? needed.at(failure.path(), *failure.offset()) : needed.in_file(failure.path());
}

std::string key_clause(ByteView record) {
  constexpr std::size_t kShownBytes = 200;
  format::ExampleFeatures features;
  if (!features.parse(record).has_value()) return {};
  const format::FeatureView* const feature = features.find("__key__");
  if (feature == nullptr || feature->kind != format::FeatureKind::bytes || feature->count != 1) return {};
  ByteView key;
  format::FeatureValues(*feature).next(key);
  return "; key \"" + format::visible(format::shortened(as_chars(key), kShownBytes)) + '"';
}

}  // namespace dovetail::detail
