#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs files into one dataset on a Dask cluster: each task converts one part, the client merges them.

    dask_convert.py FOLDER SOURCE... [--parts N] [--shards N] [--format FORMAT] [--workers N | --scheduler ADDRESS]

All workers must see sources and folder under the same paths. A task that dies with its worker is run again by Dask,
keeps the shards that were finished, and makes the missing ones; the bytes of the dataset are the same in any case.
"""

import argparse
import time

import dovetail
from dask.distributed import Client, LocalCluster, as_completed


def convert_part(sources, folder, number, parts, options):
    """Makes the shards of one part. Where the task runs elsewhere as well, as when a lost worker was only slow, waits
    for that one: the part is locked while a process is at work on the part."""
    while True:
        try:
            return dovetail.convert(sources, folder, part=(number, parts), jobs=1, **options)
        except dovetail.BusyError:
            time.sleep(0.2)


def convert_all(client, sources, folder, parts, **options):
    """Converts all parts on the workers of the client and merges them. Gives a ConvertReport.

    Args:
        client: of Dask distributed.
        sources, folder, options: as for `dovetail.convert`, except `part`.
        parts: tasks; each makes about shards / parts shards.
    """
    tasks = [client.submit(convert_part, sources, folder, number, parts, options, pure=False, retries=2)
             for number in range(parts)]
    for task in as_completed(tasks):
        task.result()  # an error of a task ends it all; what is finished stays, for another call
    return dovetail.merge(folder, overwrite=bool(options.get("overwrite")))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("folder")
    arguments.add_argument("sources", nargs="+")
    arguments.add_argument("--parts", type=int, default=16)
    arguments.add_argument("--shards", type=int, default=64)
    arguments.add_argument("--format", default="detect")
    arguments.add_argument("--workers", type=int, default=4)
    arguments.add_argument("--scheduler")
    given = arguments.parse_args()
    if given.scheduler:
        cluster = given.scheduler
    else:
        cluster = LocalCluster(n_workers=given.workers, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        report = convert_all(client, given.sources, given.folder, given.parts, shards=given.shards,
                             format=given.format)
    print(f"{report.records} records in {report.shards} shards: {report.datasets[0].manifest}")


if __name__ == "__main__":
    main()
