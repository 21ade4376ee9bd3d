"""Wrong arguments: the kind of exception, and that the message names argument and value."""

import subprocess
import sys

import numpy as np
import pytest

import pysortium as ps
from pysortium._places import Method

x = np.arange(12.0).reshape(3, 4)
read_only = np.arange(4.0)
read_only.flags.writeable = False


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: ps.sort(1.0), ValueError, "axis"),
        (lambda: ps.sort(np.array(1.0)), np.exceptions.AxisError, "axis -1"),
        (lambda: ps.sort(x, axis=2), np.exceptions.AxisError, "axis 2"),
        (lambda: ps.sort(x, axis=1.5), TypeError, "float"),
        (lambda: ps.sort("abc"), TypeError, "x is a str"),
        (lambda: ps.sort(None), TypeError, "NoneType"),
        (
            lambda: ps.sort(np.array([1j], "c32" if hasattr(np, "complex256") else "O")),
            TypeError,
            "dtype",
        ),
        (lambda: ps.sort(np.zeros(3, "V4")), TypeError, "void"),
        (
            lambda: ps.sort(np.array([1], "f16" if hasattr(np, "float128") else "O")),
            TypeError,
            "dtype",
        ),
        (lambda: ps.sort(np.array([None])), TypeError, "object"),
        (lambda: ps.sort(x, nan="best"), ValueError, "nan is 'best'"),
        (lambda: ps.sort(x, zeros=0), ValueError, "zeros is 0"),
        (lambda: ps.sort(x, bits=(3,)), TypeError, "bits is"),
        (lambda: ps.sort(x, bits=(5, 5)), ValueError, "bits is"),
        (lambda: ps.sort(x.astype("f4"), bits=(0, 64)), ValueError, "64"),
        (lambda: ps.sort(x, algorithm="quick"), ValueError, "'quick'"),
        (lambda: ps.sort(x, algorithm=3), TypeError, "3"),
        (lambda: ps.sort(x, algorithm="bitonic"), ValueError, "stable=False"),
        (lambda: ps.sort(x, max_scratch=0), ValueError, "max_scratch is 0"),
        (lambda: ps.argsort(x, max_device=0), ValueError, "max_device is 0"),
        (lambda: ps.sort(x, device="gpu:7"), ValueError, "gpu:7"),
        (lambda: ps.sort(x, out=np.empty(3)), ValueError, "out has shape"),
        (lambda: ps.sort(x, out=np.empty((3, 4), "f4")), TypeError, "out has dtype"),
        (lambda: ps.sort(x[0], out=read_only), ValueError, "read-only"),
        (lambda: ps.sort(x, out=[1]), TypeError, "out is a list"),
        (lambda: ps.argsort(x, index_dtype="f4"), TypeError, "index_dtype is 'f4'"),
        (lambda: ps.argsort(x, index_dtype="banana"), TypeError, "banana"),
        (lambda: ps.topk(x, 5), ValueError, "k is 5"),
        (lambda: ps.topk(x, -1), ValueError, "k is -1"),
        (lambda: ps.topk(x, 1.0), TypeError, "float"),
        (lambda: ps.partition(x, 4), ValueError, "kth has 4"),
        (lambda: ps.partition(x, 0.5), TypeError, "kth is 0.5"),
        (lambda: ps.quantile(x, 1.5), ValueError, "q is 1.5"),
        (lambda: ps.quantile(x, 0.5, method="cubic"), ValueError, "cubic"),
        (lambda: ps.quantile(x[:0], 0.5), ValueError, "no elements"),
        (lambda: ps.rank(x, method="first"), ValueError, "'first'"),
        (lambda: ps.is_sorted(x), ValueError, "shape"),
        (lambda: ps.sort_pairs(x, x), ValueError, "keys has shape"),
        (lambda: ps.sort_pairs(x[0], x), ValueError, r"values\[0\] has shape \(3, 4\)"),
        (lambda: ps.sort_pairs(x[0], np.array([None] * 4)), TypeError, "object"),
        (lambda: ps.sort_segments(x[0], [0, 5]), ValueError, "offsets goes from 0 to 5"),
        (lambda: ps.sort_segments(x[0], [0, 3, 2, 4]), ValueError, "ascend"),
        (lambda: ps.sort_segments(x[0], []), ValueError, "offsets has shape"),
        (lambda: ps.sort_segments(x[0], [0.0, 4.0]), ValueError, "float64"),
        (lambda: ps.searchsorted(x[0], x, side="middle"), ValueError, "middle"),
        (lambda: ps.searchsorted(x[0], x, sorter=[0.0, 1, 2, 3]), TypeError, "sorter has dtype"),
        (lambda: ps.searchsorted(x[0], x, sorter=[0]), ValueError, "sorter has shape"),
        (lambda: ps.searchsorted(x[0], x, sorter=[0, 1, 2, 4]), ValueError, "from 0 to 4"),
        (lambda: ps.partition(x[:, :0], 1), ValueError, "kth has 1"),
        (lambda: ps.searchsorted(x, x), ValueError, "x1 has shape"),
        (lambda: ps.merge(x[0], x[0].astype("f4")), TypeError, "float32"),
        (lambda: ps.lexsort([]), TypeError, "keys is empty"),
        (lambda: ps.lexsort([x[0], x[:, 0]]), ValueError, r"keys\[1\] has shape"),
        (lambda: ps.sort_by({"a": x[0]}, "b"), ValueError, "'b'"),
        (lambda: ps.sort_by({"a": x[0], "b": x[:, 0]}, "b"), ValueError, "lengths"),
        (lambda: ps.sort_by({"a": x[0]}, []), ValueError, "by is empty"),
        (lambda: ps.sort_by(x, "a"), TypeError, "ndarray"),
        (lambda: ps.Plan("f4", 3, payload="all"), ValueError, "payload"),
        (lambda: ps.Plan("c8", 3), TypeError, "complex64"),
        (lambda: ps.Plan("f8", 3).run(x[0]), ValueError, r"shape \(4,\)"),
        (lambda: ps.Plan("f8", 4, payload="values").run(x[0]), ValueError, "values"),
        (lambda: ps.Plan("f8", 12, row_length=5), ValueError, "row_length is 5; .* count, 12"),
        (lambda: ps.Plan("f8", 12, row_length=-4), ValueError, "row_length is -4"),
        (lambda: ps.Plan("f8", 12, row_length=4.0), TypeError, "float"),
        (lambda: ps.Plan("f8", 12, row_length=4, segments=3), ValueError, "segments is 3"),
        (lambda: ps.Plan("f8", 12, row_length=4, limit=5), ValueError, "limit is 5; a row has 4"),
        (lambda: ps.Plan("f8", 12, row_length=4).run(x.ravel()), ValueError, r"and \(3, 4\)"),
        (lambda: ps.Plan("f8", 12, row_length=3).run(x.T), ValueError, "not contiguous"),
        (
            lambda: ps.Plan("f8", 12, row_length=4).run(x, offsets=np.arange(0, 13, 4)),
            ValueError,
            "offsets",
        ),
        (lambda: ps.self_test("gpu:7"), ValueError, "gpu:7"),
    ],
)
def test_exception(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_too_little_scratch_memory():
    with pytest.raises(ValueError, match="scratch"):
        ps.sort(np.random.default_rng(0).random(1_000_000), max_scratch=1)


def test_limit_of_device_memory_is_for_host_memory():
    assert Method("lsd", 5).of_device() == ("lsd", "", 5)
    with pytest.raises(ValueError, match="max_device is 9"):
        Method(max_device=9).of_device()


def test_device_error_is_a_runtime_error():
    assert issubclass(ps.DeviceError, RuntimeError)


# A process of its own, which may have little more memory than it has when the sort begins.
WITHOUT_MEMORY = """
import resource
import numpy as np
import pysortium as ps

keys = np.random.default_rng(0).integers(0, 2**63, 4_000_000, dtype=np.uint64)
values, positions = np.arange(len(keys)), np.empty(len(keys), np.int64)
ps.sort(keys[:100_000].copy(), device="cpu:0")  # starts the threads
before = keys.copy()
with open("/proc/self/statm") as statm:
    now = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (8 << 20), resource.RLIM_INFINITY))
for call in (
    lambda: ps.sort(keys, out=keys, device="cpu:0"),
    lambda: ps.sort_pairs(keys, values, device="cpu:0"),
    lambda: ps.argsort(keys, out=positions, device="cpu:0"),
):
    try:
        call()
        raise SystemExit("it has done without the memory")
    except MemoryError:
        pass
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert (keys == before).all() and (values == np.arange(len(keys))).all()
ps.sort(keys, out=keys, device="cpu:0")
assert (keys[:-1] <= keys[1:]).all()
"""


def test_without_memory_inputs_are_as_they_were():
    run = subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
