#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation: it builds without warnings, holds every page and header, and its check finds dead
links."""

import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import main

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import docs  # noqa: E402

MISSING = [name for name in ("sphinx", "myst_parser", "breathe", "sphinx_copybutton", "sphinx_rtd_theme")
           if importlib.util.find_spec(name) is None] + ([] if shutil.which("doxygen") else ["doxygen"])


def read(*names):
    with open(os.path.join(*names), encoding="utf-8") as file:
        return file.read()


class SiteTest(unittest.TestCase):
    @unittest.skipIf(MISSING, f"`make docs` would install {', '.join(MISSING)}")
    def test_it_builds_and_has_every_page_and_header(self):
        with tempfile.TemporaryDirectory() as site:
            done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts", "docs.py"), site],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            home = read(site, "index.html")
            for folder in ("", "guides"):
                for name in os.listdir(os.path.join(ROOT, "docs", folder)):
                    if name.endswith(".md"):
                        self.assertIn(os.path.join(folder, name[:-3] + ".html"), home)
            for name in set(os.listdir(docs.HEADERS)) - set(docs.NO_PAGE):
                self.assertTrue(f"&lt;dovetail/{name}" in read(site, "api", name + ".html"), name)
            reader = read(site, "api", "batch_reader.h.html")
            for name in filter(docs.can_import, docs.MODULES):
                self.assertIn(f"api/{name}.html", home)
                self.assertIn("Raises", read(site, "api", name + ".html"))
            if docs.can_import("dovetail"):
                module = re.sub("<[^>]+>", "", read(site, "api", "dovetail.html"))
                for text in ("dovetail.DatasetWriter(folder, *, shard_bytes=268435456,",
                             ", overwrite=False) → ConvertReport",
                             "dovetail.Dataset(path, *, allow_outside=False",
                             "\nThe status of each row, uint8 [rows]: EMPTY"):
                    self.assertIn(text, html.unescape(module).replace("\xa0", " "))
            for contract in ("Delivers one rank", ">Ownership<", "the first failure stops the reader"):
                self.assertTrue(contract in reader, contract)

    def test_a_link_to_a_file_that_is_not_there_ends_the_build(self):
        with self.assertRaisesRegex(SystemExit, "docs/python.md: dead link ../nowhere.md"):
            docs.Stage(os.devnull).link("docs/python.md", "../nowhere.md", "")

    def test_dead_links_are_found(self):
        with tempfile.TemporaryDirectory() as site:
            os.mkdir(os.path.join(site, "sub"))
            for name, text in (("a.html", '<p id="here"></p><a href="sub/b.html#there"></a><a href="#here"></a>'
                                          '<a href="https://example.org/gone"></a><img src="no.png">'),
                               ("sub/b.html", '<a href="../a.html#nowhere"></a><a name="there"></a>'
                                              '<a href="c.html"></a>')):
                with open(os.path.join(site, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(docs.dead_links(site), [("a.html", "no.png"), ("sub/b.html", "../a.html#nowhere"),
                                                     ("sub/b.html", "c.html")])


if __name__ == "__main__":
    main()
