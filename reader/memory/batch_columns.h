// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/columns.h>
#include <dovetail/schema.h>

namespace dovetail::detail {

/// The columns that the values of a batch consist of, and the place of each.
struct BatchColumns {
  std::shared_ptr<const Schema> schema;
  ColumnLayout layout;
};

}  // namespace dovetail::detail
