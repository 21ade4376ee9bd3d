"""`__cuda_array_interface__` and DLPack, with producers whose "CUDA memory" is the host's, sorted
by cpu:0.

What these tests cannot see, a driver and real streams, is in tests/gpu.
"""

import numpy as np
import pytest

import pysortium as ps
from pysortium import _cuda, _foreign, _libraries, _native, _quick
from pysortium._places import QueuePlace
from reference import same


@pytest.fixture(autouse=True)
def host_as_cuda(monkeypatch):
    """cpu:0 plays every CUDA device. Returns the list of waits: (waiting stream, done stream)."""
    waits = []
    device = _native.find_device("cpu:0")
    monkeypatch.setattr(_cuda, "device", lambda ordinal: device)
    monkeypatch.setattr(_cuda, "ordinal_of", lambda address: 0)
    monkeypatch.setattr(_cuda, "wait", lambda ordinal, waiting, done: waits.append((waiting, done)))
    places = {}

    def place(kind, ordinal, stream):
        return places.setdefault(
            (kind, ordinal, stream), QueuePlace(kind, device.make_queue(), device)
        )

    monkeypatch.setattr(_libraries, "cuda_place", place)
    monkeypatch.setattr(_foreign, "cuda_place", place)
    places["waits"] = waits
    return places


class Interface:
    """A producer of version 3."""

    def __init__(self, x, stream=7, **more):
        self.x = x
        self.__cuda_array_interface__ = {
            "shape": x.shape,
            "typestr": x.dtype.str,
            "data": (x.ctypes.data, True),
            "strides": None,
            "version": 3,
            "stream": stream,
            **more,
        }


class Dlpack:
    """A producer of DLPack, whose requests it keeps."""

    def __init__(self, x, versioned=True, device=2):
        self.x, self.versioned, self.device, self.asked = x, versioned, device, []

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, *, stream=None, **more):
        if more and not self.versioned:
            raise TypeError("unexpected keyword argument")
        self.asked.append((stream, more))
        letters = self.x.dtype.name.rstrip("0123456789")
        code = {"int": 0, "uint": 1, "float": 2, "bool": 6}[letters]
        return _native.dlpack_capsule(
            self.x.ctypes.data,
            list(self.x.shape),
            code,
            8 * self.x.itemsize,
            2,
            0,
            self,
            self.versioned,
        )


def read(result):
    """The elements of a DeviceArray, through its own interface."""
    interface = result.__cuda_array_interface__
    assert interface["version"] == 3 and interface["strides"] is None
    size = int(np.prod(interface["shape"]))
    memory = (
        np.ctypeslib.ctypes.c_char * (size * np.dtype(interface["typestr"]).itemsize)
    ).from_address(interface["data"][0])
    return np.frombuffer(memory, interface["typestr"]).reshape(interface["shape"]).copy()


@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8", "f2", "u8"])
@pytest.mark.parametrize("make", [Interface, Dlpack, lambda x: Dlpack(x, versioned=False)])
def test_producers(dtype, make):
    x = np.random.default_rng(0).integers(0, 99, 1000).astype(dtype)
    producer = make(x)
    result = ps.sort(producer)
    assert isinstance(result, _foreign.DeviceArray)
    same(read(result), np.sort(x))
    same(read(ps.argsort(producer)), np.argsort(x, kind="stable"))
    same(read(ps.sort(result, descending=True)), np.sort(x)[::-1].copy())
    same(read(ps.sort(make(x.reshape(10, 100)))), np.sort(x.reshape(10, 100)))
    same(read(ps.topk(producer, 3).values), np.sort(x)[::-1][:3].copy())
    same(read(ps.searchsorted(ps.sort(producer), producer)), np.searchsorted(np.sort(x), x))


def test_the_work_is_enqueued_on_the_producers_stream(host_as_cuda):
    x = np.random.default_rng(0).random(100)
    result = ps.sort(Interface(x, stream=7))
    assert {k[2] for k in host_as_cuda if isinstance(k, tuple)} == {7}
    assert result.__cuda_array_interface__["stream"] == 7


def test_a_producer_without_a_stream(host_as_cuda):
    """No stream means that nothing needs to be waited for: the legacy default stream."""
    for stream in ({"stream": None}, {}):
        result = ps.sort(Interface(np.random.default_rng(0).random(100), **stream))
    assert {k[2] for k in host_as_cuda if isinstance(k, tuple)} == {7, _cuda.LEGACY_STREAM}
    x = Interface(np.arange(3.0))
    del x.__cuda_array_interface__["stream"]
    x.__cuda_array_interface__["version"] = 2
    assert ps.sort(x).__cuda_array_interface__["stream"] == _cuda.LEGACY_STREAM
    assert result is not None


def test_dlpack_asks_for_our_stream():
    producer = Dlpack(np.arange(5.0))
    ps.sort(producer)
    assert producer.asked == [(_cuda.LEGACY_STREAM, {"max_version": (1, 0)})]
    before = Dlpack(np.arange(5.0), versioned=False)
    ps.sort(before)
    assert before.asked == [(_cuda.LEGACY_STREAM, {})]


