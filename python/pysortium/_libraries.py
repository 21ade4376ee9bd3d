"""The array libraries that pysortium knows: how each allocates, where its arrays lie, and on which
stream.

A kind never imports a library that the caller has not imported.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from . import _cuda, _native
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

    def is_c_contiguous(self, x: Any) -> bool:
        return bool(x.flags.c_contiguous)

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
def cuda_place(kind: Kind, ordinal: int, stream: int) -> QueuePlace:
    device = _cuda.device(ordinal)
    return QueuePlace(kind, _native.wrap_cuda(device.context, stream), device)


def on_cuda(kind: Kind, ordinal: int, stream: int, device: str | None) -> QueuePlace:
    if device not in (None, "auto", f"cuda:{ordinal}"):
        raise _wrong_device(device, f"cuda:{ordinal}")
    return cuda_place(kind, ordinal, stream)


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
        return on_cuda(self, x.device.id, stream, device)


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

    def is_c_contiguous(self, x: Any) -> bool:
        return bool(x.is_contiguous())

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
        return on_cuda(self, ordinal, self.xp.cuda.current_stream(x.device).cuda_stream, device)


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
