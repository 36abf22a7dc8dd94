// SPDX-License-Identifier: Apache-2.0
// Compiles Boost.JSON once for all programs. The other sources see only declarations.
#include <boost/json/src.hpp>
