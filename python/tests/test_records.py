"""Strings, structured arrays, tables, lexsort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pysortium as ps
from reference import DTYPES, ranks, same
from test_sort import keys

texts = st.text(st.sampled_from("ab\x00é\U0001f600z"), max_size=6)


@pytest.mark.parametrize("width", [1, 2, 31, 32, 33, 64, 65, 130, 300])
@pytest.mark.parametrize("kind", ["S", "U"])
@given(data=st.data())
def test_strings(kind, width, data):
    prefix = ("x" if data.draw(st.booleans()) else "") * max(0, width - 6)
    items = [(prefix + t)[:width] for t in data.draw(st.lists(texts, max_size=20))]
    x = np.array([t.encode() if kind == "S" else t for t in items], f"{kind}{width}")
    same(ps.argsort(x), np.argsort(x, kind="stable"))
    same(ps.sort(x), np.sort(x, kind="stable"))
    order = np.unique(x, return_inverse=True)[1]
    same(ps.argsort(x, descending=True), np.argsort(-order, kind="stable"))


def test_strings_along_an_axis():
    x = np.random.default_rng(0).integers(97, 100, (5, 40, 3)).astype("u1").view("S3")[..., 0]
    for axis in (0, 1, None):
        same(ps.sort(x, axis), np.sort(x, axis, kind="stable"))
        same(ps.argsort(x, axis), np.argsort(x, axis, kind="stable"))
    same(ps.sort(np.asfortranarray(x.astype("U3")), 0), np.sort(x.astype("U3"), 0))


@pytest.mark.parametrize("dtype", ["c8", "c16", ">c8"])
@given(data=st.data())
def test_complex(dtype, data):
    part = keys("f4" if dtype.endswith("8") else "f8", st.just(40))
    x = data.draw(part) + 0 * 1j
    x.imag = data.draw(part)
    x = x.astype(dtype)
    native = x.astype(dtype.strip(">"))
    same(ps.argsort(x), np.argsort(native, kind="stable"))
    np.testing.assert_array_equal(ps.sort(x), np.sort(native, kind="stable"))
    for found, expected in zip(ps.unique(x, True, True, True), np.unique(native, True, True, True)):
        np.testing.assert_array_equal(found, expected)
    order = ps.argsort(x, descending=True)
    assert np.isnan(native[order][np.count_nonzero(~np.isnan(native)) :]).all()


@pytest.mark.parametrize("n", [1000, 50000])
def test_many_strings(n):
    x = np.random.default_rng(0).integers(97, 123, (n, 12)).astype("u1").view("S12").ravel()
    same(ps.sort(x), np.sort(x, kind="stable"))
    same(ps.argsort(x.astype("U12")), np.argsort(x, kind="stable"))


structured = np.dtype(
    [
        ("mass", "f4"),
        ("id", ">u2"),
        ("name", "S3"),
        ("when", "M8[s]"),
        ("inner", [("a", "?"), ("b", "i8")]),
    ]
)


@given(
    hnp.arrays(
        np.uint8,
        st.tuples(st.integers(0, 40), st.just(structured.itemsize)),
        elements=st.sampled_from([0, 1, 2, 128]),
    )
)
def test_structured(memory):
    x = np.ascontiguousarray(memory).reshape(-1).view(structured).copy()
    x["mass"] = np.round(
        x["mass"].astype("f8") * 1e38
    )  # without NaN and denormals, as NumPy compares fields by ==
    x["inner"]["a"] = x["inner"]["a"].view("u1") & 1
    columns = [x["inner"]["b"], x["inner"]["a"], ranks(x["when"]), x["name"], x["id"], x["mass"]]
    expected = np.lexsort(columns) if len(x) else np.zeros(0, np.int64)
    same(ps.argsort(x), expected)
    assert ps.sort(x).tobytes() == x[expected].tobytes()


plain = np.dtype(
    {
        "names": ["mass", "kind", "id", "name", "when"],
        "formats": ["f4", "u2", "i8", "S3", "M8[s]"],
        "offsets": [0, 5, 8, 16, 24],  # unaligned, and with gaps
        "itemsize": 37,
    }
)


def plain_records(count):
    rng = np.random.default_rng(count)
    x = np.frombuffer(rng.bytes(count * plain.itemsize), plain).copy()
    x["mass"] = rng.integers(-3, 3, count)
    x["mass"][::7] = np.nan
    x["kind"] = rng.integers(0, 5, count)
    x["id"] = rng.integers(-2, 3, count)
    x["name"] = rng.choice([b"", b"a", b"ab", b"b"], count)
    x["when"] = rng.integers(-2, 2, count)
    x["when"][::11] = "NaT"
    return x


def same_records(found, expected):
    assert found.dtype == expected.dtype
    for name in expected.dtype.names:
        same(np.ascontiguousarray(found[name]), np.ascontiguousarray(expected[name]))


@pytest.mark.parametrize("count", [1, 2, 1000, 70_000])
@pytest.mark.parametrize("device", [None, "opencl:0"])
def test_whole_records(count, device):
    x = plain_records(count)
    keys = [x["mass"], x["kind"], x["id"], x["name"], ranks(x["when"])]
    order = np.lexsort(keys[::-1])
    same_records(ps.sort(x, device=device), x[order])
    order = np.lexsort([ranks(x["when"]), x["id"], -x["mass"]])
    same_records(ps.sort_by(x, ["mass:desc", "id", "when"], device=device), x[order])
    order = np.lexsort([-x["id"], ranks(x["name"])])
    wide = np.zeros(2 * count, plain)
    wide[::2] = x
    same_records(ps.sort_by(wide[::2], ["name", "id:desc"], device=device), x[order])
    same_records(wide[::2], x)


@given(data=st.data())
def test_lexsort(data):
    shape = data.draw(st.sampled_from([(0,), (1,), (30,), (4, 6)]))
    dtypes = data.draw(
        st.lists(st.sampled_from(["i4", "u1", "f8", "M8[s]", "?"]), min_size=1, max_size=5)
    )
    arrays = [data.draw(keys(d, shape)) for d in dtypes]
    for axis in range(-len(shape), len(shape)):
        expected = np.lexsort([ranks(a) for a in arrays], axis=axis)
        same(ps.lexsort(arrays, axis), expected)


def test_lexsort_of_many_keys():
    x = np.random.default_rng(0).integers(0, 2, (70, 500))
    same(ps.lexsort(x), np.lexsort(x))
    same(ps.lexsort(x[:2].astype("f4"), index_dtype="uint32"), np.lexsort(x[:2]).astype("u4"))


@pytest.mark.parametrize(
    "by, expected",
    [
        ("id", [2, 0, 1]),
        (["mass:desc", "id"], [2, 1, 0]),
        (["name:desc"], [1, 0, 2]),
        (["mass:asc", "name"], [0, 2, 1]),
        ("odd:name", [0, 1, 2]),
        ("odd:name:desc", [2, 1, 0]),
    ],
)
def test_sort_by(by, expected):
    table = {
        "mass": np.array([1.0, 2.0, 2.0]),
        "id": np.array([7, 9, 5]),
        "name": np.array(["b", "c", "a"]),
        "x": np.arange(9.0).reshape(3, 3),
        "odd:name": np.array([1, 2, 3]),
    }
    found = ps.sort_by(table, by)
    assert list(found) == list(table)
    for name, column in table.items():
        same(found[name], column[expected])
    if "odd" not in str(by):
        records = np.zeros(3, [("mass", "f8"), ("id", "i4"), ("name", "U1"), ("pad", "V300")])
        for name in ("mass", "id", "name"):
            records[name] = table[name]
        assert ps.sort_by(records, by).tobytes() == records[expected].tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_by_every_dtype(dtype):
    x = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 9, 3000).astype(dtype)
    found = ps.sort_by({"x": x, "i": np.arange(3000)}, ["x:desc"])
    same(found["i"], np.argsort(ranks(x, descending=True), kind="stable"))


def test_nan_in_tables():
    table = {"x": np.array([2.0, np.nan, 1.0])}
    np.testing.assert_array_equal(ps.sort_by(table, "x:desc")["x"], [2, 1, np.nan])
    np.testing.assert_array_equal(ps.sort_by(table, "x:nan_first")["x"], [np.nan, 1, 2])
