"""Where a sort runs: host memory by address, or a device's memory on a queue.

Both places have the same methods. They take arrays of one kind (`_libraries.py`) that are
contiguous and allocated, and problems as keyword arguments of `_native.Problem`.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from typing import Any, NamedTuple

from . import _native


class Method(NamedTuple):
    """How to sort: algorithm, the most scratch memory in bytes (0: no limit), and the most device
    memory for arrays in host memory (0: 7/8 of what is free)."""

    algorithm: str = "auto"
    max_scratch: int = 0
    max_device: int = 0

    def of_device(self) -> tuple[str, str, int]:
        """The arguments of a plan on device memory."""
        if self.max_device:
            raise ValueError(
                f"max_device is {self.max_device}; it is for arrays in host memory, and this array "
                "is in a device's"
            )
        return self.algorithm, "", self.max_scratch


@functools.lru_cache(maxsize=256)
def _options(device: str, method: Method) -> _native.Options:
    return _native.Options(device, method.algorithm, "", method.max_scratch, method.max_device)


class HostPlace:
    """Host memory. `device` sorts it: cpu:0 where it lies, other devices through copies."""

    def __init__(self, kind: Any, device: str = "cpu:0"):
        self.kind = kind
        self.device = device

    def _address(self, array: Any) -> int:
        return 0 if array is None else self.kind.memory(array)[0]

    def sort(
        self,
        problem: dict,
        method: Method,
        keys_in: Any,
        keys_out: Any = None,
        values_in: Any = None,
        values_out: Any = None,
        offsets: Any = None,
    ) -> None:
        a = self._address
        _native.sort(
            _native.Problem(**problem),
            _options(self.device, method),
            a(keys_in),
            a(keys_out),
            a(values_in),
            a(values_out),
            a(offsets),
        )

    def sort_records(
        self,
        problem: dict,
        method: Method,
        columns_in: list,
        columns_out: list,
        positions: Any = None,
        offsets: Any = None,
    ) -> None:
        a = self._address
        _native.sort_records(
            _native.RecordProblem(**problem),
            _options(self.device, method),
            [a(c) for c in columns_in],
            [a(c) for c in columns_out],
            a(positions),
            a(offsets),
        )

    def unique(
        self,
        problem: dict,
        keys_in: Any,
        keys_out: Any,
        values_out: Any = None,
        lengths: Any = None,
    ) -> int:
        a = self._address
        return _native.unique(
            _native.Problem(**problem),
            a(keys_in),
            a(keys_out),
            a(values_out),
            a(lengths),
            8,
            self.device,
        )

    def merge(self, problem: dict, a_count: int, a_keys: Any, b_keys: Any, keys_out: Any) -> None:
        a = self._address
        _native.merge(
            _native.Problem(**problem),
            a_count,
            a(a_keys),
            a(b_keys),
            a(keys_out),
            device=self.device,
        )

    def search(
        self, problem: dict, keys: Any, needles: Any, count: int, places: Any, upper: bool
    ) -> None:
        a = self._address
        _native.search(
            _native.Problem(**problem), a(keys), a(needles), count, a(places), upper, self.device
        )

    def first_unsorted(self, problem: dict, keys: Any) -> int:
        return _native.first_unsorted(_native.Problem(**problem), self._address(keys), self.device)

    def nth_element(
        self, problem: dict, n: int, keys_in: Any, keys_out: Any = None, values_out: Any = None
    ) -> None:
        a = self._address
        _native.nth_element(
            _native.Problem(**problem), n, a(keys_in), a(keys_out), a(values_out), self.device
        )


class QueuePlace:
    """A device's memory, on one queue or stream. Calls only enqueue, unless they return a
    number."""

    plans_kept = 64

    def __init__(self, kind: Any, queue: _native.Queue, device: _native.Device):
        self.kind = kind
        self.queue = queue
        self.device = device
        self._plans: OrderedDict[tuple, Any] = OrderedDict()

    def _plan(self, make: Any, problem: dict, *more: Any) -> Any:
        """The plan for this problem, made once: that builds kernels."""
        key = (make, tuple(problem.items()), more)
        plan = self._plans.pop(key, None)
        if plan is None:
            plan = make(self.device, _native.Problem(**problem), *more)
        self._plans[key] = plan
        if len(self._plans) > self.plans_kept:
            self._plans.popitem(last=False)
        return plan

    def _memory(self, array: Any) -> _native.Memory:
        if array is None:
            return _native.Memory()
        return _native.Memory(*self.kind.memory(array))

    def _scratch(self, like: Any, size: int) -> Any:
        """Memory of the array's own allocator, which frees it in the order of the queue."""
        return self.kind.empty((size,), "uint8", like) if size else None

    def sort(
        self,
        problem: dict,
        method: Method,
        keys_in: Any,
        keys_out: Any = None,
        values_in: Any = None,
        values_out: Any = None,
        offsets: Any = None,
    ) -> None:
        m = self._memory
        plan = self._plan(_native.Plan, problem, *method.of_device())
        scratch = self._scratch(keys_in, plan.scratch_bytes)
        plan.run(
            self.queue, m(keys_in), m(keys_out), m(values_in), m(values_out), m(scratch), m(offsets)
        )
        self.kind.keep(self, scratch, keys_in, keys_out, values_in, values_out, offsets)

    def sort_records(
        self,
        problem: dict,
        method: Method,
        columns_in: list,
        columns_out: list,
        positions: Any = None,
        offsets: Any = None,
    ) -> None:
        m = self._memory
        plan = _native.RecordPlan(
            self.device, _native.RecordProblem(**problem), *method.of_device()
        )
        scratch = self._scratch(columns_in[0], plan.scratch_bytes)
        plan.run(
            self.queue,
            [m(c) for c in columns_in],
            [m(c) for c in columns_out],
            m(positions),
            m(scratch),
            m(offsets),
        )
        self.kind.keep(self, scratch, *columns_in, *columns_out, positions, offsets)

    def _read_word(self, word: Any) -> int:
        import numpy as np

        value = np.empty(1, np.uint64)
        self.queue.read(value.ctypes.data, self._memory(word), 8)
        return int(value[0])

    def unique(
        self,
        problem: dict,
        keys_in: Any,
        keys_out: Any,
        values_out: Any = None,
        lengths: Any = None,
    ) -> int:
        m = self._memory
        plan = self._plan(_native.UniquePlan, problem, 0 if lengths is None else 8)
        runs = self.kind.empty((1,), "int64", keys_in)
        scratch = self._scratch(keys_in, plan.scratch_bytes)
        plan.run(
            self.queue,
            m(keys_in),
            m(keys_out),
            m(None),
            m(values_out),
            m(lengths),
            m(runs),
            m(scratch),
        )
        return self._read_word(runs)

    def merge(self, problem: dict, a_count: int, a_keys: Any, b_keys: Any, keys_out: Any) -> None:
        m = self._memory
        plan = self._plan(_native.MergePlan, problem, a_count)
        scratch = self._scratch(keys_out, plan.scratch_bytes)
        plan.run(
            self.queue, m(a_keys), m(b_keys), m(keys_out), m(None), m(None), m(None), m(scratch)
        )
        self.kind.keep(self, scratch, a_keys, b_keys, keys_out)

    def search(
        self, problem: dict, keys: Any, needles: Any, count: int, places: Any, upper: bool
    ) -> None:
        m = self._memory
        plan = self._plan(_native.SearchPlan, problem, count, upper)
        plan.run(self.queue, m(keys), m(needles), m(places))
        self.kind.keep(self, keys, needles, places)

    def first_unsorted(self, problem: dict, keys: Any) -> int:
        m = self._memory
        plan = self._plan(_native.IsSortedPlan, problem)
        result = self.kind.empty((1,), "int64", keys)
        scratch = self._scratch(keys, plan.scratch_bytes)
        plan.run(self.queue, m(keys), m(result), m(scratch))
        return self._read_word(result)

    def nth_element(
        self, problem: dict, n: int, keys_in: Any, keys_out: Any = None, values_out: Any = None
    ) -> None:
        """The sorted list has its n-th element in place, too; a sort of device memory is fast
        enough."""
        self.sort(problem, Method(), keys_in, keys_out, None, values_out)
