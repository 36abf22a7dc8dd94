// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "Dovetail needs C++20: compile with -std=c++20, or CMAKE_CXX_STANDARD 20"
#endif

/// What the shared library exports. Its own sources are compiled with hidden visibility; this
/// changes nothing for users.
#define DOVETAIL_EXPORT [[gnu::visibility("default")]]
/// A private part of an exported class.
#define DOVETAIL_HIDDEN [[gnu::visibility("hidden")]]
