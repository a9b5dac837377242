#!/usr/bin/env python3
"""Runs Ouro's tests and ends with the line `N passed, N failed`.

    tests/run.py [FILTER...] [--suite DIR[:TAG,...]]... [--modes eager,graph,...] [--ouro PATH]

A suite is a build folder; with tags, only tests that carry one of them run. FILTER is a substring
of a test's name (`lang/dict/order.ouro[auto]`, `unit/ir/print then read`). docs/testing.md tells
what kinds of tests there are. Needs nothing but Python's own library.
"""
import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import cli, docs, filetests, fuzz, programs, rows, scripts, sources  # noqa: E402
from harness.common import ROOT, Report, Suite  # noqa: E402


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("filter", nargs="*", help="substrings of test names; any may match")
    p.add_argument("--suite", action="append", default=[], metavar="DIR[:TAG,...]",
                   help="a build folder (default: build)")
    p.add_argument("--ouro", help="the program under test, instead of the suite's own")
    p.add_argument("--modes", help="which modes scripts run in, instead of the suite's own (tests/harness/common.py: MODES)")
    p.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    p.add_argument("--list", action="store_true", help="show the names, run nothing")
    p.add_argument("--bless", action="store_true", help="rewrite the golden output of tests/ir, and the pages of docs/ that are made")
    p.add_argument("--parts", action="store_true", help="show how long each kind of test took in each suite")
    p.add_argument("--slow", type=int, default=0, metavar="N", help="show the N slowest tests")
    return p.parse_args()


def main():
    args = arguments()
    report = Report(args)
    everything = []
    for text in args.suite or ["build"]:
        folder, _, tags = text.partition(":")
        suite = Suite(os.path.join(ROOT, folder), [t for t in tags.split(",") if t], args)
        jobs = []
        for kind in (programs, filetests, rows, scripts, cli, docs, sources, fuzz):
            jobs += kind.discover(suite)
        if args.list:
            for job in jobs:
                print(suite.name + "/" + job.name)
            continue
        everything += [(suite, job) for job in jobs]
    # The long jobs of all suites first, so that no worker ends alone.
    everything.sort(key=lambda pair: -pair[1].weight)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda pair: report.run(*pair), everything))
    return 0 if args.list else report.finish()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
