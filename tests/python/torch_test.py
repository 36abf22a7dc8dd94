#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of batches, and the dataset for PyTorch's DataLoader, in one process."""

import contextlib
import itertools
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

try:
    import numpy
    import torch
    import torch.distributed
    from torch.utils.data import DataLoader
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)  # what ctest takes for "skipped"

import dovetail
import dovetail.torch
from dovetail.torch import BatchDataset

RECORDS = 100
BATCH = 8
SEED = 11
LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK")
# dtype of a schema: what PyTorch makes of it
DTYPES = {"u8": torch.uint8, "i8": torch.int8, "u16": torch.int32, "i16": torch.int16, "u32": torch.int64,
          "i32": torch.int32, "u64": torch.int64, "i64": torch.int64, "f16": torch.float16, "f32": torch.float32,
          "f64": torch.float64}
COPIED = ("u16", "u32", "u64")


def ids_of(batches):
    """Those of all rows with a record, in their order."""
    return [i for batch in batches for i in batch["ids"].tolist() if i >= 0]


def clones(dataset):
    """What iterating gives, without holding batches."""
    return [{name: part.clone() for name, part in batch.items()} for batch in dataset]


class TorchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dovetail-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        cleaned = mock.patch.dict(os.environ, {name: "" for name in LAUNCHER})
        cleaned.start()
        self.addCleanup(cleaned.stop)
        for name in LAUNCHER:
            del os.environ[name]

    def write(self, records, name="data", **options):
        path = os.path.join(self.folder, name)
        with dovetail.DatasetWriter(path, **options) as writer:
            writer.extend(records)
        return path

    def records(self, name="data"):
        """A dataset of records of many lengths."""
        random = numpy.random.default_rng(SEED)
        self.payloads = [random.bytes(random.integers(0, 50)) for _ in range(RECORDS)]
        return self.write(self.payloads, name, run_records=4)

    def open(self, path, kind=BatchDataset, **options):
        dataset = kind(path, **{"batch": BATCH, "io_threads": 1, "decode_threads": 1, **options})
        self.addCleanup(dataset.close)
        return dataset


