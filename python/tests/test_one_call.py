"""Functions of contiguous 1-D NumPy arrays, which Python reaches by one call, beside NumPy: every
dtype, and what sends them to the general path."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pysortium as ps
from pysortium import _native

NUMBERS = "?,u1,i1,u2,i2,u4,i4,u8,i8,f2,f4,f8".split(",")
TIMES = ["M8[ns]", "m8[s]"]
RECORDS = ["c8", "c16", "S2", "S8", "S10", "S19"]


def array(dtype: str, count: int, with_last: bool = False) -> np.ndarray:
    """Keys with ties. `with_last`: NaN or NaT are among them."""
    rng = np.random.default_rng(count)
    x = rng.integers(-40, 40, count).astype("i1").astype("i8")
    result = x.view(dtype) if dtype in TIMES else x.astype(dtype)
    if result.dtype.kind == "c":
        result += 1j * rng.integers(-2, 2, count) * np.copysign(0.0 if count % 3 else 1.0, x)
    if result.dtype.kind == "S" and result.dtype.itemsize > 2:  # that differ at the end
        result = np.char.add(b"x" * (result.dtype.itemsize - 2), result.astype("S2")).astype(dtype)
    if with_last and result.dtype.kind in "fmM":
        result[:: max(1, count // 5)] = "nat" if dtype in TIMES else np.nan
    return result


@pytest.mark.parametrize("dtype", NUMBERS + TIMES + RECORDS)
@pytest.mark.parametrize("count", (1, 2, 300, 2000))
@pytest.mark.parametrize("with_last", (False, True))
def test_as_numpy(dtype, count, with_last):
    x = array(dtype, count, with_last)
    sorted_keys = np.sort(x, kind="stable")
    np.testing.assert_array_equal(ps.sort(x), sorted_keys)
    np.testing.assert_array_equal(ps.argsort(x), np.argsort(x, kind="stable"))
    for kth in {0, -1, count // 2, count // 3 - count}:
        parted, places = ps.partition(x, kth), ps.argpartition(x, kth)
        np.testing.assert_array_equal(parted[kth], sorted_keys[kth])
        np.testing.assert_array_equal(np.sort(parted), sorted_keys)
        np.testing.assert_array_equal(x[places], parted)  # both keep the input's order
        assert parted.dtype == x.dtype and places.dtype == np.int64
    for arguments in ((), (True,), (False, True), (False, False, True), (True, True, True)):
        ours, theirs = ps.unique(x, *arguments), np.unique(x, *arguments)
        for a, b in zip(*((r if arguments else (r,)) for r in (ours, theirs)), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
    second = array("u2", count)
    np.testing.assert_array_equal(ps.lexsort((second, x)), np.lexsort((second, x)))
    np.testing.assert_array_equal(ps.lexsort((x, second)), np.lexsort((x, second)))
    if dtype in RECORDS:
        return
    k = min(count, 10)
    values, indices = ps.topk(x, k, largest=False)
    np.testing.assert_array_equal(values, sorted_keys[:k])
    np.testing.assert_array_equal(indices, np.argsort(x, kind="stable")[:k])
    assert values.dtype == x.dtype
    for side in ("left", "right"):
        places = ps.searchsorted(sorted_keys, x, side=side)
        np.testing.assert_array_equal(places, np.searchsorted(sorted_keys, x, side=side))
    np.testing.assert_array_equal(ps.merge(sorted_keys, sorted_keys), np.sort(np.tile(x, 2)))


@pytest.mark.parametrize("dtype", NUMBERS + TIMES + RECORDS)
@pytest.mark.parametrize("count", (2, 300, 2000))
def test_descending(dtype, count):
    x = array(dtype, count, True)
    order = np.argsort(x[::-1], kind="stable")[::-1]  # NaN and NaT first
    order = len(x) - 1 - order
    last = (x != x)[order]
    order = np.concatenate([order[~last], np.sort(order[last])])
    np.testing.assert_array_equal(ps.argsort(x, descending=True), order)
    np.testing.assert_array_equal(ps.sort(x, descending=True), x[order])
    kth = count // 3
    parted = ps.partition(x, kth, descending=True)
    np.testing.assert_array_equal(parted[kth], x[order[kth]])
    np.testing.assert_array_equal(x[ps.argpartition(x, kth, descending=True)], parted)


@pytest.mark.parametrize("dtype", [d for d in NUMBERS if d != "?"])
@pytest.mark.parametrize("count", (1, 2001))
@pytest.mark.parametrize("method", ("linear", "lower", "higher", "midpoint", "nearest"))
def test_quantiles_are_those_of_the_general_path(dtype, count, method):
    x = array(dtype, count)
    for q in (0, 0.25, 0.5, 0.999, 1):
        found, expected = (ps.quantile(x, q, method=method, device=d) for d in (None, "cpu:0"))
        assert found == expected and found.dtype == expected.dtype
    assert ps.median(x) == ps.median(x, device="cpu:0") == np.median(x)


def test_quantiles_that_need_the_general_path():
    assert _native.select_plain(X, 0, 2) is None and _native.select_plain(X, 9, 10) is None
    for dtype in ("f2", "f4", "f8"):
        assert _native.select_plain(np.array([np.nan, 1], dtype), 0, 0) is None
        assert np.isnan(ps.median(np.array([np.nan, 1], dtype)))
        assert ps.median(np.array([np.inf, -np.inf, 1], dtype)) == 1
    for x in (X > 0, X.astype("m8[s]")):
        with pytest.raises(TypeError, match="quantiles are of integers and floats"):
            ps.median(x)


def test_few_distinct_keys_take_little_memory():
    found = ps.unique(np.zeros(2000, "f4"))
    assert found.tolist() == [0] and found.base is None


def test_each_nan_is_distinct_if_equal_nan_is_false():
    x = np.array([np.nan, 1, np.nan, 1])
    np.testing.assert_array_equal(ps.unique(x, equal_nan=False), [1, np.nan, np.nan])
    np.testing.assert_array_equal(ps.unique(x), [1, np.nan])
    np.testing.assert_array_equal(ps.unique(np.array([2.0, 1]), equal_nan=False), [1, 2])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("count", [1, 7, 1000, 150_000])
@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_each_nan_is_distinct(dtype: str, count: int, share: float) -> None:
    rng = np.random.default_rng(count)
    x = rng.integers(0, 300, count).astype(dtype)
    x[rng.random(count) < share] = np.nan
    every = np.unique(x, True, True, True, equal_nan=False)  # with the indices, its sort is stable
    for wanted in itertools.product([False, True], repeat=3):
        assert _native.unique_plain(x, False, *wanted) is not None
        ours = ps.unique(x, *wanted, equal_nan=False)
        theirs = [every[0], *(a for a, is_wanted in zip(every[1:], wanted) if is_wanted)]
        for a, b in zip(ours if any(wanted) else [ours], theirs, strict=True):
            np.testing.assert_array_equal(a, b)


X = np.arange(10.0)
OTHERS = {
    "two axes": X.reshape(2, 5),
    "steps": X[::2],
    "big-endian": X.astype(">f8"),
    "big-endian times": X.astype(">M8[s]"),
    "misaligned": np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view("f8"),
    "texts": X.astype("U3"),
    "long strings": X.astype("S65"),
    "complex numbers with NaN": np.array([1, np.nan * 1j]),
    "NaT": np.array(["nat", 1], "M8[s]"),
    "a list": [3, 1],
    "a subclass": X.view(np.recarray),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_take_the_general_path(name):
    x = OTHERS[name]
    assert _native.sort_plain(x, False, None) is None
    assert _native.partition_plain(x, 0, False, False) is None
    assert _native.topk_plain(x, 1, False) is None
    assert _native.select_plain(x, 0, 0) is None
    assert _native.unique_plain(x, True, False, False, False) is None
    assert _native.search_plain(X, x, False, False) is None
    assert _native.merge_plain(X, x, False) is None
    assert _native.lexsort_plain((X[: len(x)].copy(), x)) is None


def test_times_of_different_units_take_the_general_path():
    seconds, days = np.arange(5).view("m8[s]"), np.arange(5).view("m8[D]")
    assert _native.sort_plain(seconds, False, days.copy()) is None
    assert _native.merge_plain(seconds, days, False) is None
    assert _native.search_plain(seconds, days, False, False) is None
    np.testing.assert_array_equal(ps.searchsorted(seconds, days), np.searchsorted(seconds, days))


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_offsets_of_segments(dtype):
    x = np.random.default_rng().integers(0, 100, 50)
    expected = np.concatenate([np.sort(x[:7]), np.sort(x[7:])])
    np.testing.assert_array_equal(
        _native.sort_segments_plain(x, np.array([0, 7, 7, 50], dtype), False), expected
    )
    for wrong in ([0, 7, 49], [1, 50], [0, 8, 7, 50], []):
        assert _native.sort_segments_plain(x, np.array(wrong, dtype), False) is None


def test_arguments_that_need_the_general_path():
    assert _native.sort_segments_plain(X, np.array([0, 10], "i2"), False) is None
    assert _native.sort_segments_plain(X, np.array([0, 10]).view("m8[s]"), False) is None
    for kth in (10, -11, 1 << 70, 1.0, True, np.int64(1), [1]):
        assert _native.partition_plain(X, kth, False, False) is None
    assert _native.topk_plain(X, 11, False) is None and _native.topk_plain(X, 0, False) is None
    assert _native.search_plain(X, X.astype("f4"), False, False) is None
    assert _native.lexsort_plain((X, X[:5].copy())) is None
    with pytest.raises(ValueError, match="kth has 10; the axis has 10 elements"):
        ps.partition(X, 10)
    with pytest.raises(ValueError, match="k is 11; the axis has 10 elements"):
        ps.topk(X, 11)
    np.testing.assert_array_equal(ps.searchsorted(X, X.astype("f4")), np.arange(10))


@pytest.mark.parametrize("dtype", NUMBERS + TIMES)
@pytest.mark.parametrize("shape", ((1, 1), (0, 3), (3, 0), (40, 1), (30, 70), (2, 3000), (5, 4, 9)))
@pytest.mark.parametrize("with_last", (False, True))
def test_rows_as_numpy(dtype, shape, with_last):
    x = array(dtype, int(np.prod(shape)), with_last).reshape(shape)
    for descending in (False, True):
        general = {"nan": "last", "device": "cpu:0", "descending": descending}  # not one call
        for axis in (-1, len(shape) - 1):
            found, places = (f(x, axis, descending=descending) for f in (ps.sort, ps.argsort))
            assert found.dtype == x.dtype and places.dtype == np.int64
            assert found.tobytes() == ps.sort(x, axis, **general).tobytes()
            np.testing.assert_array_equal(places, ps.argsort(x, axis, **general))
            if not descending:
                np.testing.assert_array_equal(found, np.sort(x, axis, kind="stable"))
                np.testing.assert_array_equal(places, np.argsort(x, axis, kind="stable"))
    small = ps.argsort(x, index_dtype="uint32")
    assert small.dtype == np.uint32
    np.testing.assert_array_equal(small, ps.argsort(x))


def test_rows_of_one_call():
    """The native functions refuse what the general path must do."""
    x = array("f4", 600).reshape(20, 30)
    assert _native.sort_rows_plain(x, False) is not None
    for other in (x[0], x.T, x[:, 1:], x.astype(">f4"), x.astype("c8"), x.tolist(), x[:, :0]):
        assert _native.sort_rows_plain(other, False) is None
        assert _native.argsort_rows_plain(other, False, 8, True) is None
