"""PyOpenCL's arrays, on their own queue and without a copy."""

import os

import numpy as np
import pytest

import pysortium as ps
import pysortium.distributed as psd
from reference import DTYPES, same

cl = pytest.importorskip("pyopencl")
import pyopencl.array as cla  # noqa: E402


@pytest.fixture(scope="module")
def queue():
    try:
        device = cl.get_platforms()[0].get_devices()[0]
    except (cl.Error, IndexError) as error:
        pytest.skip(f"this machine has no OpenCL device: {error}")
    return cl.CommandQueue(cl.Context([device]))


# Each type is compiled by PoCL for some seconds.
dtypes = (
    [d for d in DTYPES if d[0] not in "?mM" and d != "f2"]
    if os.environ.get("SORTIUM_TEST_FULL")
    else ["f4"]
)


@pytest.mark.parametrize("dtype", dtypes)
@pytest.mark.parametrize("shape", [(3000,), (5, 700)])
def test_sort(queue, dtype, shape):
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    on_device = cla.to_device(queue, x)
    same(ps.sort(on_device).get(), np.sort(x, kind="stable"))
    same(ps.argsort(on_device).get(), np.argsort(x, kind="stable"))
    same(
        ps.argsort(on_device, index_dtype="uint32").get(), np.argsort(x, kind="stable").astype("u4")
    )
    same(on_device.get(), x)
    with pytest.raises(ValueError, match="max_device is 9"):
        ps.sort(on_device, max_device=9)


def test_other_functions(queue):
    x = np.random.default_rng(0).integers(0, 500, 2000).astype("f4")
    d = cla.to_device(queue, x)
    found = ps.topk(d, 7)
    order = np.argsort(-x, kind="stable")[:7]
    same(found.values.get(), x[order])
    same(found.indices.get(), order)
    ordered = ps.sort(d)
    assert ps.is_sorted(ordered) and not ps.is_sorted(d)
    same(ps.searchsorted(ordered, d).get(), np.searchsorted(np.sort(x), x))
    same(ps.merge(ordered, ordered).get(), np.sort(np.tile(x, 2)))
    same(ps.unique_values(d).get(), np.unique(x))
    same(ps.unique_counts(d).counts.get(), np.unique(x, return_counts=True)[1])
    same(
        ps.sort_segments(d, [0, 500, 2000]).get(),
        np.concatenate([np.sort(x[:500]), np.sort(x[500:])]),
    )
    keys, (values,) = ps.sort_pairs(d, cla.to_device(queue, np.arange(2000)))
    same(values.get(), np.argsort(x, kind="stable"))
    keys, values = ps.sort_pairs(d, d, cla.to_device(queue, np.arange(2000, dtype="u1")))
    same(values[0].get(), np.sort(x))
    same(ps.partition(d, 10).get(), np.sort(x))


def test_rows(queue):
    x = np.random.default_rng(0).integers(0, 500, (20, 10, 10)).astype("f4")
    d = cla.to_device(queue, x)
    same(ps.sort(d).get(), np.sort(x))
    found = ps.topk(d, 3, largest=False)
    order = np.argsort(x, kind="stable")[..., :3]
    same(found.indices.get(), order)
    same(found.values.get(), np.take_along_axis(x, order, -1))
    plan = ps.Plan("f4", 2000, payload="positions", row_length=100, device="opencl:0")
    assert plan.algorithm == "segmented"
    for axis in (0, 1):
        same(ps.sort(d, axis=axis, descending=True).get(), -np.sort(-x, axis))
    alone = cla.to_device(queue, x.reshape(2000, 1))
    same(ps.sort(alone).get(), x.reshape(2000, 1))
    same(ps.argsort(alone).get(), np.zeros((2000, 1), np.int64))


def test_distributed(queue):
    # Rank 1 has no elements: PoCL 3.1 cannot run kernels of two queues at the same time.
    x = np.random.default_rng(0).integers(0, 100, 3000).astype("f4")
    order = np.argsort(x, kind="stable")

    def work(ranks):
        mine = cla.to_device(queue, x if ranks.rank == 0 else x[:0])
        moved = cla.to_device(queue, order.astype("i8")[: len(mine)])
        _, (values,) = psd.sort_pairs(mine, moved, ranks)
        return psd.sort(mine, ranks).get(), psd.argsort(mine, ranks).get(), values.get()

    for size in (1, 2):
        keys, positions, values = psd.run_ranks(size, work)[0]
        same(keys, x[order])
        same(positions, order)
        same(values, order[order])


def test_slice_with_an_offset(queue):
    x = np.random.default_rng(0).random(1000).astype("f4")
    same(ps.sort(cla.to_device(queue, x)[100:900]).get(), np.sort(x[100:900]))


def test_what_is_refused(queue):
    d = cla.to_device(queue, np.arange(12, dtype="f4").reshape(3, 4))
    with pytest.raises(TypeError, match="last"):
        ps.argsort(d, axis=0)
    with pytest.raises(ValueError, match="lies on"):
        ps.sort(d, device="cpu:0")
    with pytest.raises(ValueError, match="without a queue"):
        ps.sort(d.with_queue(None))
    with pytest.raises(ValueError, match="another device or context"):
        ps.Plan("f4", 4, device="opencl:0").run(d[0])
