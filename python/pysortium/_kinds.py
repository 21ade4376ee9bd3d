"""The array libraries that pysortium knows: how each allocates, where its arrays lie, and on which
stream.

A kind never imports a library that the caller has not imported.
"""

from __future__ import annotations

import copy
import functools
import operator
import sys
from typing import Any

import numpy as np

from . import _cuda, _native, _quick
from ._places import HostPlace, QueuePlace


class Kind:
    """One array library. Dtypes are NumPy's names: "float32", "bfloat16"."""

    name = ""
    xp: Any = None  # the library's functions

    def dtype(self, x: Any) -> str:
        return str(x.dtype)

    def empty(self, shape: tuple, dtype: str, like: Any) -> Any:
        raise NotImplementedError

    def memory(self, x: Any) -> tuple[int, int, int]:
        """Handle, offset and size in bytes."""
        raise NotImplementedError

    def compact(self, x: Any) -> Any:
        """`x` itself, or a C-contiguous copy that is aligned and of native byte order."""
        return self.xp.ascontiguousarray(x)

    def compact_same(self, x: Any) -> Any:
        """As `compact`, but without swapping bytes: for values, which are only moved."""
        return self.compact(x)

    def own(self, x: Any) -> Any:
        """A C-contiguous array with the elements of `x`."""
        return self.compact(x)

    def like(self, x: Any) -> Any:
        """An array of the shape and dtype of `x`."""
        return self.empty(tuple(x.shape), self.dtype(x), x)

    def element_bytes(self, x: Any) -> int:
        """The bytes of ``x[i]``."""
        count = 1
        for n in x.shape[1:]:
            count *= int(n)
        return count * np.dtype(self.dtype(x).replace("bfloat16", "uint16")).itemsize

    def moveaxis(self, x: Any, source: int, target: int) -> Any:
        return self.xp.moveaxis(x, source, target)

    def reshape(self, x: Any, shape: tuple) -> Any:
        return x.reshape(shape)

    def from_numpy(self, x: np.ndarray, like: Any) -> Any:
        """A copy of `x` beside `like`."""
        return self.xp.asarray(x)

    def arange(self, start: int, stop: int, step: int, like: Any) -> Any:
        """int64 numbers beside `like`."""
        return self.xp.arange(start, stop, step, dtype="int64")

    def local(self, positions: Any, rows: int, length: int) -> Any:
        """Positions among `rows` rows of `length` keys as positions in each; `positions` is changed
        if it can be."""
        flat = self.reshape(positions, (rows, -1))
        first = self.reshape(self.arange(0, rows * length, length, positions), (-1, 1))
        flat -= self.astype(first, self.dtype(positions))
        return self.reshape(flat, tuple(positions.shape))

    def put(self, x: Any, places: Any, values: Any) -> Any:
        """Sets x[places] = values. Returns `x`, or a changed copy if `x` is immutable."""
        x[places] = values
        return x

    def astype(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)

    def finish(self, x: Any) -> Any:
        """An array that the library can calculate with, for one that `empty` made."""
        return x

    def give(self, x: Any) -> Any:
        """The array that the caller receives for a finished array."""
        return x

    def keep(self, place: Any, *arrays: Any) -> None:
        """Keeps arrays until the queue has used them. Stream-ordered allocators need not."""

    def index_dtype(self) -> str:
        return "int64"

    def place(self, x: Any, device: str | None) -> Any:
        """Where arrays beside `x` are sorted. ValueError if `device` is not where `x` lies."""
        raise NotImplementedError


def _wrong_device(device: str, x: str) -> ValueError:
    return ValueError(f"device is {device!r}, but x lies on {x}; leave device out, or copy x")


class NumPyKind(Kind):
    name = "NumPy"
    xp = np

    def dtype(self, x: Any) -> str:
        return x.dtype.name

    def empty(self, shape: tuple, dtype: str, like: Any) -> Any:
        return np.empty(shape, dtype)

    def memory(self, x: Any) -> tuple[int, int, int]:
        return x.ctypes.data, 0, x.nbytes

    def compact(self, x: Any) -> Any:
        flags = x.flags
        if flags.c_contiguous and flags.aligned and x.dtype.isnative:
            return x
        return np.require(x, x.dtype.newbyteorder("="), ["C", "A"])

    def compact_same(self, x: Any) -> Any:
        return np.require(x, None, ["C"])

    def like(self, x: Any) -> Any:
        return np.empty(x.shape, x.dtype)

    def element_bytes(self, x: Any) -> int:
        return x.dtype.itemsize * int(np.prod(x.shape[1:], dtype=np.int64))

    def place(self, x: Any, device: str | None) -> Any:
        return _numpy_place(device)


