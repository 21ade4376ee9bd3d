"""topk, partition, quantile, rank, is_sorted, sort_pairs, segments, plans."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pysortium as ps
import reference
from reference import DTYPES, FLOATS, same
from test_sort import keys, orders, shapes


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_topk(dtype, data):
    x = data.draw(keys(dtype, data.draw(shapes)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    k = data.draw(st.integers(0, x.shape[axis]))
    largest = data.draw(st.booleans())
    positions = np.take(reference.argsort(x, axis, descending=largest), range(k), axis)
    found = ps.topk(x, k, axis=axis, largest=largest)
    same(found.indices, positions)
    same(found.values, np.take_along_axis(x, positions, axis))
    same(ps.argtopk(x, k, axis=axis, largest=largest), positions)


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_partition(dtype, data):
    x = data.draw(keys(dtype, data.draw(shapes)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    length = x.shape[axis]
    if length == 0:
        return
    kth = data.draw(
        st.one_of(
            st.integers(-length, length - 1), st.lists(st.integers(0, length - 1), min_size=1)
        )
    )
    order = data.draw(orders)
    rank = reference.ranks(x, **order)
    positions = ps.argpartition(x, kth, axis=axis, **order)
    assert np.array_equal(
        np.sort(positions, axis),
        np.broadcast_to(
            np.arange(length).reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)]),
            x.shape,
        ),
    )
    moved = np.moveaxis(np.take_along_axis(rank, positions, axis), axis, -1)
    in_order = np.sort(moved, -1)
    for k in np.atleast_1d(kth) % length:
        assert (moved[..., k] == in_order[..., k]).all()
        assert (moved[..., :k] <= moved[..., k : k + 1]).all()
        assert (moved[..., k:] >= moved[..., k : k + 1]).all()
    same(ps.partition(x, kth, axis=axis, **order), np.take_along_axis(x, positions, axis))


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "f8"])
@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("shape", [(1,), (2,), (101,), (7, 10)])
@pytest.mark.parametrize("axis", [None, -1])
def test_quantile(dtype, method, shape, axis):
    x = np.random.default_rng(3).integers(0, 50, shape).astype(dtype)
    for q in (0, 1, 0.5, 0.37, [0.25, 0.75], [[0.1, 0.9]]):
        expected = np.quantile(x, q, axis=axis, method=method)
        np.testing.assert_allclose(ps.quantile(x, q, axis, method=method), expected, rtol=1e-6)
    np.testing.assert_allclose(ps.median(x, axis), np.median(x, axis), rtol=1e-6)


def test_quantile_of_nan():
    x = np.array([[1.0, np.nan, 2.0], [3.0, 1.0, 2.0]])
    np.testing.assert_array_equal(ps.median(x, 1), [np.nan, 2.0])
    assert np.isnan(ps.median(x))


@pytest.mark.parametrize("dtype", ["i4", "f8"])
@given(data=st.data())
def test_rank(dtype, data):
    x = data.draw(keys(dtype, data.draw(shapes)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = np.moveaxis(reference.ranks(x), axis, -1)
    less = (order[..., None, :] < order[..., :, None]).sum(-1)
    equal = (order[..., None, :] == order[..., :, None]).sum(-1)
    earlier = np.tril(order[..., None, :] == order[..., :, None]).sum(-1)
    expected = {
        "min": less + 1,
        "max": less + equal,
        "average": less + (equal + 1) / 2,
        "ordinal": less + earlier,
    }
    for method, ranks in expected.items():
        same(ps.rank(x, axis, method=method), np.ascontiguousarray(np.moveaxis(ranks, -1, axis)))
    if x.size == 0:
        return
    dense = ps.rank(x, axis, method="dense")
    rows = np.moveaxis(dense, axis, -1).reshape(-1, x.shape[axis])
    for found, row in zip(rows, order.reshape(-1, x.shape[axis])):
        same(found.copy(), np.unique(row, return_inverse=True)[1].astype(np.int64) + 1)


@given(data=st.data())
def test_is_sorted(data):
    x = data.draw(keys(data.draw(st.sampled_from(DTYPES)), st.integers(0, 6)))
    order = data.draw(orders)
    assert ps.is_sorted(ps.sort(x, **order), **order)
    rank = reference.ranks(x, **order)
    assert ps.is_sorted(x, **order) == bool((rank[1:] >= rank[:-1]).all())


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_sort_pairs(dtype, data):
    x = data.draw(keys(dtype, st.integers(0, 50)))
    descending = data.draw(st.booleans())
    n = len(x)
    kinds = data.draw(
        st.lists(
            st.sampled_from(["f4", "i8", "u1", "S3", ">i4", "wide", "rows", "record"]), max_size=4
        )
    )
    values = []
    for kind in kinds:
        shape = (n, 100) if kind == "wide" else (n, 3) if kind == "rows" else (n,)
        dtype = {"wide": "f8", "rows": "f4", "record": [("a", "f4"), ("b", "u1")]}.get(kind, kind)
        values.append(
            np.frombuffer(
                np.random.default_rng(n).bytes(np.dtype(dtype).itemsize * int(np.prod(shape))),
                dtype,
            ).reshape(shape)
        )
    positions = reference.argsort(x, descending=descending)
    found = ps.sort_pairs(x, *values, descending=descending)
    same(found.keys, x[positions])
    assert len(found.values) == len(values)
    for result, value in zip(found.values, values):
        same(result, value[positions])


@given(data=st.data())
def test_segments(data):
    x = data.draw(keys(data.draw(st.sampled_from(DTYPES)), st.integers(0, 60)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(x)), max_size=8)))
    offsets = np.array([0, *cuts, len(x)], data.draw(st.sampled_from(["i4", "u4", "i8", "u8"])))
    order = data.draw(orders)
    bounds = list(zip(offsets[:-1].tolist(), offsets[1:].tolist()))
    positions = np.concatenate([a + reference.argsort(x[a:b], **order) for a, b in bounds])
    same(ps.argsort_segments(x, offsets, **order), positions.astype(np.int64))
    same(ps.sort_segments(x, offsets, **order), x[positions.astype(np.int64)])


@pytest.mark.parametrize("dtype", FLOATS + ["i4"])
def test_plan(dtype):
    x = np.random.default_rng(0).integers(0, 99, 3000).astype(dtype)
    plan = ps.Plan(dtype, 3000, payload="positions", descending=True)
    scratch, out, positions = (
        np.empty(plan.scratch_bytes, "u1"),
        np.empty_like(x),
        np.empty(3000, "i8"),
    )
    for _ in range(2):
        assert plan.run(x, out=out, values_out=positions, scratch=scratch)[0] is out
        same(positions, reference.argsort(x, descending=True))
        same(out, x[positions])
    values = np.arange(3000.0)
    found, moved = ps.Plan(dtype, 3000, payload="values").run(x, values)
    same(moved, values[np.argsort(x, kind="stable")])
    same(found, np.sort(x))
    same(ps.Plan(dtype, 3000, limit=5).run(x), np.sort(x)[:5])
    same(
        ps.Plan(dtype, 3000, segments=2).run(x, offsets=np.array([0, 1000, 3000])),
        np.concatenate([np.sort(x[:1000]), np.sort(x[1000:])]),
    )


@pytest.mark.parametrize("shape", [(3000, 1), (300, 10), (3, 1000), (1, 3000), (0, 7)])
def test_plan_of_rows(shape):
    x = np.random.default_rng(0).integers(0, 99, shape).astype("f4")
    length, firsts = shape[1], np.arange(shape[0])[:, None] * shape[1]
    order = np.argsort(x, kind="stable")
    same(ps.Plan("f4", x.size, row_length=length).run(x), np.sort(x))
    plan = ps.Plan("f4", x.size, payload="positions", row_length=length)
    keys, positions = plan.run(x)
    same(keys, np.sort(x))
    same(positions, order + firsts)
    values = np.arange(x.size).reshape(shape)
    moved = ps.Plan("f4", x.size, payload="values", row_length=length).run(x, values)[1]
    same(moved, np.take_along_axis(values, order, -1))
    if x.size == 0:
        return
    limit = (length + 1) // 2
    plan = ps.Plan("f4", x.size, payload="positions", row_length=length, limit=limit)
    keys, positions = plan.run(x)
    same(keys, np.sort(x)[:, :limit].copy())
    same(positions, order[:, :limit] + firsts)


def test_plan_of_another_device_refuses_host_memory():
    if not any(d.backend == "opencl" for d in ps.devices()):
        pytest.skip("this machine has no OpenCL device")
    with pytest.raises(ValueError, match="host memory"):
        ps.Plan("f4", 3, device="opencl:0").run(np.zeros(3, "f4"))


def test_scratch_without_a_device():
    assert 0 < ps.Plan.scratch_bytes_for("u4", 2**20, device="cuda") < 2**25
    assert ps.Plan.scratch_bytes_for("u4", 2**20) == ps.Plan("u4", 2**20).scratch_bytes


def test_inquiries():
    assert any(d.id == "cpu:0" for d in ps.devices())
    assert all(b.devices or b.why for b in ps.backends())
    tests = ps.self_test("cpu:0")
    assert tests and not any(t.failure for t in tests if t.supported)
    assert {"sample", "lsd"} <= {a.name for a in ps.algorithms()}
    assert ".".join(map(str, ps.version_info)) == ps.__version__