@pytest.mark.parametrize(
    "ours, theirs, waits",
    [
        (7, 9, [(9, 7)]),  # the consumer's stream waits for ours
        (7, 7, []),
        (7, -1, []),  # the consumer takes care of it
        (7, None, [(1, 7)]),  # the legacy default stream
        (7, 2, [(2, 7)]),  # the thread's default stream
        (None, None, []),
        (None, 9, [(9, 1)]),
    ],
)
def test_our_results_as_producers(host_as_cuda, ours, theirs, waits):
    result = ps.sort(Interface(np.arange(5.0), stream=ours))
    capsule = result.__dlpack__(stream=theirs, max_version=(1, 0))
    assert host_as_cuda["waits"] == waits
    tensor = _native.Imported(capsule)
    assert (tensor.shape, tensor.strides, tensor.code, tensor.bits, tensor.device) == (
        (5,),
        (1,),
        2,
        64,
        (2, 0),
    )
    assert tensor.data == result.__cuda_array_interface__["data"][0]
    with pytest.raises(BufferError, match="unused"):
        _native.Imported(capsule)
    del result  # the tensor keeps the memory
    assert np.ctypeslib.as_array(
        (np.ctypeslib.ctypes.c_double * 5).from_address(tensor.data)
    ).tolist() == [0, 1, 2, 3, 4]


def test_capsules_of_both_versions():
    result = ps.sort(Interface(np.arange(5.0)))
    assert "dltensor_versioned" in repr(result.__dlpack__(max_version=(1, 1)))
    assert '"dltensor"' in repr(result.__dlpack__())
    assert '"dltensor"' in repr(result.__dlpack__(max_version=(0, 8)))
    assert result.__dlpack_device__() == (2, 0)


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: ps.sort(Interface(np.arange(3.0), stream=0)), ValueError, "stream"),
        (
            lambda: ps.sort(Interface(np.arange(3.0), mask=Interface(np.arange(3)))),
            TypeError,
            "mask",
        ),
        (lambda: ps.sort(Interface(np.arange(3.0), strides=(16,))), BufferError, "strides"),
        (lambda: ps.sort(Interface(np.arange(3.0).astype("c16"))), TypeError, "complex128"),
        (lambda: ps.topk(Interface(np.ones((2, 2))), 1, axis=0), TypeError, "axis"),
        (lambda: ps.argsort(Interface(np.arange(4.0).reshape(2, 2))), TypeError, "rows"),
        (lambda: ps.sort(Interface(np.arange(3.0)), device="cpu:0"), ValueError, "cuda:0"),
        (lambda: ps.sort(Dlpack(np.arange(3.0), device=10)), BufferError, "type 10"),
        (
            lambda: ps.sort(Interface(np.arange(3.0))).__dlpack__(stream=0),
            ValueError,
            "stream is 0",
        ),
        (lambda: ps.sort(Interface(np.arange(3.0))).__dlpack__(copy=True), BufferError, "copy"),
        (
            lambda: ps.sort(Interface(np.arange(3.0))).__dlpack__(dl_device=(1, 0)),
            BufferError,
            "dl_device",
        ),
        (lambda: _native.Imported(object()), BufferError, "capsule"),
    ],
)
def test_what_is_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


class Late:
    """An array with the short way, as PyTorch's and CuPy's tensors have it."""

    def __init__(self, x):
        self.x, self.dtype, self.shape = x, x.dtype, x.shape


class LateKind(_libraries.Kind):
    def home(self, x):
        return (0, 7, len(x.x)) if x.x.ndim == 1 else None

    def dtype(self, x):
        return x.dtype.name

    def address(self, x):
        return x.x.ctypes.data

    def empty_keys(self, x, count):
        return Late(np.empty(count, x.dtype))

    def empty_positions(self, x, count):
        return Late(np.empty(count, np.int64))

    def empty_bytes(self, x, count):
        return Late(np.empty(count, np.uint8))


def test_the_short_way(monkeypatch):
    device = _native.find_device("cpu:0")
    made = []
    monkeypatch.setattr(
        _native, "wrap_cuda", lambda context, stream: made.append(stream) or device.make_queue()
    )
    monkeypatch.setattr(_quick, "_plans", {})
    monkeypatch.setattr(_quick, "_KEPT", 4)
    monkeypatch.setitem(_quick.kinds, Late, LateKind())
    rng = np.random.default_rng(0)
    for count in (1, 50, 3000):
        for _ in range(2):
            x = rng.integers(0, 99, count).astype("f4")
            same(ps.sort(Late(x)).x, np.sort(x))
            same(ps.sort(Late(x), descending=True).x, np.sort(x)[::-1].copy())
            same(ps.argsort(Late(x)).x, np.argsort(x, kind="stable"))
            k = min(count, 7)
            for largest, order in ((False, x), (True, -x)):
                found = ps.topk(Late(x), k, largest=largest)
                same(found.indices.x, np.argsort(order, kind="stable")[:k])
                same(found.values.x, x[found.indices.x])
    assert set(made) == {7} and len(_quick._plans) <= 4
    with pytest.raises(TypeError, match="Late"):
        ps.topk(Late(np.zeros(3)), 9)
    for other in (np.zeros((2, 2)), np.zeros(0), np.zeros(3, "c8")):
        with pytest.raises(TypeError, match="Late"):  # it has no long way
            ps.sort(Late(other))


def test_host_arrays_of_other_libraries():
    strict = pytest.importorskip("array_api_strict")
    x = np.random.default_rng(0).random((3, 50))
    theirs = strict.asarray(x)
    for axis in (0, 1):
        result = ps.sort(theirs, axis=axis)
        assert type(result) is type(theirs)
        same(np.asarray(result), np.sort(x, axis))
        same(np.asarray(ps.argsort(theirs, axis=axis)), np.argsort(x, axis, kind="stable"))
    assert type(ps.unique_all(theirs).inverse_indices) is type(theirs)


def test_bfloat16():
    ml = pytest.importorskip("ml_dtypes")
    x = np.random.default_rng(0).standard_normal(500).astype(ml.bfloat16)
    same(ps.sort(x), np.sort(x.astype("f4")).astype(ml.bfloat16))
    same(ps.argsort(x), np.argsort(x.astype("f4"), kind="stable"))