NUMPY = NumPyKind()


@functools.lru_cache(maxsize=64)
def _numpy_place(device: str | None) -> HostPlace:
    return HostPlace(NUMPY, "cpu:0" if device is None else device)


@functools.lru_cache(maxsize=256)
def _cuda_place(kind: Kind, ordinal: int, stream: int) -> QueuePlace:
    device = _cuda.device(ordinal)
    return QueuePlace(kind, _native.wrap_cuda(device.context, stream), device)


def _on_cuda(kind: Kind, ordinal: int, stream: int, device: str | None) -> QueuePlace:
    if device not in (None, "auto", f"cuda:{ordinal}"):
        raise _wrong_device(device, f"cuda:{ordinal}")
    return _cuda_place(kind, ordinal, stream)


class CuPyKind(Kind):
    """CuPy: the current stream of the array's device, whose pool frees in stream order."""

    name = "CuPy"

    def __init__(self, cupy: Any):
        self.xp = cupy

    def empty(self, shape: tuple, dtype: str, like: Any) -> Any:
        with like.device:
            return self.xp.empty(shape, dtype)

    def memory(self, x: Any) -> tuple[int, int, int]:
        return x.data.ptr, 0, x.nbytes

    def from_numpy(self, x: np.ndarray, like: Any) -> Any:
        with like.device:
            return self.xp.asarray(x)

    def arange(self, start: int, stop: int, step: int, like: Any) -> Any:
        with like.device:
            return self.xp.arange(start, stop, step, dtype="int64")

    def home(self, x: Any) -> tuple[int, int, int] | None:
        """Device, stream and number of elements of an array that `_quick` can sort; else None."""
        ordinal = x.data.device_id
        if x.ndim != 1 or not x.flags.c_contiguous or ordinal != self._current():
            return None
        return ordinal, self._stream().ptr, x.size

    @functools.cached_property
    def _current(self) -> Any:
        return self.xp.cuda.runtime.getDevice

    @functools.cached_property
    def _stream(self) -> Any:
        return self.xp.cuda.get_current_stream

    address = operator.attrgetter("data.ptr")

    def empty_keys(self, x: Any, count: int) -> Any:
        return self.xp.ndarray((count,), x.dtype)

    def empty_positions(self, x: Any, count: int) -> Any:
        return self.xp.ndarray((count,), np.int64)

    def empty_bytes(self, x: Any, count: int) -> Any:
        return self.xp.ndarray((count,), np.uint8)

    def place(self, x: Any, device: str | None) -> Any:
        with x.device:
            stream = self.xp.cuda.get_current_stream().ptr
        return _on_cuda(self, x.device.id, stream, device)


