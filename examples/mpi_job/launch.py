# SPDX-License-Identifier: Apache-2.0
"""How the checks of the MPI examples make a dataset and start ranks."""

import subprocess


def write_random(program, folder, records, min_bytes, max_bytes):
    subprocess.run([program, folder, str(records), str(min_bytes), str(max_bytes)], check=True, timeout=60)


def run(mpiexec, ranks, program, *arguments):
    """What the ranks print. More of them than cores are welcome."""
    command = [mpiexec, "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), program, *map(str, arguments)]
    done = subprocess.run(command, timeout=60, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout
