// SPDX-License-Identifier: Apache-2.0
// The words for options of readers: on the command line and in Python.
#pragma once

#include <dovetail/reader_options.h>

#include "format/text/words.h"

namespace dovetail::format {

inline constexpr Words<OnDamage, 3> kOnDamageWords{
    {{"fail", OnDamage::fail}, {"substitute", OnDamage::substitute}, {"empty", OnDamage::empty}}};
inline constexpr Words<OnHungRead, 2> kOnHungReadWords{{{"wait", OnHungRead::wait}, {"fail", OnHungRead::fail}}};
inline constexpr Words<Oversize, 2> kOversizeWords{{{"fail", Oversize::fail}, {"spill", Oversize::spill}}};
inline constexpr Words<Registration, 3> kRegistrationWords{
    {{"preferred", Registration::preferred}, {"required", Registration::required}, {"off", Registration::off}}};
inline constexpr Words<HugePages, 3> kHugePagesWords{
    {{"automatic", HugePages::automatic}, {"on", HugePages::on}, {"off", HugePages::off}}};
inline constexpr Words<StorageKind, 3> kStorageWords{{{"automatic", StorageKind::automatic},
                                                      {"pread", StorageKind::pread},
                                                      {"io_uring_direct", StorageKind::io_uring_direct}}};

}  // namespace dovetail::format
