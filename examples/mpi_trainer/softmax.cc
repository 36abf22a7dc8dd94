// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "example.pb.h"

namespace digits {

namespace {

const Feature& feature_of(const Example& example, const char* name) {
  const auto found = example.features().feature().find(name);
  if (found == example.features().feature().end()) throw std::runtime_error(std::string("no feature ") + name);
  return found->second;
}

std::size_t weight_of(std::size_t pixel, std::size_t label) {
  return pixel * kClasses + label;
}

}  // namespace

Digit parse_digit(dovetail::ByteView record) {
  Example example;
  if (record.size() > std::numeric_limits<int>::max() ||
      !example.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
    throw std::runtime_error("a record is not a tf.train.Example");
  }
  const auto& pixels = feature_of(example, "image_floats").float_list().value();
  const auto& labels = feature_of(example, "image_class").int64_list().value();
  if (pixels.size() != kPixels || labels.size() != 1 || labels[0] < 0 || labels[0] >= int{kClasses}) {
    throw std::runtime_error("an example is no digit of 28 x 28 pixels");
  }
  return {{pixels.begin(), pixels.end()}, static_cast<std::size_t>(labels[0])};
}

void Sums::count(Sums& other) noexcept {
  loss() += other.loss();
  hits() += other.hits();
  digits() += other.digits();
}

void Softmax::add(const Digit& digit, Sums& sums) const {
  std::array<float, kClasses> scores{};
  for (std::size_t pixel = 0; pixel <= kPixels; ++pixel) {
    const float input = pixel < kPixels ? digit.pixels[pixel] : 1.0F;
    for (std::size_t label = 0; label < kClasses; ++label) scores[label] += input * weights_[weight_of(pixel, label)];
  }
  const auto best = std::max_element(scores.begin(), scores.end());
  sums.hits() += static_cast<std::size_t>(best - scores.begin()) == digit.label ? 1.0F : 0.0F;
  const float highest = *best;
  float total = 0;
  for (float& score : scores) total += score = std::exp(score - highest);
  for (float& score : scores) score /= total;
  sums.loss() -= std::log(std::max(scores[digit.label], 1e-12F));
  sums.digits() += 1;
  scores[digit.label] -= 1;
  for (std::size_t pixel = 0; pixel <= kPixels; ++pixel) {
    const float input = pixel < kPixels ? digit.pixels[pixel] : 1.0F;
    for (std::size_t label = 0; label < kClasses; ++label)
      sums.gradient(weight_of(pixel, label)) += input * scores[label];
  }
}

Sums Softmax::forward_backward(const dovetail::Batch& batch) const {
  Sums sums;
  for (std::uint32_t row = 0; row < batch.rows(); ++row) {
    if (batch.status()[row] == dovetail::RowStatus::first) add(parse_digit(batch.row(row)), sums);
  }
  return sums;
}

void Softmax::descend(Sums& sums, float rate) {
  const float step = rate / std::max(sums.digits(), 1.0F);
  for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] -= step * sums.gradient(i);
}

}  // namespace digits
