#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `inspect --html`, as a browser sees it: its tables and drawings, and pictures that are really decoded."""

import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from payloads import example, gif, jpeg, npy, png, webp  # noqa: E402
from support import DAMAGED, GOOD, CommandTest, flip_byte, main, run, run_good, run_json  # noqa: E402
from support import tfrecord, write_file  # noqa: E402

from chromium import PROGRAM, Chromium  # noqa: E402

HOSTILE = [b"<script>window.hacked = 1</script>", b"</pre><img src=x onerror='window.hacked = 2'>",
           b'"><svg onload="window.hacked = 3">', b"\x00\x07 \xe2\x80\xae control and bidi",
           b"&lt;b&gt; &amp; 'quotes'"]
TABLE = """Object.fromEntries([...document.querySelectorAll('#NAME tbody tr')].map(row =>
    [row.dataset.key, [...row.cells].map(cell => cell.textContent)]))"""
IMAGES = """Promise.all([...document.images].map(async image => {
    await image.decode();
    const box = image.getBoundingClientRect();
    return [image.alt, image.naturalWidth, image.naturalHeight, box.width > 0 && box.height > 0];
}))"""


def first_records():
    pictures = [png(64, 48), jpeg(5, 3), gif(), webp()]
    typed = example({"label": [7, -1], "weight": [0.1, 2.0], "image": [png(20, 10)], "caption": [b"a <b>word</b>"],
                     "blob": [b"\xff\x00\xfe"], "<i>name</i>": [b"x"], "none": []})
    return pictures + [typed, b'{"key": [1, 2]}', npy([1, 2]), bytes(range(256)) * 2, b""] + HOSTILE


