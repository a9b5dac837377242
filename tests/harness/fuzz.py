"""The fuzzers of tests/fuzz. For 40 seconds in all those that want a build with the address sanitizer, which run nowhere
else; what they find lies in the build's test-scratch. In every other build 84 random programs beside CPython, always the
same ones; one that differs is shrunk and shown. And random tensor programs and models in every configuration beside the
interpreter, functions that are called while what they work on changes, hostile arguments of operations, programs that are interrupted, random calls of the embedding interface, and
what else a hostile script, client or file could do (tests/fuzz/natives.py and its neighbours)."""
import importlib.util
import os
import sys

from .common import TESTS, Job, Result, describe, tail

API_ROUNDS = 60
SECONDS = {"parse": 10, "lower": 10, "run": 20}
PROGRAMS, FIRST_SEED, SHRINK_SECONDS = 84, 1_000_000, 30
# Command lines of the others: in every build, and under sanitizers.
OTHERS = {
    "interrupts": ([f"--seed={FIRST_SEED}", "--moments=3", "--limit=1000"], None),  # moments of each program
    # What is left of large lists does not pile up while they are dropped at leisure.
    "interrupts of lists": ([f"--seed={FIRST_SEED}", "--moments=60", "--longest=60", "--limit=1000", "tolist"], None),
    "natives": (["--each", "--batches=6"], ["--each", "--batches=6"]),
    "natives at random": (["--batches=4"], ["--batches=2"]),
    "natives of descriptors": (["--descriptors", "--batches=6"], ["--descriptors", "--batches=2"]),
    "memory": (["--count=12"], ["--count=3", "--sanitized"]),
    "control_socket": (["--count=12"], ["--count=4", "--slowest=10"]),
    "demands": (["--seconds=4"], None),
    "demands of results": (["--seconds=4", "--results"], None),
    "gradients": ([f"--seed={FIRST_SEED}", "--count=14", "--jobs=1"], ["--seed=2000000", "--count=3", "--modes=eager,graph"]),
    "plain": ([f"--seed={FIRST_SEED}", "--count=60"], [f"--seed={FIRST_SEED}", "--count=6"]),
    "file_formats": (["--count=12"], ["--count=3"]),
    "reentry": (["--seed=760700010", "--count=40", "--jobs=1"], ["--seed=760700010", "--count=4", "--jobs=1"]),
}
# Random tensor programs: how many (a tenth under the address sanitizer, one of 39 under the thread sanitizer), how many
# of them share a process and a configuration, and the tags. Tensors and models meet all configurations of
# tests/fuzz/differential.py, one a batch. Kernels on several threads are those of these two.
TENSORS = {"tensors": (39, 3, ["jit", "threads"]), "models": (39, 3, ["jit", "threads"]), "arguments": (40, 10, []), "pins": (80, 10, []),
           "branches": (70, 10, []), "loops": (60, 10, []), "hot_functions": (200, 10, [])}


def run_fuzzer(suite, name, program, seconds):
    found = os.path.join(suite.scratch, "found")
    os.makedirs(found, exist_ok=True)
    environment = suite.environment()
    options = environment["ASAN_OPTIONS"].replace("detect_leaks=0", "detect_leaks=1")
    done = suite.execute([program, f"--seconds={seconds}", f"--found={found}", os.path.join(TESTS, "lang")],
                         timeout=60, cwd=suite.temporary(), env={"ASAN_OPTIONS": options})
    problem = "" if done.status == 0 else f"it {describe(done.status)}\n{tail(done.err, 30)}"
    return [Result(name, problem)]


def run_api(suite, name):
    """Random calls of the embedding interface: always the same rounds, a fifth of them under sanitizers."""
    program = suite.program("api_fuzz")
    if not program:
        return [Result(name, "api_fuzz is not built")]
    rounds = API_ROUNDS // 5 if suite.sanitized else API_ROUNDS
    done = suite.execute([program, f"--seed={FIRST_SEED}", f"--rounds={rounds}"], timeout=300, cwd=suite.temporary())
    return [Result(name, "" if done.status == 0 else f"it {describe(done.status)}\n{tail(done.err, 30)}")]


def load_programs(suite):
    spec = importlib.util.spec_from_file_location("fuzz_programs", os.path.join(TESTS, "fuzz", "programs.py"))
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    programs.ENVIRONMENT = suite.environment()
    return programs


