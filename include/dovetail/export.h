// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the shared library exports. Its own sources are compiled with hidden visibility; this changes nothing for users.
#define DOVETAIL_EXPORT [[gnu::visibility("default")]]
/// A private part of an exported class.
#define DOVETAIL_HIDDEN [[gnu::visibility("hidden")]]
