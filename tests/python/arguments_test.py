#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is asked for and cannot be had: the error names it, and what can be had instead."""

import ast
import collections
import copy
import functools
import inspect
import os
import pickle
import re

import dovetail
from dovetail import _dovetail
from fixtures import ErrorTest, ModuleTest, damage_record, main, np, read_file, write_dataset, write_file

STUB = os.path.join(os.path.dirname(os.path.abspath(dovetail.__file__)), "_dovetail.pyi")


def names_in_stub(function):
    """Of the parameters of a function in the stub, in their order, without `self`."""
    return [each.arg for each in function.args.args + function.args.kwonlyargs if each.arg != "self"]


def names_in_module(function):
    """The same from the first line of what pybind11 writes; and whether there are others, by keyword."""
    if inspect.isfunction(function):
        return [name for name in inspect.signature(function).parameters if name != "self"], False
    inside = re.match(r"[\w.]+\((.*)\) -> ", function.__doc__).group(1)
    while re.search(r"\[[^][]*\]", inside):
        inside = re.sub(r"\[[^][]*\]", "", inside)  # of types, with commas in them
    names = [re.match(r"\**\w*", part.strip()).group() for part in inside.split(",") if part.strip()]
    return [name for name in names if name not in ("self", "*", "**kwargs")], "**kwargs" in names


def listed(call, *given):
    """The options that there are, by what a wrong one is told."""
    try:
        call(*given, nothing=1)
    except TypeError as error:
        return re.fullmatch(r"there is no option 'nothing'; there are: (.*)", str(error)).group(1).split(", ")
    raise AssertionError(f"{call} takes every option")


class PickledDataset(dovetail.Dataset):
    def __reduce__(self):
        return type(self), (self.path,)


class StubTest(ModuleTest):
    def test_parameters_are_those_of_the_module(self):
        with_options = {"Writer.__init__": lambda: listed(dovetail.Writer, "x"),
                        "DatasetWriter.__init__": lambda: listed(dovetail.DatasetWriter, "x"),
                        "Plan.__init__": lambda: listed(dovetail.Plan, "x"),
                        "Plan.resume": lambda: ["batch", "world"],  # in the stub the others are `Any`
                        "convert": lambda: listed(dovetail.convert, ["x"], "x"),
                        "export_tfrecords": lambda: listed(dovetail.export_tfrecords, ["x"], "x")}
        module = ast.parse(read_file(STUB))
        scopes = [(module, "", _dovetail)]
        scopes += [(each, each.name + ".", getattr(_dovetail, each.name)) for each in module.body
                   if isinstance(each, ast.ClassDef)]
        checked = set()
        for scope, prefix, real in scopes:
            for function in scope.body:
                if not isinstance(function, ast.FunctionDef):
                    continue
                name = prefix + function.name
                thing = getattr(real, function.name)
                if isinstance(thing, property):
                    self.assertEqual(ast.unparse(function.decorator_list[0]), "property", name)
                    continue
                if function.name.startswith("__") and function.name != "__init__" or name == "example":
                    continue  # their parameters have no names, or any
                named, others = names_in_module(thing)
                wanted = names_in_stub(function)
                with self.subTest(function=name):
                    self.assertEqual(wanted[:len(named)], named)
                    self.assertEqual(others, name in with_options, name)
                    options = with_options[name]() if others else []
                    self.assertEqual(sorted(wanted), sorted({*named, *options}))
                checked.add(name)
        self.assertGreater(len(checked), 30)
        self.assertLessEqual(set(with_options), checked)


