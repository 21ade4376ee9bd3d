"""The fast path for one-dimensional, contiguous arrays on CUDA: kept plans, an allocation for each
result and one for scratch memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _cuda, _native

# The library's names of key types, by dtype.
KEY_TYPES = {
    "bool": "u8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}

_KEPT = 512  # plans
_plans: dict[tuple, tuple] = {}
_unique_plans: dict[tuple, tuple] = {}

# The kinds of arrays that have this fast path, by exact type; `kind_of` adds them.
kinds: dict[type, Any] = {}


def run(x: Any, descending: bool, keys: bool, positions: bool, limit: int = 0) -> tuple | None:
    """The sorted keys and their int64 positions, as far as they are wanted, of the first `limit`
    records (0: of all). None if `x` needs the general path."""
    kind = kinds.get(type(x))
    if kind is None:
        return None
    home = kind.home(x)
    if home is None:
        return None
    what = (home, x.dtype, descending, keys, positions, limit)
    ready = _plans.get(what)
    if ready is None:
        ready = _prepare(kind, x, home, descending, keys, positions, limit)
        if ready is None:
            return None
        if len(_plans) >= _KEPT:
            _plans.clear()
        _plans[what] = ready
    run_at, queue, count, scratch_bytes = ready
    address = kind.address
    keys_out = kind.empty_keys(x, count) if keys else None
    positions_out = kind.empty_positions(x, count) if positions else None
    scratch = kind.empty_bytes(x, scratch_bytes) if scratch_bytes else None
    run_at(
        queue,
        address(x),
        address(keys_out) if keys else 0,
        address(positions_out) if positions else 0,
        address(scratch) if scratch_bytes else 0,
    )
    return keys_out, positions_out


def unique(x: Any) -> Any:
    """The distinct keys, sorted; all NaN count as one. Waits until their number is known. None if
    `x` needs the general path."""
    found = run(x, False, True, False)
    if found is None:
        return None
    kind = kinds[type(x)]
    what = (kind.home(x), x.dtype)
    ready = _unique_plans.get(what)
    if ready is None:
        (ordinal, stream, count), device = what[0], _cuda.device(what[0][0])
        plan = _native.UniquePlan(device, _native.Problem(KEY_TYPES[kind.dtype(x)], count), 0)
        ready = plan, _native.wrap_cuda(device.context, stream), count, plan.scratch_bytes
        if len(_unique_plans) >= _KEPT:
            _unique_plans.clear()
        _unique_plans[what] = ready
    plan, queue, count, scratch_bytes = ready
    memory, address, none = _native.Memory, kind.address, _native.Memory()
    keys = kind.empty_keys(x, count)
    number = kind.empty_bytes(x, 16 + scratch_bytes)  # of distinct keys, before the scratch memory
    runs, scratch = memory(address(number)), memory(address(number) + 16)
    plan.run(
        queue, memory(address(found[0])), memory(address(keys)), none, none, none, runs, scratch
    )
    word = np.empty(1, np.uint64)
    queue.read(word.ctypes.data, runs, 8)
    return keys[: int(word[0])]


def _prepare(
    kind: Any,
    x: Any,
    home: tuple[int, int, int],
    descending: bool,
    keys: bool,
    positions: bool,
    limit: int,
) -> tuple | None:
    ordinal, stream, count = home
    dtype = KEY_TYPES.get(kind.dtype(x))
    if dtype is None or count == 0 or limit > count:
        return None
    device = _cuda.device(ordinal)
    problem = _native.Problem(
        dtype,
        count,
        descending=descending,
        payload="positions" if positions else "none",
        value_bytes=8,
        keys_out=keys,
        limit=limit,
    )
    plan = _native.Plan(device, problem)
    queue = _native.wrap_cuda(device.context, stream)
    return plan.run_at, queue, problem.records_out, plan.scratch_bytes