class TensorTest(TorchTest):
    def batch(self, path, **options):
        return self.open(path, dovetail.Reader, rank=0, world=1, order="sequential", **options).next()

    def test_parts_of_records_are_views(self):
        batch = self.batch(self.records())
        parts = dovetail.torch.tensors(batch)
        self.assertEqual(list(parts), ["values", "offsets", "ids", "status"])
        for name, dtype in {"values": torch.uint8, "offsets": torch.int64, "ids": torch.int64,
                            "status": torch.uint8}.items():
            array = getattr(batch, name)
            self.assertEqual(parts[name].dtype, dtype)
            self.assertEqual(parts[name].data_ptr(), array.ctypes.data, f"{name} is a copy")
            self.assertEqual(tuple(parts[name].shape), array.shape)
        offsets = parts["offsets"].tolist()
        rows = [bytes(parts["values"][begin:end].tolist()) for begin, end in zip(offsets, offsets[1:])]
        self.assertEqual(rows, self.payloads[:BATCH])
        self.assertEqual(parts["ids"].tolist(), list(range(BATCH)))

    def test_rows_without_a_record_have_the_id_minus_one(self):
        batch = self.batch(self.write([b"a", b"b"]), tail="pad")
        parts = dovetail.torch.tensors(batch)
        self.assertEqual(parts["ids"].tolist(), [0, 1] + [-1] * (BATCH - 2))
        self.assertEqual(parts["status"].tolist(), [dovetail.FIRST] * 2 + [dovetail.EMPTY] * (BATCH - 2))

    def test_columns_of_every_dtype(self):
        schema = ", ".join(f"d_{dtype}:{dtype}[2], r_{dtype}:{dtype}[*]" for dtype in DTYPES)

        def example(i):
            values = {}
            for dtype in DTYPES:
                kind = numpy.float32 if dtype.startswith("f") else numpy.int64
                values["d_" + dtype] = numpy.array([i, i + 1], kind)
                values["r_" + dtype] = numpy.arange(i % 4, dtype=kind)
            return dovetail.example(**values)

        batch = self.batch(self.write(map(example, range(BATCH)), schema=schema), columns=True)
        parts = dovetail.torch.tensors(batch)
        self.assertEqual(list(parts), [*batch.columns, "ids", "status"])
        for dtype, expected in DTYPES.items():
            dense, ragged = parts["d_" + dtype], parts["r_" + dtype]
            self.assertEqual((dense.dtype, ragged.values.dtype), (expected, expected))
            self.assertEqual(dense.tolist(), [[i, i + 1] for i in range(BATCH)])
            self.assertEqual(ragged.offsets.dtype, torch.int64)
            rows = [ragged.values[begin:end].tolist() for begin, end in zip(ragged.offsets, ragged.offsets[1:])]
            self.assertEqual(rows, [list(range(i % 4)) for i in range(BATCH)])
            in_place = dense.data_ptr() == batch["d_" + dtype].ctypes.data
            self.assertEqual(in_place, dtype not in COPIED, dtype)

    def test_a_ragged_tensor_has_rows(self):
        records = [dovetail.example(x=numpy.arange(i % 4)) for i in range(BATCH)]
        ragged = dovetail.torch.tensors(self.batch(self.write(records, schema="x:i64[*]"), columns=True))["x"]
        rows = [list(range(i % 4)) for i in range(BATCH)]
        self.assertIsInstance(ragged, dovetail.Ragged)
        self.assertEqual([row.tolist() for row in ragged], rows)
        self.assertEqual((len(ragged), ragged[-1].tolist(), ragged[1:3][1].tolist()), (BATCH, rows[-1], rows[2]))
        self.assertEqual(ragged[3].data_ptr(), ragged.values[ragged.offsets[3]:].data_ptr(), "a row is a view")
        self.assertEqual(ragged.padded(-1).tolist(), [row + [-1] * (3 - len(row)) for row in rows])
        for copy in (ragged.clone(), ragged.to("cpu", copy=True)):
            self.assertEqual([row.tolist() for row in copy], rows)
            self.assertNotEqual(copy.values.data_ptr(), ragged.values.data_ptr())
        self.assertEqual(ragged.to("meta").values.device.type, "meta")
        self.assertEqual(repr(ragged), "<RaggedTensor of 8 rows: 12 items of torch.int64[]>")

    def test_an_example_takes_tensors(self):
        for values, dtype in (([1, 2], torch.int64), ([1], torch.uint8), ([0.5, 2], torch.float32), ([], torch.int8)):
            tensor = torch.tensor(values, dtype=dtype)
            self.assertEqual(dovetail.example(x=tensor), dovetail.example(x=tensor.numpy()))
        self.assertEqual(dovetail.example(x=torch.tensor(3)), dovetail.example(x=3))
        with self.assertRaisesRegex(TypeError, r'feature "x": .*tolist\(\)'):
            dovetail.example(x=torch.tensor(0.5))

    def test_texts_are_as_the_batch_gives_them(self):
        path = self.write([dovetail.example(name="x" * i) for i in range(BATCH)], schema="name:bytes")
        parts = dovetail.torch.tensors(self.batch(path, columns=True))
        self.assertIsInstance(parts["name"], dovetail.Texts)
        self.assertEqual(parts["name"].to_list(), [b"x" * i for i in range(BATCH)])

    def test_ragged_columns_without_items(self):
        path = self.write([dovetail.example(label=i) for i in range(BATCH)], schema='label:i64, none:u16[*,3]=[]')
        parts = dovetail.torch.tensors(self.batch(path, columns=True))
        self.assertEqual(tuple(parts["none"].values.shape), (0, 3))
        self.assertEqual(parts["none"].offsets.tolist(), [0] * (BATCH + 1))

    def test_a_number_that_int64_does_not_hold_is_an_error_that_names_the_column(self):
        for value, fits in ((2**63 - 1, True), (2**63, False)):
            records = [dovetail.example(big=value.to_bytes(8, "little"))] * BATCH
            batch = self.batch(self.write(records, f"data{value}", schema="big:u64"), columns=True)
            if fits:
                self.assertEqual(dovetail.torch.tensors(batch)["big"].tolist(), [value] * BATCH)
            else:
                with self.assertRaisesRegex(dovetail.UsageError, f'column "big".*{value}'):
                    dovetail.torch.tensors(batch)

    def test_a_column_cannot_hide_the_ids(self):
        batch = self.batch(self.write([dovetail.example(ids=i) for i in range(BATCH)], schema="ids:i64"), columns=True)
        with self.assertRaisesRegex(dovetail.UsageError, 'column "ids"'):
            dovetail.torch.tensors(batch)

    def test_outputs_of_a_model_keep_their_batches_unless_no_graph_is_made(self):
        path = self.write([dovetail.example(x=numpy.full(2, i, "f4")) for i in range(4 * BATCH)], schema="x:f32[2]")
        model = torch.nn.Linear(2, 1)

        def outputs():
            reader = dovetail.Reader(path, batch=BATCH, columns=True, epochs=1, max_held=2)
            return [model(dovetail.torch.tensors(batch)["x"]) for batch in reader]

        self.assertRaisesRegex(dovetail.SlotsHeldError, r"except under torch\.no_grad\(\)", outputs)
        with torch.no_grad():
            self.assertEqual(len(outputs()), 4)

    def test_tensors_outlive_the_reader(self):
        reader = self.open(self.records(), dovetail.Reader, rank=0, world=1, order="sequential")
        parts = dovetail.torch.tensors(reader.next())
        reader.close()
        del reader
        self.assertEqual(bytes(parts["values"].tolist()), b"".join(self.payloads[:BATCH]))

    def test_a_released_batch_has_no_tensors(self):
        batch = self.batch(self.records())
        batch.release()
        with self.assertRaises(dovetail.ClosedError):
            dovetail.torch.tensors(batch)


