// SPDX-License-Identifier: Apache-2.0
#pragma once

// A function before whose name this stands is compiled for several widths of vectors; which one runs is decided when the
// program is loaded. A sanitizer must not look at the deciding function, which runs before it.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DOVETAIL_WIDE_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DOVETAIL_WIDE_VECTORS
#endif
