# SPDX-License-Identifier: Apache-2.0
"""`python -m dovetail`, and the `dovetail` that pip installs: the command, which the package carries."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Replaces this process by the command, with the same arguments."""
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "dovetail")
    try:
        os.execv(command, ["dovetail", *sys.argv[1:]])
    except OSError as failure:
        print(f"dovetail: error: cannot run the command: {command}: {failure.strerror}", file=sys.stderr)
        sys.exit(3)  # the command's own code for this


if __name__ == "__main__":
    main()
