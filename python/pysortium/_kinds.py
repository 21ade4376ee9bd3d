"""The kind of an array: the library that it belongs to, or the protocol that it has."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from . import _cuda, _quick
from ._foreign import (
    FOREIGN,
    Foreign,
    ForeignKind,
    HostKind,
    JaxKind,
    from_cuda_dlpack,
    from_cuda_interface,
)
from ._libraries import NUMPY, CuPyKind, Kind, PyOpenCLKind, TorchKind

__all__ = ["NUMPY", "Kind", "kind_of"]


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
