"""What python_cpu.py measures: for each suite, the calls of pysortium and of its peers."""

import ctypes
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

SMALL = 1 << 14  # keys; up to so many, a copy before each sort would take longer than the sort

Calls = dict[str, "Call"]


class Call:
    """What is timed, what precedes it untimed, and what it must return (None: not checked)."""

    def __init__(self, run: Callable, before: Callable | None = None, result: Any = None):
        self.run, self.before, self.result = run, before, result


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
        arguments = (*table.values(), *out, len(order))
        calls.update(std_calls(std, "std_sort_rows", arguments, out, expected))
    return calls


def std_calls(std: Std, name: str, arguments: tuple, out: Any, expected: Any) -> Calls:
    """std::stable_sort of positions on all cores and on one, which writes `out`."""

    def call(all_cores: bool) -> Call:
        sort = std(name, all_cores, *arguments)

        def run() -> Any:
            sort()
            return out

        return Call(run, None, expected)

    return {"std": call(True), "std, one core": call(False)}


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
        arguments = (records, out, count, 100, 10)
        calls.update(std_calls(std, "std_sort_bytes", arguments, out, expected))
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


def functions_suite(x: np.ndarray) -> Iterator[tuple[str, Calls]]:
    """Functions besides sort and argsort, of keys of any dtype, beside NumPy's."""
    n = len(x)
    ascending = np.sort(x, kind="stable")
    needles = np.roll(x, n // 2)
    few = needles[:16].copy()
    second = x[::-1].copy()
    pairs: list[tuple[str, Callable, Callable, bool]] = [
        ("unique", lambda: ps.unique(x), lambda: np.unique(x), True),
        (
            "unique, all",
            lambda: list(ps.unique(x, True, True, True)),
            lambda: list(np.unique(x, True, True, True)),
            True,
        ),
        ("partition", lambda: ps.partition(x, n // 2), lambda: np.partition(x, n // 2), False),
        (
            "argpartition",
            lambda: ps.argpartition(x, n // 2),
            lambda: np.argpartition(x, n // 2),
            False,
        ),
        ("lexsort", lambda: ps.lexsort((second, x)), lambda: np.lexsort((second, x)), True),
    ]
    if x.dtype.kind in "iuf":
        pairs.append(("median", lambda: ps.median(x), lambda: np.median(x), True))
    if x.dtype.kind in "biufmM":
        pairs += [
            (
                "searchsorted",
                lambda: ps.searchsorted(ascending, needles),
                lambda: np.searchsorted(ascending, needles),
                True,
            ),
            (
                "searchsorted 16",
                lambda: ps.searchsorted(ascending, few),
                lambda: np.searchsorted(ascending, few),
                True,
            ),
            ("top 10", lambda: list(ps.topk(x, 10)), lambda: numpy_argtopk(x, 10), False),
        ]
    for name, mine, numpy, is_same in pairs:
        expected = numpy() if is_same else None
        yield name, {"pysortium": Call(mine, None, expected), "NumPy": Call(numpy)}


def numpy_argtopk(x: np.ndarray, k: int) -> list:
    """The k largest keys, in descending order, and their positions."""
    places = np.argpartition(x, len(x) - k)[len(x) - k :]
    places = places[np.argsort(x[places])[::-1]]
    return [x[places], places]


def numpy_topk(x: np.ndarray, k: int) -> np.ndarray:
    return np.sort(np.partition(x, len(x) - k)[len(x) - k :])[::-1]


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
        "NumPy": Call(lambda: numpy_topk(x, k), None, expected),
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