class TorchKind(Kind):
    """PyTorch, on the CPU or on CUDA's current stream."""

    name = "PyTorch"

    def __init__(self, torch: Any):
        self.xp = torch

    def dtype(self, x: Any) -> str:
        return str(x.dtype).removeprefix("torch.")

    def empty(self, shape: tuple, dtype: str, like: Any) -> Any:
        return self.xp.empty(shape, dtype=getattr(self.xp, dtype), device=like.device)

    def memory(self, x: Any) -> tuple[int, int, int]:
        return x.data_ptr(), 0, x.numel() * x.element_size()

    def compact(self, x: Any) -> Any:
        return x.detach().contiguous()

    def from_numpy(self, x: np.ndarray, like: Any) -> Any:
        return self.xp.from_numpy(x).to(like.device)

    def arange(self, start: int, stop: int, step: int, like: Any) -> Any:
        return self.xp.arange(start, stop, step, dtype=self.xp.int64, device=like.device)

    def astype(self, x: Any, dtype: str) -> Any:
        return x.to(getattr(self.xp, dtype))

    def local(self, positions: Any, rows: int, length: int) -> Any:
        name = self.dtype(positions)
        if name.startswith("uint"):  # PyTorch does not calculate with them
            super().local(positions.view(getattr(self.xp, name[1:])), rows, length)
            return positions
        return super().local(positions, rows, length)

    def home(self, x: Any) -> tuple[int, int, int] | None:
        """Device, stream and number of elements of a tensor that `_quick` can sort, else None."""
        if not x.is_cuda or x.dim() != 1 or not x.is_contiguous():
            return None
        ordinal = x.get_device()
        return ordinal, self._stream(ordinal), x.numel()

    @functools.cached_property
    def _stream(self) -> Any:
        """PyTorch's current stream, by its fast internal function or by the public one."""
        current = self.xp.cuda.current_stream
        return getattr(
            self.xp._C, "_cuda_getCurrentRawStream", lambda ordinal: current(ordinal).cuda_stream
        )

    @functools.cached_property
    def address(self) -> Any:
        return self.xp.Tensor.data_ptr

    @functools.cached_property
    def empty_keys(self) -> Any:
        return self.xp.Tensor.new_empty

    def empty_positions(self, x: Any, count: int) -> Any:
        return x.new_empty(count, dtype=self.xp.int64)

    def empty_bytes(self, x: Any, count: int) -> Any:
        return x.new_empty(count, dtype=self.xp.uint8)

    def place(self, x: Any, device: str | None) -> Any:
        if x.device.type == "cpu":
            return HostPlace(self, "cpu:0" if device is None else device)
        if x.device.type != "cuda":
            raise TypeError(f"x is a torch.Tensor on {x.device}; cpu and cuda are supported")
        ordinal = x.device.index or 0
        return _on_cuda(self, ordinal, self.xp.cuda.current_stream(x.device).cuda_stream, device)


class PyOpenCLKind(Kind):
    """pyopencl.array.Array, on its own queue."""

    name = "PyOpenCL"

    def __init__(self, array: Any):
        self.xp = array

    def empty(self, shape: tuple, dtype: str, like: Any) -> Any:
        return self.xp.Array(like.queue, shape, np.dtype(dtype))

    def memory(self, x: Any) -> tuple[int, int, int]:
        return x.base_data.int_ptr, x.offset, x.nbytes

    def compact(self, x: Any) -> Any:
        if not x.flags.c_contiguous:
            raise TypeError(
                f"x is a PyOpenCL array with strides {x.strides}; only C-contiguous ones are "
                f"supported"
            )
        return x

    def moveaxis(self, x: Any, source: int, target: int) -> Any:
        raise TypeError("axis is not the last one, which PyOpenCL arrays need")

    def from_numpy(self, x: np.ndarray, like: Any) -> Any:
        return self.xp.to_device(like.queue, x)

    def arange(self, start: int, stop: int, step: int, like: Any) -> Any:
        return self.from_numpy(np.arange(start, stop, step, dtype=np.int64), like)

    def local(self, positions: Any, rows: int, length: int) -> Any:
        name = np.dtype(positions.dtype).name
        _opencl_local(positions.context, name)(positions, positions.size // rows, length)
        return positions

    def place(self, x: Any, device: str | None) -> Any:
        if x.queue is None:
            raise ValueError(
                "x is a PyOpenCL array without a queue; set one with x.with_queue(queue)"
            )
        if device not in (None, "auto"):
            raise _wrong_device(device, "its own OpenCL queue")
        return _opencl_place(self, x.context.int_ptr, x.queue.int_ptr)


@functools.lru_cache(maxsize=64)
def _opencl_local(context: Any, dtype: str) -> Any:
    from pyopencl.elementwise import ElementwiseKernel

    number = {"int32": "int", "uint32": "uint", "int64": "long", "uint64": "ulong"}[dtype]
    return ElementwiseKernel(
        context,
        f"{number} *positions, ulong outputs, ulong length",
        f"positions[i] -= ({number})(i / outputs * length)",
        "pysortium_local",
    )


@functools.lru_cache(maxsize=64)
def _opencl_place(kind: Kind, context: int, queue: int) -> QueuePlace:
    wrapped = _native.wrap_opencl(context, queue)
    return QueuePlace(kind, wrapped, wrapped.device)


class DeviceArray:
    """An array in CUDA memory that pysortium owns, on a stream.

    It has `__cuda_array_interface__` and `__dlpack__`. Functions return it for arrays of a library
    that pysortium does not know.
    """

    def __init__(self, shape: tuple, dtype: str, ordinal: int, stream: int):
        self.shape = tuple(shape)
        self.dtype = np.dtype("uint16" if dtype == "bfloat16" else dtype)
        self._dtype_name = dtype
        self._ordinal = ordinal
        self._stream = stream
        self.nbytes = self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))
        self._buffer = _cuda.device(ordinal).allocate(max(self.nbytes, 1))

    def reshape(self, shape: tuple) -> DeviceArray:
        """The same memory with another shape."""
        other = copy.copy(self)
        other.shape = _full_shape(shape, self.nbytes // self.dtype.itemsize)
        return other

    @property
    def __cuda_array_interface__(self) -> dict:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._buffer.handle, False),
            "strides": None,
            "stream": self._stream or 1,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _cuda.DLPACK_CUDA, self._ordinal

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple | None = None,
        dl_device: tuple | None = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError(
                f"dl_device is {dl_device} and copy is {copy}; a DeviceArray is handed over as it "
                f"is"
            )
        _cuda.hand_over(self._ordinal, self._stream, stream)
        versioned = max_version is not None and max_version[0] >= 1
        code, bits = dlpack_type(self._dtype_name)
        return _native.dlpack_capsule(
            self._buffer.handle,
            list(self.shape),
            code,
            bits,
            *self.__dlpack_device__(),
            self,
            versioned,
        )


