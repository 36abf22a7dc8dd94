#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of notebooks, as a browser shows them: hostile text stays text, and colours are those of the page."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

try:
    import dovetail
except ImportError:
    print("skipped: the Python module is not built")
    sys.exit(77)
from fixtures import ModuleTest, main, write_file  # noqa: E402

from chromium import PROGRAM, Chromium  # noqa: E402

HOSTILE = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'
COLOURS = """[...document.querySelectorAll('table, caption, th, td')].map(part => {
    const style = getComputedStyle(part);
    return [style.color, style.backgroundColor, part.getBoundingClientRect().height > 0];
})"""


@unittest.skipUnless(PROGRAM, "there is no Chromium; `make test-browser` installs it")
class NotebookTableTest(ModuleTest):
    @classmethod
    def setUpClass(cls):
        cls.browser = Chromium()
        cls.addClassCleanup(cls.browser.close)

    def tables(self):
        schema = 'label:i64, "<b>":bytes="&amp;"'
        with dovetail.DatasetWriter(self.path("<i>data"), schema=schema, metadata={HOSTILE: "x"}) as writer:
            writer.extend(dovetail.example(label=i, **{HOSTILE: HOSTILE}) for i in range(40))
        dataset = dovetail.Dataset(self.path("<i>data"))
        reader = self.open_reader(dataset, batch=8, columns=True)
        plan = dovetail.Plan(dataset, batch=8)
        return [dataset, reader.next(), self.open_reader(dataset, batch=8).next(), plan, plan.shuffle_report(),
                reader.stats(), dataset.features(), dataset.describe()]

    def test_tables_are_seen_and_run_nothing(self):
        tables = "".join(thing._repr_html_() for thing in self.tables())
        for ink, paper in (("rgb(0, 0, 0)", "rgb(255, 255, 255)"), ("rgb(238, 238, 238)", "rgb(17, 17, 17)")):
            page = f'<!doctype html><meta charset="utf-8"><body style="color: {ink}; background: {paper}">{tables}'
            self.browser.open(write_file(self.path("page.html"), page.encode()))
            self.assertEqual(self.browser.evaluate("document.querySelectorAll('table').length"), 8)
            self.assertEqual(self.browser.evaluate("document.querySelectorAll('script, img, b, i').length"), 0)
            self.assertIsNone(self.browser.evaluate("window.hacked"))
            self.assertEqual((len(self.browser.fetched()), self.browser.complaints()), (1, []))
            seen = self.browser.evaluate(COLOURS)
            self.assertEqual({tuple(each) for each in seen}, {(ink, "rgba(0, 0, 0, 0)", True)})
            text = self.browser.evaluate("document.body.innerText")
            self.assertIn(HOSTILE[:40], text)
            self.assertIn("b'&amp;', b'&amp;'", text)


if __name__ == "__main__":
    main()
