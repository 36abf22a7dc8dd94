// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dovetail::tools {

/// From here on SIGINT and SIGTERM are noted instead of ending the process, so that work in progress can be undone. A
/// second signal ends it at once.
void catch_interrupts();

/// Whether one came.
bool interrupted() noexcept;

}  // namespace dovetail::tools
