#!/usr/bin/env python3
"""pysortium on cpu:0 beside NumPy, Polars, DuckDB and the C++ library: one table for each suite.

    python bench/peers/python_cpu.py [--suites keys,values,argsort,records,others]
        [--lists real,order,skewed,u4:uniform,…] [--exponents 12,16,20,23] [--seconds 0.3]
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
import ctypes
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np

import pysortium as ps

try:
    import polars as pl
except ImportError:
    pl = None
try:
    import duckdb
except ImportError:
    duckdb = None

REAL = "u4:uniform,f4:normal,f8:normal,u8:timestamps,u4:sawtooth64,u1:uniform,i2:normal,f2:normal"
ORDER = ",".join(
    f"{dtype}:{word}"
    for dtype in ("u4", "u8", "f4")
    for word in (
        "sorted,reversed,tail1,sawtooth4,sawtooth64,sawtooth1000,interleaved4,interleaved64,"
        "timestamps,nearly"
    ).split(",")
)
SKEWED = ",".join(
    f"{dtype}:{word}"
    for dtype in ("u4", "u8", "f4", "f8")
    for word in "uniform,normal,zipf,few,and3,half,constant,sorted,sawtooth64".split(",")
)
GROUPS = {"real": REAL, "order": ORDER, "skewed": SKEWED}
SMALL = 1 << 14  # keys; up to so many, a copy before each sort would take longer than the sort

Calls = dict[str, "Call"]


class Call:
    """What is timed, what precedes it untimed, and what it must return (None: not checked)."""

    def __init__(self, run: Callable, before: Callable | None = None, result: Any = None):
        self.run, self.before, self.result = run, before, result


# ---- lists ----


def spread(places: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Ascending keys over the whole range for places in [0, 1)."""
    if dtype.kind == "f":
        return (2 * places - 1).astype(dtype)
    limits = np.iinfo(dtype)
    return (places * (float(limits.max) - float(limits.min)) + float(limits.min)).astype(dtype)


