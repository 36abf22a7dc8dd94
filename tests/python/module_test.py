#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The module as a shared library."""

import shutil
import subprocess
import unittest

from fixtures import main

import dovetail


class ModuleFileTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm"), "there is no nm")
    def test_it_exports_its_entry_only(self):
        listing = subprocess.run(["nm", "--dynamic", "--defined-only", "--format=just-symbols",
                                  dovetail._dovetail.__file__],
                                 stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(listing.split(), ["PyInit__dovetail"])


if __name__ == "__main__":
    main()
