"""Unit test programs: tests/unit/AREA/*.cpp is build/test_AREA, one test is one Catch2 case."""
import glob
import os
import re
from xml.sax.saxutils import unescape

from .common import TESTS, Job, Result, describe, tail

CASE = re.compile(r'<TestCase name="([^"]*)"|<OverallResult success="(\w+)"'
                  r'|<(?:Original|Expanded)>\s*(.*?)\s*</|<(?:Failure|Exception|FatalErrorCondition)'
                  r'[^>]*>\s*(.*?)\s*</|(?:filename|line)="([^"]*)"|<Warning>\s*skipped: (.*?)\s*</', re.S)
# More than this many cases are split over several processes, which run at the same time.
CASES_PER_JOB = 60


def cases(suite, program):
    """(name, tags) of each case."""
    done = suite.execute([program, "--list-tests"], timeout=30)
    found = []
    for line in done.out.splitlines()[1:]:
        if line.startswith("      ") and found:
            if line.strip().startswith("[") and line.rstrip().endswith("]"):
                found[-1][1].extend(re.findall(r"\[([^\]]+)\]", line))
            else:
                found[-1][0] += " " + line.strip()  # a long name goes on
        elif line.startswith("  "):
            found.append([line.strip(), []])
    return found


def parse(text):
    """[(name, passed, detail, why it was skipped)]; the case that was open when the program died counts as failed."""
    results, name, detail, place, skipped = [], None, [], [], ""
    for match in CASE.finditer(text):
        case, success, expression, message, where, why = match.groups()
        if case is not None:
            name, detail, place, skipped = unescape(case, {"&quot;": '"'}), [], [], ""
        elif success is not None and name is not None:
            results.append((name, success == "true", "\n".join(detail[:8]), skipped))
            name = None
        elif why is not None:
            skipped = unescape(why)
        elif where is not None:
            place = (place + [where])[-2:]
        else:
            detail.append((":".join(place) + "  " if place else "")
                          + unescape(expression or message or "", {"&quot;": '"'}))
    if name is not None:
        results.append((name, False, "\n".join(detail[:8]), ""))
    return results


def escape(name):
    return re.sub(r'([\\,\[\]*"])', r"\\\1", name)


def run_cases(suite, program, area, names):
    done = suite.execute([program, "-r", "xml", ",".join(escape(n) for n in names)], timeout=300)
    found = parse(done.out)
    results = [Result(f"unit/{area}/{name}",
                      "" if ok else (detail or describe(done.status) + "\n" + tail(done.err, 20)), skipped)
               for name, ok, detail, skipped in found]
    # A program that dies at one case has not run the rest: each has a process of its own then.
    rest = [n for n in names if n not in {name for name, *_ in found}]
    if rest and found:
        results += run_cases(suite, program, area, rest)
    else:
        results += [Result(f"unit/{area}/{n}",
                           f"did not run: the program {describe(done.status)}\n" + tail(done.err))
                    for n in rest]
    if not any(r.problem for r in results) and done.status != 0:
        results.append(Result(f"unit/{area} as a whole",
                              f"{describe(done.status)}\n" + tail(done.err, 30)))
    return results


def discover(suite):
    jobs = []
    for folder in sorted(glob.glob(os.path.join(TESTS, "unit", "*", ""))):
        area = os.path.basename(os.path.dirname(folder))
        if not glob.glob(folder + "*.cpp"):
            continue
        program = suite.program(f"test_{area}")
        if not program:
            if not suite.tags and suite.wants(f"unit/{area}"):
                problem = Result(f"unit/{area}", f"test_{area} is not built")
                jobs.append(Job(f"unit/{area}", lambda problem=problem: [problem]))
            continue
        names = [n for n, tags in cases(suite, program)
                 if "." not in tags and suite.tagged(tags) and suite.wants(f"unit/{area}/{n}")]
        for at in range(0, len(names), CASES_PER_JOB):
            part = names[at:at + CASES_PER_JOB]
            jobs.append(Job(f"unit/{area}/{at // CASES_PER_JOB}", lambda p=program, a=area, n=part:
                            run_cases(suite, p, a, n), weight=50 + len(part)))
    return jobs
