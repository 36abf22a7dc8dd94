// SPDX-License-Identifier: Apache-2.0
// Built into two shared objects, each with its own copy of the library.
#include <dovetail/error.h>

extern "C" __attribute__((visibility("default"))) void dovetail_error_probe(boost::system::error_code* out) {
  *out = make_error_code(dovetail::Errc::slots_held);
}
