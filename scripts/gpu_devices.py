#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first GPU, as the CUDA driver sees it: prints `name|architecture|CUDA version of the driver`, or ends with 77."""

import ctypes
import sys

CAPABILITY_MAJOR = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, and _MINOR behind it


def first_device():
    cuda = ctypes.CDLL("libcuda.so.1")
    number = ctypes.c_int()

    def value_of(function, *arguments):
        status = getattr(cuda, function)(ctypes.byref(number), *arguments)
        if status != 0:
            raise OSError(f"{function}: {status}")
        return number.value

    if cuda.cuInit(0) != 0 or value_of("cuDeviceGetCount") == 0:
        raise OSError("no device")
    device = value_of("cuDeviceGet", 0)
    name = ctypes.create_string_buffer(256)
    if cuda.cuDeviceGetName(name, len(name), device) != 0:
        raise OSError("no name")
    major = value_of("cuDeviceGetAttribute", CAPABILITY_MAJOR, device)
    minor = value_of("cuDeviceGetAttribute", CAPABILITY_MAJOR + 1, device)
    version = value_of("cuDriverGetVersion")
    return f"{name.value.decode()}|{major}{minor}|for CUDA {version // 1000}.{version % 1000 // 10}"


if __name__ == "__main__":
    try:
        print(first_device())
    except (OSError, AttributeError) as error:
        print(error, file=sys.stderr)
        sys.exit(77)
