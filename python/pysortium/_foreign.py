"""Arrays that come by `__cuda_array_interface__` or DLPack: JAX's, those of libraries that
pysortium does not know, and arrays in host memory. Also arrays in CUDA memory that it owns."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from . import _cuda, _native
from ._libraries import Kind, NumPyKind, cuda_place, on_cuda


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

    def is_c_contiguous(self, x: Any) -> bool:
        return True

    def moveaxis(self, x: Any, source: int, target: int) -> Any:
        raise TypeError("axis is not the last one, which arrays of this library need")

    def from_numpy(self, x: np.ndarray, like: Any) -> Any:
        ordinal, stream = _cuda_home(like)
        result = DeviceArray(x.shape, x.dtype.name, ordinal, stream)
        place = cuda_place(self, ordinal, stream)
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
        return on_cuda(self, *_cuda_home(x), device)


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
        return on_cuda(self, x.__dlpack_device__()[1], _cuda.LEGACY_STREAM, device)


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
