// SPDX-License-Identifier: Apache-2.0
// Boost.JSON is compiled here, once, for all programs; the other sources see declarations only.
#include <boost/json/src.hpp>