def run_programs(suite, name):
    """One result for all programs: the first that differs ends it."""
    programs = load_programs(suite)
    path = os.path.join(suite.temporary(), "program.py")
    for seed in range(FIRST_SEED, FIRST_SEED + PROGRAMS):
        program = programs.Program(seed)
        found = programs.difference(program.render(), path, suite.ouro, programs.MODES)
        if found:
            programs.shrink(program, path, suite.ouro, found[0], SHRINK_SECONDS)
            found = programs.difference(program.render(), path, suite.ouro, [found[0]]) or found
            return [Result(name, f"{programs.report(seed, path, found)}--- the program, shrunk\n{program.render()}")]
    return [Result(name)]


def run_tensors(suite, name, generator, count, batch):
    """Batches of random tensor programs; what differs is in the output of the generator's own command."""
    options = []
    if suite.sanitizer == "tsan":  # it looks at how threads meet, which no comparison of results shows
        count //= 39
        options = ["--config=plain --mode=graph --threads=3", "--alone"]
    elif suite.sanitized:
        count //= 10
    done = suite.execute([sys.executable, os.path.join(TESTS, "fuzz", generator + ".py"), f"--ouro={suite.ouro}", f"--seed={FIRST_SEED}", f"--batch={min(batch, count)}", *options,
                          f"--count={count}", f"--shrink={SHRINK_SECONDS}", "--jobs=1", f"--keep={suite.temporary()}"], timeout=1500)
    problem = "" if done.status == 0 else f"it {describe(done.status)}\n{tail(done.out, 60)}\n{tail(done.err, 20)}"
    return [Result(name, problem)]


def run_other(suite, name, what):
    program = os.path.join(TESTS, "fuzz", what.split(" ")[0] + ".py")
    done = suite.execute([sys.executable, program, f"--ouro={suite.ouro}", *OTHERS[what][suite.sanitized]], timeout=1200, cwd=suite.temporary())
    problem = "" if done.status == 0 else f"it {describe(done.status)}\n{tail(done.out, 60)}\n{tail(done.err, 20)}"
    return [Result(name, problem)]


def check_rows(suite, name):
    """A row that no rule of the random tensor programs draws is one that they do not test."""
    sys.path.insert(0, os.path.join(TESTS, "fuzz"))
    from tensor_operations import NOT_DRAWN, ROWS
    listing = suite.execute([suite.ouro, "-c", "import ouro.native.tensors as tensors\nprint(*[r[0] for r in tensors.rows()])"])
    rows = set(listing.out.split())
    lacking, unknown = sorted(rows - set(ROWS) - set(NOT_DRAWN)), sorted(set(NOT_DRAWN) - rows)
    problem = f"without a rule: {lacking}" if lacking or not rows else f"no row: {unknown}" if unknown else ""
    return [Result(name, problem)]


def discover(suite):
    jobs = []
    if suite.ouro and suite.wants("fuzz/rows") and suite.tagged([]):
        jobs.append(Job("fuzz/rows", lambda: check_rows(suite, "fuzz/rows")))
    for generator, (count, batch, tags) in TENSORS.items():
        name = f"fuzz/{generator}"
        if suite.ouro and suite.wants(name) and suite.tagged(tags):
            jobs.append(Job(name, lambda n=name, g=generator, c=count, b=batch: run_tensors(suite, n, g, c, b), weight=100))
    for what in OTHERS:
        name = f"fuzz/{what}"
        if suite.ouro and OTHERS[what][suite.sanitized] is not None and suite.wants(name) and suite.tagged([]):
            jobs.append(Job(name, lambda n=name, w=what: run_other(suite, n, w), weight=100))
    for what, seconds in SECONDS.items():
        name, program = f"fuzz/{what}", suite.program(f"{what}_fuzz")
        if program and suite.wants(name) and suite.tagged([]):
            jobs.append(Job(name, lambda n=name, p=program, s=seconds: run_fuzzer(suite, n, p, s), weight=100))
    if suite.wants("fuzz/api") and suite.program("api_fuzz") and suite.tagged(["threads"]):
        jobs.append(Job("fuzz/api", lambda: run_api(suite, "fuzz/api"), weight=50))
    name = "fuzz/programs"
    if suite.ouro and not suite.sanitized and suite.wants(name) and suite.tagged([]):
        jobs.append(Job(name, lambda: run_programs(suite, name), weight=100))
    return jobs
