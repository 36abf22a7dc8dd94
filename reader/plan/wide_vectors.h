// SPDX-License-Identifier: Apache-2.0
#pragma once

// Marks a function to be compiled for several vector widths; the loader picks the version. Not with
// sanitizers: the function that picks runs before their runtime is ready.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DOVETAIL_WIDE_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DOVETAIL_WIDE_VECTORS
#endif
