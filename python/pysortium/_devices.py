"""Devices, self-tests, versions, and plans."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._kinds import kind_of
from ._places import HostPlace
from ._rows import Order, key_type_of, method_of, order_of


class DeviceInfo(NamedTuple):
    """A device of this machine."""

    id: str
    name: str
    vendor: str
    driver: str
    language: str
    backend: str
    kind: str
    compute_units: int
    global_memory: int


def devices() -> list[DeviceInfo]:
    """Return the devices of this machine: CUDA's, OpenCL's, and cpu:0. `backends` says why there
    are none of a kind."""
    return [DeviceInfo(**d.facts) for d in _native.devices()]


class BackendInfo(NamedTuple):
    """A backend: how many devices it has, and why there are none."""

    backend: str
    devices: int
    why: str


def backends() -> list[BackendInfo]:
    """Return the backends (cuda, opencl, cpu), and why one that has no devices has none."""
    return [BackendInfo(*b) for b in _native.backends()]


class AlgorithmInfo(NamedTuple):
    """An algorithm's name, what it does, and whether it is stable."""

    name: str
    title: str
    stable: bool


def algorithms() -> list[AlgorithmInfo]:
    """Return the algorithms that the parameter `algorithm` may name."""
    return [
        AlgorithmInfo(a["name"], a["title"], a["stable"])
        for a in _native.algorithms()
        if not a["partial"]
    ]


class SelfTest(NamedTuple):
    """A sort with a known answer: `failure` is empty if the device passed."""

    algorithm: str
    key: str
    supported: bool
    failure: str


def self_test(device: str = "cpu:0", algorithm: str = "") -> list[SelfTest]:
    """Run the self-tests of a device's algorithms, or of one of them. ValueError if there is none
    of that name."""
    return [SelfTest(**t) for t in _native.self_test(_native.find_device(device), algorithm)]


class VersionInfo(NamedTuple):
    """The package's version."""

    major: int
    minor: int
    micro: int


__version__: str = _native.version()
version_info = VersionInfo(*(int(part) for part in __version__.split(".")[:3]))


def warnings() -> list[str]:
    """Return what the library wants its user to know although no call failed, such as an unsafe
    kernel cache."""
    return _native.warnings()