_DLPACK_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}


def dlpack_type(dtype: str) -> tuple[int, int]:
    """DLPack's code and bits of a dtype."""
    letters = dtype.rstrip("0123456789")
    return _DLPACK_CODES[letters], int(dtype[len(letters) :] or 8)


def dtype_of_dlpack(code: int, bits: int, lanes: int) -> str:
    for letters, known in _DLPACK_CODES.items():
        if code == known and lanes == 1:
            return "bool" if letters == "bool" else f"{letters}{bits}"
    raise TypeError(
        f"x has DLPack type code {code}, {bits} bits, {lanes} lanes, which cannot be sorted"
    )


class Foreign:
    """An array of an unknown library in CUDA memory: address, shape, dtype, device and stream."""

    def __init__(
        self, owner: Any, address: int, shape: tuple, dtype: str, ordinal: int, stream: int
    ):
        self.owner = owner
        self.address = address
        self.shape = tuple(shape)
        self.ndim = len(self.shape)
        self.dtype = dtype
        self.ordinal = ordinal
        self.stream = stream
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.kind: Any = FOREIGN

    def reshape(self, shape: tuple) -> Foreign:
        other = copy.copy(self)
        other.shape = _full_shape(shape, self.size)
        other.ndim = len(other.shape)
        return other


def _full_shape(shape: tuple, size: int) -> tuple:
    """`shape` with its length of -1, if there is one, filled in."""
    return np.broadcast_to(np.empty(()), size).reshape(shape).shape


def _check_contiguous(shape: tuple, strides: tuple | None, unit: int) -> None:
    """BufferError unless `strides` (in steps of `unit`) are those of a C-contiguous array."""
    expected = unit
    for length, stride in zip(reversed(shape), reversed(strides or ())):
        if length > 1 and stride != expected:
            raise BufferError(
                f"x has strides {strides} with shape {shape}; only C-contiguous arrays of this "
                "library are supported"
            )
        expected *= length


def from_cuda_interface(x: Any) -> Foreign:
    """A Foreign from `__cuda_array_interface__`, version 2 or 3, in the order of its stream."""
    interface = x.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError("x has a mask, which pysortium does not support")
    dtype = np.dtype(interface["typestr"])
    shape, address = interface["shape"], interface["data"][0]
    _check_contiguous(shape, interface.get("strides"), dtype.itemsize)
    stream = interface.get("stream")
    if stream == 0:
        raise ValueError("x.__cuda_array_interface__['stream'] is 0, which version 3 forbids")
    return Foreign(
        x, address, shape, dtype.name, _cuda.ordinal_of(address), stream or _cuda.LEGACY_STREAM
    )


