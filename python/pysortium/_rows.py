"""Arguments become rows: contiguous lists of keys of one of the library's types, and an order."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._kinds import Kind, kind_of
from ._places import Method
from ._quick import KEY_TYPES

INDEX_DTYPES = ("int32", "int64", "uint32", "uint64")
_SUPPORTED = (
    "bool, integers of 8 to 64 bits, float16, bfloat16, float32, float64, "
    "datetime64 and timedelta64"
)
_AxisError: Any = getattr(np, "exceptions", np).AxisError  # NumPy before 1.25 has it itself


class Order(NamedTuple):
    """The order of keys, as `_native.Problem` calls it."""

    descending: bool = False
    nan: str = "last"
    zeros: str = "tied"
    begin_bit: int = 0
    end_bit: int = 0


def order_of(descending: bool, nan: str, zeros: str, bits: tuple | None) -> Order:
    """Checks the arguments that describe an order. ValueError or TypeError names the one that is
    wrong."""
    if nan not in ("last", "first", "bits"):
        raise ValueError(f"nan is {nan!r}; allowed are 'last', 'first' and 'bits'")
    if zeros not in ("tied", "distinct"):
        raise ValueError(f"zeros is {zeros!r}; allowed are 'tied' and 'distinct'")
    if bits is None:
        return Order(bool(descending), nan, zeros)
    try:
        begin, end = (operator.index(b) for b in bits)
    except (TypeError, ValueError):
        raise TypeError(f"bits is {bits!r}; a pair of integers is needed, begin and end") from None
    if not 0 <= begin < end <= 64:
        raise ValueError(
            f"bits is {bits!r}; needed are 0 <= begin < end, and end at most the key's bits"
        )
    return Order(bool(descending), nan, zeros, begin, end)


def _limit_of(name: str, limit: int | None) -> int:
    """The limit in bytes; 0: none is given."""
    if limit is None:
        return 0
    if operator.index(limit) < 1:
        raise ValueError(f"{name} is {limit}; a number of bytes from 1 on is needed")
    return operator.index(limit)


def method_of(
    algorithm: str | None,
    max_scratch: int | None,
    stable: bool = True,
    max_device: int | None = None,
) -> Method:
    """Checks how to sort. ValueError if `algorithm` is unknown, or is not stable although `stable`
    is set."""
    if algorithm is None:
        algorithm = "auto"
    if not isinstance(algorithm, str):
        raise TypeError(f"algorithm is {algorithm!r}; a name is needed")
    if algorithm != "auto":
        known = {a["name"]: a for a in _native.algorithms()}
        if algorithm not in known:
            raise ValueError(
                f"algorithm is {algorithm!r}; allowed are 'auto', {', '.join(map(repr, known))}"
            )
        if known[algorithm]["partial"]:
            raise ValueError(f"algorithm is {algorithm!r}, which leaves several sorted runs")
        if stable and not known[algorithm]["stable"]:
            raise ValueError(
                f"algorithm is {algorithm!r}, which is not stable; pass stable=False to use it"
            )
    return Method(
        algorithm, _limit_of("max_scratch", max_scratch), _limit_of("max_device", max_device)
    )


def index_dtype_of(index_dtype: Any, count: int, kind: Kind) -> str:
    """The name of the dtype for positions below `count`."""
    if index_dtype is None:
        return kind.index_dtype()
    name = str(index_dtype).removeprefix("torch.")
    if name not in INDEX_DTYPES:
        try:
            name = np.dtype(index_dtype).name
        except TypeError:
            pass
    if name not in INDEX_DTYPES:
        raise TypeError(f"index_dtype is {index_dtype!r}; allowed are {', '.join(INDEX_DTYPES)}")
    if count > 2 ** (31 if name == "int32" else 32 if name == "uint32" else 63):
        raise ValueError(f"index_dtype is {name}, but there are {count} positions")
    return name


def normal_axis(axis: Any, ndim: int) -> int:
    """`axis` counted from the front. AxisError (a ValueError) if the array has no such axis."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise _AxisError(axis, ndim)
    return axis % ndim


def key_type_of(dtype: str, argument: str = "x") -> str:
    """The library's name of the type. TypeError if keys of this dtype cannot be sorted."""
    try:
        return KEY_TYPES[dtype]
    except KeyError:
        raise TypeError(
            f"{argument} has dtype {dtype}, which cannot be sorted; supported are {_SUPPORTED}"
        ) from None


