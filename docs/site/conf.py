# SPDX-License-Identifier: Apache-2.0
# How Sphinx builds the site; scripts/docs.py gives it the pages.
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


def setup(app):
    app.connect("autodoc-process-docstring", show_programs, priority=100)
