#!/usr/bin/env python3
"""pysortium on cpu:0 beside NumPy, Polars, DuckDB and the C++ library: one table for each suite.

    python bench/peers/python_cpu.py [--suites keys,values,argsort,functions,records,others]
        [--lists real,order,skewed,dtypes,u4:uniform,…] [--exponents 12,16,20,23] [--seconds 0.3]
        [--time cpu] [--std build/peers/libcpu_sorts.so] [--json FILE]

The calls of a row take turns in random order, and the row has their medians. Each result is
checked. Keys are sorted in place, Polars' in a copy; so are lists of up to 2^14 keys by all.
Positions are u32 with pysortium and Polars, int64 with NumPy. NumPy's and Polars' argsort: the
stable one, and the faster one of both kinds. `--time cpu` compares the CPU time of all threads,
which says more than the time on a clock while others use the machine; for a peer with one thread
the ratio is then less than users see. "values" are u32, and Sortium's C++ call is measured. Peers
that are not there are left out: Polars and DuckDB are packages, "std" is the C++ library's parallel
sorts, which need `cmake --build build/peers --target cpu_sorts`.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import numpy as np
from python_calls import (
    Calls,
    Std,
    argsort_calls,
    duckdb,
    functions_suite,
    keys_calls,
    others_suite,
    pl,
    records_suite,
    values_calls,
)
from python_lists import lists, make

import pysortium as ps


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return all(same(f, e) for f, e in zip(found, expected, strict=True))
    found = np.asarray(found)
    if found.dtype.kind == "f" or found.dtype.names is None:
        return np.array_equal(found, expected)
    return found.tobytes() == expected.tobytes()


def measure(suite: str, row: str, count: int, calls: Calls, seconds: float) -> dict:
    """Returns, for each call, its median seconds and the median seconds of all its threads. A peer
    whose result is wrong is left out."""
    mine = next(iter(calls))
    for name, call in list(calls.items()):
        if call.before is not None:
            call.before()
        result = call.run()
        if call.result is None or same(result, call.result):
            continue
        if name == mine:
            raise SystemExit(f"{name}: {suite}, {row}, {count}: wrong")
        print(f"{name}: {suite}, {row}, {count}: its result is wrong")
        del calls[name]
    times: dict = {name: [] for name in calls}
    threads: dict = {name: [] for name in calls}
    end = time.perf_counter() + seconds * len(calls)
    rounds = 0
    turns = list(calls.items())
    while rounds < 3 or (time.perf_counter() < end and rounds < 2000):
        random.shuffle(turns)  # a call is slower after one that has filled the caches
        for name, call in turns:
            if call.before is not None:
                call.before()
            cpu = time.process_time()
            begin = time.perf_counter()
            call.run()
            times[name].append(time.perf_counter() - begin)
            threads[name].append(time.process_time() - cpu)
        rounds += 1
    return {
        name: {
            "seconds": statistics.median(times[name]),
            "thread_seconds": statistics.median(threads[name]),
        }
        for name in calls
    }


def show(row: str, count: int, found: dict, time: str) -> None:
    mine = found[next(iter(found))]
    exponent = f"2^{count.bit_length() - 1}" if count & (count - 1) == 0 else str(count)
    rate, of_core = count / mine["seconds"] * 1e-6, count / mine["thread_seconds"] * 1e-6
    text = f"{row:34} {exponent:>7} {rate:8.1f} M/s ({of_core:6.1f} a core)"
    compared = "seconds" if time == "clock" else "thread_seconds"
    for name, peer in found.items():
        if peer is not mine:
            text += f"  {name} {peer[compared] / mine[compared]:.2f}"
    print(text, flush=True)


def is_slower(found: dict, time: str) -> bool:
    """Whether NumPy takes less time than the first call."""
    compared = "seconds" if time == "clock" else "thread_seconds"
    mine = found[next(iter(found))]
    return "NumPy" in found and found["NumPy"][compared] < mine[compared]


def rows(options: Any, std: Std | None) -> Iterator[tuple[str, str, int, Calls]]:
    counts = [1 << int(e) for e in options.exponents.split(",")]
    of_keys = {"keys": keys_calls, "values": values_calls, "argsort": argsort_calls}
    of_tables = {"records": records_suite, "others": others_suite}
    for suite in options.suites.split(","):
        known = (*of_keys, "functions", *of_tables)
        if suite not in known:
            raise SystemExit(f"--suites: {suite!r} is none of {', '.join(known)}")
        for count in counts:
            if suite in of_tables:
                for name, records, calls in of_tables[suite](count, std):
                    yield suite, name, records, calls
                continue
            for dtype, name in lists(options.lists):
                x = make(name, dtype, count)
                row = f"{dtype.name} {name}"
                if suite in of_keys:
                    yield suite, row, count, of_keys[suite](x, std)
                else:
                    for function, calls in functions_suite(x):
                        yield suite, f"{row}: {function}", count, calls


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ")[1]
    return "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suites", default="keys,values,argsort")
    parser.add_argument("--lists", default="real", help="names, or TYPE:LIST (%(default)s)")
    parser.add_argument("--exponents", default="12,16,20,23")
    parser.add_argument(
        "--seconds", type=float, default=0.3, help="for each call and row (%(default)s)"
    )
    parser.add_argument("--time", choices=("clock", "cpu"), default="clock")
    beside = Path(__file__).parents[2] / "build/peers/libcpu_sorts.so"
    parser.add_argument("--std", default=str(beside) if beside.exists() else "")
    parser.add_argument("--json", help="also write the result to this file")
    options = parser.parse_args()
    std = Std(options.std) if options.std else None
    versions = {m.__name__: m.__version__ for m in (ps, np, pl, duckdb) if m is not None}
    cores = len(os.sched_getaffinity(0))
    report: dict = {
        "processor": processor(),
        "cores": cores,
        "versions": versions,
        "command": " ".join(sys.argv),
        "rows": [],
    }
    print(f"{report['processor']}, {cores} cores; {versions}; ratios: a peer's time to the first")
    suite_before, slower = "", 0
    for suite, row, count, calls in rows(options, std):
        if not calls:
            continue
        if suite != suite_before:
            print(f"-- {suite}")
            suite_before = suite
        found = measure(suite, row, count, calls, options.seconds)
        show(row, count, found, options.time)
        slower += is_slower(found, options.time)
        report["rows"].append({"suite": suite, "list": row, "count": count, "calls": found})
        if options.json:
            Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    print(f"slower than NumPy: {slower} of {len(report['rows'])} rows")


if __name__ == "__main__":
    main()
