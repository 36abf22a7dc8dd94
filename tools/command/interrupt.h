// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dovetail::tools {

/// From here on SIGINT and SIGTERM set a flag instead of ending the process, so that work in progress can be undone. A
/// second signal ends it at once.
void catch_interrupts();

/// Whether a signal came.
bool interrupted() noexcept;

}  // namespace dovetail::tools
