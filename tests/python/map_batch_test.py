# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that work on a batch between decoding and delivery: `Reader(map_batch=...)`."""

import numpy as np
from fixtures import ModuleTest, damage_record, main
from map_test import COLUMNS, columns_of, in_batches

import dovetail


def in_arrays(records):
    """The same columns, those of a fixed size as arrays."""
    columns = in_batches(columns_of)(records)
    return {name: np.array(rows) if name in ("id", "draw", "ends") else rows for name, rows in columns.items()}


class Foreign:
    """An array of another library, which is no sequence to the interpreter, as a tensor of PyTorch is none."""

    def __len__(self):
        return 4

    def __iter__(self):
        return iter(self.__array__())

    def __array__(self, dtype=None, copy=None):
        return np.array([[0, 1]] * 4, dtype)


class MapBatchTest(ModuleTest):
    def read(self, *, columns="id:i64", batch=16, order="sequential", **options):
        return self.open_reader(self.path("dataset"), batch=batch, columns=columns, order=order, **options)

    def statuses(self, **options):
        """Those of an epoch, by id."""
        with self.assertLogs("dovetail", "WARNING"):
            reader = self.read(**options)
            found = {int(id): int(status) for batch in reader for id, status in zip(batch.ids, batch.status)}
            reader.stats()
        return found

    def test_rows_are_those_of_map(self):
        self.make_dataset()
        for function in (in_batches(columns_of), in_arrays):
            for options in ({"order": "shuffle", "seed": 3}, {"tail": "pad", "batch": 30},
                            {"order": "global", "decode_threads": 3, "seed": 5}):
                with self.subTest(function=function.__name__, **options):
                    options = {"columns": COLUMNS, "epochs": 2, **options}
                    by_record, by_batch = self.read(map=columns_of, **options), self.read(map_batch=function, **options)
                    for _ in range(2):
                        for one, other in zip(by_record, by_batch, strict=True):
                            self.assertEqual((one.epoch, one.step), (other.epoch, other.step))
                            np.testing.assert_array_equal(one.ids, other.ids)
                            np.testing.assert_array_equal(one.status, other.status)
                            for part in ("values", "offsets"):
                                np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
                            for name in one.columns:
                                self.assertEqual([bytes(row) if name == "name" else np.asarray(row).tolist()
                                                  for row in one[name]],
                                                 [bytes(row) if name == "name" else np.asarray(row).tolist()
                                                  for row in other[name]], name)

    def test_each_batch_is_one_call_with_the_records_of_its_rows(self):
        self.make_dataset()
        calls = {}

        def notes(records):
            self.assertIs(type(records), list)
            self.assertEqual({type(record) for record in records}, {dovetail.Record})
            for record in records:
                self.assertEqual(record, self.records[record.id])
            calls[records[0].epoch, records[0].id] = [record.id for record in records]
            return {"id": [record.id for record in records]}

        for order in ("shuffle", "global"):
            calls.clear()
            reader = self.read(map_batch=notes, order=order, tail="pad", epochs=1, batch=30, decode_threads=2)
            batches = [batch.ids[batch.status != dovetail.EMPTY].tolist() for batch in reader]
            self.assertEqual(calls, {(0, ids[0]): ids for ids in batches})
            self.assertEqual(len(batches[-1]), 400 % 30)

    def test_arrays_are_converted_as_a_whole(self):
        self.make_dataset(count=20)
        cases = [("u8", np.arange(4), [0, 1, 2, 3]), ("f32", np.arange(4) / 2, [0, 0.5, 1, 1.5]),
                 ("f32[2]", np.arange(8.0).reshape(2, 4).T, [[0, 4], [1, 5], [2, 6], [3, 7]]),
                 ("i64[2]", np.arange(8, dtype=">i2").reshape(4, 2), [[0, 1], [2, 3], [4, 5], [6, 7]]),
                 ("i64", (1, 2, 3, 4), [1, 2, 3, 4]), ("u8", b"abcd", [97, 98, 99, 100]),
                 ("f64", memoryview(np.arange(4.0)), [0, 1, 2, 3]), ("f32[2]", Foreign(), [[0, 1]] * 4),
                 ("i32[*]", Foreign(), [[0, 1]] * 4),
                 ("i32[*]", np.arange(8).reshape(4, 2), [[0, 1], [2, 3], [4, 5], [6, 7]]),
                 ("bytes", np.array(["a", "b", "c", "é"], object), [b"a", b"b", b"c", "é".encode()]),
                 ("bytes", np.array(["a", "b", "c", "d"]), [b"a", b"b", b"c", b"d"])]
        for dtype, rows, expected in cases:
            with self.subTest(dtype=dtype, rows=rows):
                function = lambda records, rows=rows: {"x": rows}  # noqa: E731
                batch = self.read(columns=f"x:{dtype}", map_batch=function, batch=4).next()
                self.assertEqual([bytes(row) if dtype == "bytes" else row.tolist() for row in batch["x"]], expected)

    def test_what_is_wrong_for_the_batch_rejects_all_its_records(self):
        self.make_dataset(count=20)
        x = 'column "x"'
        cases = [("u8", np.arange(3), f"ValueError: map_batch returned 3 rows of {x} for 4 records"),
                 ("u8", [1, 2, 3, 4, 5], f"map_batch returned 5 rows of {x} for 4 records"),
                 ("bytes[*]", [[]], f"map_batch returned 1 rows of {x} for 4 records"),
                 ("i64", np.zeros(4), f"TypeError: {x} has rows of i64, not float64"),
                 ("f32", np.array(["a"] * 4), "has rows of f32, not <U1"),
                 ("u8", np.array([0, 1, 256, 2]), f"{x}: 256 is out of range for u8"),
                 ("f32[2]", np.zeros((4, 3)), f"{x} has rows of shape [*, 2], not [4, 3]"),
                 ("i64", 5, f"{x} must be an array or a list with a row for each record, not int"),
                 ("bytes", "abcd", f"{x} must be an array or a list with a row for each record, not str"),
                 ("i64", np.array(5), f"{x} must be an array or a list with a row for each record, not"),
                 ("bytes", {b"a", b"b", b"c", b"d"}, "with a row for each record, not set"),
                 ("i64", dict.fromkeys(range(4)), "with a row for each record, not dict")]
        results = [(f"x:{dtype}", {"x": rows}, message) for dtype, rows, message in cases]
        results += [("x:i64", None, "map_batch must return a dict of columns, not NoneType"),
                    ("x:i64", {"x": [1] * 4, "y": [1] * 4}, "map_batch returned 'y', which is not one of the columns")]
        for columns, result, message in results:
            with self.subTest(columns=columns, result=result):
                options = {"columns": columns, "map_batch": lambda records, result=result: result, "batch": 4}
                with self.assertRaises(dovetail.UsageError) as raised:
                    self.read(**options).next()
                self.assertEqual(raised.exception.code, dovetail.ErrorCode.rejected_record)
                self.assertIn(message, str(raised.exception))
                self.assertIn(", for all 4 records of the batch; record 0 of the shard (id 0), needed by rank 0 at "
                              "step 0", str(raised.exception))
                self.assertIsNotNone(raised.exception.__cause__)
                for policy in ("empty", "substitute"):
                    statuses = self.statuses(on_damage=policy, epochs=1, **options)
                    self.assertEqual(set(statuses.values()), {dovetail.DAMAGED})

    def test_an_exception_rejects_its_batch_and_is_the_cause_of_the_readers(self):
        self.make_dataset()

        def fails(records):
            if any(record.id == 77 for record in records):
                raise LookupError("no label")
            return {"id": [record.id for record in records]}

        reader = self.read(map_batch=fails, decode_threads=2)
        for _ in range(2):
            with self.assertRaises(dovetail.UsageError) as raised:
                for _ in range(1000):
                    reader.next()
            self.assertIn("LookupError: no label, for all 16 records of the batch", str(raised.exception))
            self.assertIsInstance(raised.exception.__cause__, LookupError)
            self.assertEqual(raised.exception.__cause__.__traceback__.tb_frame.f_locals["records"][0].id, 64)
        for policy in ("empty", "substitute"):
            statuses = self.statuses(map_batch=fails, on_damage=policy)
            self.assertEqual([id for id in statuses if statuses[id] == dovetail.DAMAGED], list(range(64, 80)))

    def test_a_row_of_a_list_that_does_not_fit_rejects_its_record(self):
        self.make_dataset()

        def rows(records):
            return {"id": [None if record.id % 50 == 7 else record.id for record in records],
                    "body": [record for record in records], "name": np.array(["é"] * len(records), object)}

        options = {"columns": "id:i64, body:bytes, name:bytes", "map_batch": rows}
        reader = self.read(**options)
        with self.assertRaises(dovetail.UsageError) as raised:
            reader.next()
        self.assertIn('column "id" has rows of i64, not NoneType; record 7 of the shard', str(raised.exception))
        self.assertIsInstance(raised.exception.__cause__, TypeError)
        rejected = list(range(7, 400, 50))
        for policy, status in (("empty", dovetail.DAMAGED), ("substitute", dovetail.SUBSTITUTED)):
            with self.assertLogs("dovetail", "WARNING"):
                reader = self.read(on_damage=policy, **options)
                batches = [(batch.ids.copy(), batch.status.copy(), batch.copy()) for batch in reader]
                reader.stats()
            for ids, statuses, columns in batches:
                bad = np.isin(ids, rejected)
                np.testing.assert_array_equal(statuses, np.where(bad, status, dovetail.FIRST))
                np.testing.assert_array_equal(columns["id"][~bad], ids[~bad])
                self.assertTrue(np.isin(columns["id"][bad], 0 if policy == "empty" else ids[~bad]).all())

    def test_damaged_records_are_not_in_the_list(self):
        self.make_dataset(codec="none")
        damaged = next(i for i in range(20, 100) if len(self.records[i]) > 50)
        damage_record(dovetail.Dataset(self.path("dataset")).shard_paths[0], self.records[damaged])
        for order in ("sequential", "global"):
            given = []

            def notes(records, given=given):
                given.extend(record.id for record in records)
                return {"id": np.array([record.id for record in records])}

            with self.assertLogs("dovetail", "WARNING"):
                reader = self.read(map_batch=notes, on_damage="empty", epochs=1, order=order)
                lost = []
                for batch in reader:
                    good = batch.status == dovetail.FIRST
                    np.testing.assert_array_equal(batch["id"][good], batch.ids[good])
                    np.testing.assert_array_equal(batch["id"][~good], 0)
                    lost += batch.ids[~good].tolist()
                reader.stats()
            self.assertIn(damaged, lost)
            self.assertEqual(sorted(given + lost), list(range(400)))

    def test_misuse_is_refused(self):
        self.make_dataset(count=20)
        with self.assertRaisesRegex(dovetail.UsageError, "map_batch needs columns"):
            self.read(columns=None, map_batch=in_arrays)
        with self.assertRaisesRegex(TypeError, "map_batch must be a function of a list of records, not int"):
            self.read(map_batch=5)
        with self.assertRaisesRegex(dovetail.UsageError, "give map or map_batch, not both"):
            self.read(map=columns_of, map_batch=in_arrays)


if __name__ == "__main__":
    main()