def from_cuda_dlpack(x: Any, ordinal: int) -> Foreign:
    """A Foreign from `__dlpack__`; the producer makes the data ready for the legacy default
    stream."""
    stream = _cuda.LEGACY_STREAM
    try:
        capsule = x.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # a producer from before version 1
        capsule = x.__dlpack__(stream=stream)
    tensor = _native.Imported(capsule)
    strides: Any = tensor.strides
    _check_contiguous(tensor.shape, strides, 1)
    dtype = dtype_of_dlpack(tensor.code, tensor.bits, tensor.lanes)
    return Foreign((x, tensor), tensor.data, tensor.shape, dtype, ordinal, stream)


class ForeignKind(Kind):
    """CUDA arrays of libraries without an allocator that pysortium could call.

    `give` makes the caller's kind of array from a DeviceArray.
    """

    name = "CUDA"

    def __init__(self, give: Any = None):
        self._give = give

    def empty(self, shape: tuple, dtype: str, like: Any) -> Any:
        ordinal, stream = _cuda_home(like)
        return DeviceArray(shape, dtype, ordinal, stream)

    def memory(self, x: Any) -> tuple[int, int, int]:
        if isinstance(x, DeviceArray):
            return x._buffer.handle, 0, x.nbytes
        return x.address, 0, 0

    def compact(self, x: Any) -> Any:
        return x

    def moveaxis(self, x: Any, source: int, target: int) -> Any:
        raise TypeError("axis is not the last one, which arrays of this library need")

    def from_numpy(self, x: np.ndarray, like: Any) -> Any:
        ordinal, stream = _cuda_home(like)
        result = DeviceArray(x.shape, x.dtype.name, ordinal, stream)
        place = _cuda_place(self, ordinal, stream)
        place.queue.write(_native.Memory(*self.memory(result)), x.ctypes.data, x.nbytes)
        return result

    def arange(self, start: int, stop: int, step: int, like: Any) -> Any:
        return self.from_numpy(np.arange(start, stop, step, dtype=np.int64), like)

    def local(self, positions: Any, rows: int, length: int) -> Any:
        raise TypeError(
            "x has several rows, whose positions cannot be counted in arrays of this library"
        )

    def finish(self, x: Any) -> Any:
        return x if self._give is None else self._give(x)

    def keep(self, place: Any, *arrays: Any) -> None:
        """cuMemFree waits for the device, so that scratch memory may be freed at once."""

    def place(self, x: Any, device: str | None) -> Any:
        return _on_cuda(self, *_cuda_home(x), device)


def _cuda_home(x: Any) -> tuple[int, int]:
    if isinstance(x, DeviceArray):
        return x._ordinal, x._stream
    return x.ordinal, x.stream


FOREIGN = ForeignKind()


class JaxKind(ForeignKind):
    """JAX arrays on CUDA. They are never written: results are memory of pysortium's that JAX takes
    over."""

    name = "JAX"

    def __init__(self, jax: Any):
        super().__init__(jax.dlpack.from_dlpack)
        self.xp = jax.numpy

    def dtype(self, x: Any) -> str:
        return x._dtype_name if isinstance(x, DeviceArray) else str(x.dtype)

    def index_dtype(self) -> str:
        return _jax_index_dtype(self.xp)

    def empty(self, shape: tuple, dtype: str, like: Any) -> Any:
        if isinstance(like, DeviceArray):
            return super().empty(shape, dtype, like)
        return DeviceArray(shape, dtype, like.__dlpack_device__()[1], _cuda.LEGACY_STREAM)

    def memory(self, x: Any) -> tuple[int, int, int]:
        if isinstance(x, DeviceArray):
            return super().memory(x)
        return from_cuda_dlpack(x, x.__dlpack_device__()[1]).address, 0, 0

    def moveaxis(self, x: Any, source: int, target: int) -> Any:
        return self.xp.moveaxis(x, source, target)

    def reshape(self, x: Any, shape: tuple) -> Any:
        return self.xp.reshape(x, shape)

    def from_numpy(self, x: np.ndarray, like: Any) -> Any:
        home = like if isinstance(like, DeviceArray) else self.empty((0,), "uint8", like)
        return super().from_numpy(x, home)

    def local(self, positions: Any, rows: int, length: int) -> Any:
        return self.finish(positions) % length

    def put(self, x: Any, places: Any, values: Any) -> Any:
        return self.finish(x).at[places].set(values)

    def finish(self, x: Any) -> Any:
        return super().finish(x) if isinstance(x, DeviceArray) else x

    def keep(self, place: Any, *arrays: Any) -> None:
        """Waits: XLA would use the memory of arrays that the caller deletes at once, on a stream of
        its own."""
        place.queue.finish()

    def place(self, x: Any, device: str | None) -> Any:
        return _on_cuda(self, x.__dlpack_device__()[1], _cuda.LEGACY_STREAM, device)


