// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <dovetail/batch.h>

namespace digits {

inline constexpr std::size_t kPixels = 28 * 28;
inline constexpr std::size_t kClasses = 10;

/// One handwritten digit, out of a tf.train.Example.
struct Digit {
  std::vector<float> pixels;
  std::size_t label = 0;
};

/// Throws `std::runtime_error` unless the record holds `image_floats` and `image_class` of the
/// right shape.
Digit parse_digit(dovetail::ByteView record);

/// What ranks add up in each step: the gradient, and behind it the loss, the hits and the number of
/// digits. One array, so that one all-reduce moves it all.
class Sums {
 public:
  static constexpr std::size_t kWeights = (kPixels + 1) * kClasses;

  Sums() : values_(kWeights + 3, 0.0F) {}
  float* data() noexcept { return values_.data(); }
  int size() const noexcept { return static_cast<int>(values_.size()); }
  float& gradient(std::size_t weight) noexcept { return values_[weight]; }
  float& loss() noexcept { return values_[kWeights]; }
  float& hits() noexcept { return values_[kWeights + 1]; }
  float& digits() noexcept { return values_[kWeights + 2]; }
  /// Adds loss, hits and digits of another, but not the gradient, which belongs to its step.
  void count(Sums& other) noexcept;

 private:
  std::vector<float> values_;
};

/// Softmax regression: one weight per pixel and class, and a bias per class.
class Softmax {
 public:
  Softmax() : weights_(Sums::kWeights, 0.0F) {}

  /// The sums over a batch. Rows count where a record is delivered for the first time: empty rows
  /// have no bytes, and repeated ones would count twice.
  Sums forward_backward(const dovetail::Batch& batch) const;
  /// One step against the mean gradient.
  void descend(Sums& sums, float rate);

 private:
  void add(const Digit& digit, Sums& sums) const;
  std::vector<float> weights_;
};

}  // namespace digits
