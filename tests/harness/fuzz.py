"""The fuzzers of tests/fuzz, for 60 seconds in all: in a build with the address sanitizer. What they find lies in the
build's test-scratch."""
import os

from .common import TESTS, Job, Result, describe, tail

SECONDS = {"parse": 15, "lower": 15, "run": 30}


def run_fuzzer(suite, name, program, seconds):
    found = os.path.join(suite.scratch, "found")
    os.makedirs(found, exist_ok=True)
    environment = suite.environment()
    options = environment["ASAN_OPTIONS"].replace("detect_leaks=0", "detect_leaks=1")
    done = suite.execute([program, f"--seconds={seconds}", f"--found={found}", os.path.join(TESTS, "lang")],
                         timeout=60, cwd=suite.temporary(), env={"ASAN_OPTIONS": options})
    problem = "" if done.status == 0 else f"it {describe(done.status)}\n{tail(done.err, 30)}"
    return [Result(name, problem)]


def discover(suite):
    jobs = []
    for what, seconds in SECONDS.items():
        name, program = f"fuzz/{what}", suite.program(f"{what}_fuzz")
        if program and suite.wants(name) and suite.tagged([]):
            jobs.append(Job(name, lambda n=name, p=program, s=seconds: run_fuzzer(suite, n, p, s), weight=100))
    return jobs
