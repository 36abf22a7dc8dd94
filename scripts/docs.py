#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs.py OUT: builds the site of the documentation, which needs no server and no network: the README, the pages of
docs/, the contracts of the public headers, and the docstrings of the Python module if it is built. Fails if Sphinx
warns or a page has a dead link within the site."""

import argparse
import glob
import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SITE = os.path.join(ROOT, "docs", "site")
HEADERS = os.path.join(ROOT, "include", "dovetail")
PACKAGE = os.path.join(ROOT, "build", "release", "python", "package")
MODULES = ("dovetail", "dovetail.torch", "dovetail.trainers")
NO_PAGE = ("completion.h", "dovetail.h", "export.h")
PICTURES = (".svg", ".png")
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".py": "python", ".sh": "sh"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def can_import(name):
    """Whether the Python module was built, for this interpreter, and has what it needs."""
    return subprocess.run([sys.executable, "-c", f"import {name}"], env={**os.environ, "PYTHONPATH": PACKAGE},
                          stderr=subprocess.DEVNULL).returncode == 0


class Stage:
    """The pages as Sphinx gets them: links between files of the repository become links between pages."""

    def __init__(self, folder):
        self.folder = folder
        self.pages = {path: path.lower() for path in glob.glob("*.md", root_dir=ROOT)}
        self.pages["README.md"] = "index.md"
        for pattern in ("docs/*.md", "docs/guides/*.md"):
            self.pages.update({path: os.path.relpath(path, "docs") for path in glob.glob(pattern, root_dir=ROOT)})

    def write(self, page, text):
        path = os.path.join(self.folder, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def write_all(self):
        for path, page in list(self.pages.items()):
            parts = FENCE.split(read(os.path.join(ROOT, path)))
            parts[::2] = [LINK.sub(lambda link: self.link(path, *link.groups("")), part) for part in parts[::2]]
            self.write(page, "".join(parts) + (self.contents() if path == "README.md" else ""))
        self.write_headers()

    def contents(self):
        text = read(os.path.join(SITE, "contents.md"))
        modules = [name for name in MODULES if can_import(name)]
        for name in modules:
            self.write(f"api/{name}.md", f"# {name}\n\n```{{eval-rst}}\n.. default-domain:: py\n\n"
                                         f".. automodule:: {name}\n   :members:\n   :imported-members:\n```\n")
        return text.replace("\napi/index\n", "".join(f"\napi/{name}" for name in modules) + "\napi/index\n")

    def link(self, path, target, anchor):
        if ":" not in target:
            if not os.path.exists(os.path.join(ROOT, os.path.dirname(path), target)):
                sys.exit(f"{path}: dead link {target}")
            page = self.page_of(os.path.normpath(os.path.join(os.path.dirname(path), target)))
            target = os.path.relpath(page, os.path.dirname(self.pages[path]))
        return f"]({target}{anchor})"

    def page_of(self, path):
        """The place in the site of a file or folder; what is no page, such as a program, becomes one that shows it."""
        if path not in self.pages:
            full = os.path.join(ROOT, path)
            if path.endswith(PICTURES):
                self.pages[path] = os.path.join("pictures", os.path.basename(path))
                os.makedirs(os.path.join(self.folder, "pictures"), exist_ok=True)
                shutil.copy(full, os.path.join(self.folder, self.pages[path]))
                return self.pages[path]
            self.pages[path] = os.path.join("source", path + ".md")
            if os.path.isdir(full):
                names = sorted(name for name in os.listdir(full) if not name.startswith((".", "__")))
                links = [self.link(path, os.path.join(os.path.basename(path), name), "") for name in names]
                text = "".join(f"- [{name}{link}\n" for name, link in zip(names, links))
            else:
                text = f"````{LANGUAGES.get(os.path.splitext(path)[1], 'none')}\n{read(full)}````\n"
            self.write(self.pages[path], f"---\norphan: true\n---\n\n# {path}\n\n{text}")
        return self.pages[path]

    def write_headers(self):
        names = sorted(name for name in os.listdir(HEADERS) if name not in NO_PAGE)
        rows = ""
        for name in names:
            declared = ", ".join(f"`{found}`" for found in names_in(read(os.path.join(HEADERS, name))))
            rows += f"| [{name}]({name}.md) | {declared} |\n"
            self.write(f"api/{name}.md", f"# {name}\n\n```cpp\n#include <dovetail/{name}>\n```\n\n"
                                         f"```{{doxygenfile}} {name}\n```\n")
        listed = "".join(f"{name}\n" for name in names)
        self.write("api/index.md", "# C++\n\nThe contracts of the public headers; `<dovetail/dovetail.h>` includes all."
                                   f"\n\n| header | declares |\n|---|---|\n{rows}\n"
                                   f"```{{toctree}}\n:hidden:\n\n{listed}```\n")


def names_in(header):
    """The types and functions that a public header declares, in its order."""
    found = re.findall(r"^(?:(?:class|struct|enum class) (?:DOVETAIL_EXPORT )?|DOVETAIL_EXPORT [^;({]*?)(\w+)"
                       r"(?= [:{]|\()", header, re.MULTILINE)
    return list(dict.fromkeys(name for name in found if name != "operator"))


class Page(html.parser.HTMLParser):
    """The names that links can lead to in a page, and its links."""

    def __init__(self, path):
        super().__init__()
        self.names, self.links = set(), []
        self.feed(read(path))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.names.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead_links(site):
    """(page, link) of every link that leads to no file or name of the site."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(site) for name in names]
    pages = {path: Page(path) for path in paths if path.endswith(".html")}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path)))
            target = path if not parts.path else target
            name = urllib.parse.unquote(parts.fragment)
            known = pages.get(target)
            if not os.path.isfile(target) or (name and known is not None and name not in known.names):
                dead.append((os.path.relpath(path, site), link))
    return sorted(set(dead))


def build(out):
    """Builds the site; gives what is wrong with it, one line each."""
    with tempfile.TemporaryDirectory() as folder:
        xml = os.path.join(folder, "doxygen", "xml")
        options = read(os.path.join(SITE, "Doxyfile")) + f"\nOUTPUT_DIRECTORY = {folder}/doxygen\n"
        os.mkdir(os.path.join(folder, "doxygen"))
        doxygen = subprocess.run(["doxygen", "-"], input=options, text=True, cwd=ROOT, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        if doxygen.returncode != 0:
            return [doxygen.stdout]
        pages = os.path.join(folder, "pages")
        Stage(pages).write_all()
        done = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", SITE, "-d",
                               os.path.join(folder, "doctrees"), pages, out],
                              env={**os.environ, "DOVETAIL_DOXYGEN_XML": xml, "PYTHONPATH": PACKAGE})
    wrong = ["Sphinx warned, see above"] if done.returncode != 0 else []
    return wrong + [f"{page}: dead link {link}" for page, link in dead_links(out)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="the folder of the site")
    out = os.path.abspath(parser.parse_args().out)
    wrong = build(out)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"open {os.path.join(out, 'index.html')}")


if __name__ == "__main__":
    main()