def _jax_index_dtype(jnp: Any) -> str:
    return str(jnp.arange(1).dtype)


class HostKind(NumPyKind):
    """Arrays in host memory of a library with `__dlpack__`: sorted as NumPy arrays, and given back
    by `give`."""

    def __init__(self, namespace: Any):
        self.name = getattr(namespace, "__name__", "array API")
        self._namespace = namespace

    def give(self, x: Any) -> Any:
        asarray = getattr(self._namespace, "asarray", None)
        return self._namespace.from_dlpack(x) if asarray is None else asarray(x)

    def index_dtype(self) -> str:
        return _jax_index_dtype(self._namespace) if self.name == "jax.numpy" else "int64"


@functools.lru_cache(maxsize=32)
def _kind(make: Any, library: Any) -> Any:
    return make(library)


def _enter(array: type, kind: Kind) -> Kind:
    """From the second call on, such arrays are tried on the short way."""
    _quick.kinds[array] = kind
    return kind


def _of_dlpack(x: Any) -> tuple[Kind, Any]:
    """A library with DLPack alone, or with the array API."""
    device_type, ordinal = x.__dlpack_device__()
    namespace = x.__array_namespace__() if hasattr(x, "__array_namespace__") else None
    jax: Any = sys.modules.get("jax")
    is_jax = jax is not None and isinstance(x, jax.Array)
    if device_type in (_cuda.DLPACK_CPU, _cuda.DLPACK_CUDA_HOST):
        array = np.asarray(x) if hasattr(x, "__array__") else np.from_dlpack(x)
        namespace = jax.numpy if is_jax else namespace
        return (NUMPY if namespace is None else _kind(HostKind, namespace)), array
    if device_type == _cuda.DLPACK_CUDA:
        if is_jax:
            return _kind(JaxKind, jax), x
        give = getattr(namespace, "from_dlpack", None)
        foreign = from_cuda_dlpack(x, ordinal)
        foreign.kind = FOREIGN if give is None else _kind(ForeignKind, give)
        return foreign.kind, foreign
    raise BufferError(
        f"x lies on a device of DLPack type {device_type}; the host and CUDA are supported"
    )


def kind_of(x: Any, argument: str = "x") -> tuple[Kind, Any]:
    """The kind of `x`, and `x` as an array of that kind. TypeError if `x` is no array."""
    if isinstance(x, np.ndarray):
        return NUMPY, x
    if isinstance(x, Foreign):
        return x.kind, x
    modules = sys.modules
    cupy = modules.get("cupy")
    if cupy is not None and isinstance(x, cupy.ndarray):
        return _enter(cupy.ndarray, _kind(CuPyKind, cupy)), x
    torch = modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _enter(torch.Tensor, _kind(TorchKind, torch)), x
    opencl = modules.get("pyopencl.array")
    if opencl is not None and isinstance(x, opencl.Array):
        return _kind(PyOpenCLKind, opencl), x
    numba: Any = modules.get("numba.cuda")
    is_numba = numba is not None and type(x).__module__.startswith("numba")
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__") and not is_numba:
        return _of_dlpack(x)
    if hasattr(x, "__cuda_array_interface__"):
        foreign = from_cuda_interface(x)
        if is_numba:
            foreign.kind = _kind(ForeignKind, numba.as_cuda_array)
        return foreign.kind, foreign
    if isinstance(x, (list, tuple, int, float, np.generic)) or hasattr(x, "__array__"):
        return NUMPY, np.asarray(x)
    raise TypeError(
        f"{argument} is a {type(x).__name__}; an array is needed (NumPy, CuPy, PyTorch, JAX, "
        f"Numba, "
        "PyOpenCL, or one with __dlpack__ or __cuda_array_interface__)"
    )