_NAT_OFFSET = np.uint64(
    2**63 + 1
)  # takes NaT, the least int64, to the greatest uint64 and keeps the order of the rest


class Code:
    """Keys that the library cannot order as they are, as numbers that it can: here, keys that need
    nothing."""

    is_coded = False

    def __init__(self, key: str, descending: bool):
        self.key = key
        self.descending = descending

    def encode(self, x: Any) -> Any:
        return x

    def decode(self, x: Any) -> Any:
        return x


class TimeCode(Code):
    """Times with NaT last in ascending order, or first in descending order."""

    is_coded = True

    def __init__(self, dtype: np.dtype, descending: bool):
        super().__init__("u64", descending)
        self.dtype = dtype

    def encode(self, x: Any) -> Any:
        return x.view(np.uint64) - _NAT_OFFSET

    def decode(self, x: Any) -> Any:
        x += _NAT_OFFSET
        return x.view(self.dtype)


def code_of(kind: Kind, x: Any, order: Order, argument: str = "x") -> Code:
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        if order.nan == "bits" or (order.nan == "last") == order.descending:
            return Code(
                "i64", order.descending
            )  # NaT is the least number: it is where it should be
        return TimeCode(dtype.newbyteorder("="), order.descending)
    return Code(key_type_of(kind.dtype(x), argument), order.descending)


class Rows:
    """Keys in rows along one axis, which is the last one of `keys`. With `keeps_axis`, C-contiguous
    keys are not moved: a row's keys are `stride` apart."""

    def __init__(
        self,
        x: Any,
        axis: int | None,
        order: Order,
        device: str | None,
        argument: str = "x",
        kind: Kind | None = None,
        keeps_axis: bool = False,
    ):
        self.kind, x = kind_of(x, argument) if kind is None else (kind, x)
        if axis is None:
            x, axis = self.kind.reshape(x, (-1,)), -1
        self.axis = normal_axis(axis, len(x.shape))
        self.order = order
        self.ndim = len(x.shape)
        self.code = code_of(self.kind, x, order, argument)
        self.dtype = self.kind.dtype(x)
        self.source = x
        is_last = self.axis == self.ndim - 1
        self.is_moved = not (is_last or (keeps_axis and self.kind.is_c_contiguous(x)))
        moved = self.kind.moveaxis(x, self.axis, -1) if self.is_moved else x
        self.keys = self.code.encode(self.kind.compact(moved))
        self.shape = tuple(moved.shape)
        self.length = int(x.shape[self.axis])
        self.count = math.prod(map(int, self.shape))
        self.stride = 1 if self.is_moved else math.prod(map(int, self.shape[self.axis + 1 :]))
        self.rows = self.count // self.length if self.length else 0
        self.place = self.kind.place(x, device)

    def problem(self, **more: Any) -> dict:
        """Keyword arguments of _native.Problem. Several rows are segments without offsets, unless
        `more` has others."""
        o = self.order
        problem = {
            "key": self.code.key,
            "count": self.count,
            "descending": self.code.descending,
            "nan": o.nan,
            "zeros": o.zeros,
            "begin_bit": o.begin_bit,
            "end_bit": o.end_bit,
        }
        if self.rows > 1:
            problem.update(segments=self.rows, offset_bytes=0, stride=self.stride)
        problem.update(more)
        return problem

    def empty(self, shape: tuple, dtype: str | None = None) -> Any:
        """An array for results: of the keys' own type if `dtype` is None."""
        if dtype is None and isinstance(self.keys, np.ndarray):
            return np.empty(shape, self.keys.dtype)
        return self.kind.empty(shape, dtype or self.dtype, self.keys)

    def restore(self, result: Any) -> Any:
        """A result with rows as its last axis, as the caller's kind of array, with that axis in its
        place."""
        result = self.kind.finish(result)
        if self.is_moved:
            result = self.kind.own(self.kind.moveaxis(result, -1, self.axis))
        return self.kind.give(result)

    def local(self, positions: Any) -> Any:
        """Positions among all keys as positions in their rows; `positions` has rows as its last
        axis."""
        return positions if self.rows <= 1 else self.kind.local(positions, self.rows, self.length)
