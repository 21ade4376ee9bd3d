"""The fast path for one-dimensional, contiguous arrays on CUDA: a kept plan, two
allocations, one call."""

from __future__ import annotations

from typing import Any

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

# The kinds of arrays that have this fast path, by exact type; `kind_of` adds them.
kinds: dict[type, Any] = {}


def run(x: Any, descending: bool, positions: bool) -> Any:
    """The sorted keys, or with `positions` int64 positions; None if `x` needs the general path."""
    kind = kinds.get(type(x))
    if kind is None:
        return None
    home = kind.home(x)
    if home is None:
        return None
    key = (home, x.dtype, descending, positions)
    ready = _plans.get(key)
    if ready is None:
        ready = _prepare(kind, x, *home, descending, positions)
        if ready is None:
            return None
        if len(_plans) >= _KEPT:
            _plans.clear()
        _plans[key] = ready
    run_at, queue, scratch_bytes = ready
    result = kind.empty_positions(x) if positions else kind.empty_keys(x)
    address = kind.address
    if scratch_bytes:
        scratch = kind.empty_bytes(x, scratch_bytes)
        run_at(queue, address(x), address(result), address(scratch), positions)
    else:
        run_at(queue, address(x), address(result), 0, positions)
    return result


def _prepare(
    kind: Any, x: Any, ordinal: int, stream: int, count: int, descending: bool, positions: bool
) -> tuple | None:
    dtype = KEY_TYPES.get(kind.dtype(x))
    if dtype is None or count == 0:
        return None
    device = _cuda.device(ordinal)
    problem: dict = {"key": dtype, "count": count, "descending": descending}
    if positions:
        problem.update(payload="positions", value_bytes=8, keys_out=False)
    plan = _native.Plan(device, _native.Problem(**problem))
    return plan.run_at, _native.wrap_cuda(device.context, stream), plan.scratch_bytes
