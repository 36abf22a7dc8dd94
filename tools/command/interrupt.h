// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dovetail::tools {

/// From now on, the first SIGINT or SIGTERM sets a flag instead of ending the process, so that work
/// in progress can be undone. A second signal ends the process at once.
void catch_interrupts();

/// Whether such a signal arrived.
bool interrupted() noexcept;

}  // namespace dovetail::tools
