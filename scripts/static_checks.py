#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""static_checks.py BUILD CHECK...: checks the sources in BUILD/compile_commands.json; scripts/check.sh calls it.

compile   every source by itself, with the warnings of the project, by clang, up to where code would be generated
tidy      clang-tidy with .clang-tidy: libraries, tools and the Python module
cppcheck  cppcheck: the same

clang is the compiler of BUILD where that is a clang of 14 or later, otherwise one of PATH; clang-tidy is that of the
same version where it is installed, otherwise another.

Most of what clang-tidy costs are the headers of others, which it walks through once for each source. So sources of a
folder are laid end to end, some at a time, and checked as one; where their names collide, the later ones are taken
apart. What is found is told with the source's own name and line.
"""

import argparse
import bisect
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
OLDEST_LLVM = 14
OF_LIBRARY = ("format", "reader", "writer", "sources", "convert", "recover", "tfrecord", "inspect", "tools", "python")
GROUP = 16  # sources laid end to end; more cost less, but leave cores without work
# What nearly every source includes, parsed once.
PRECOMPILED = """algorithm array atomic charconv chrono condition_variable deque filesystem fstream functional future
    iostream map memory mutex optional random set span sstream string string_view thread unordered_map variant vector
    gmock/gmock.h""".split()
# The analyzer of clang-tidy: a sixth of the time of its default, which follows calls much further.
ANALYSIS = ["-Xclang", "-analyzer-config", "-Xclang", "mode=shallow"]
LOCATION = re.compile(r"^(?P<path>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<kind>warning|error|note): ")


class Source:
    def __init__(self, entry):
        self.path = os.path.relpath(entry["file"], ROOT)
        self.folder = entry["directory"]
        words = shlex.split(entry["command"])
        self.language = []  # what the source means
        self.warnings = []
        i = 1
        while i < len(words):
            if words[i] == "-isystem":
                self.language += words[i:i + 2]
                i += 1
            elif words[i].startswith(("-D", "-I", "-m", "-std")):
                self.language.append(words[i])
            elif words[i].startswith("-W"):
                self.warnings.append(words[i])
            i += 1


def sources_of(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        sources = [Source(entry) for entry in json.load(file)]
    own = {}
    for source in sources:
        if source.path.endswith(".cc") and not os.path.abspath(source.path).startswith(os.path.abspath(build)):
            own.setdefault(source.path, source)
    return [own[path] for path in sorted(own)]


def version_of(program):
    """The major version of clang or of a tool of LLVM; 0 of anything else."""
    match = re.search(r"\b(?:clang|LLVM) version (\d+)", run([program, "--version"])[1])
    return int(match[1]) if match else 0


def llvm_tool(name, preferred):
    """What is used for `name`: `preferred`, or the first in PATH, if it is of LLVM and not too old."""
    versions = range(OLDEST_LLVM, OLDEST_LLVM + 30)
    for candidate in (preferred, name, *(f"{name}-{version}" for version in versions)):
        found = shutil.which(candidate)
        if found and version_of(found) >= OLDEST_LLVM:
            return found
    return sys.exit(f"static_checks: no {name} of LLVM {OLDEST_LLVM} or later is found")


def compiler_of(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        words = shlex.split(json.load(file)[0]["command"])
    return words[1] if os.path.basename(words[0]) == "ccache" else words[0]


def run(command):
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def merged(lists):
    """The options of all, each once, in the order of their first use; -isystem stays before its folder."""
    pairs = {}
    for options in lists:
        words = iter(options)
        for word in words:
            pairs.setdefault((word, next(words)) if word == "-isystem" else (word,))
    return [word for pair in pairs for word in pair]


# --- compile

def compile_all(pool, sources, build, clang):
    header = os.path.join(build, "precompiled.h")
    precompiled = os.path.join(build, "precompiled.pch")
    with open(header, "w", encoding="utf-8") as file:
        file.writelines(f"#include <{name}>\n" for name in PRECOMPILED)
    # As GoogleTest's own package asks for; sources that are not tests are not held to it.
    status, text = run([clang, "-std=c++20", "-DNDEBUG", "-DGTEST_HAS_PTHREAD=1", "-x", "c++-header",
                        "-fpch-instantiate-templates", header, "-o", precompiled])
    if status != 0:
        return [text]

    def compile_one(source):
        # What is compiled for other processors cannot have it.
        start = [] if any(word.startswith("-m") for word in source.language) else ["-include-pch", precompiled]
        status, text = run([clang, *source.language, *source.warnings, "-fsyntax-only", *start, source.path])
        return text if status != 0 else ""

    return [text for text in pool.map(compile_one, sources) if text]


# --- clang-tidy

class Group:
    """Sources of one folder, end to end in one file."""

    def __init__(self, sources, build, name):
        self.sources = sources
        self.name = name
        self.path = os.path.join(build, "tidy", name + ".cc")
        self.language = merged(source.language for source in sources)
        self.warnings = merged(source.warnings for source in sources)
        self.first_lines = []
        line = 1
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w", encoding="utf-8") as out:
            for source in sources:
                with open(os.path.join(ROOT, source.path), encoding="utf-8") as file:
                    text = file.read()
                self.first_lines.append(line)
                line += text.count("\n")
                out.write(text)

    def place(self, line):
        index = bisect.bisect_right(self.first_lines, line) - 1
        return self.sources[index], line - self.first_lines[index] + 1

    def colliding(self, clang):
        """The sources that do not compile behind the others."""
        status, text = run([clang, *self.language, "-w", "-fsyntax-only", "-ferror-limit=0", self.path])
        if status == 0:
            return []
        found = set()
        for line in text.splitlines():
            match = LOCATION.match(line)
            if match and match["kind"] == "error" and os.path.abspath(match["path"]) == os.path.abspath(self.path):
                found.add(self.place(int(match["line"]))[0].path)
        together = [source for source in self.sources if source.path in found]
        return together if 0 < len(together) < len(self.sources) else self.sources[1:]

    def tidy(self, clang_tidy, options):
        status, text = run([clang_tidy, "--quiet", *options, self.path,
                            "--", *self.language, *self.warnings, *ANALYSIS])
        return status, [self.named(line) for line in text.splitlines() if not re.match(r"^\d+ warnings? ", line)]

    def named(self, line):
        match = LOCATION.match(line)
        if not match:
            return line
        path, number = os.path.relpath(os.path.join(ROOT, match["path"]), ROOT), int(match["line"])
        if os.path.abspath(match["path"]) == os.path.abspath(self.path):
            source, number = self.place(number)
            path = source.path
        return f"{path}:{number}:{match['column']}: {line[match.start('kind'):]}"


def tidy_groups(sources, build):
    folders = {}
    for source in sources:
        folders.setdefault(os.path.dirname(source.path), []).append(source)
    for folder, inside in sorted(folders.items()):
        count = -(-len(inside) // GROUP)
        for i in range(count):
            yield inside[i::count], build, f"{folder.replace('/', '_')}_{i}"


def tidy_all(pool, sources, build, clang, options):
    clang_tidy = llvm_tool("clang-tidy", f"clang-tidy-{version_of(clang)}")

    def tidy(arguments):
        inside, folder, name = arguments
        group = Group(inside, folder, name)
        apart = group.colliding(clang) if len(inside) > 1 else []
        if apart:
            group = Group([source for source in inside if source not in apart], folder, name)
        results = [(name, *group.tidy(clang_tidy, options))]
        if apart:
            results += tidy((apart, folder, name + "a"))
        return results

    failures, seen = [], set()
    for results in pool.map(tidy, tidy_groups(sources, build)):
        for name, status, lines in results:
            # A finding in a header comes once for each group; it is told once.
            text, told = [], True
            for line in lines:
                match = LOCATION.match(line)
                if match and match["kind"] != "note":
                    told = line not in seen
                    seen.add(line)
                if told:
                    text.append(line)
            if text:
                print("\n".join(text), flush=True)
            if status != 0:
                failures.append(f"clang-tidy: {name} failed\n")
    return failures


# --- cppcheck

def cppcheck_all(jobs):
    status, text = run(["cppcheck", "-j", str(jobs), "--quiet", "--enable=warning,performance,portability",
                        "--inline-suppr", "--suppressions-list=scripts/cppcheck-suppressions.txt", "--error-exitcode=1",
                        "--std=c++20", "--language=c++", "-Iinclude", "-I.", "-DNDEBUG", *OF_LIBRARY])
    return [text] if status != 0 else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("checks", nargs="+", choices=["compile", "tidy", "cppcheck"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="only sources whose paths begin so")
    parser.add_argument("--tidy-options", default="",
                        help="more arguments of clang-tidy, such as --enable-check-profile")
    arguments = parser.parse_args()
    build = os.path.relpath(arguments.build, ROOT)
    os.chdir(ROOT)
    sources = [source for source in sources_of(build) if source.path.startswith(arguments.only)]
    own = [source for source in sources if source.path.split("/")[0] in OF_LIBRARY]
    if not sources:
        sys.exit("static_checks: no sources found; is the build folder configured?")
    clang = llvm_tool("clang++", compiler_of(build))
    failed = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for check in arguments.checks:
            began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            if check == "compile":
                failures, count = compile_all(pool, sources, build, clang), len(sources)
            elif check == "tidy":
                failures = tidy_all(pool, own, build, clang, shlex.split(arguments.tidy_options))
                count = len(own)
            else:
                failures, count = cppcheck_all(arguments.jobs), len(own)
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            sys.stdout.write("".join(failures))
            print(f"{check}: {count} sources, {len(failures)} failures, {time.monotonic() - began:.0f} s, "
                  f"{cpu:.0f} s of processors", flush=True)
            failed += len(failures)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
