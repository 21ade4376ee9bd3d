"""The few calls of the CUDA driver that streams of other libraries need. The driver is opened at
the first one."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from . import _native

DLPACK_CPU, DLPACK_CUDA, DLPACK_CUDA_HOST = 1, 2, 3
LEGACY_STREAM = 1  # CU_STREAM_LEGACY, which waits for and holds up all blocking streams
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING


@functools.lru_cache(maxsize=1)
def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise BufferError(
            f"x lies in CUDA memory, but CUDA's driver cannot be opened: {error}"
        ) from None


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_driver(), name)(*arguments)
    if status != 0:
        raise _native.DeviceError(f"{name} returned CUDA error {status}")


def device(ordinal: int) -> _native.Device:
    """The library's device of this number. ValueError if there is none."""
    return _native.find_device(f"cuda:{ordinal}")


def ordinal_of(address: int) -> int:
    """The CUDA device whose memory has this address; 0 for the address 0 of an empty array."""
    if address == 0:
        return 0
    ordinal = ctypes.c_int()
    _call(
        "cuPointerGetAttribute",
        ctypes.byref(ordinal),
        ctypes.c_int(_DEVICE_ORDINAL),
        ctypes.c_uint64(address),
    )
    return ordinal.value


def wait(ordinal: int, waiting: int, done: int) -> None:
    """Makes the stream `waiting` wait for what is enqueued on `done`. The host does not wait."""
    context = ctypes.c_void_p(device(ordinal).context)
    event = ctypes.c_void_p()
    _call("cuCtxPushCurrent_v2", context)
    try:
        _call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(_DISABLE_TIMING))
        try:
            _call("cuEventRecord", event, ctypes.c_void_p(done))
            _call("cuStreamWaitEvent", ctypes.c_void_p(waiting), event, ctypes.c_uint(0))
        finally:
            _call("cuEventDestroy_v2", event)  # once it has happened
    finally:
        _call("cuCtxPopCurrent_v2", ctypes.byref(context))


def hand_over(ordinal: int, ours: int, theirs: int | None) -> None:
    """DLPack's handshake as a producer: `theirs` is the consumer's `stream` argument.

    None is the legacy default stream, and -1 asks for no synchronization. 0 is forbidden.
    """
    if theirs == -1:
        return
    if theirs == 0:
        raise ValueError(
            "stream is 0, which DLPack forbids for CUDA; 1 is the legacy default stream"
        )
    theirs = LEGACY_STREAM if theirs is None else theirs
    if theirs != (ours or LEGACY_STREAM):
        wait(ordinal, theirs, ours)