class NameTest(ErrorTest):
    """Wrong names and wrong types of options are told with what there is."""

    def refused(self, call, *given, **named):
        with self.assertRaises(TypeError) as caught:
            call(*given, **named)
        self.assertNotIn("incompatible", str(caught.exception))
        return str(caught.exception)

    def test_options_that_there_are_not(self):
        path = self.make_dataset()
        dataset = dovetail.Dataset(path)
        plan = dovetail.Plan(dataset, batch=4)
        for call, given, there in (
                (dovetail.Reader, {"batch": 4}, ("batch", "world", "columns", "huge_pages")),
                (dovetail.Plan, {"batch": 4}, ("batch", "world", "mix_stop")),
                (lambda path, **named: dovetail.Plan.resume(path, plan.state_dict(0), **named), {"batch": 4},
                 ("tail",)),
                (lambda path, **named: dovetail.export_tfrecords([path], "to", **named), {}, ("compression", "jobs")),
                (lambda path, **named: dovetail.convert([path], "to", **named), {}, ("classes", "progress", "codec")),
                (lambda path, **named: dovetail.Writer(path + "x", **named), {}, ("codec", "shard_number")),
                (lambda path, **named: dovetail.DatasetWriter(path + "x", **named), {}, ("shards", "codec"))):
            said = self.refused(call, path, **given, nothing=1)
            self.assertRegex(said, "^there is no option 'nothing'; there are: ")
            for name in there:
                self.assertIn(name, said.split(": ")[1].split(", "))
        self.assertNotIn("shard_number", self.refused(dovetail.DatasetWriter, path + "x", nothing=1))

    def test_names_of_other_libraries_are_told_as_they_are_here(self):
        path = self.make_dataset()
        reader = functools.partial(dovetail.Reader, path)
        convert = functools.partial(dovetail.convert, [path], "to")
        writer = functools.partial(dovetail.DatasetWriter, "to")
        for call, name, here in (
                (reader, "batch_size", "batch"), (reader, "drop_last", "tail"),
                (reader, "shuffle", 'order, "shuffle" by default, "sequential" or "global"'),
                (reader, "sampler", 'order, "shuffle" by default; rank and world'),
                (reader, "num_workers", "decode_threads"), (reader, "prefetch_factor", "prefetch"),
                (reader, "pin_memory", "registration"), (reader, "num_replicas", "world"),
                (reader, "world_size", "world"), (reader, "local_world_size", "local_world"),
                (reader, "generator", "seed"), (reader, "memory", "memory_bytes"),
                (reader, "buffer_size", "pool, of records"),
                (functools.partial(dovetail.Plan, path), "buffer_size", "pool, of records"),
                (reader, "timeout", "hung_after, in seconds"),
                (convert, "shuffle", "shuffle_seed, a number"), (convert, "seed", "shuffle_seed"),
                (convert, "num_workers", "jobs, of threads"), (convert, "num_shards", "shards"),
                (convert, "world_size", "part, as (rank, world)"), (convert, "compression", "codec"),
                (convert, "meta", "metadata"), (convert, "memory", "memory_bytes"),
                (writer, "compression", "codec"), (writer, "num_workers", "encode_threads"),
                (writer, "size_limit", "shard_bytes"), (writer, "columns", "schema")):
            with self.subTest(name=name):
                said = self.refused(call, **{name: 4})
                self.assertTrue(said.startswith(f"there is no option '{name}': here it is {here}"), said)
        for call, name, says in ((reader, "collate_fn", "a Reader returns plain batches"),
                                 (reader, "persistent_workers", "there are no worker processes"),
                                 (reader, "worker_init_fn", "there are no worker processes"),
                                 (convert, "batch_size", "give batch to dovetail.Reader")):
            said = self.refused(call, **{name: 4})
            self.assertTrue(said.startswith(f"there is no option '{name}': {says}"), said)
        self.assertIn("there are: batch, ", self.refused(dovetail.Plan, path, batch=4, num_workers=3))

    def test_a_misspelt_option_is_answered_by_the_one_that_is_meant(self):
        path = self.make_dataset()
        for call, name, meant in (
                (functools.partial(dovetail.Reader, path), "tial", "tail"),
                (functools.partial(dovetail.Reader, path), "collumns", "columns"),
                (functools.partial(dovetail.Plan, path), "open_run", "open_runs"),
                (functools.partial(dovetail.convert, [path], "to"), "overwite", "overwrite"),
                (functools.partial(dovetail.DatasetWriter, "to"), "shard_byte", "shard_bytes")):
            with self.subTest(name=name):
                self.assertEqual(self.refused(call, **{name: 4}),
                                 f"there is no option '{name}'; did you mean '{meant}'?")

    def test_errors_about_missing_arguments_do_not_repeat_data(self):
        path, many = self.make_dataset(), [self.path(f"{i}.txt") for i in range(1000)]
        plan = dovetail.Plan(path, batch=4)
        for call, says in (
                (lambda: dovetail.example({"image": bytes(10_000)}), r"by name, as example\(\*\*features\)"),
                (lambda: dovetail.example(bytes(10_000)), "features are given by name"),
                (lambda: dovetail.convert(many), "^folder must be a str"),
                (lambda: dovetail.export_tfrecords(many), "^target must be a str"),
                (lambda: dovetail.Plan(path), "^batch is missing"),
                (lambda: dovetail.Plan(path, batch=None), "^batch is missing"),
                (lambda: dovetail.Plan.resume(path, plan.state_dict(0), batch=None), "^batch is missing"),
                (lambda: dovetail.Reader(path, batch=None), "^batch is missing")):
            with self.subTest(says=says):
                said = self.refused(call)
                self.assertRegex(said, says)
                self.assertLess(len(said), 200)

    def test_what_has_no_items_by_number(self):  # which a DataLoader asks for
        dataset = dovetail.Dataset(self.make_dataset())
        for each, says in ((self.open_reader(dataset), "iterate"), (dataset, "dovetail.open(dataset)")):
            self.check(dovetail.UsageError, lambda: each[0], code=dovetail.ErrorCode.invalid_option,
                       says=(says, "dovetail.torch.BatchDataset", "batch_size=None"))
        with self.assertRaisesRegex(TypeError, r"a Dataset is not iterable; .*dovetail.open\(dataset\) .*Reader"):
            list(dataset)

    def test_types_that_options_do_not_take(self):
        dataset = dovetail.Dataset(self.make_dataset())
        path, to = dataset.path, self.path("to")
        source = write_file(self.path("lines.txt"), b"a\n")
        for call, says in (
                (lambda: dovetail.Dataset(path, allow_outside="yes"), "allow_outside must be True or False, not str"),
                (lambda: dovetail.open(path, allow_outside=3), "allow_outside must be True or False, not int"),
                (lambda: dovetail.merge(to, overwrite=1), "overwrite must be True or False"),
                (lambda: dovetail.Writer(to, metadata=[1]), "metadata must be a dict of strings, not list"),
                (lambda: dovetail.convert(3, to), "sources must be a path or a list of paths, not int"),
                (lambda: dovetail.convert(dataset, to), "sources must be a path or a list of paths, not Dataset"),
                (lambda: dovetail.convert([3], to), "a source must be a str"),
                (lambda: dovetail.convert([source], 3), "folder must be"),
                (lambda: dovetail.convert([source], to, progress=3), "progress must be a function, not int"),
                (lambda: dovetail.convert([source], to, part=3), r"part must be two numbers, \(number, parts\), not"),
                (lambda: dovetail.convert([source], to, part=(1, 2, 3)), "part must be two numbers"),
                (lambda: dovetail.convert([source], to, classes="ab"), "classes must be a list of strings, not str"),
                (lambda: dovetail.convert([source], to, classes=["a", 3]), "an item of classes must be a string"),
                (lambda: dovetail.Plan(dataset, batch=4, mix=3), r"mix must be a list of weights, \[3, 1\], or"),
                (lambda: dovetail.Plan(dataset, batch=4, mix=[0.7, 0.3]), r"mix takes whole .* \[7, 3\] .* not float"),
                (lambda: dovetail.Plan(dataset, batch=4, mix=[(0, 3)]), "mix must be a list of weights"),
                (lambda: dovetail.Plan(dataset, batch=4, mix=[(0, [1], 2)]), "mix must be a list of weights"),
                (lambda: dovetail.Reader(dataset, batch=4, hung_after="x"), "hung_after must be a number, not str"),
                (lambda: dovetail.Dataset.join([path]), "datasets must be a list of Dataset objects, not str"),
                (lambda: dovetail.Dataset.join(dataset), "datasets must be a list of Dataset objects, not Dataset"),
                (lambda: dovetail.Records(path), r"dataset must be a Dataset, not str; dovetail.open\(path\)"),
                (lambda: dovetail.add_digests("00"), "digests must be a list of digests, not str"),
                (lambda: dovetail.example(x=collections.UserDict(a=1)), 'feature "x" must be a list, not UserDict'),
                (lambda: dovetail.convert(collections.UserDict({source: 1}), to), "sources must be a path or a list"),
                (lambda: dovetail.Reader(["a", "b"], batch=4), r"not list; dovetail.Dataset.join\(\["),
                (lambda: dovetail.open((path, path)), r"not tuple; dovetail.Dataset.join\(")):
            self.assertRegex(self.refused(call), says)
        self.assertFalse(os.path.exists(to))


