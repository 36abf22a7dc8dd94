# SPDX-License-Identifier: Apache-2.0
"""Which folder may include which. `check` finds every #include of the project that is against it."""

import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

# What each folder may include of the project, longest prefix first. The public headers may be included by all.
ALLOWED = {
    "include/dovetail": [],
    "format": ["format"],
    "writer": ["format", "writer"],
    "reader/plan": ["format", "reader/plan"],
    "reader/analysis": ["reader/plan", "reader/analysis"],
    "reader/storage": ["format", "reader/storage"],
    "reader/dataset": ["format", "reader/plan", "reader/storage", "reader/dataset"],
    "reader/features": ["format", "reader/plan", "reader/dataset", "reader/features"],
    "reader/walk": ["reader/plan", "reader/walk"],
    "reader/fetch": ["format", "reader/plan", "reader/storage", "reader/dataset", "reader/walk", "reader/fetch"],
    "reader/memory": ["format", "reader/memory"],
    "reader/fill": ["format", "reader/plan", "reader/storage", "reader/dataset", "reader/walk", "reader/fetch",
                    "reader/memory", "reader/fill"],
    "reader/trace": ["format", "reader/trace"],
    "reader/handover": ["format", "reader/memory", "reader/fill", "reader/trace", "reader/handover"],
    "reader/delivery": ["format", "reader"],
    "sources/bytes": ["format", "writer", "sources/bytes"],
    "sources": ["format", "writer", "sources"],
    "convert": ["format", "writer", "sources", "convert"],
    "recover": ["format", "writer", "sources", "recover"],
    "tfrecord": ["format", "writer", "sources", "convert", "tfrecord"],
    "inspect": ["format", "inspect"],
    "tools/command": ["format", "tools/command"],
    "tools/records": ["format", "reader/dataset", "inspect", "tools/command", "tools/records"],
    "tools/inspect": ["format", "inspect", "tools/command", "tools/records", "tools/inspect"],
    "tools/plan": ["format", "inspect", "tools/command", "tools/records", "tools/plan"],
    "tools/bench": ["format", "reader/storage", "reader/dataset", "tools/command", "tools/plan", "tools/bench"],
    "tools": ["format", "inspect", "tools"],
    "python": ["format", "inspect", "tools/inspect", "python"],
    "examples": [],
    "bench": ["format", "writer", "reader", "sources", "convert", "tfrecord", "bench"],
    "fuzz": ["format", "writer", "reader", "sources", "convert", "recover", "tfrecord", "inspect", "tools", "tests",
             "fuzz"],
    "tests": ["format", "writer", "reader", "sources", "convert", "recover", "tfrecord", "inspect", "tools", "tests",
              "bench"],
}
FOLDERS = sorted(ALLOWED, key=len, reverse=True)

# Headers of others that only some files may include.
RESERVED = (
    (re.compile(r"^(cuda|cudaTypedefs|cuda_runtime|cuda_runtime_api|driver_types)(\.h|/)"),
     re.compile(r"^(reader/memory/(.*\.cc|cuda_\w+\.h)|tests/cuda/|bench/transfer|examples/cuda_trainer/)")),
    (re.compile(r"^google/protobuf/|\.pb\.h$"),
     re.compile(r"^((format|examples/mpi_trainer)/[^/]*|tests/format/(column|example)_\w+|bench/example_\w+)\.cc$")),
    (re.compile(r"^boost/asio"),
     re.compile(r"^(include/dovetail/((batch|device)_reader|completion)\.h|reader/(delivery|handover|storage|memory)/|"
                r"tests/|bench/|examples/coroutine\.cc)")),
    (re.compile(r"^liburing(\.h|/)"),
     re.compile(r"^(reader/storage/uring_\w+|tests/faults/(call_events|ring_faults))\.cc$")),
    (re.compile(r"^zstd\.h"), re.compile(r"^(format/zstd_codec\.cc|sources/|tests/)")),
    (re.compile(r"^(snappy|isa-l)"), re.compile(r"^(format|tests|bench)/")),
    (re.compile(r"^isa-l(\.h|/)"), re.compile(r"^format/crc32c/crc32c_\w+\.cc$")),
    (re.compile(r"^\w*intrin\.h"), re.compile(r"^format/(crc32c/crc32c_\w+|example/wide_varints)\.cc$")),
)
# The pure half: integers only. Boost.System comes in through the error type.
PURE = re.compile(r"^reader/plan/")
IMPURE = re.compile(r"^(boost/(?!system/)|sys/|unistd|fcntl|pthread|(thread|mutex|condition_variable|future|fstream|"
                    r"iostream|filesystem|random|cmath)$)")


def folder_of(path):
    return next((folder for folder in FOLDERS if path.startswith(folder + "/")), None)


def sources(root):
    for top in {folder.split("/")[0] for folder in FOLDERS}:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def project_path(root, source, included):
    """The project's file that an #include means, or nothing for one of somebody else's."""
    if included.startswith("dovetail/"):
        return "include/" + included
    for base in (root, os.path.join(root, os.path.dirname(source))):
        path = os.path.join(base, included)
        if os.path.exists(path):
            return os.path.relpath(path, root)
    return None


def complaint(root, source, included):
    target = project_path(root, source, included)
    if target is not None:
        folder = folder_of(source)
        target_folder = folder_of(target)
        same_place = os.path.dirname(source) == os.path.dirname(target)
        if target_folder == "include/dovetail" or same_place:
            return None
        if any(target.startswith(allowed + "/") for allowed in ALLOWED[folder]):
            return None
        return f"{folder} must not include {target_folder or target}"
    for header, place in RESERVED:
        if header.search(included) and not place.search(source):
            return "that header has its own place"
    if PURE.search(source) and IMPURE.search(included):
        return "the plan does no input, output or threads"
    return None


def check(root):
    """How many includes there are, and what is wrong with them."""
    complaints = []
    checked = 0
    for source in sorted(sources(root)):
        with open(os.path.join(root, source), encoding="utf-8") as file:
            text = file.read()
        for included in INCLUDE.findall(text):
            checked += 1
            wrong = complaint(root, source, included)
            if wrong:
                complaints.append(f"{source}: #include {included}: {wrong}")
    return checked, complaints
