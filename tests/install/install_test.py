#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the build, moves it elsewhere, and builds and runs a separate project against it."""

import os
import re
import subprocess
import tempfile
import unittest

BUILD = os.environ["DOVETAIL_BUILD"]
SOURCE = os.environ["DOVETAIL_SOURCE"]
CMAKE = os.environ.get("CMAKE", "cmake")
# A source that lies in /dovetail is not what "${prefix}/include/dovetail" names. An option may stand before a path.
BEGINS_A_PATH = r"(?:(?<![\w.}/+-])|(?<=-[ILBF])|(?<=-isystem))"
CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="dovetail-install-")
        first = os.path.join(cls.scratch.name, "first")
        cls.prefix = os.path.join(cls.scratch.name, "moved")
        run(CMAKE, "--install", BUILD, "--prefix", first)
        os.rename(first, cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def installed(self):
        for folder, _, names in os.walk(self.prefix):
            for name in names:
                yield os.path.relpath(os.path.join(folder, name), self.prefix)

    def shared_library(self):
        found = [name for name in self.installed() if name.endswith("libdovetail.so.0")]
        if not found:
            self.skipTest("built without the shared library")
        return os.path.join(self.prefix, found[0])

    def build_consumer(self, name, *options):
        """Builds the separate project; gives where its programs are."""
        build = os.path.join(self.scratch.name, name)
        said = run(CMAKE, "-S", CONSUMER, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                   "-DCMAKE_BUILD_TYPE=Release", *options)
        self.assertNotIn("Warning", said)
        run(CMAKE, "--build", build, "--target", "all" if not options else "trainer")
        return build

    def test_a_separate_project_builds_and_runs(self):
        build = self.build_consumer("build")
        dataset = os.path.join(self.scratch.name, "dataset")
        self.assertIn("wrote 1000 records", run(os.path.join(build, "writer_only"), dataset))
        self.assertIn("read 1000 records", run(os.path.join(build, "trainer"), dataset))

    def test_static_libraries_can_be_asked_for(self):
        self.shared_library()  # without it, they are what the other test links
        build = self.build_consumer("static", "-Ddovetail_USE_STATIC=ON")
        self.assertNotIn("libdovetail", run("readelf", "-d", os.path.join(build, "trainer")))

    def test_the_shared_library_exports_only_the_public_api(self):
        exported = run("nm", "-DC", "--defined-only", self.shared_library()).splitlines()
        names = [line.split(maxsplit=2)[2] for line in exported]
        self.assertIn("dovetail::verify(", "\n".join(names))
        allowed = re.compile(r"((typeinfo|typeinfo name|vtable) for )?dovetail::(?!detail::|format::|.*Impl::)")
        self.assertEqual([name for name in names if not allowed.match(name)], [])

    def test_pkg_config_finds_it(self):
        library = self.shared_library()
        os.environ["PKG_CONFIG_PATH"] = os.path.join(os.path.dirname(library), "pkgconfig")
        flags = run("pkg-config", "--cflags", "--libs", "dovetail").split()
        program = os.path.join(self.scratch.name, "with_pkg_config")
        run(os.environ["CXX"], "-std=c++20", os.path.join(CONSUMER, "writer_only.cc"), "-o", program, *flags,
            "-Wl,-rpath," + os.path.dirname(library))
        self.assertIn("wrote 1000 records", run(program, os.path.join(self.scratch.name, "by_pkg_config")))

    def test_the_command_is_installed(self):
        self.assertIn("convert", run(os.path.join(self.prefix, "bin", "dovetail"), "--help"))

    def test_completions_and_pages_are_where_shells_and_man_look(self):
        names = set(self.installed())
        for name in ("bash-completion/completions/dovetail", "zsh/site-functions/_dovetail",
                     "fish/vendor_completions.d/dovetail.fish", "man/man1/dovetail.1", "man/man1/dovetail-convert.1"):
            self.assertIn("share/" + name, names)
            self.assertGreater(os.path.getsize(os.path.join(self.prefix, "share", name)), 0, name)

    def test_only_public_headers_are_installed(self):
        headers = {name for name in self.installed() if name.endswith(".h")}
        public = {"include/dovetail/" + name for name in os.listdir(os.path.join(SOURCE, "include", "dovetail"))}
        self.assertEqual(headers, public)

    def test_the_package_can_be_moved(self):
        for name in self.installed():
            if name.endswith(".cmake"):
                with open(os.path.join(self.prefix, name), encoding="utf-8") as file:
                    text = file.read()
                for place in (SOURCE, BUILD):
                    self.assertNotRegex(text, BEGINS_A_PATH + re.escape(place) + r"(?!\w)", name)

    def test_the_licence_is_installed(self):
        self.assertTrue(any(os.path.basename(name) == "LICENSE" for name in self.installed()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
