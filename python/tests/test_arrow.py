"""Arrow tables by PyCapsules: pyarrow's, Polars', and those of a producer that has nothing else."""

import numpy as np
import pytest

import pysortium as ps

pa = pytest.importorskip("pyarrow")


def make():
    return pa.table(
        {
            "mass": pa.chunked_array([[1.0, 2.0], [2.0, 0.5]]),
            "id": pa.array([7, 9, 5, 1], pa.int32()),
            "name": ["b", "ä", "c", "a"],
            "when": pa.array([3, 2, 1, 0], pa.timestamp("us")),
            "list": [[1], [], [2, 3], [4]],
            "maybe": [1, None, 2, 3],
        }
    )


@pytest.mark.parametrize(
    "by, order",
    [
        (["mass:desc", "id"], [2, 1, 0, 3]),
        ("name", [3, 0, 2, 1]),
        ("name:desc", [1, 2, 0, 3]),
        ("when", [3, 2, 1, 0]),
    ],
)
def test_pyarrow(by, order):
    table = make()
    assert ps.sort_by(table, by).equals(table.take(order))
    assert ps.sort_by(table.to_batches()[0], "id").num_rows == 2


def test_a_producer_of_capsules_only():
    class Producer:
        def __arrow_c_stream__(self, requested_schema=None):
            return make().__arrow_c_stream__(requested_schema)

    assert ps.sort_by(Producer(), "id").column("id").to_pylist() == [1, 5, 7, 9]


def test_many_rows():
    x = np.random.default_rng(0).integers(0, 100, 50000)
    found = ps.sort_by(pa.table({"x": x, "i": np.arange(50000)}), "x:desc")
    assert np.array_equal(found.column("i").to_numpy(), np.argsort(-x, kind="stable"))


@pytest.mark.parametrize(
    "by, kind, words",
    [("maybe", TypeError, "1 nulls"), ("list", TypeError, "list"), ("none", ValueError, "'none'")],
)
def test_what_is_refused(by, kind, words):
    with pytest.raises(kind, match=words):
        ps.sort_by(make(), by)


def test_polars():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": [3, 1, 2], "s": ["c", "a", "b"]})
    found = ps.sort_by(frame, "x")
    assert list(found["s"].to_pylist() if hasattr(found["s"], "to_pylist") else found["s"]) == [
        "a",
        "b",
        "c",
    ]
