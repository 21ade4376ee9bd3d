"""sort and argsort of NumPy arrays, against NumPy's stable sort."""

import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pysortium as ps
import reference
from reference import DTYPES, FLOATS, same


def keys(dtype: str, shape) -> st.SearchStrategy:
    """Arrays with many ties, extremes, NaN with several bits, and zeros of both signs."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        bits = (
            np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-7], dtype)
            .view(f"u{dtype.itemsize}")
            .tolist()
        )
        sign, payload = 1 << (8 * dtype.itemsize - 1), 5
        bits += [bits[6] | sign, bits[6] | payload]
        patterns = st.one_of(st.sampled_from(bits), st.integers(0, 2 ** (8 * dtype.itemsize) - 1))
        return hnp.arrays(f"u{dtype.itemsize}", shape, elements=patterns).map(
            lambda a: a.view(dtype)
        )
    if dtype.kind in "mM":
        times = st.one_of(
            st.sampled_from([-(2**63), -(2**63) + 1, 2**63 - 1, 0, 7]),
            st.integers(-(2**63), 2**63 - 1),
        )
        return hnp.arrays("i8", shape, elements=times).map(lambda a: a.view(dtype))
    return hnp.arrays(dtype, shape)


shapes = hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=7)
orders = st.fixed_dictionaries(
    {
        "descending": st.booleans(),
        "nan": st.sampled_from(["last", "first"]),
        "zeros": st.sampled_from(["tied", "distinct"]),
    }
)


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_every_shape_axis_and_order(dtype, data):
    x = data.draw(keys(dtype, data.draw(shapes)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = data.draw(orders)
    before = x.tobytes()
    positions = ps.argsort(x, axis=axis, **order)
    same(positions, reference.argsort(x, axis, **order))
    same(ps.sort(x, axis=axis, **order), np.take_along_axis(x, positions, axis))
    assert x.tobytes() == before


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 16, 17, 255, 256, 1000, 20000, 70001])
@pytest.mark.parametrize("descending", [False, True])
def test_lengths(dtype, n, descending):
    rng = np.random.default_rng(n)
    x = np.frombuffer(rng.bytes(n * np.dtype(dtype).itemsize), dtype.replace("?", "u1"))
    x = x > 127 if dtype == "?" else x
    same(ps.argsort(x, descending=descending), reference.argsort(x, descending=descending))
    same(ps.sort(x, descending=descending), reference.sort(x, descending=descending))


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_numpy_agrees(dtype, data):
    x = data.draw(keys(dtype, st.integers(0, 300)))
    same(ps.sort(x), np.sort(x, kind="stable"))
    same(ps.argsort(x), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "view",
    [
        "reversed",
        "every third",
        "big-endian",
        "read-only",
        "misaligned",
        "broadcast",
        "Fortran",
        "transposed",
    ],
)
def test_views(dtype, view):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2 if dtype == "?" else 100, (40, 30)).astype(dtype)
    if view == "reversed":
        x = x[::-1, ::-1]
    elif view == "every third":
        x = x[:, ::3]
    elif view == "big-endian":
        x = x.astype(x.dtype.newbyteorder(">"))
    elif view == "read-only":
        x.flags.writeable = False
    elif view == "misaligned":
        memory = np.zeros(x.nbytes + 1, np.uint8)
        memory[1:] = np.frombuffer(x.tobytes(), np.uint8)
        x = memory[1:].view(x.dtype).reshape(x.shape)
    elif view == "broadcast":
        x = np.broadcast_to(x[:1], x.shape)
    elif view == "Fortran":
        x = np.asfortranarray(x)
    else:
        x = x.T
    native = x.astype(x.dtype.newbyteorder("="))
    for axis in (0, 1):
        same(ps.sort(x, axis=axis), np.sort(native, axis, kind="stable"))
        same(ps.argsort(x, axis=axis), np.argsort(native, axis, kind="stable"))
    same(ps.sort(x[0]), np.sort(native[0], kind="stable"))
    same(ps.argsort(x[:, 0]), np.argsort(native[:, 0], kind="stable"))
    same(ps.sort(x, axis=None), np.sort(native, None, kind="stable"))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", np.int32, np.dtype("u4")])
def test_index_dtype(dtype):
    x = np.random.default_rng(0).random((5, 100))
    same(ps.argsort(x, index_dtype=dtype), np.argsort(x, kind="stable").astype(dtype))
    same(ps.argsort(x[0], index_dtype=dtype), np.argsort(x[0], kind="stable").astype(dtype))


def test_bits():
    x = np.random.default_rng(0).integers(0, 2**32, 5000, dtype=np.uint32)
    same(ps.argsort(x, bits=(8, 20)), np.argsort((x >> 8) & 0xFFF, kind="stable"))
    same(
        ps.sort(x, bits=(0, 3), descending=True),
        x[np.argsort(7 - (x & 7).astype(int), kind="stable")],
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_by_bits(dtype):
    x = np.array([np.nan, 1, -np.inf, -np.nan, 0], dtype)
    negative = np.copysign(x[3], -1)
    x[3] = negative
    found = ps.sort(x, nan="bits")
    same(found, x[[3, 2, 4, 1, 0]])


@pytest.mark.parametrize(
    "x", [np.arange(10)[::-1].astype("f4"), np.arange(12).reshape(3, 4)[:, ::-1].astype("i8")]
)
def test_out(x):
    expected = np.sort(x)
    out = np.empty_like(x)
    assert ps.sort(x, out=out) is out
    same(out, expected)
    strided = np.empty((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)[..., ::2]
    assert ps.sort(x, out=strided) is strided
    same(strided, expected)
    mine = x.copy()
    assert ps.sort(mine, out=mine) is mine
    same(mine, expected)
    positions = np.empty(x.shape, np.int64)
    assert ps.argsort(x, out=positions) is positions
    same(positions, np.argsort(x, kind="stable"))


def test_out_along_another_axis():
    x = np.random.default_rng(0).integers(0, 50, (4, 30, 5)).astype("i4")
    for axis in (0, 1):
        expected = np.sort(x, axis)
        for out in (np.empty_like(x), np.empty((4, 30, 10), x.dtype)[..., ::2], x.copy()):
            assert ps.sort(x, axis=axis, out=out) is out
            same(np.ascontiguousarray(out), expected)
        mine = x.copy()
        assert ps.sort(mine, axis=axis, out=mine) is mine
        same(mine, expected)
        memory = np.concatenate([x.ravel(), np.zeros(7, x.dtype)])
        ps.sort(memory[:-7].reshape(x.shape), axis=axis, out=memory[7:].reshape(x.shape))
        same(memory[7:].reshape(x.shape).copy(), expected)
    times = x.astype("M8[s]")
    times[1:3, 4:20, 2] = np.datetime64("NaT")
    same(ps.sort(times, axis=1), np.sort(times, axis=1))


def test_out_that_overlaps():
    memory = np.random.default_rng(0).random(1000)
    expected = np.sort(memory[:900])
    ps.sort(memory[:900], out=memory[100:])
    same(memory[100:].copy(), expected)


def test_lists_and_subclasses():
    same(ps.sort([3, 1, 2]), np.array([1, 2, 3]))

    class Mine(np.ndarray):
        pass

    same(ps.sort(np.array([3, 1, 2]).view(Mine)), np.array([1, 2, 3]))


@pytest.mark.parametrize("device", ["cpu:0", "auto", "opencl:0"])
def test_devices(device):
    if device.startswith("opencl") and not any(
        b.backend == "opencl" and b.devices for b in ps.backends()
    ):
        pytest.skip("this machine has no OpenCL device")
    x = np.random.default_rng(0).random(30000).astype("f4")
    same(ps.sort(x, device=device), np.sort(x))
    same(
        ps.argsort(x, device=device, index_dtype="uint32"),
        np.argsort(x, kind="stable").astype("u4"),
    )
    x = x[:12000].round(2).reshape(40, 30, 10)
    for axis in (0, 1, 2):
        same(ps.sort(x, axis, device=device), np.sort(x, axis))
        same(ps.argsort(x, axis, device=device), np.argsort(x, axis, kind="stable"))
        found, positions = ps.topk(x, 4, axis, largest=False, device=device)
        same(positions, np.take(np.argsort(x, axis, kind="stable"), range(4), axis))
        same(found, np.take_along_axis(x, positions, axis))
    for shape in [(700, 1), (0, 5), (5, 0), (3, 0, 2)]:
        y = np.resize(x, shape)
        same(ps.sort(y, device=device), np.sort(y))
        same(ps.argsort(y, device=device), np.argsort(y, kind="stable"))


def test_list_of_devices():
    x = np.random.default_rng(0).integers(0, 1000, 50000).astype("f8")
    order = np.argsort(x, kind="stable")
    for device in ["cpu:0,cpu:0", "cpu:0,cpu:*,cpu:0"]:
        same(ps.sort(x, device=device), x[order])
        same(ps.argsort(x, device=device), order)
        keys, (values,) = ps.sort_pairs(x, order.astype("u2"), device=device)
        same(keys, x[order])
        same(values, order.astype("u2")[order])
        table = ps.sort_by({"a": x, "b": order}, ["a", "b:desc"], device=device)
        same(table["b"], order[np.lexsort((-order, x))])
    with pytest.raises(ValueError, match="'cpu:0,': item 1 is empty"):
        ps.sort(x, device="cpu:0,")
    with pytest.raises(ValueError, match="one device"):
        ps.topk(x, 5, device="cpu:0,cpu:0")


def test_algorithm_and_scratch():
    x = np.random.default_rng(0).integers(0, 100, 100000).astype("i4")
    same(ps.sort(x, algorithm="sample"), np.sort(x))
    same(ps.argsort(x, max_scratch=600_000), np.argsort(x, kind="stable"))


def test_limit_of_device_memory():
    x = np.random.default_rng(0).integers(0, 1000, 100000).astype("i4")
    for device in ps.devices():
        same(ps.sort(x, device=device.id, max_device=200_000), np.sort(x))
        same(
            ps.argsort(x, device=device.id, max_device=300_000, index_dtype="uint32"),
            np.argsort(x, kind="stable").astype("u4"),
        )
        keys, (values,) = ps.sort_pairs(x, x[::-1].copy(), device=device.id, max_device=300_000)
        order = np.argsort(x, kind="stable")
        same(keys, x[order])
        same(values, x[::-1][order])
        if device.id != "cpu:0":
            with pytest.raises(ValueError, match="max_device_bytes is 9"):
                ps.sort(x, device=device.id, max_device=9)


def test_gil_is_released():
    """Python would not switch threads by itself for a minute."""
    x = np.random.default_rng(0).random(1_000_000)
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        for _ in range(50):  # a busy machine may wake this thread late
            events = []
            thread = threading.Thread(target=lambda: (ps.argsort(x), events.append("sorted")))
            thread.start()
            events.append("goes on")
            thread.join()
            if events[0] == "goes on":
                return
    finally:
        sys.setswitchinterval(before)
    pytest.fail("the thread that started the sort has always waited for its end")


@pytest.mark.parametrize(
    "dtype, bits", [("u2", None), ("i2", None), ("f2", None), ("u4", (5, 20)), ("i8", (40, 56))]
)
@pytest.mark.parametrize("count", [256, 511, 512, 513, 5000, 1 << 15, (1 << 15) + 1])
def test_argsort_by_two_digits(dtype, bits, count):
    """Positions of few keys that at most 16 bits decide have a way of their own."""
    rng = np.random.default_rng(count)
    x = rng.integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8).view(dtype)
    x[::7] = x[0]
    deciding = (
        x
        if bits is None
        else (x.view(f"u{x.itemsize}") >> bits[0]) & ((1 << (bits[1] - bits[0])) - 1)
    )
    for descending in (False, True):
        expected = reference.argsort(deciding, descending=descending)
        for index_dtype in ("int64", "uint32"):
            found = ps.argsort(x, bits=bits, descending=descending, index_dtype=index_dtype)
            same(found, expected.astype(index_dtype))
