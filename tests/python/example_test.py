#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records of tf.train.Example: what goes in comes out as columns."""

import re

import dovetail
from fixtures import ModuleTest, main, np


class Tensor:
    """An array of another framework: PyTorch's have `__index__` whatever they hold."""

    def __init__(self, *given):
        self.array = np.array(*given)

    @property
    def ndim(self):
        return self.array.ndim

    def __array__(self, *given):
        return self.array

    def __index__(self):
        return int(self.array.reshape(()))

    __float__ = __index__


class ExampleTest(ModuleTest):
    def read_back(self, features, schema):
        with dovetail.DatasetWriter(self.path("a"), overwrite=True) as writer:
            writer.append(dovetail.example(**features))
        return self.open_reader(self.path("a"), batch=1, columns=schema).next()

    def test_numbers(self):
        cases = ((5, "i64", 5), (True, "u8", 1), (-2**63, "i64", -2**63), (2**63 - 1, "i64", 2**63 - 1),
                 (1.5, "f32", 1.5), (float("inf"), "f32", np.inf), (np.int16(-7), "i16", -7),
                 (np.uint8(200), "u8", 200), (np.float16(0.5), "f16", 0.5), (np.float64(0.25), "f64", 0.25),
                 (np.bool_(True), "i8", 1), ([np.True_, np.False_], "u8[2]", [1, 0]))
        for value, dtype, wanted in cases:
            with self.subTest(value=value):
                self.assertEqual(self.read_back({"x": value}, "x:" + dtype)["x"].tolist(), [wanted])

    def test_what_was_made_is_parsed(self):
        record = dovetail.example(image=b"\xff\xd8", words=["one", "two"], label=7, box=[0.5, 1.5],
                                  tokens=np.arange(3), none=np.array([], "i8"))
        for given in (record, bytearray(record), memoryview(record), np.frombuffer(record, "u1")):
            found = dovetail.parse_example(given)
            self.assertEqual(list(found), ["box", "image", "label", "none", "tokens", "words"])
            self.assertEqual((found["image"], found["words"]), ([b"\xff\xd8"], [b"one", b"two"]))
            self.assertEqual((found["box"].dtype, found["box"].tolist()), (np.dtype("f4"), [0.5, 1.5]))
            self.assertEqual((found["tokens"].dtype, found["tokens"].tolist()), (np.dtype("i8"), [0, 1, 2]))
            self.assertEqual((found["label"].tolist(), found["none"].tolist()), ([7], []))
        self.assertEqual(dovetail.example(**found), record)
        found["tokens"][0] = 5  # its own memory
        self.assertEqual(dovetail.parse_example(b""), {})
        self.assertEqual(dovetail.parse_example(b"\n\x08\n\x06\n\x02\xc3\xa9\x12\x00"), {"é": None})
        for bad in (b"{}", record[:-1], b"\x0a", b"\n\x08\n\x06\n\x02\xffx\x12\x00"):
            self.assertRaises(dovetail.DamagedError, dovetail.parse_example, bad)
        self.assertRaisesRegex(dovetail.DamagedError, "looks like JSON", dovetail.parse_example, b' {"x": 1}')
        for wrong in ("text", 3, None):
            self.assertRaisesRegex(TypeError, "a record must be bytes", dovetail.parse_example, wrong)

    def test_arrays(self):
        for dtype in ("i1", "<i2", ">i4", "i8", "u2", "u4", "?"):
            given = np.array([[1, 0, 1], [0, 1, 1]], dtype)
            with self.subTest(dtype=dtype):
                column = self.read_back({"x": given}, "x:i64[2,3]")["x"]
                np.testing.assert_array_equal(column[0], given.astype("i8"))
        for dtype in ("f2", "<f4", ">f4"):
            given = np.array([0.5, -2, 3.25, 7], dtype)
            np.testing.assert_array_equal(self.read_back({"x": given}, "x:f32[4]")["x"][0], given.astype("f4"))
            np.testing.assert_array_equal(self.read_back({"x": given[::2]}, "x:f32[2]")["x"][0], given[::2])
        image = np.arange(24, dtype="u1").reshape(4, 6)
        for form in (image, np.asfortranarray(image), np.hstack([image, image])[:, :6]):
            np.testing.assert_array_equal(self.read_back({"x": form}, "x:u8[4,6]")["x"][0], image)
        self.assertEqual(len(self.read_back({"x": np.array([], "i8")}, "x:i64[*]")["x"][0]), 0)

    def test_arrays_of_other_frameworks_are_as_those_of_numpy(self):
        for dtype in ("i8", "i4", "u1", "f4", "?"):
            for values in ([1, 0], [[1], [0]], [1], []):
                with self.subTest(dtype=dtype, values=values):
                    self.assertEqual(dovetail.example(x=Tensor(values, dtype)),
                                     dovetail.example(x=np.array(values, dtype)))
        self.assertEqual(dovetail.example(x=Tensor(5, "u1")), dovetail.example(x=5))
        self.assertRaisesRegex(TypeError, r'feature "x": .*tobytes\(\)', dovetail.example, x=Tensor([1.5], "f8"))
        self.assertRaisesRegex(TypeError, r'feature "x": .*tolist\(\)', dovetail.example, x=[1, Tensor([1, 2])])

    def test_texts_and_lists(self):
        for value, wanted in ((b"raw \0\xff", b"raw \0\xff"), ("text \u00e9", "text \u00e9".encode()),
                              (bytearray(b"a"), b"a"), (memoryview(b"abc")[1:], b"bc"), ("", b"")):
            self.assertEqual(self.read_back({"x": value}, "x:bytes")["x"].to_list(), [wanted])
        self.assertEqual(self.read_back({"x": ["a", b"bc", bytearray(b"")]}, "x:bytes[*]")["x"][0], [b"a", b"bc", b""])
        self.assertEqual(self.read_back({"x": [1, True, np.int8(-3)]}, "x:i64[*]")["x"][0].tolist(), [1, 1, -3])
        self.assertEqual(self.read_back({"x": (1, 2.5)}, "x:f32[2]")["x"][0].tolist(), [1, 2.5])

    def test_names_are_any_text(self):
        batch = self.read_back({"image/encoded": b"x", "\u00e9 \"q\"": 3}, r'image/encoded:bytes, "\xc3\xa9 \"q\"":i64')
        self.assertEqual(batch.columns, ["image/encoded", "\u00e9 \"q\""])
        self.assertEqual(batch["\u00e9 \"q\""].tolist(), [3])

    def test_equal_features_give_equal_records(self):
        self.assertEqual(dovetail.example(a=1, b=[2.0]), dovetail.example(a=np.int64(1), b=np.array([2], "f4")))

    def test_what_does_not_fit_is_named(self):
        for wrong in (None, {}, {1}, object(), 1 + 2j, [], [[1]], [None], ["a", 1], [1, "a"], [b"a", None],
                      np.array(["a"]), np.array([1.5]), np.array([1], "u8"), np.array([None]), [1j],
                      memoryview(np.array([None]))):
            with self.subTest(value=wrong):
                self.assertRaisesRegex(TypeError, 'feature "x"', dovetail.example, x=wrong)
        for array, instead in (
                (np.array([1.5]), "array.astype(numpy.float32), or"), (np.array(["a"]), "array.tolist()"),
                (np.array([b"a"], object), "array.tolist()"), (np.array([1], "u8"), "array.tobytes()"),
                (np.array([1], "M8[s]"), "array.tobytes()")):
            says = rf'feature "x": {re.escape(f"arrays of {array.dtype} do")} not fit.* give {re.escape(instead)}'
            self.assertRaisesRegex(TypeError, says, dovetail.example, x=array)
        for beyond in (2**63, -2**63 - 1, [1, 2**63], 1e300, [0.5, -1e39], [1.5, 2**200]):
            with self.subTest(value=beyond):
                self.assertRaisesRegex(dovetail.UsageError, 'feature "x"', dovetail.example, x=beyond)
        self.assertRaisesRegex(TypeError, "None is no value: leave out the feature", dovetail.example, x=None)
        self.assertRaisesRegex(TypeError, r"no type; .* numpy\.array\(\[\], numpy\.int64\)", dovetail.example, x=[])
        self.assertRaisesRegex(TypeError, "for several dimensions give a NumPy array", dovetail.example, x=[[1], [2]])
        for wrong in ("\ud800", ["a", "\ud800"]):
            self.assertRaisesRegex(dovetail.UsageError, 'feature "x" is not UTF-8', dovetail.example, x=wrong)
        self.assertRaises(TypeError, dovetail.example, 1)


if __name__ == "__main__":
    main()
