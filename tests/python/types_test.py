#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types and texts: strict mypy passes over package and user, the stub fits the module, and all is documented."""

import ast
import inspect
import os
import subprocess
import sys

try:
    import mypy
except ImportError:
    mypy = None

import dovetail
from dovetail import _dovetail
from fixtures import ModuleTest, main, skip_all, write_file

if mypy is None:
    skip_all("mypy is not installed")
PACKAGE = os.path.dirname(os.path.abspath(dovetail.__file__))

PROGRAM = '''
import pathlib
from typing import Dict, List, Optional, Tuple

import dovetail

with dovetail.DatasetWriter(pathlib.Path("data"), codec="none", metadata={"who": "me"}) as writer:
    writer.extend(dovetail.example(label=i) for i in range(10))
    writer.append(b"more")
dataset = dovetail.Dataset("data")
names: List[str] = [shard.name for shard in dataset.shards]
record: bytes = dovetail.open(dataset)[3]
part: List[bytes] = dovetail.open("data")[1:3]
plan = dovetail.Plan(dataset, batch=4, tail="pad", mix=[(0, [1, 2])])
steps: int = plan.steps()
reader = dovetail.Reader(dataset, batch=4, columns="label:i64", state=plan.state_dict(0))
try:
    for batch in reader:
        total: int = int(batch.values.sum()) + len(batch) + batch.valid
        one: Optional[dovetail.Batch] = reader.next()
        counted = dovetail.digest(batch.ids, batch.status)
        with batch:
            batch.tensor("label").__dlpack__()
except dovetail.StorageError as error:
    print(error.errno, error.path, error.offset)
report = dovetail.convert(["a", pathlib.Path("b")], "to", part=(0, 2), progress=lambda share, records, raw: share < 1)
lost: int = sum(len(place.records) for place in dovetail.verify("to").damaged)
manifest: str = dovetail.merge("to").datasets[0].manifest
classes: Tuple[str, ...] = dovetail.convert(["a"], "to", classes=["cat", "dog"]).sources[0].classes
features: Dict[str, str] = dataset.describe().features
described = dataset.features(threads=2)
bars: Tuple[int, ...] = described["label"].histogram.counts
'''

# What is wrong with it is said by mypy, with this word.
MISTAKES = {
    'dovetail.Reader("data")': "batch",
    'dovetail.Reader("data", batch="4")': "batch",
    'dovetail.Reader("data", batch=4, bach=3)': "bach",
    'dovetail.open("data")["x"]': "__getitem__",
    'dovetail.Writer("a").append("text")': "append",
    'dovetail.convert("a", "to", part=3)': "part",
    'dovetail.convert(["a"], "to", encode_threads=3)': "encode_threads",
    "dovetail.nothing": "nothing",
}

# The metaclass of pybind11 has no name that a stub could import; classes that only the module makes have no __init__.
ALLOWED = [f"dovetail._dovetail.{name}" for name, thing in vars(_dovetail).items() if inspect.isclass(thing)]
MADE_BY_USERS = (".Writer", ".DatasetWriter", ".Dataset", "_dovetail.Plan", ".Reader", ".Records")
ALLOWED += [f"{name}.__init__" for name in ALLOWED if not name.endswith(MADE_BY_USERS)]


class TypeTest(ModuleTest):
    def mypy(self, *arguments):
        environment = {**os.environ, "MYPYPATH": os.path.dirname(PACKAGE)}
        return subprocess.run([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env=environment, cwd=self.folder)

    def test_a_program_of_a_user(self):
        write_file(self.path("user.py"), PROGRAM.encode())
        done = self.mypy("mypy", "--strict", "user.py")
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = ["import dovetail", *MISTAKES]
        write_file(self.path("user.py"), "\n".join(lines).encode())
        said = self.mypy("mypy", "--strict", "user.py").stdout
        for number, word in enumerate(MISTAKES.values(), 2):
            found = [line for line in said.splitlines() if line.startswith(f"user.py:{number}:")]
            self.assertTrue(any(word in line for line in found), (lines[number - 1], said))

    def test_the_package(self):
        # What PyTorch says of its types differs from version to version, and takes a minute.
        without = ("torch.py", "trainers.py")
        sources = [name for name in os.listdir(PACKAGE) if name.endswith((".py", ".pyi")) and name not in without]
        done = self.mypy("mypy", "--strict", *(os.path.join(PACKAGE, name) for name in sorted(sources)))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_every_option_has_its_own_line_and_a_default(self):
        with open(os.path.join(PACKAGE, "_dovetail.pyi"), encoding="utf-8") as file:
            stub = {thing.name: thing for thing in ast.parse(file.read()).body if hasattr(thing, "name")}
        for name in ("Plan", "Writer", "DatasetWriter", "convert", "index", "recover"):
            function = stub[name].body[1] if isinstance(stub[name], ast.ClassDef) else stub[name]
            self.assertEqual(function.name, "__init__" if function is not stub[name] else name)
            for option, preset in zip(function.args.kwonlyargs, function.args.kw_defaults):
                with self.subTest(of=name, option=option.arg):
                    self.assertRegex(getattr(dovetail, name).__doc__, rf"(?m)^    {option.arg}: \S")
                    if preset is not None:
                        self.assertNotEqual(ast.unparse(preset), "...")
        plan = stub["Plan"].body[1].args
        presets = {option.arg: ast.literal_eval(preset) for option, preset in zip(plan.kwonlyargs, plan.kw_defaults)
                   if preset is not None}
        dataset = self.make_dataset()
        self.assertEqual(dovetail.Plan(dataset, batch=4, **presets).options, dovetail.Plan(dataset, batch=4).options)

    def test_the_stub_fits_the_module(self):
        allowed = write_file(self.path("allowed"), "\n".join(ALLOWED).encode())
        done = self.mypy("mypy.stubtest", "dovetail._dovetail", "--allowlist", allowed, "--ignore-unused-allowlist")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_all_that_is_public_is_documented(self):
        self.assertEqual([name for name in dovetail.__all__ if not hasattr(dovetail, name)], [])
        missing = []
        for name in dovetail.__all__:
            thing = getattr(dovetail, name)
            if not (inspect.isclass(thing) or callable(thing)):
                continue
            # What pybind11 writes by itself is the signature; the rest of the text is ours.
            text = (thing.__doc__ or "").split("\n\n", 1)[-1] if not inspect.isclass(thing) else thing.__doc__
            if not text or not text.strip() or text.strip().startswith(f"{name}("):
                missing.append(name)
            if inspect.isclass(thing) and thing.__module__.startswith("dovetail"):
                for part, what in vars(thing).items():
                    if part.startswith("_") or isinstance(what, (int, str)) or inspect.ismemberdescriptor(what):
                        continue
                    said = (getattr(what, "__doc__", None) or "").strip()
                    ours = said.split("\n\n", 1)[-1].strip() if "(self: " in said.split("\n", 1)[0] else said
                    if not ours or "(self: " in ours.split("\n", 1)[0]:
                        missing.append(f"{name}.{part}")
        self.assertEqual(missing, [])


if __name__ == "__main__":
    main()
