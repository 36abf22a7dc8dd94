// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/columns.h>
#include <dovetail/schema.h>

namespace dovetail::detail {

/// What columns the values of a batch are, and where each lies.
struct BatchColumns {
  std::shared_ptr<const Schema> schema;
  ColumnLayout layout;
};

}  // namespace dovetail::detail
