#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation, as a browser sees it from the disk: no page is wider than a narrow screen or asks for
what is not there, and search works."""

import os
import subprocess
import sys
import tempfile
import time
import unittest

from chromium import PROGRAM, Chromium

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


@unittest.skipUnless(PROGRAM, "there is no Chromium; `make test-browser` installs it")
class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.site = folder.name
        subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts", "docs.py"), cls.site], check=True,
                       stdout=subprocess.DEVNULL)
        cls.browser = Chromium()
        cls.addClassCleanup(cls.browser.close)

    def test_pages_fit_narrow_and_wide_screens(self):
        for width in (420, 1400):
            self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                              mobile=False)
            for folder, _, names in os.walk(self.site):
                for name in (name for name in names if name.endswith(".html")):
                    self.browser.open(os.path.join(folder, name))
                    # A script of the theme makes wide tables scroll by themselves, once the page is there.
                    deadline = time.monotonic() + 20
                    wide = self.browser.evaluate("document.documentElement.scrollWidth")
                    while wide > width and time.monotonic() < deadline:
                        time.sleep(0.05)
                        wide = self.browser.evaluate("document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, name)
                    self.assertEqual(self.browser.complaints(), [], name)
        self.browser.call("Emulation.clearDeviceMetricsOverride")

    def test_search_works_without_a_server(self):
        self.browser.call("Page.navigate", url=f"file://{self.site}/search.html?q=checkpoint")
        deadline = time.monotonic() + 60
        found = []
        while "Checkpoints" not in found and time.monotonic() < deadline:
            time.sleep(0.1)
            found = self.browser.evaluate("[...document.querySelectorAll('#search-results li a')].map(a => a.text)")
        self.assertIn("Checkpoints", found)


if __name__ == "__main__":
    unittest.main(verbosity=2)
