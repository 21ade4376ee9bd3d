"""Functions that use sorted arrays: searchsorted, unique, merge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _native, _quick, _records
from ._kinds import NUMPY, kind_of
from ._rows import Order, Rows, index_dtype_of, method_of, order_of
from ._sort import _one_row, _sort_rows

_search_plain = _native.search_plain
_merge_plain = _native.merge_plain
_unique_plain: Any = _native.unique_plain


def searchsorted(
    x1: Any,
    x2: Any,
    /,
    *,
    side: str = "left",
    sorter: Any = None,
    descending: bool = False,
    index_dtype: Any = None,
    nan: str = "last",
    zeros: str = "tied",
    device: str | None = None,
) -> Any:
    """Return the positions at which the elements of x2 can be inserted into sorted x1.

    Parameters
    ----------
    x1 : 1-D array
        Sorted in the order that the other parameters define, or by `sorter`.
    x2 : array or scalar
        Of the kind of x1. NumPy arrays of different dtypes are converted to a common one.
    side : {'left', 'right'}
        The first or the last position at which an element can be inserted.
    sorter : 1-D array of integers, optional
        The positions that sort x1.

    Returns
    -------
    array of int64 (or `index_dtype`)
        Positions, in the shape of x2.

    Raises
    ------
    TypeError, ValueError
        An argument is wrong. Whether x1 is sorted is not checked.

    Notes
    -----
    Reads log2(len(x1)) keys for each element of x2.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.searchsorted(np.array([1, 3, 5]), np.array([3, 4]))
    array([1, 2])
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}; allowed are 'left' and 'right'")
    if (
        sorter is None
        and index_dtype is None
        and device is None
        and nan == "last"
        and zeros == "tied"
    ):
        places = _search_plain(x1, x2, side == "right", descending)
        if places is not None:
            return places
    kind, x1 = kind_of(x1, "x1")
    _, x2 = kind_of(x2, "x2")
    if isinstance(x1, np.ndarray):
        common = np.result_type(x1, x2)
        x1, x2 = np.asarray(x1, common), np.asarray(x2, common)
    elif str(x1.dtype) != str(x2.dtype):
        raise TypeError(f"x1 has dtype {x1.dtype}, and x2 has {x2.dtype}; equal ones are needed")
    if sorter is not None:
        x1 = x1[_checked_sorter(sorter, x1)]
    order = order_of(descending, nan, zeros, None)
    sorted_keys = _one_row(x1, order, device, "x1")
    shape = tuple(x2.shape)
    needles = Rows(kind.reshape(x2, (-1,)), -1, order, device, "x2")
    dtype = index_dtype_of(index_dtype, sorted_keys.count, kind)
    places = needles.empty((needles.count,), dtype)
    if needles.count:
        if sorted_keys.count:
            problem = sorted_keys.problem(value_bytes=int(dtype[-2:]) // 8)
            sorted_keys.place.search(
                problem, sorted_keys.keys, needles.keys, needles.count, places, side == "right"
            )
        else:
            places[...] = 0
    places = kind.reshape(kind.finish(places), shape)
    return kind.give(places if shape or kind is not NUMPY else places[()])


def _checked_sorter(sorter: Any, x1: Any) -> Any:
    if not isinstance(x1, np.ndarray):
        return sorter
    sorter = np.asarray(sorter)
    if sorter.dtype.kind not in "iu":
        raise TypeError(f"sorter has dtype {sorter.dtype}; integers are needed")
    if sorter.shape != x1.shape:
        raise ValueError(f"sorter has shape {sorter.shape}; that of x1, {x1.shape}, is needed")
    if sorter.size and (sorter.min() < 0 or sorter.max() >= len(x1)):
        raise ValueError(
            f"sorter has positions from {sorter.min()} to {sorter.max()}; x1 has {len(x1)} elements"
        )
    return sorter


def merge(
    x1: Any,
    x2: Any,
    /,
    *,
    descending: bool = False,
    nan: str = "last",
    zeros: str = "tied",
    device: str | None = None,
) -> Any:
    """Return two sorted 1-D arrays of one dtype as one sorted array.

    Of equal keys those of x1 come first. Whether the arrays are sorted is not checked. Reads and
    writes each key once.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.merge(np.array([1, 4]), np.array([2, 4]))
    array([1, 2, 4, 4])
    """
    if device is None and nan == "last" and zeros == "tied":
        merged = _merge_plain(x1, x2, descending)
        if merged is not None:
            return merged
    order = order_of(descending, nan, zeros, None)
    a, b = _one_row(x1, order, device, "x1"), _one_row(x2, order, device, "x2")
    if a.kind is not b.kind or a.dtype != b.dtype:
        raise TypeError(
            f"x1 is an array of {a.kind.name} with dtype {a.dtype}, and x2 one of {b.kind.name} "
            f"with "
            f"{b.dtype}; equal ones are needed"
        )
    result = a.empty((a.count + b.count,))
    if a.count + b.count:
        a.place.merge(a.problem(count=a.count + b.count), a.count, a.keys, b.keys, result)
    return a.kind.give(a.kind.finish(a.code.decode(result)))


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


def unique_values(x: Any, /, *, device: str | None = None) -> Any:
    """Return the distinct elements of an array, sorted. Each NaN is distinct; -0.0 equals +0.0
    (array API)."""
    return _unique(x, device, equal_nan=False)[0]


def unique_counts(x: Any, /, *, device: str | None = None) -> UniqueCounts:
    """Return the distinct elements, and how often each occurs; as `unique_values`."""
    values, _, _, counts = _unique(x, device, equal_nan=False, counts=True)
    return UniqueCounts(values, counts)


def unique_inverse(x: Any, /, *, device: str | None = None) -> UniqueInverse:
    """Return the distinct elements, and for each of x the position of its own; as
    `unique_values`."""
    values, _, inverse, _ = _unique(x, device, equal_nan=False, inverse=True)
    return UniqueInverse(values, inverse)


def unique_all(x: Any, /, *, device: str | None = None) -> UniqueAll:
    """Return the distinct elements, where each occurs first, the inverse, and the counts; as
    `unique_values`."""
    return UniqueAll(*_unique(x, device, equal_nan=False, indices=True, inverse=True, counts=True))


def unique(
    x: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
    device: str | None = None,
) -> Any:
    """Return the distinct elements of an array, sorted; as NumPy's unique without an axis.

    Returns
    -------
    array, or tuple of arrays
        The elements, then what was asked for: where each occurs first, the inverse (of the shape of
        x), and the counts.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.unique(np.array([3, 1, 3]), return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    values, indices, inverse, counts = _unique(
        x, device, equal_nan, return_index, return_inverse, return_counts
    )
    results = [values]
    for wanted, result in (
        (return_index, indices),
        (return_inverse, inverse),
        (return_counts, counts),
    ):
        if wanted:
            results.append(result)
    return results[0] if len(results) == 1 else tuple(results)


def _unique(
    x: Any,
    device: str | None,
    equal_nan: bool,
    indices: bool = False,
    inverse: bool = False,
    counts: bool = False,
) -> tuple:
    if device is None:
        found = _unique_plain(x, equal_nan, indices, inverse, counts)
        if found is not None:
            return found
        if equal_nan and not (indices or inverse or counts):
            values = _quick.unique(x)
            if values is not None:
                return values, None, None, None
    kind, x = kind_of(x)
    if _records.has_fields(x):
        found = _unique_records(x, device, equal_nan, indices, inverse, counts)
        return tuple(None if a is None else kind.give(a) for a in found)
    shape = tuple(x.shape)
    rows = Rows(x, None, Order(), device, kind=kind)
    if rows.count == 0:
        none = kind.finish(rows.empty((0,), kind.index_dtype()))
        results = (
            rows.code.decode(kind.finish(rows.empty((0,)))),
            none,
            kind.reshape(none, shape),
            none,
        )
        return tuple(map(kind.give, results))
    sorted_keys = rows.empty((rows.count,))
    positions: Any = None
    if indices or inverse:
        positions = rows.empty((rows.count,), kind.index_dtype())
        rows.place.sort(
            rows.problem(payload="positions", value_bytes=_bytes_of(kind.index_dtype())),
            method_of(None, None),
            rows.keys,
            sorted_keys,
            values_out=positions,
        )
        positions = kind.finish(positions)
    else:
        _sort_rows(rows, method_of(None, None), sorted_keys)
    values, begins, lengths = _runs(rows, sorted_keys, equal_nan, indices or inverse, counts)
    values = rows.code.decode(values.copy() if isinstance(values, np.ndarray) else values)
    return (
        kind.give(values),
        kind.give(positions[begins]) if indices else None,
        kind.give(_inverse(rows, positions, begins, shape)) if inverse else None,
        kind.give(lengths) if counts else None,
    )


def _bytes_of(dtype: str) -> int:
    return int(dtype[-2:]) // 8


def _runs(
    rows: Rows, sorted_keys: Any, equal_nan: bool, with_begins: bool, with_lengths: bool
) -> tuple[Any, Any, Any]:
    """The first key of each run of sorted keys, and if they are wanted its place and the run's
    length. NaN, which are one run at the end, may be split."""
    kind = rows.kind
    may_split = not equal_nan and "float" in rows.dtype
    keys = rows.empty((rows.count,))
    begins: Any = rows.empty((rows.count,), "int64") if with_begins else None
    lengths: Any = rows.empty((rows.count,), "int64") if with_lengths or may_split else None
    problem = rows.problem(payload="positions", value_bytes=8) if with_begins else rows.problem()
    runs = rows.place.unique(problem, sorted_keys, keys, begins, lengths)
    keys = kind.finish(keys)[:runs]
    if begins is not None:
        begins = kind.finish(begins)[:runs]
    if lengths is not None:
        lengths = kind.finish(lengths)[:runs]
    if not may_split or not bool(keys[-1] != keys[-1]):
        return keys, begins, lengths
    xp, kept = kind.xp, rows.count - int(lengths[-1])
    each = kind.finish(kind.arange(kept, rows.count, 1, rows.keys))
    return (
        xp.concatenate([keys[:-1], kind.finish(sorted_keys)[kept:]]),
        xp.concatenate([begins[:-1], each]) if with_begins else None,
        xp.concatenate([lengths[:-1], each * 0 + 1]),
    )


def _inverse(rows: Rows, positions: Any, begins: Any, shape: tuple) -> Any:
    """The number of each key's run."""
    kind = rows.kind
    marks = kind.finish(kind.arange(0, rows.count, 1, rows.keys)) * 0
    run = kind.put(marks, begins[1:], 1).cumsum(0)
    return kind.reshape(
        kind.put(kind.finish(kind.arange(0, rows.count, 1, rows.keys)), positions, run), shape
    )


def _unique_records(
    x: np.ndarray, device: str | None, equal_nan: bool, indices: bool, inverse: bool, counts: bool
) -> tuple:
    """The distinct complex numbers, strings or records, found by comparing sorted neighbours."""
    flat = x.reshape(-1)
    positions = _records.argsort(flat, -1, Order(), method_of(None, None), device, None)
    ordered = _records.take(flat, positions)
    begins = np.ones(len(flat), bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    if equal_nan and x.dtype.kind == "c":
        begins[1:] &= ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    starts = np.flatnonzero(begins)
    where: Any = None
    if inverse:
        where = np.empty(len(flat), np.int64)
        where[positions] = np.cumsum(begins) - 1
        where = where.reshape(x.shape)
    lengths = np.diff(np.append(starts, len(flat))) if counts else None
    return ordered[starts], positions[starts] if indices else None, where, lengths
