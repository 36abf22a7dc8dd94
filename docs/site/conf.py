# SPDX-License-Identifier: Apache-2.0
# How Sphinx builds the site; scripts/docs.py gives it the pages.
import ast
import logging
import os

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

project = "Dovetail"
copyright = "the authors of Dovetail"
extensions = ["myst_parser", "breathe", "sphinx_copybutton", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_member_order = "bysource"
default_role = "code"  # of docstrings
myst_heading_anchors = 4
breathe_projects = {"dovetail": os.environ["DOVETAIL_DOXYGEN_XML"]}
breathe_default_project = "dovetail"
primary_domain = "cpp"
highlight_language = "none"
# Words by which tests find blocks of docs/format.md and docs/order.md.
lexers.update({word: TextLexer() for word in ("dump", "vectors")})
html_theme = "sphinx_rtd_theme"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_title = "Dovetail"
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False


class SharedNamespaces(logging.Filter):
    """Each header declares the namespaces again, which is no mistake."""

    def filter(self, record):
        text = record.getMessage()
        return not ("Duplicate C++ declaration" in text and text.split()[-1] in ("dovetail'.", "detail'."))


for name in ("sphinx.sphinx.domains.cpp", "sphinx.sphinx.domains.cpp._symbol"):
    logging.getLogger(name).addFilter(SharedNamespaces())


def show_programs(_app, _what, _name, _thing, _options, lines):
    """Docstrings have programs indented, without the sign of reStructuredText."""
    for i in range(len(lines) - 1, 0, -1):
        if lines[i].startswith("    ") and not lines[i - 1] and i > 1 and not lines[i - 2].startswith((" ", "..", ":")):
            lines[i:i] = ["::", ""]


def keep_colons(_app, what, _name, _thing, _options, lines):
    """Of a property, text before a colon in the first line is no type: that line is now an empty comment."""
    if what == "property":
        lines[:0] = ["..", ""]


def stub_signatures():
    """Parameters and result of what the compiled module has, by `name` or `Class.name`, as in its stub."""
    import dovetail

    def one(function, first):
        given = function.args
        given.args = given.args[first:]
        for argument in (*given.args, *given.kwonlyargs, given.kwarg):
            if argument is not None:
                argument.annotation = None
        return f"({ast.unparse(given)})", None if function.name == "__init__" else ast.unparse(function.returns)

    path = os.path.join(os.path.dirname(dovetail.__file__), "_dovetail.pyi")
    with open(path, encoding="utf-8") as file:
        stub = ast.parse(file.read()).body
    found = {thing.name: one(thing, 0) for thing in stub if isinstance(thing, ast.FunctionDef)}
    for of in (thing for thing in stub if isinstance(thing, ast.ClassDef)):
        found[of.name] = ("", None)  # no constructor, unless there is one below
        for thing in (thing for thing in of.body if isinstance(thing, ast.FunctionDef)):
            is_static = any(isinstance(by, ast.Name) and by.id == "staticmethod" for by in thing.decorator_list)
            name = of.name if thing.name == "__init__" else f"{of.name}.{thing.name}"
            found[name] = one(thing, 0 if is_static else 1)
    return found


def show_stub_signature(app, _what, name, thing, _options, _signature, _result):
    """pybind11 writes `object` and `**kwargs`; the stub has the real types, options and defaults."""
    if getattr(thing, "__module__", None) != "dovetail._dovetail":
        return None
    if not hasattr(app, "stub_signatures"):
        app.stub_signatures = stub_signatures()
    return app.stub_signatures.get(name.split(".", 1)[1])


def setup(app):
    app.connect("autodoc-process-docstring", show_programs, priority=100)
    app.connect("autodoc-process-docstring", keep_colons, priority=200)
    app.connect("autodoc-process-signature", show_stub_signature)
