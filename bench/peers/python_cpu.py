#!/usr/bin/env python3
"""pysortium on cpu:0 beside NumPy and Polars: one table.

    python bench/peers/python_cpu.py [--exponents 8,12,16,20] [--dtypes u1,u2,u4,i8,f4,f8]
                                     [--seconds 0.3]

Uniform keys. All three sort the same array in turn, and each row has the medians. Every result is
compared with NumPy's stable sort. Polars is left out if it is not installed.
"""

import argparse
import statistics
import time

import numpy as np

import pysortium as ps

try:
    import polars as pl
except ImportError:
    pl = None


def keys(dtype: np.dtype, count: int) -> np.ndarray:
    rng = np.random.default_rng(count)
    if dtype.kind == "f":
        return rng.random(count).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, count, dtype, endpoint=True)


def peers(x: np.ndarray) -> dict:
    """Returns, for each function, the libraries' calls by name."""
    calls = {
        "sort": {"pysortium": lambda: ps.sort(x), "NumPy": lambda: np.sort(x)},
        "argsort": {
            "pysortium": lambda: ps.argsort(x),
            "NumPy": lambda: np.argsort(x, kind="stable"),
        },
    }
    if pl is not None and x.dtype != np.float16:
        series = pl.Series(x)
        calls["sort"]["Polars"] = lambda: series.sort().to_numpy()
        calls["argsort"]["Polars"] = lambda: series.arg_sort().to_numpy()  # u32, and not stable
    return calls


def medians(calls: dict, seconds: float) -> dict:
    times: dict = {name: [] for name in calls}
    end = time.perf_counter() + seconds * len(calls)
    while len(times["NumPy"]) < 5 or time.perf_counter() < end:
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(t) for name, t in times.items()}


def check(x: np.ndarray, function: str, name: str, result: np.ndarray) -> None:
    expected = np.sort(x, kind="stable")
    found = x[result] if function == "argsort" else result
    if not np.array_equal(found, expected):
        raise SystemExit(f"{name}'s {function} of {len(x)} {x.dtype} is wrong")
    if (
        name == "pysortium"
        and function == "argsort"
        and not np.array_equal(result, np.argsort(x, kind="stable"))
    ):
        raise SystemExit(f"{name}'s argsort of {len(x)} {x.dtype} is not stable")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--exponents", default="8,12,16,20")
    parser.add_argument("--dtypes", default="u1,u2,u4,i8,f4,f8")
    parser.add_argument(
        "--seconds", type=float, default=0.3, help="for each call and row (%(default)s)"
    )
    options = parser.parse_args()
    print(
        f"{'function':8} {'dtype':8} {'count':>6} {'pysortium':>12} {'NumPy':>12} {'times':>6} "
        f"{'Polars':>12} "
        f"{'times':>6}"
    )
    for function in ("sort", "argsort"):
        for dtype in map(np.dtype, options.dtypes.split(",")):
            for exponent in map(int, options.exponents.split(",")):
                x = keys(dtype, 1 << exponent)
                calls = peers(x)[function]
                for name, call in calls.items():
                    check(x, function, name, np.asarray(call()))
                found = medians(calls, options.seconds)
                row = f"{function:8} {dtype.name:8} {'2^' + str(exponent):>6}"
                row += f" {found['pysortium'] * 1e6:9.1f} µs"
                for name in ("NumPy", "Polars"):
                    row += (
                        f" {found[name] * 1e6:9.1f} µs {found[name] / found['pysortium']:6.1f}"
                        if name in found
                        else f" {'-':>12} {'-':>6}"
                    )
                print(row, flush=True)


if __name__ == "__main__":
    main()