@unittest.skipUnless(PROGRAM, "there is no Chromium; `make test-browser` installs it")
class InspectionPageTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.browser = Chromium()
        cls.addClassCleanup(cls.browser.close)

    def open(self, source, *flags, code=GOOD):
        page = self.path("page.html")
        done = run("inspect", source, "--html", page, *flags)
        self.assertEqual(done.returncode, code, done.stderr)
        self.browser.open(page)
        return page

    def table(self, name):
        return self.browser.evaluate(TABLE.replace("NAME", name))

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({selector!r})?.textContent")

    def count(self, selector):
        return self.browser.evaluate(f"document.querySelectorAll({selector!r}).length")

    def make(self, extra=2000, **options):
        source = random.Random(320)
        records = first_records() + [source.randbytes(source.randrange(300)) if i % 2 else b"word %d " % i * 20
                                     for i in range(extra)]
        return self.make_dataset(records, **options)

    def test_the_tables_say_what_inspect_says(self):
        dataset = self.make()
        found = run_json("inspect", dataset)
        self.open(dataset)
        facts = {key: cells[1] for key, cells in self.table("facts").items()}
        self.assertEqual((self.text("h1"), facts["path"]), (os.path.basename(dataset), dataset))
        listed = run_good("inspect", dataset).decode().split("\n\n")[0]
        del facts["path"]
        self.assertEqual([f"{key} {value}" for key, value in facts.items()],
                         [" ".join(line.split()) for line in listed.splitlines()])
        self.assertEqual({int(key.split()[0]): int(cells[1]) for key, cells in self.table("sizes").items()},
                         {bucket["from"]: bucket["records"] for bucket in found["record_sizes"]["buckets"]})
        self.assertEqual([(cells[-1], int(cells[1])) for cells in self.table("shards").values()],
                         [(shard["name"], shard["records"]) for shard in found["shards"]])

    def test_thumbnails_are_decoded_and_seen(self):
        for dataset in (self.make(extra=10), self.make(extra=10, name="tf") + ".tfrecord"):
            self.open(dataset)
            self.assertEqual(self.browser.evaluate(IMAGES),
                             [["record 0", 64, 48, True], ["record 1", 40, 24, True], ["record 2", 1, 1, True],
                              ["record 3", 1, 1, True], ["image", 20, 10, True]])
            self.assertEqual(self.count("#records article"), 24)

    def test_pictures_make_a_contact_sheet(self):
        records = [example({"image": [png(40 + i, 30)], "label": [i // 4], "name": [b"<b>%d</b>" % i]})
                   for i in range(24)]
        self.open(self.make_dataset(records))
        boxes = self.browser.evaluate("""[...document.querySelectorAll('#records article.picture')].map(card => {
            const box = card.getBoundingClientRect(), image = card.querySelector('img').getBoundingClientRect();
            return [box.top, image.width > 0, image.bottom <= card.querySelector('h3').getBoundingClientRect().top + 1];
        })""")
        self.assertEqual(len(boxes), 24)
        self.assertTrue(all(seen and above for _, seen, above in boxes), boxes)
        self.assertLessEqual(len({top for top, *_ in boxes}), 12, "several pictures lie side by side")
        self.assertEqual(self.text("#record-9 .caption"), "label 2, name <b>9</b>")
        self.assertEqual(self.browser.evaluate("document.querySelector('#record-9 details').open"), False)

    def feature_cards(self):
        return self.browser.evaluate("""Object.fromEntries([...document.querySelectorAll('#features article')].map(
            card => [card.dataset.key, card.innerText]))""")

    def test_features_of_some_records_are_cards(self):
        records = [example({"label": [i], "tags": [b"tag"] * (i % 3 + 1), "<i>": [b"x"]}) for i in range(40)]
        self.open(self.make_dataset(records + [b"no Example"] * 8))
        cards = self.feature_cards()
        self.assertEqual(sorted(cards), ["<i>", "label", "tags"])
        self.assertIn("1 - 3 values, 1 distinct", cards["tags"])
        self.assertIn("from a sample: of 48 records, 8 of them not a tf.train.Example with features",
                      self.browser.evaluate("document.body.innerText"))

    def test_statistics_of_features_are_cards(self):
        records = [example({"label": [i % 4], "url": [b"https://example.org/%d" % (i * 7919)], "<b>": [b"<i>&"],
                            **({"rare": [0.5]} if i % 4 == 0 else {})}) for i in range(800)]
        dataset = self.make_dataset(records + [b"no Example"])
        self.open(dataset, "--features")
        found = run_json("inspect", dataset, "--features")["features"]
        cards = self.feature_cards()
        self.assertEqual(sorted(cards), ["<b>", "label", "rare", "url"])
        self.assertIn("in 99.9 % of the records, 1 value, 4 distinct", cards["label"])
        self.assertIn('"<i>&" 100 %', cards["<b>"])
        self.assertRegex(cards["url"], r"1 value, ~\d+ distinct")
        self.assertIn("mean 0.5", cards["rare"])
        self.assertIn("mean length", cards["url"])
        self.assertEqual(self.text("#columns"), f"--columns '{found['columns']}'")
        self.assertIn("of 801 records, 1 of them not a tf.train.Example",
                      self.browser.evaluate("document.body.innerText"))
        heights = self.browser.evaluate("[...document.querySelectorAll('[data-key=label] rect.bar')]"
                                        ".map(bar => bar.getBoundingClientRect().height)")
        self.assertEqual(len(heights), 4)
        self.assertGreater(min(heights), 20)
        for width in (420, 1400):
            self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                              mobile=False)
            self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width)
            for name in ("#shards td:last-child", "#sizes td"):  # no column of letters, no tiny text
                height = self.browser.evaluate(f"document.querySelector('{name}').getBoundingClientRect().height")
                self.assertTrue(9 < height < 50, (name, width, height))
        self.browser.call("Emulation.clearDeviceMetricsOverride")

    def test_schema_and_metadata_are_facts(self):
        source = self.path("source.tfrecord")
        write_file(source, tfrecord([example({"label": [1]})]))
        run_good("convert", source, "--to", self.path("typed"), "--schema", "label:i64", "--meta", "licence=<free>")
        self.open(self.path("typed"))
        facts = {key: cells[1] for key, cells in self.table("facts").items()}
        self.assertEqual((facts["schema"], facts["meta licence"]), ("label:i64", "<free>"))

    def test_metadata_head_the_page(self):
        source = self.path("source.tfrecord")
        write_file(source, tfrecord([example({"label": [1]})]))
        run_good("convert", source, "--to", self.path("named"), "--meta", "name=A <b>name</b>", "--meta",
                 "description=What & why" + "." * 1000, "--meta", "license=CC0-1.0")
        self.open(self.path("named"))
        self.assertEqual([self.text("h1"), self.browser.evaluate("document.title")], ["A <b>name</b>"] * 2)
        self.assertEqual(self.text("header .description"), "What & why" + "." * 1000)
        badges = self.browser.evaluate("[...document.querySelectorAll('.badges span')].map(badge => badge.textContent)")
        self.assertEqual((badges[0], badges[2]), ("1 record", "licence CC0-1.0"))

    def test_classes_are_counted(self):
        records = [example({"label": [i % 10 % 4], "x": [i * 0.5], "id": [i], "kind": [b"<%d>" % (i % 2)]})
                   for i in range(200)]
        classes = '["ant","bee","cat","dog"]'
        for folder in json.loads(classes):
            os.makedirs(self.path("photos", folder))
        for i in range(100):
            write_file(self.path("photos", json.loads(classes)[i % 10 % 4], f"{i}.png"), png(9, 9))
        run_good("convert", self.path("photos"), "--labels", "--to", self.path("labelled"))
        self.open(self.path("labelled"), "--features")
        self.assertEqual(self.class_rows("label"), {"0 ant": "30", "1 bee": "30", "2 cat": "20", "3 dog": "20"})
        self.assertEqual(self.class_rows("class"), {"ant": "30", "bee": "30", "cat": "20", "dog": "20"})
        self.open(self.make_dataset(records), "--features")
        self.assertEqual(self.class_rows("label"), {"0": "60", "1": "60", "2": "40", "3": "40"})
        self.assertEqual(self.class_rows("kind"), {"<0>": "100", "<1>": "100"})
        self.assertEqual((self.class_rows("id"), self.class_rows("x")), ({}, {}))
        widths = self.browser.evaluate("[...document.querySelectorAll('[data-key=label] .length div')]"
                                       ".map(bar => Math.round(bar.getBoundingClientRect().width))")
        self.assertAlmostEqual(widths[2] / widths[0], 40 / 60, delta=0.02)

    def class_rows(self, feature):
        return self.browser.evaluate(f"""Object.fromEntries(
            [...document.querySelectorAll('.classes[data-key="{feature}"] tr')].map(
                row => [row.dataset.key, row.cells[1].textContent]))""")

    def test_an_example_is_a_table_of_its_features(self):
        self.open(self.make(extra=10))
        rows = self.browser.evaluate("""Object.fromEntries([...document.querySelectorAll('#record-4 tbody tr')].map(
            row => [row.dataset.key, [...row.cells].slice(1).map(cell => cell.textContent.trim())]))""")
        self.assertEqual(rows["label"], ["int64_list", "2", "[7, -1]"])
        self.assertEqual(rows["weight"], ["float_list", "2", "[0.1, 2.0]"])
        self.assertEqual(rows["caption"], ["bytes_list", "1", "a <b>word</b>"])
        self.assertEqual(rows["<i>name</i>"], ["bytes_list", "1", "x"])
        self.assertIn("ff00fe", rows["blob"][2])
        self.assertEqual(rows["none"][:2], ["none", "0"])

    def test_hostile_records_stay_text(self):
        self.open(self.make(extra=10))
        self.assertIsNone(self.browser.evaluate("window.hacked"))
        self.assertEqual(self.count("script, object, iframe, link, [onerror], [onload]"), 0)
        for i, record in enumerate(HOSTILE, len(first_records()) - len(HOSTILE)):
            if b"\0" not in record:
                self.assertEqual(self.text(f"#record-{i} pre"), record.decode())

    def test_hostile_names_stay_text(self):
        dataset = self.make(extra=100)
        name = self.path("<img src=x onerror=alert(1)>\"'&.dvt")
        os.rename(f"{dataset}/shard-000000.dvt", name)
        self.open(name)
        self.assertEqual(self.text("h1"), os.path.basename(name))
        self.assertEqual(self.browser.evaluate("document.title"), os.path.basename(name))
        self.assertEqual(self.count("img[src=x]"), 0)

    def test_the_page_needs_nothing_else(self):
        page = self.open(self.make())
        others = [address for address in self.browser.fetched() if not address.startswith("data:image/")]
        self.assertEqual(others, ["file://" + page])
        self.assertEqual(self.browser.complaints(), [])

    def test_the_drawings_have_a_part_for_everything(self):
        dataset = self.make()
        found = run_json("inspect", dataset)
        self.open(dataset)
        widths = self.browser.evaluate("[...document.querySelectorAll('#sizes .length')]"
                                       ".map(cell => cell.firstChild?.getBoundingClientRect().width ?? 0)")
        counts = [bucket["records"] for bucket in found["record_sizes"]["buckets"]]
        self.assertEqual([width > 0 for width in widths], [count > 0 for count in counts])
        self.assertEqual(widths.index(max(widths)), counts.index(max(counts)))
        self.assertEqual(self.count("#block-map rect"), found["blocks"])
        self.assertEqual(self.count("#block-map rect.packed"), found["codecs"]["snappy"])
        block = run_json("inspect", dataset, "--blocks")["block_list"][0]
        self.assertIn(f"{block['records']} records, {block['raw_bytes']} bytes raw, {block['stored_bytes']} stored",
                      self.text("#block-map rect title"))

    def test_a_map_of_many_blocks_is_bounded_and_says_so(self):
        dataset = self.make(extra=40_000)
        blocks = run_json("inspect", dataset)["blocks"]
        self.assertGreater(blocks, 2048)
        self.open(dataset)
        each = int(self.browser.evaluate("document.getElementById('block-map').dataset.blocksPerCell"))
        self.assertGreater(each, 1)
        self.assertEqual(self.count("#block-map rect"), -(-blocks // each))
        self.assertIn(f"Up to {each} consecutive blocks", self.browser.evaluate("document.body.innerText"))

    def test_dark_and_light_are_chosen_by_the_reader(self):
        self.open(self.make(extra=10))
        colours = []
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            self.browser.call("Emulation.setEmulatedMedia", features=[feature])
            colours.append(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"))
        self.browser.call("Emulation.setEmulatedMedia", features=[])
        self.assertEqual(len(set(colours)), 2, colours)

    def test_too_many_pictures_are_left_out(self):
        picture = png(1, 1)
        large = picture + random.Random(321).randbytes(3 << 20)  # decoders ignore what follows
        self.open(self.make_dataset([large] * 4, shards=1))
        self.assertEqual((self.count("img"), self.count(".left-out")), (2, 2))
        self.assertEqual([image[1] for image in self.browser.evaluate(IMAGES)], [1, 1])

    def test_damaged_records_are_left_out_and_told(self):
        dataset = self.make(extra=10, shards=1)
        block = run_json("inspect", dataset, "--blocks")["block_list"][1]
        flip_byte(dataset + "/shard-000000.dvt", block["offset"] + 64)
        self.open(dataset, code=DAMAGED)
        self.assertEqual(self.count("#records article"), 24 - block["records"])
        self.assertIn(f"Of 24 records {block['records']} could not be read", self.text("#trouble"))
        self.assertIn("shard-000000.dvt", self.text("#trouble"))


if __name__ == "__main__":
    main()
