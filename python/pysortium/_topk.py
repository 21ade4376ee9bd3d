"""topk and argtopk."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from . import _native, _quick
from ._rows import Rows, index_dtype_of, method_of, order_of

_topk_plain: Any = _native.topk_plain


class TopK(NamedTuple):
    """The result of `topk`."""

    values: Any
    indices: Any


def topk(
    x: Any,
    k: int,
    /,
    axis: int = -1,
    *,
    largest: bool = True,
    index_dtype: Any = None,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    device: str | None = None,
    max_scratch: int | None = None,
) -> TopK:
    """Return the k largest (or least) elements along an axis, sorted, and their positions.

    Parameters
    ----------
    k : int
        From 0 to the length of the axis.
    largest : bool
        False: the least ones.

    The other parameters, and errors, are those of `argsort`. Unlike PyTorch, NaN come last: they
    are taken only if there are too few numbers.

    Returns
    -------
    TopK
        ``values`` and ``indices``. Of equal keys those that come first in x are taken, in their
        order.

    Notes
    -----
    The rest of x is not sorted. The host reads x once or twice, a GPU once; an OpenCL CPU reads it
    bits / 11 + 2 times. If a large share of x is wanted, all of x is sorted.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.topk(np.array([0.5, 0.9, 0.1, 0.7]), 2)
    TopK(values=array([0.9, 0.7]), indices=array([1, 3]))
    """
    if (
        axis == -1
        and device is None
        and bits is None
        and max_scratch is None
        and index_dtype is None
        and nan == "last"
        and zeros == "tied"
        and type(k) is int
        and 0 < k < 1 << 40
    ):
        found = _topk_plain(x, k, largest) or _quick.run(x, bool(largest), True, True, k)
        if found is not None:
            return TopK(*found)
    rows = Rows(x, axis, order_of(largest, nan, zeros, bits), device)
    return TopK(*_first_records(rows, k, index_dtype, max_scratch, True))


def argtopk(
    x: Any,
    k: int,
    /,
    axis: int = -1,
    *,
    largest: bool = True,
    index_dtype: Any = None,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    device: str | None = None,
    max_scratch: int | None = None,
) -> Any:
    """Return the positions of the k largest (or least) elements, in sorted order; as `topk`."""
    rows = Rows(x, axis, order_of(largest, nan, zeros, bits), device)
    return _first_records(rows, k, index_dtype, max_scratch, False)[1]


def _first_records(
    rows: Rows, k: int, index_dtype: Any, max_scratch: int | None, with_keys: bool
) -> tuple:
    k = operator.index(k)
    if not 0 <= k <= rows.length:
        raise ValueError(f"k is {k}; the axis has {rows.length} elements")
    dtype = index_dtype_of(index_dtype, rows.count, rows.kind)
    shape = rows.shape[:-1] + (k,)
    keys = rows.empty(shape) if with_keys else None
    positions = rows.empty(shape, dtype)
    if k and rows.count:
        problem = rows.problem(
            payload="positions", value_bytes=int(dtype[-2:]) // 8, keys_out=with_keys, limit=k
        )
        rows.place.sort(
            problem,
            method_of(None, max_scratch),
            rows.keys,
            keys,
            values_out=positions,
        )
    return rows.restore(rows.code.decode(keys)) if with_keys else None, rows.restore(
        rows.local(positions)
    )
