# SPDX-License-Identifier: Apache-2.0
"""Small tables of HTML for notebooks: escaped, without colours and scripts, so that they fit light and dark pages."""

from __future__ import annotations

import html
from typing import Iterable, Sequence

_MOST_CHARACTERS = 120


def escaped(text: str) -> str:
    """Text that shows as it is, and that every encoding can hold."""
    shown = text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "\u2026"
    return html.escape(shown.encode("utf-8", "backslashreplace").decode())


def table(caption: str, rows: Iterable[Sequence[str]], heading: Sequence[str] = ()) -> str:
    """A table whose rows begin with their names."""
    left = ' style="text-align: left"'
    head = "".join(f"<th{left}>{escaped(cell)}</th>" for cell in heading)
    body = "".join(f"<tr><th{left}>{escaped(name)}</th>" + "".join(f"<td{left}>{escaped(cell)}</td>" for cell in cells)
                   + "</tr>" for name, *cells in rows)
    return (f'<table><caption style="text-align: left; caption-side: top">{escaped(caption)}</caption>'
            f"{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>")
