#!/usr/bin/env python3
"""Plants each fault of faults.json in a copy of the tree, one at a time, and runs the tests that
must find it.

    tests/mutations/run.py BUILD [NAME…]
    tests/mutations/run.py --fit

BUILD is a configured build of another copy of the tree (its folder and everything in it may be
changed): the script edits that copy's sources, builds the fault's test program, runs it, and
restores the sources. It prints a line for each fault and exits with 1 if one was not found, or if a
fault no longer fits the sources. A test that does not end within ten minutes counts as found: some
faults make kernels wait for ever.

With --fit, the script only checks that each fault fits the sources of this tree.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

LIMIT_SECONDS = 600


def source_of(build):
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("CMAKE_HOME_DIRECTORY:"):
            return pathlib.Path(line.split("=", 1)[1])
    raise SystemExit(f"{build} is not a configured build")


def why_not_planted(source, fault):
    """Returns why the fault cannot be planted in these sources, or None."""
    times = (source / fault["file"]).read_text().count(fault["find"])
    if times == 1:
        return None
    return f"DOES NOT FIT {fault['file']}, which has its text {times} times"


def check_fit(faults, source):
    """Prints the faults that do not fit. Returns whether there are any."""
    names = [fault["name"] for fault in faults]
    assert len(set(names)) == len(names), "names are unique"
    wrong = [(fault["name"], why_not_planted(source, fault)) for fault in faults]
    wrong = [(name, why) for name, why in wrong if why]
    for name, why in wrong:
        print(f"{name}: {why}")
    print(f"{len(faults)} faults, {len(wrong)} do not fit")
    return bool(wrong)


def is_found(build, fault):
    """Returns what found the fault: "compiler", "test", "time limit", or None."""
    made = subprocess.run(
        ["cmake", "--build", build, "--target", fault["program"]], capture_output=True, text=True
    )
    if made.returncode != 0:
        return "compiler"
    environment = dict(
        os.environ, SORTIUM_CACHE_DIR="off", SORTIUM_SELF_TEST="off", GTEST_FAIL_FAST="1"
    )
    environment.update(fault.get("environment", {}))
    command = [build / fault["program"], f"--gtest_filter={fault['filter']}"]
    if fault.get("simulated"):  # what CPUs refuse
        command.insert(0, pathlib.Path(__file__).parents[1] / "under-oclgrind")
        environment.update(SORTIUM_TEST_DEVICE="Oclgrind", SORTIUM_TEST_SMALL="1")
        # Oclgrind refuses options that make other compilers fast: every fault would seem found.
        environment.pop("SORTIUM_OPENCL_OPTIONS", None)
    try:
        ran = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return "time limit"
    if ran.returncode == 0 and "[  PASSED  ] 0 tests" in ran.stdout:
        raise SystemExit(f"{fault['name']}: the filter {fault['filter']} runs no test")
    return "test" if ran.returncode != 0 else None


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    faults = json.loads(pathlib.Path(__file__).with_name("faults.json").read_text())
    here = pathlib.Path(__file__).resolve().parents[2]
    if sys.argv[1:] == ["--fit"]:
        return check_fit(faults, here)
    build = pathlib.Path(sys.argv[1]).resolve()
    source = source_of(build)
    if source == here:
        raise SystemExit("BUILD must belong to another copy of the tree: its sources are edited")
    wanted = sys.argv[2:]
    unknown = set(wanted) - {fault["name"] for fault in faults}
    if unknown:
        raise SystemExit(f"no such faults: {', '.join(sorted(unknown))}")
    missed = 0
    for fault in faults:
        if wanted and fault["name"] not in wanted:
            continue
        if why := why_not_planted(source, fault):
            print(f"{fault['name']}: {why}")
            missed += 1
            continue
        path = source / fault["file"]
        text = path.read_text()
        began = time.monotonic()
        path.write_text(text.replace(fault["find"], fault["plant"]))
        try:
            found = is_found(build, fault)
        finally:
            path.write_text(text)
        missed += found is None
        print(
            f"{fault['name']}: {'found by ' + found if found else 'NOT FOUND'}, "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )
    print("all were found" if missed == 0 else f"{missed} not found")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
