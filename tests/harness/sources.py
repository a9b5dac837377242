"""What `./dev check` says of the sources, as one test: format, layers, sizes."""
import os
import sys

from .common import TESTS, Job, Result, tail


def check(suite):
    done = suite.execute([sys.executable, os.path.join(TESTS, "check.py")], timeout=300)
    return [Result("sources", "" if done.status == 0 else tail(done.out + done.err, 40))]


def discover(suite):
    if suite.tags or suite.sanitized or not suite.wants("sources"):
        return []
    return [Job("sources", lambda: check(suite), weight=30)]