class DatasetTest(TorchTest):
    def test_a_dataset_shows_what_it_is(self):
        path = self.records()
        dataset = self.open(path)
        self.assertEqual(repr(dataset), f"<BatchDataset of {path!r}: not open yet>")
        self.assertGreater(len(dataset), 0)
        self.assertEqual(repr(dataset), f"<BatchDataset of {path!r}: {dataset.reader!r}>")
        dataset.close()
        self.assertEqual(repr(dataset), f"<BatchDataset of {path!r}: closed>")

    def test_a_loader_gives_epochs(self):
        dataset = self.open(self.records(), tail="pad")
        loader = DataLoader(dataset, batch_size=None, num_workers=0)
        orders = []
        for epoch in range(3):
            self.assertEqual(len(loader), -(-RECORDS // BATCH))
            self.assertEqual(dataset.reader.epoch, epoch)
            orders.append(ids_of(loader))
            self.assertEqual(sorted(orders[-1]), list(range(RECORDS)))
        self.assertNotEqual(orders[0], orders[1])
        dataset.set_epoch(1)
        self.assertEqual(ids_of(loader), orders[1])

    def test_who_counts_batches_gets_epochs_too(self):
        path = self.records()
        whole = self.open(path)
        expected = [ids_of(whole) for _ in range(3)]
        for wrap in (lambda dataset: dataset, lambda dataset: DataLoader(dataset, batch_size=None)):
            loader = wrap(self.open(path))
            self.assertEqual([ids_of(itertools.islice(loader, len(loader))) for _ in range(3)], expected)

    def test_no_batch_is_alive_beside_that_of_the_consumer(self):
        for wrap in (lambda dataset: dataset, lambda dataset: DataLoader(dataset, batch_size=None, num_workers=0)):
            batches = wrap(self.open(self.records(f"data{id(wrap)}"), max_held=1))
            steps = 0
            for batch in batches:
                steps += 1
                del batch  # or it would be the one that may be alive
            self.assertEqual(steps, RECORDS // BATCH)
            with self.assertRaises(dovetail.SlotsHeldError):
                for batch in batches:
                    pass

    def test_variables_of_the_consumer_are_not_kept_alive(self):
        for wrap in (lambda dataset: dataset, lambda dataset: DataLoader(dataset, batch_size=None, num_workers=0)):
            batches = wrap(self.open(self.records(f"data{id(wrap)}"), max_held=2))
            steps = 0
            for _ in range(3):
                for batch in batches:
                    steps += 1
            self.assertEqual(steps, 3 * (RECORDS // BATCH))

    def test_collate_gets_the_whole_batch(self):
        dataset = self.open(self.records(), order="sequential", collate=lambda batch: (type(batch), batch.rows()))
        kind, rows = next(iter(dataset))
        self.assertIs(kind, dovetail.Batch)
        self.assertEqual(rows, self.payloads[:BATCH])

    def test_collate_may_release_the_batch(self):
        def copied(batch):
            here = dovetail.torch.tensors(batch)
            there = {name: tensor.clone() for name, tensor in here.items()}
            del here
            batch.release()
            return there

        batches = list(self.open(self.records(), max_held=1, tail="pad", collate=copied))
        self.assertEqual(sorted(ids_of(batches)), list(range(RECORDS)))

    def test_worker_processes_are_refused_with_the_reason(self):
        dataset = self.open(self.records())
        for opened in (False, True):
            if opened:
                next(iter(dataset))
            with self.assertRaisesRegex(dovetail.UsageError, r"(?s)threads of dovetail.*num_workers=0"):
                list(DataLoader(dataset, batch_size=None, num_workers=2))
        self.assertEqual(len(clones(dataset)), RECORDS // BATCH - 1)

    def test_a_loader_that_makes_batches_of_batches_is_told_what_to_pass(self):
        texts = self.write([dovetail.example(name="x" * i) for i in range(BATCH)], "texts", schema="name:bytes")
        images = self.write([dovetail.example(x=i) for i in range(BATCH)], "images", schema="x:i64")
        for path, options in ((self.records(), {}), (texts, {"columns": True}), (images, {"columns": True}),
                              (images, {"collate": dovetail.Batch.rows})):
            for loading in ({}, {"batch_size": 1}, {"batch_size": 32}, {"batch_size": 2, "drop_last": True}):
                dataset = self.open(path, **options)
                with self.assertRaisesRegex(dovetail.UsageError, r"DataLoader\(dataset, batch_size=None, num_work"):
                    next(iter(DataLoader(dataset, **loading)))
                self.assertEqual(dataset.state_dict()["step"], 0)
                self.assertEqual(sum(1 for _ in DataLoader(dataset, batch_size=None)), len(dataset))

    def test_a_loader_of_a_reader_or_dataset_is_told_what_to_use(self):
        dataset = dovetail.Dataset(self.records())
        with dovetail.Reader(dataset, batch=BATCH, rank=0, world=1) as reader:
            for source in (reader, dataset):
                for loading in ({}, {"batch_size": 4}, {"batch_size": None}, {"shuffle": True}, {"num_workers": 1}):
                    # A worker process that is not forked needs a copy, which is a TypeError.
                    kinds = (dovetail.UsageError, TypeError) if "num_workers" in loading else dovetail.UsageError
                    with self.assertRaisesRegex(kinds, r"(?s)dovetail.torch.BatchDataset.*batch_size=None"):
                        next(iter(DataLoader(source, **loading)))
            self.assertEqual(reader.step, 0)

    def test_batches_by_number_are_refused_with_what_to_do(self):
        dataset = self.open(self.records())
        for call in (lambda: dataset[0], lambda: torch.utils.data.Subset(dataset, [0, 1])[0],
                     lambda: torch.utils.data.random_split(dataset, [3, len(dataset) - 3])[0][0]):
            with self.assertRaisesRegex(dovetail.UsageError, "iterate over it.*batch_size=None.*split="):
                call()

    def test_a_dataset_of_rows_may_be_batched_by_a_loader(self):
        class Rows(torch.utils.data.IterableDataset):
            def __init__(self, batches):
                self.batches = batches

            def __iter__(self):
                for batch in self.batches:
                    yield from batch["ids"].clone()

        class RowsOfMine(BatchDataset):
            def __iter__(self):
                for batch in super().__iter__():
                    yield from batch["ids"].clone()

        path = self.records()
        for dataset in (Rows(self.open(path, tail="pad")), self.open(path, RowsOfMine, tail="pad")):
            rows = torch.cat(list(DataLoader(dataset, batch_size=5)))
            self.assertEqual(sorted(rows[rows >= 0].tolist()), list(range(RECORDS)))

    def test_options_are_checked_at_once(self):
        path = self.records()
        for name, here in (("batch_size", "batch"), ("shuffle", "order"), ("num_workers", "decode_threads"),
                           ("collate_fn", "collate"), ("pin_memory", "registration")):
            with self.assertRaisesRegex(TypeError, f"there is no option '{name}': here it is {here}"):
                BatchDataset(path, **{name: 3})
        with self.assertRaisesRegex(TypeError, "batches"):
            BatchDataset(path, batch=BATCH, batches=3)
        with self.assertRaisesRegex(ValueError, "rank and world"):
            BatchDataset(path, batch=BATCH, rank=0)
        with self.assertRaises(TypeError):
            BatchDataset(path)

    def test_what_is_no_state_and_no_epoch_is_refused_at_once(self):
        path = self.records()
        for opened in (False, True):
            dataset = self.open(path)
            if opened:
                len(dataset)
            for wrong in (None, {"model": 1}, 3):
                self.assertRaises(TypeError, dataset.load_state_dict, wrong)
            self.assertRaises(TypeError, dataset.set_epoch, "1")
            self.assertRaises(dovetail.UsageError, dataset.set_epoch, -1)
            self.assertEqual(len(dataset), RECORDS // BATCH)

    def test_a_dataset_is_true_whether_open_or_not(self):
        dataset = self.open(os.path.join(self.folder, "nowhere"))
        self.assertTrue(dataset)
        dataset.close()
        self.assertTrue(dataset)

    def test_a_closed_dataset_says_so(self):
        path = self.records()
        for opened in (False, True):
            dataset = self.open(path)
            tensors = next(iter(dataset)) if opened else None
            dataset.close()
            dataset.close()
            for use in (iter, len, BatchDataset.state_dict, BatchDataset.stats):
                with self.assertRaises(dovetail.ClosedError):
                    use(dataset)
            if opened:
                self.assertEqual(len(tensors["ids"]), BATCH)

    def test_what_is_wrong_with_the_data_comes_from_the_first_use(self):
        with self.assertRaises(dovetail.MissingFileError):
            len(self.open(os.path.join(self.folder, "nowhere")))

    def test_the_package_does_not_need_pytorch(self):
        program = "import sys, dovetail; sys.exit('torch' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", program], timeout=60).returncode, 0)


class RankTest(TorchTest):
    def join(self):
        """Makes this process rank 0 of 1 for torch.distributed."""
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        self.addCleanup(lambda: torch.distributed.is_initialized() and torch.distributed.destroy_process_group())

    def launch(self, rank, world):
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world))

    def ids(self, path, **options):
        return ids_of(self.open(path, **{"seed": SEED, **options}))

    def test_ranks_of_the_launcher(self):
        path = self.records()
        expected = [self.ids(path, rank=rank, world=2) for rank in (0, 1)]
        for rank in (0, 1):
            self.launch(rank, 2)
            self.assertEqual(self.ids(path), expected[rank])
        self.assertFalse(torch.distributed.is_initialized())

    def test_torch_distributed_goes_before_the_launcher(self):
        path = self.records()
        alone = self.ids(path)
        self.launch(1, 2)
        dataset = self.open(path, seed=SEED)  # before init_process_group, as scripts do
        self.join()
        self.assertEqual(ids_of(dataset), alone)

    def test_given_ranks_go_before_all(self):
        path = self.records()
        expected = self.ids(path, rank=3, world=4)
        self.launch(1, 2)
        self.join()
        self.assertEqual(self.ids(path, rank=3, world=4), expected)

    def test_a_reader_that_was_opened_too_early_is_refused(self):
        self.launch(1, 2)
        dataset = self.open(self.records())
        len(dataset)
        self.join()
        with self.assertRaisesRegex(dovetail.UsageError, "rank 1 of 2.*rank 0 of 1"):
            iter(dataset)

    def test_broken_variables_are_an_error_only_where_they_are_needed(self):
        path = self.records()
        os.environ["RANK"] = "1"
        with self.assertRaisesRegex(dovetail.UsageError, "WORLD_SIZE"):
            len(self.open(path))
        self.join()
        self.assertEqual(len(self.open(path)), RECORDS // BATCH)


class StateTest(TorchTest):
    def take(self, dataset, steps):
        """The ids of so many steps, and the state after them."""
        batches = iter(dataset)
        return ids_of(next(batches) for _ in range(steps)), dataset.state_dict()

    def test_a_state_goes_on_in_mid_epoch(self):
        path = self.records()
        whole = self.open(path, tail="pad")
        epochs = [ids_of(whole), ids_of(whole)]
        first, state = self.take(self.open(path, tail="pad"), 4)
        state = json.loads(json.dumps(state))
        for opened in (False, True):
            for resumed in (self.open(path, tail="pad"), DataLoader(self.open(path, tail="pad"), batch_size=None)):
                dataset = getattr(resumed, "dataset", resumed)
                if opened:
                    next(iter(dataset))
                dataset.load_state_dict(state)
                dataset.set_epoch(0)  # as loops over epochs do; it goes not back
                self.assertEqual(first + ids_of(resumed), epochs[0])
                self.assertEqual(ids_of(resumed), epochs[1])

    def test_a_loop_that_leaves_a_restored_epoch_is_warned(self):
        path = self.records()
        whole = self.open(path)
        whole.set_epoch(1)
        _, state = self.take(whole, 4)
        for opened in (False, True):
            dataset = self.open(path)
            if opened:
                next(iter(dataset))
            dataset.load_state_dict(state)
            with self.assertLogs("dovetail", "WARNING") as said:
                dataset.set_epoch(0)
                next(iter(dataset))
            self.assertIn("set_epoch(0) leaves the restored place, step 4 of epoch 1", said.output[0])
            with self.assertNoLogs("dovetail") if hasattr(self, "assertNoLogs") else contextlib.nullcontext():
                dataset.load_state_dict(state)
                epochs = [ids_of(dataset) for _ in range(dataset.reader.epoch, 3)]
                dataset.set_epoch(0)  # wanted, after batches
            self.assertEqual([len(ids) // BATCH for ids in epochs], [RECORDS // BATCH - 4, RECORDS // BATCH])

    def test_an_epoch_that_is_restored_at_its_end_has_no_more_batches(self):
        path = self.records()
        dataset = self.open(path)
        self.assertEqual(len(ids_of(itertools.islice(dataset, len(dataset)))), RECORDS // BATCH * BATCH)
        state = dataset.state_dict()
        for restored in (self.open(path, state=state), dataset):
            restored.load_state_dict(state)
            self.assertEqual([len(ids_of(restored)) for _ in range(2)], [0, RECORDS // BATCH * BATCH])

    def test_another_world_takes_the_rest_over(self):
        path = self.records()
        taken, states = zip(*(self.take(self.open(path, tail="pad", rank=rank, world=2), 3) for rank in (0, 1)))
        self.assertEqual(states[0], states[1])
        rest = [ids_of(self.open(path, tail="pad", rank=rank, world=3, state=states[0])) for rank in range(3)]
        self.assertEqual(sorted(sum([*taken, *rest], [])), list(range(RECORDS)))

    def test_a_state_of_something_else_is_refused(self):
        path = self.records()
        _, state = self.take(self.open(path, seed=1), 2)
        open_one, closed_one = self.open(path, seed=2), self.open(path, seed=2)
        before, _ = self.take(open_one, 2)
        with self.assertRaisesRegex(dovetail.StateMismatchError, "seed"):
            open_one.load_state_dict(state)
        self.assertEqual(before + ids_of(open_one), ids_of(self.open(path, seed=2)))
        closed_one.load_state_dict(state)
        with self.assertRaisesRegex(dovetail.StateMismatchError, "seed"):
            iter(closed_one)

    def test_set_epoch_before_the_first_use(self):
        path = self.records()
        whole = self.open(path)
        epochs = [ids_of(whole) for _ in range(3)]
        late = self.open(path)
        late.set_epoch(2)
        self.assertEqual(ids_of(late), epochs[2])

    def test_a_pickled_copy_has_the_state_and_a_reader_of_its_own(self):
        path = self.records()
        whole = ids_of(self.open(path))
        dataset = self.open(path)
        unused = pickle.loads(pickle.dumps(dataset))
        first, _ = self.take(dataset, 5)
        copy = pickle.loads(pickle.dumps(dataset))
        self.addCleanup(unused.close)
        self.addCleanup(copy.close)
        self.assertEqual(first + ids_of(copy), whole)
        self.assertEqual(first + ids_of(dataset), whole)
        self.assertEqual(ids_of(unused), whole)

    def test_a_pickled_copy_goes_on_in_another_process(self):
        path = self.records()
        whole = ids_of(self.open(path))
        dataset = self.open(path)
        first, _ = self.take(dataset, 5)
        program = ("import pickle, sys, dovetail.torch\n"
                   "dataset = pickle.load(sys.stdin.buffer)\n"
                   "print(*(i for batch in dataset for i in batch['ids'].tolist()))")
        done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(dataset), stdout=subprocess.PIPE,
                              check=True, timeout=60)
        self.assertEqual(first + [int(i) for i in done.stdout.split()], whole)


if __name__ == "__main__":
    print("seed", SEED)
    unittest.main(verbosity=2)