class ObjectTest(ModuleTest):
    """What Python would do with any object; with those of pybind11 it ended the process."""

    def make_objects(self):
        dataset = dovetail.Dataset(self.make_dataset())
        reader, plan, records = self.open_reader(dataset), dovetail.Plan(dataset, batch=4), dovetail.open(dataset)
        batch = reader.next()
        return [dataset, dataset.shards[0], plan, plan.epoch(), reader, reader._native, iter(reader), batch,
                batch.tensor(), records, iter(records), dovetail.Writer(self.path("a.dvt")),
                dovetail.DatasetWriter(self.path("a"))]

    def test_nothing_is_pickled_or_copied(self):
        made = self.make_objects()
        calls = [functools.partial(pickle.dumps, protocol=protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        calls += [copy.copy, copy.deepcopy, lambda each: each.__reduce__(), lambda each: each.__reduce_ex__(0)]
        for each in made:
            for call in calls:
                self.assertRaisesRegex(TypeError, f"^dovetail.{type(each).__name__} cannot be pickled or copied", call,
                                       each)
        classes = {each for each in vars(_dovetail).values() if inspect.isclass(each)}
        self.assertEqual(classes - {type(each) for each in made}, set())
        for each, says in ((made[0], "open it again by its path"), (dovetail.Plan(made[0], batch=4), "Plan(dataset,"),
                           (made[0].describe(), "ShardInfo"), (made[4], "state=")):
            for protocol in (0, pickle.HIGHEST_PROTOCOL):
                self.assertRaisesRegex(TypeError, says.replace("(", r"\("), pickle.dumps, each, protocol)

    def test_a_derived_class_may_say_how_it_is_pickled(self):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            twin = pickle.loads(pickle.dumps(PickledDataset(self.make_dataset(name=f"data{protocol}")), protocol))
            self.assertEqual((type(twin), len(twin)), (PickledDataset, 400))

    def test_an_object_that_was_never_initialised_is_refused(self):
        made, checked = self.make_objects(), 0
        for kind in {type(each) for each in made} - {dovetail.Reader}:
            empty = kind.__new__(kind)
            for name, member in vars(kind).items():
                call = member.fget if isinstance(member, property) else member
                signature = (call.__doc__ or "").split("\n")[0]
                if name == "__init__" or f"(self: {kind.__module__}.{kind.__name__}" not in signature:
                    continue
                given = [1] * (signature.split("*")[0].count(": ") - 1)
                with self.subTest(call=f"{kind.__name__}.{name}"):
                    self.assertRaisesRegex((TypeError, RuntimeError), "never initialised|non-held", call, empty, *given)
                checked += 1
        self.assertGreater(checked, 50)
        empty = dovetail.Dataset.__new__(dovetail.Dataset)
        for call in (dovetail.Records, dovetail.open, lambda empty: dovetail.Plan(empty, batch=4),
                     lambda empty: dovetail.Reader(empty, batch=4), lambda empty: dovetail.Dataset.join([empty])):
            self.assertRaisesRegex(TypeError, "never initialised", call, empty)
        del empty


class ColumnTest(ErrorTest):
    def test_columns_that_the_records_do_not_have(self):
        examples = [dovetail.example(image=b"x" * 4, label=i) for i in range(40)]
        lines = [b'{"label": %d}' % i for i in range(40)]
        cases = ((examples, "labl:i64", ('did you mean "label"?', 'only "image" (bytes_list), "label" (int64_list)')),
                 (examples, "image:i64[3]", ('column "image"',)), (examples, "label:bytes", ("int64_list",)),
                 (lines, "label:i64", ("JSON", "tf.train.Example")))
        for number, (records, columns, says) in enumerate(cases):
            dataset = dovetail.Dataset(write_dataset(self.path(f"data{number}"), records, shards=1, codec="none"))
            shard = dataset.shard_paths[0]
            self.check(dovetail.UsageError, self.open_reader(dataset, columns=columns).next, path=shard,
                       code=dovetail.ErrorCode.invalid_option, says=says)
            for record in records:
                damage_record(shard, record)
            self.check(dovetail.DamagedError, self.open_reader(dataset, columns=columns).next, path=shard,
                       code=dovetail.ErrorCode.payload_checksum)


class RaisingTest(ModuleTest):
    """What the code of an argument raises reaches the caller as it is."""

    def test_no_exception_of_an_argument_is_replaced(self):
        class Mine(Exception):
            pass

        for error in (Mine("mine"), KeyboardInterrupt("mine"), MemoryError("mine")):
            def fails(*_, error=error):
                raise error

            class Array:
                ndim = 1
                __array__ = fails

            class NoArray:
                __array__ = property(fails)

            class NoDimensions:
                __array__ = None
                ndim = property(fails)

            class Number:
                __index__ = __float__ = fails

            class Real:
                __float__ = fails

            class List(list):
                __iter__ = fails

            class Path:
                __fspath__ = fails

            class NoPath:
                __fspath__ = property(fails)

            status = np.zeros(1, "u1")
            calls = {"an array": lambda: dovetail.example(x=Array()),
                     "an attribute": lambda: dovetail.example(x=NoArray()),
                     "dimensions": lambda: dovetail.example(x=NoDimensions()),
                     "a whole number": lambda: dovetail.example(x=Number()),
                     "a real number": lambda: dovetail.example(x=Real()),
                     "an item": lambda: dovetail.example(x=[0.5, Real()]),
                     "a list": lambda: dovetail.example(x=List([1])),
                     "ids": lambda: dovetail.digest(Array(), status), "statuses": lambda: dovetail.digest([1], Array()),
                     "an option": lambda: dovetail.Plan("x", batch=Number()),
                     "a real option": lambda: dovetail.convert("x", self.path("to"), sample=Real()),
                     "items": lambda: dovetail.add_digests(List(["a"])), "a path": lambda: dovetail.Dataset(Path()),
                     "a source": lambda: dovetail.convert([Path()], self.path("to")),
                     "sources": lambda: dovetail.convert(NoPath(), self.path("to"))}

            for name, call in calls.items():
                with self.subTest(name, error=type(error)):
                    try:
                        call()
                    except BaseException as raised:  # also KeyboardInterrupt
                        self.assertIs(raised, error)
                    else:
                        self.fail("nothing was raised")


if __name__ == "__main__":
    main()
