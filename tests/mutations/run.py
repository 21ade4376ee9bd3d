#!/usr/bin/env python3
"""Plants each fault of faults.json in a copy of the tree, one at a time, and runs the tests that
must find it.

    tests/mutations/run.py BUILD [NAME…]

BUILD is a configured build of another copy of the tree (its folder and everything in it may be
changed): the script edits that copy's sources, builds the fault's test program, runs it, and
restores the sources. It prints a line for each fault and exits with 1 if one was not found, or if a
fault no longer fits the sources. A test that does not end within ten minutes counts as found: some
faults make kernels wait for ever.
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
    build = pathlib.Path(sys.argv[1]).resolve()
    source = source_of(build)
    if source == pathlib.Path(__file__).resolve().parents[2]:
        raise SystemExit("BUILD must belong to another copy of the tree: its sources are edited")
    faults = json.loads(pathlib.Path(__file__).with_name("faults.json").read_text())
    wanted = sys.argv[2:]
    unknown = set(wanted) - {fault["name"] for fault in faults}
    if unknown:
        raise SystemExit(f"no such faults: {', '.join(sorted(unknown))}")
    missed = 0
    for fault in faults:
        if wanted and fault["name"] not in wanted:
            continue
        path = source / fault["file"]
        text = path.read_text()
        if text.count(fault["find"]) != 1:
            print(
                f"{fault['name']}: DOES NOT FIT {fault['file']}, which has its text "
                f"{text.count(fault['find'])} times"
            )
            missed += 1
            continue
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
