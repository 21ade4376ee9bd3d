"""searchsorted, merge, unique."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pysortium as ps
import reference
from reference import DTYPES, FLOATS, same
from test_sort import keys, orders


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_searchsorted(dtype, data):
    x = np.sort(data.draw(keys(dtype, st.integers(0, 40))), kind="stable")
    needles = data.draw(keys(dtype, data.draw(st.sampled_from([(), (7,), (2, 3), (0,)]))))
    for side in ("left", "right"):
        found = ps.searchsorted(x, needles, side=side)
        np.testing.assert_array_equal(found, np.searchsorted(x, needles, side=side))
        assert np.asarray(found).dtype == np.int64 and np.shape(found) == needles.shape


def test_searchsorted_converts_and_takes_a_sorter():
    x = np.array([30, 10, 20], np.uint8)
    sorter = ps.argsort(x)
    same(ps.searchsorted(x, np.array([15.5, 1000.0]), sorter=sorter), np.array([1, 3]))
    assert ps.searchsorted([1, 2, 3], 2) == 1
    same(ps.searchsorted(np.array([3, 2, 1]), np.array([2]), descending=True), np.array([1]))
    same(
        ps.searchsorted(np.array([1, 2]), np.array([2]), index_dtype="uint32"), np.array([1], "u4")
    )


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_merge(dtype, data):
    order = data.draw(orders)
    a, b = (reference.sort(data.draw(keys(dtype, st.integers(0, 40))), **order) for _ in range(2))
    same(ps.merge(a, b, **order), reference.sort(np.concatenate([a, b]), **order))


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_unique(dtype, data):
    x = data.draw(keys(dtype, data.draw(st.sampled_from([(0,), (1,), (30,), (4, 5)]))))
    expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found = ps.unique(x, True, True, True)
    for a, b in zip(found[1:], expected[1:]):
        same(a, b.reshape(a.shape).astype(np.int64))
    same(found[0], x.ravel()[found[1]])
    same(ps.unique(x), found[0])
    np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("dtype", [*FLOATS, "i4"])
@given(data=st.data())
def test_unique_of_the_array_api(dtype, data):
    x = data.draw(keys(dtype, st.integers(0, 30)))
    expected = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    found = ps.unique_all(x)
    same(found.values, x[found.indices])
    same(found.counts, expected[3].astype(np.int64))
    np.testing.assert_array_equal(found.values, expected[0])
    np.testing.assert_array_equal(found.values[found.inverse_indices], x)
    same(ps.unique_values(x), found.values)
    same(ps.unique_counts(x).counts, found.counts)
    same(ps.unique_inverse(x).inverse_indices, found.inverse_indices)


def test_unique_of_strings():
    x = np.array([["b", "a"], ["b", "ccc"]])
    for found, expected in zip(ps.unique(x, True, True, True), np.unique(x, True, True, True)):
        same(found, expected)
