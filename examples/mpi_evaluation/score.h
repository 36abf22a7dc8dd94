// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dovetail/bytes.h>

namespace evaluation {

/// The natural logarithm of the probability that an adaptive model of single bytes gives a record:
/// what a language model's score is to its evaluation, without a model to load.
float log_likelihood(dovetail::ByteView record);

/// The mean of scores, added up in their order. In single precision, where the order shows.
float mean(const std::vector<float>& scores);

}  // namespace evaluation