class Plan:
    """A sort of arrays of one length and dtype, prepared once and run any number of times.

    Parameters
    ----------
    dtype : dtype or str
        The keys' dtype, as for `sort`; bfloat16 as the string "bfloat16".
    count : int
        The number of keys.
    payload : {'none', 'values', 'positions'}
        'values': an array of `value_bytes` (4 or 8) an element moves with the keys. 'positions': an
        argsort.
    descending, nan, zeros, bits
        As for `sort`.
    segments : int
        The number of segments. If not 0, `run` takes their offsets (int64).
    row_length : int
        If not 0, each row of so many keys is sorted by itself, and `run` takes two-dimensional
        arrays of such rows, without offsets. `count` is a multiple of it.
    limit : int
        If not 0, only the first `limit` records of the sorted order are written, or those of each
        segment or row.
    device : str
        The device of the plan, as for `sort`.
    algorithm, max_scratch
        As for `sort`.

    Attributes
    ----------
    scratch_bytes : int
        The memory that `run` needs beside its arrays.
    algorithm : str
        The selected algorithm.

    Raises
    ------
    ValueError, DeviceError
        An argument is not allowed, or the device cannot run this sort.

    Notes
    -----
    The constructor builds the kernels; `run` only enqueues. So a run with `scratch` may be captured
    in a CUDA graph.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> plan = ps.Plan("float32", 4)
    >>> plan.run(np.array([3, 1, 2, 0], np.float32))
    array([0., 1., 2., 3.], dtype=float32)
    >>> plan = ps.Plan("float32", 4, row_length=2)
    >>> plan.run(np.array([[3, 1], [2, 0]], np.float32))
    array([[1., 3.],
           [0., 2.]], dtype=float32)
    """

    def __init__(
        self,
        dtype: Any,
        count: int,
        *,
        payload: str = "none",
        value_bytes: int = 8,
        descending: bool = False,
        nan: str = "last",
        zeros: str = "tied",
        bits: tuple[int, int] | None = None,
        segments: int = 0,
        row_length: int = 0,
        limit: int = 0,
        device: str = "cpu:0",
        algorithm: str | None = None,
        max_scratch: int | None = None,
    ):
        name = str(dtype).removeprefix("torch.")
        self.dtype = (
            name if name == "bfloat16" else np.dtype(name if name != str(dtype) else dtype).name
        )
        self.count = operator.index(count)
        order, self._method = order_of(descending, nan, zeros, bits), method_of(
            algorithm, max_scratch, stable=False
        )
        self._shape: tuple[int, ...] = (self.count,)
        if row_length:
            self._shape = _shape_of_rows(self.count, row_length, segments, limit)
        self._problem = _problem(self.dtype, self.count, order, payload, value_bytes)
        self._problem.update(
            segments=self._shape[0] if row_length else segments,
            offset_bytes=0 if row_length else 8,
            limit=limit,
        )
        self._device = _native.find_device(device)
        self._plan = _native.Plan(
            self._device,
            _native.Problem(**self._problem),
            self._method.algorithm,
            "",
            self._method.max_scratch,
        )
        self.scratch_bytes: int = self._plan.scratch_bytes
        self.algorithm: str = self._plan.algorithm

    def run(
        self,
        keys: Any,
        values: Any = None,
        *,
        offsets: Any = None,
        out: Any = None,
        values_out: Any = None,
        scratch: Any = None,
    ) -> Any:
        """Sort `keys`.

        Parameters
        ----------
        keys : 1-D contiguous array
            On the plan's device, or in host memory for cpu:0. A 2-D one with `row_length`.
        values : array, optional
            Required with the payload 'values'.
        offsets : array of int64, optional
            Required with segments.
        out, values_out : arrays, optional
            Arrays for the result; allocated if omitted. `out` may be `keys` if `values_out` is
            `values`.
        scratch : array of scratch_bytes bytes, optional
            Allocated if omitted. In a CUDA graph, pass `scratch` and `out`.

        Returns
        -------
        array, or (array, array)
            The sorted keys; with values or positions, both. Positions count from the first of all
            keys.

        Raises
        ------
        TypeError, ValueError
            An array does not fit the plan.
        """
        kind, keys = kind_of(keys, "keys")
        self._check(kind, keys)
        place = kind.place(keys, None)
        shape: tuple[int, ...] = (_native.Problem(**self._problem).records_out,)
        if len(self._shape) == 2:
            shape = (self._shape[0], self._problem["limit"] or self._shape[1])
        payload = self._problem["payload"]
        if out is None:
            out = kind.empty(shape, self.dtype, keys)
        if payload != "none" and values_out is None:
            if payload == "values":
                if values is None:
                    raise ValueError("values is missing; the plan's payload is 'values'")
                values_out = kind.empty(shape, kind.dtype(values), keys)
            else:
                values_out = kind.empty(shape, f"int{8 * self._problem['value_bytes']}", keys)
        if self.count:
            if isinstance(place, HostPlace):
                if self._device.facts["backend"] != "cpu":
                    raise ValueError(
                        f"keys lies in host memory, but the plan is for {self._device.facts['id']}"
                    )
                queue, memory = self._device.make_queue(), _host_memory
            else:
                queue, memory = place.queue, place._memory
            if scratch is None:
                scratch = kind.empty((max(self.scratch_bytes, 1),), "uint8", keys)
            self._plan.run(
                queue,
                memory(keys),
                memory(out),
                memory(values),
                memory(values_out),
                memory(scratch),
                memory(offsets),
            )
        return out if payload == "none" else (out, values_out)

    def _check(self, kind: Any, keys: Any) -> None:
        if kind.dtype(keys) != self.dtype or tuple(keys.shape) != self._shape:
            raise ValueError(
                f"keys has dtype {kind.dtype(keys)} and shape {tuple(keys.shape)}; the plan is for "
                f"{self.dtype} and {self._shape}"
            )
        if kind.memory(kind.compact(keys)) != kind.memory(keys):  # it made a copy
            raise ValueError("keys is not contiguous, aligned and of native byte order")

    @staticmethod
    def scratch_bytes_for(
        dtype: Any,
        count: int,
        *,
        payload: str = "none",
        value_bytes: int = 8,
        device: str = "cpu",
        algorithm: str | None = None,
        max_scratch: int | None = None,
    ) -> int:
        """Return the scratch memory of such a plan, without a device: for cpu:0 ('cpu'), or an
        NVIDIA H200 ('cuda')."""
        if device not in ("cpu", "cuda"):
            raise ValueError(f"device is {device!r}; allowed are 'cpu' and 'cuda'")
        problem = _problem(
            np.dtype(dtype).name, operator.index(count), Order(), payload, value_bytes
        )
        method = method_of(algorithm, max_scratch, stable=False)
        return _native.scratch_bytes_for(
            _native.Problem(**problem), device, method.algorithm, method.max_scratch
        )


def _shape_of_rows(count: int, row_length: int, segments: int, limit: int) -> tuple[int, int]:
    length = operator.index(row_length)
    if segments:
        raise ValueError(
            f"row_length is {length} and segments is {segments}; at most one of them can be given"
        )
    if length < 1 or count % length:
        raise ValueError(
            f"row_length is {length}; it must be at least 1, and count, {count}, a multiple of it"
        )
    if limit > length:
        raise ValueError(f"limit is {limit}; a row has {length} keys")
    return count // length, length


def _problem(dtype: str, count: int, order: Order, payload: str, value_bytes: int) -> dict:
    if payload not in ("none", "values", "positions"):
        raise ValueError(f"payload is {payload!r}; allowed are 'none', 'values' and 'positions'")
    return {
        "key": key_type_of(dtype, "dtype"),
        "count": count,
        "payload": payload,
        "value_bytes": value_bytes,
        "descending": order.descending,
        "nan": order.nan,
        "zeros": order.zeros,
        "begin_bit": order.begin_bit,
        "end_bit": order.end_bit,
    }


def _host_memory(array: Any) -> _native.Memory:
    if array is None:
        return _native.Memory()
    kind, array = kind_of(array)
    address, _, size = kind.memory(array)
    return _native.Memory(address, 0, size)