def make(name: str, dtype: np.dtype, count: int) -> np.ndarray:
    word = name.rstrip("0123456789")
    number = int(name[len(word) :] or 0)
    rng = np.random.default_rng(count)
    at = np.arange(count)
    limits = None if dtype.kind == "f" else np.iinfo(dtype)
    if word == "uniform":
        if limits is None:
            return rng.random(count).astype(dtype)
        return rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
    if word == "normal":
        x = rng.standard_normal(count)
        if limits is None:
            return x.astype(dtype)
        middle, scale = (float(limits.max) + float(limits.min)) / 2, 2.0 ** (8 * dtype.itemsize - 4)
        return np.clip(x * scale + middle, limits.min, float(limits.max) * 0.999).astype(dtype)
    if word == "timestamps":  # milliseconds, up to a second late
        late = rng.integers(0, 1000, count)
        return (1 << min(40, 4 * dtype.itemsize)) + (at + late).astype(dtype)
    if word == "zipf":
        return spread(rng.random(1 << 20), dtype)[np.minimum(rng.zipf(1.3, count), 1 << 20) - 1]
    if word == "few":
        return spread(rng.random(16), dtype)[rng.integers(0, 16, count)]
    if word == "and":
        words = rng.integers(0, 1 << 62, (number, count)).astype(np.uint64) << np.uint64(2)
        return spread(np.bitwise_and.reduce(words) / 2.0**64, dtype)
    if word == "half":
        return spread(np.where(rng.random(count) < 0.5, 0.25, rng.random(count)), dtype)
    if word == "constant":
        return np.full(count, 7, dtype)
    if word == "sorted":
        return spread(at / count, dtype)
    if word == "reversed":
        return spread(at[::-1] / count, dtype)
    if word == "tail":  # the last NUMBER percent are random
        is_tail = at >= count - count * number // 100
        return spread(np.where(is_tail, rng.random(count), at / count), dtype)
    if word == "nearly":  # one in a hundred is elsewhere
        return spread(np.where(rng.random(count) < 0.01, rng.random(count), at / count), dtype)
    if word == "sawtooth":  # NUMBER ascending runs, one after the other
        run = max(1, count // number)
        return spread((at % run) / run, dtype)
    if word == "interleaved":  # NUMBER ascending runs, key by key
        return spread((at % number * (count // number) + at // number) / count, dtype)
    raise SystemExit(f"--lists: there is no list {name!r}")


def lists(text: str) -> Iterator[tuple[np.dtype, str]]:
    for item in text.split(","):
        for pair in GROUPS.get(item, item).split(","):
            dtype, _, name = pair.partition(":")
            yield np.dtype(dtype), name


# ---- the C++ library ----


class Std:
    """The functions of libcpu_sorts.so; arrays are passed by address."""

    def __init__(self, path: str):
        self.library = ctypes.CDLL(path)
        self.library.make_records.restype = ctypes.c_void_p
        self.library.std_unique.restype = ctypes.c_uint64

    def __call__(self, name: str, *arguments: Any) -> Any:
        function = getattr(self.library, name)

        def passed(x: Any) -> Any:
            if isinstance(x, np.ndarray):
                return ctypes.c_void_p(x.ctypes.data)
            return ctypes.c_uint64(x) if isinstance(x, int) else x

        ready = [passed(x) for x in arguments]
        return lambda: function(*ready)


def type_name(dtype: np.dtype) -> bytes:
    return f"{dtype.kind}{dtype.itemsize}".encode()


# ---- suites: each yields the rows' names, counts and calls ----


def polars_takes(dtype: np.dtype) -> bool:
    return pl is not None and dtype != np.float16


def keys_calls(x: np.ndarray, std: Std | None) -> Calls:
    expected = np.sort(x, kind="stable")
    calls: Calls = {}
    if len(x) <= SMALL:
        calls["pysortium"] = Call(lambda: ps.sort(x), None, expected)
        calls["NumPy"] = Call(lambda: np.sort(x), None, expected)
    else:
        work = x.copy()

        def load() -> None:
            work[:] = x

        def sort_here() -> np.ndarray:
            ps.sort(work, out=work)
            return work

        def numpy_here() -> np.ndarray:
            work.sort()
            return work

        calls["pysortium"] = Call(sort_here, load, expected)
        calls["NumPy"] = Call(numpy_here, load, expected)
    if polars_takes(x.dtype):
        series = pl.Series(x)
        calls["Polars"] = Call(lambda: series.sort().to_numpy(), None, expected)
    if std is not None:
        mine = x.copy()
        sort = std("std_sort", type_name(x.dtype), mine, len(x))

        def std_here() -> np.ndarray:
            sort()
            return mine

        calls["std"] = Call(std_here, lambda: np.copyto(mine, x), expected)
    return calls


def values_calls(x: np.ndarray, std: Std | None) -> Calls:
    if std is None:
        return {}
    order = np.argsort(x, kind="stable").astype(np.uint32)
    keys, values = x.copy(), np.arange(len(x), dtype=np.uint32)

    def load() -> None:
        keys[:] = x
        values[:] = np.arange(len(x), dtype=np.uint32)

    sort = std("sortium_sort_pairs", type_name(x.dtype), keys, values, len(x))

    def sort_here() -> np.ndarray:
        sort()
        return values

    calls: Calls = {"Sortium": Call(sort_here, load, order)}
    records: list = [None]

    def make_records() -> None:
        if records[0] is not None:
            std("delete_records", records[0])()
        records[0] = ctypes.c_void_p(std("make_records", type_name(x.dtype), x, len(x))())

    calls["std"] = Call(
        lambda: std("std_sort_records", type_name(x.dtype), records[0], len(x))(), make_records
    )
    if polars_takes(x.dtype):
        frame = pl.DataFrame({"k": x, "v": np.arange(len(x), dtype=np.uint32)})
        calls["Polars"] = Call(lambda: frame.sort("k"))
        calls["Polars, stable"] = Call(
            lambda: frame.sort("k", maintain_order=True)["v"].to_numpy(), None, order
        )
    return calls


def argsort_calls(x: np.ndarray, std: Std | None) -> Calls:
    order = np.argsort(x, kind="stable")
    calls: Calls = {
        "pysortium": Call(lambda: ps.argsort(x, index_dtype="uint32"), None, order),
        "NumPy": Call(lambda: np.argsort(x, kind="stable"), None, order),
        "NumPy, any": Call(lambda: np.argsort(x)),
    }
    if polars_takes(x.dtype):
        series = pl.Series(x)
        frame = pl.DataFrame({"k": x})
        calls["Polars"] = Call(lambda: series.arg_sort().to_numpy())
        calls["Polars, stable"] = Call(
            lambda: frame.select(pl.col("k").arg_sort()).to_series().to_numpy()
        )
    if std is not None:
        positions = np.empty(len(x), np.uint32)
        sort = std("std_stable_argsort", type_name(x.dtype), x, positions, len(x))

        def std_here() -> np.ndarray:
            sort()
            return positions

        calls["std"] = Call(std_here, None, order)
    return calls


def table_calls(table: dict, by: list[str], std: Std | None) -> Calls:
    """Sorts of whole tables by several columns."""
    names = [b.partition(":")[0] for b in by]
    down = [b.endswith(":desc") for b in by]
    columns = [(-table[n] if d else table[n]) for n, d in zip(names, down)]
    order = np.lexsort(columns[::-1])
    expected = [c[order] for c in table.values()]
    calls: Calls = {
        "pysortium": Call(lambda: list(ps.sort_by(table, by=by).values()), None, expected)
    }
    if pl is not None:
        frame = pl.DataFrame(table)
        calls["Polars"] = Call(lambda: frame.sort(names, descending=down))
        calls["Polars, stable"] = Call(
            lambda: frame.sort(names, descending=down, maintain_order=True)
        )
    if duckdb is not None:
        calls.update(duckdb_calls(frame, names, down))
    if std is not None and by == ["mass:desc", "kind", "id"]:
        out = [np.empty_like(c) for c in table.values()]
        sort = std("std_sort_rows", *table.values(), *out, len(order))

        def std_here() -> list:
            sort()
            return out

        calls["std"] = Call(std_here, None, expected)
    return calls


def duckdb_calls(frame: Any, names: list[str], down: list[bool]) -> Calls:
    """Into an Arrow table, and into a table of the database: which is faster depends."""
    connection = duckdb.connect()
    connection.register("source", frame.to_arrow())
    connection.execute("CREATE TABLE t AS SELECT * FROM source")
    by = ", ".join(f'"{n}" {"DESC" if d else "ASC"}' for n, d in zip(names, down))
    query = f"SELECT * FROM t ORDER BY {by}"
    return {
        "DuckDB": Call(lambda: connection.sql(query).to_arrow_table()),
        "DuckDB, table": Call(
            lambda: connection.execute(f"CREATE OR REPLACE TABLE sorted AS {query}")
        ),
    }


def records_suite(count: int, std: Std | None) -> Iterator[tuple[str, int, Calls]]:
    rng = np.random.default_rng(count)
    table = {
        "mass": np.round(rng.standard_normal(count), 2).astype(np.float32),
        "kind": rng.integers(0, 1000, count, np.uint16),
        "id": rng.integers(0, 1 << 63, count, np.uint64),
    }
    for by in (["mass:desc", "kind", "id"], ["kind", "mass"], ["id"]):
        yield "14 bytes by " + ",".join(by), count, table_calls(table, by, std)
    few = count // 4
    yield "100 bytes by 10", few, bytes_calls(rng, few, std)
    for width, least in ((8, 8), (32, 8)):
        yield f"strings of {least} to {width} bytes", few, strings_calls(rng, few, least, width)


def bytes_calls(rng: Any, count: int, std: Std | None) -> Calls:
    records = np.empty(count, [("key", "S10"), ("rest", "S90")])
    bytes_of = records.view(np.uint8).reshape(count, 100)
    bytes_of[:] = rng.integers(1, 256, (count, 100), np.uint8)
    order = np.argsort(records["key"], kind="stable")
    expected = records[order]
    calls: Calls = {"pysortium": Call(lambda: ps.sort_by(records, by=["key"]), None, expected)}
    if pl is not None:
        frame = pl.DataFrame({"key": records["key"].tolist(), "rest": records["rest"].tolist()})
        calls["Polars"] = Call(lambda: frame.sort("key"))
        calls["Polars, stable"] = Call(lambda: frame.sort("key", maintain_order=True))
    if duckdb is not None:
        calls.update(duckdb_calls(frame, ["key"], [False]))
    if std is not None:
        out = np.empty_like(records)
        sort = std("std_sort_bytes", records, out, count, 100, 10)

        def std_here() -> np.ndarray:
            sort()
            return out

        calls["std"] = Call(std_here, None, expected)
    return calls


def strings_calls(rng: Any, count: int, least: int, most: int) -> Calls:
    letters = rng.integers(97, 123, (count, most), np.uint8)
    lengths = rng.integers(least, most, count, endpoint=True)
    letters[np.arange(most) >= lengths[:, None]] = 0
    strings = letters.view(f"S{most}").reshape(count)
    expected = np.sort(strings, kind="stable")
    calls: Calls = {
        "pysortium": Call(lambda: ps.sort(strings), None, expected),
        "NumPy": Call(lambda: np.sort(strings, kind="stable")),
    }
    if pl is not None:
        series = pl.Series("s", [s.decode() for s in strings.tolist()])
        calls["Polars"] = Call(lambda: series.sort())
        if duckdb is not None:
            calls.update(duckdb_calls(series.to_frame(), ["s"], [False]))
    return calls


def others_suite(count: int, std: Std | None) -> Iterator[tuple[str, int, Calls]]:
    rng = np.random.default_rng(count)
    x = rng.standard_normal(count).astype(np.float32)
    for length in (10, 100, 1000, 10_000):
        yield f"segments of {length}", count, segments_calls(x, length, std)
    for k in (10, 1000, count // 10):
        if k < count:
            yield f"top {k}", count, topk_calls(x, k, std)
    yield "unique, all", count, unique_calls(x, std)
    few = rng.integers(0, 1000, count, np.uint32)
    yield "unique, of 1000", count, unique_calls(few, std)
    yield "merge", count, merge_calls(np.sort(x[::2]), np.sort(x[1::2]), std)
    needles = rng.standard_normal(count).astype("f4")
    yield "searchsorted", count, search_calls(np.sort(x), needles, std)
    yield "searchsorted, sorted", count, search_calls(np.sort(x), np.sort(needles), std)


def segments_calls(x: np.ndarray, length: int, std: Std | None) -> Calls:
    x = x[: len(x) // length * length]
    rows = x.reshape(-1, length)
    offsets = np.arange(0, len(x) + 1, length)
    expected = np.sort(rows, axis=1).reshape(-1)
    calls: Calls = {
        "pysortium": Call(lambda: ps.sort_segments(x, offsets), None, expected),
        "NumPy": Call(lambda: np.sort(rows, axis=1)),
    }
    if pl is not None:
        series = pl.Series(rows, dtype=pl.Array(pl.Float32, length)).arr.to_list()
        calls["Polars"] = Call(lambda: series.list.sort())
    if std is not None:
        mine = x.copy()
        sort = std("std_sort_segments", b"f4", mine, offsets, len(offsets) - 1)

        def std_here() -> np.ndarray:
            sort()
            return mine

        calls["std"] = Call(std_here, lambda: np.copyto(mine, x), expected)
    return calls


def topk_calls(x: np.ndarray, k: int, std: Std | None) -> Calls:
    expected = np.sort(x)[::-1][:k]
    n = len(x)
    calls: Calls = {
        "pysortium": Call(lambda: ps.topk(x, k).values, None, expected),
        "NumPy": Call(lambda: np.sort(np.partition(x, n - k)[n - k :])[::-1], None, expected),
    }
    if pl is not None:
        series = pl.Series(x)
        calls["Polars"] = Call(lambda: series.top_k(k))
    if std is not None:
        mine = x.copy()
        top = std("std_topk", b"f4", mine, n, k)

        def std_here() -> np.ndarray:
            top()
            return mine[:k]

        calls["std"] = Call(std_here, lambda: np.copyto(mine, x), expected)
    return calls


def unique_calls(x: np.ndarray, std: Std | None) -> Calls:
    expected = np.unique(x)
    calls: Calls = {
        "pysortium": Call(lambda: ps.unique(x), None, expected),
        "NumPy": Call(lambda: np.unique(x), None, expected),
        "NumPy, sorting": Call(lambda: unique_by_sort(x), None, expected),
    }
    if pl is not None:
        series = pl.Series(x)
        calls["Polars"] = Call(lambda: series.unique().sort().to_numpy(), None, expected)
    if std is not None:
        mine = x.copy()
        unique = std("std_unique", type_name(x.dtype), mine, len(x))
        calls["std"] = Call(lambda: mine[: unique()], lambda: np.copyto(mine, x), expected)
    return calls


def unique_by_sort(x: np.ndarray) -> np.ndarray:
    keys = np.sort(x)
    return keys[np.concatenate(([True], keys[1:] != keys[:-1]))]


def merge_calls(a: np.ndarray, b: np.ndarray, std: Std | None) -> Calls:
    expected = np.sort(np.concatenate((a, b)))
    calls: Calls = {
        "pysortium": Call(lambda: ps.merge(a, b), None, expected),
        "NumPy": Call(lambda: np.sort(np.concatenate((a, b)), kind="stable"), None, expected),
        "NumPy, any": Call(lambda: np.sort(np.concatenate((a, b))), None, expected),
    }
    if pl is not None:
        left, right = pl.DataFrame({"k": a}), pl.DataFrame({"k": b})
        calls["Polars"] = Call(lambda: left.merge_sorted(right, key="k"))
    if std is not None:
        out = np.empty_like(expected)
        merge = std("std_merge", type_name(a.dtype), a, len(a), b, len(b), out)

        def std_here() -> np.ndarray:
            merge()
            return out

        calls["std"] = Call(std_here, None, expected)
    return calls


def search_calls(keys: np.ndarray, needles: np.ndarray, std: Std | None) -> Calls:
    expected = np.searchsorted(keys, needles)
    calls: Calls = {
        "pysortium": Call(lambda: ps.searchsorted(keys, needles), None, expected),
        "NumPy": Call(lambda: np.searchsorted(keys, needles), None, expected),
    }
    if pl is not None:
        series, wanted = pl.Series(keys), pl.Series(needles)
        calls["Polars"] = Call(lambda: series.search_sorted(wanted, side="left"))
    if std is not None:
        places = np.empty(len(needles), np.int64)
        search = std(
            "std_search", type_name(keys.dtype), keys, len(keys), needles, len(needles), places
        )

        def std_here() -> np.ndarray:
            search()
            return places

        calls["std"] = Call(std_here, None, expected)
    return calls


# ---- measuring ----


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return all(same(f, e) for f, e in zip(found, expected, strict=True))
    found = np.asarray(found)
    if found.dtype.kind == "f" or found.dtype.names is None:
        return np.array_equal(found, expected)
    return found.tobytes() == expected.tobytes()


def measure(suite: str, row: str, count: int, calls: Calls, seconds: float) -> dict:
    """Returns, for each call, its median seconds and the median seconds of all its threads."""
    for name, call in calls.items():
        if call.before is not None:
            call.before()
        result = call.run()
        if call.result is not None and not same(result, call.result):
            raise SystemExit(f"{name}: {suite}, {row}, {count}: wrong")
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


def rows(options: Any, std: Std | None) -> Iterator[tuple[str, str, int, Calls]]:
    counts = [1 << int(e) for e in options.exponents.split(",")]
    of_keys = {"keys": keys_calls, "values": values_calls, "argsort": argsort_calls}
    of_tables = {"records": records_suite, "others": others_suite}
    for suite in options.suites.split(","):
        if suite not in of_keys and suite not in of_tables:
            raise SystemExit(f"--suites: {suite!r} is none of {', '.join((*of_keys, *of_tables))}")
        for count in counts:
            if suite in of_tables:
                for name, records, calls in of_tables[suite](count, std):
                    yield suite, name, records, calls
                continue
            for dtype, name in lists(options.lists):
                x = make(name, dtype, count)
                yield suite, f"{dtype.name} {name}", count, of_keys[suite](x, std)


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
    suite_before = ""
    for suite, row, count, calls in rows(options, std):
        if not calls:
            continue
        if suite != suite_before:
            print(f"-- {suite}")
            suite_before = suite
        found = measure(suite, row, count, calls, options.seconds)
        show(row, count, found, options.time)
        report["rows"].append({"suite": suite, "list": row, "count": count, "calls": found})
        if options.json:
            Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
