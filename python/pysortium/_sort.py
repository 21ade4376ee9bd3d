"""sort, argsort, sort_pairs and sorts of segments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _native, _quick, _records
from ._kinds import kind_of
from ._rows import Order, Rows, index_dtype_of, method_of, order_of

_native.use_numpy()
_sort_plain = _native.sort_plain
_argsort_plain = _native.argsort_plain
_sort_rows_plain = _native.sort_rows_plain
_argsort_rows_plain = _native.argsort_rows_plain
_sort_segments_plain = _native.sort_segments_plain

# For `argsort_plain`: the bytes of positions, and if they have a sign, by the spellings of
# `index_dtype`.
_INDEX_DTYPES: dict[Any, tuple[int, bool]] = {
    spelling: (np.dtype(name).itemsize, name.startswith("int"))
    for name in ("int32", "int64", "uint32", "uint64")
    for spelling in (name, np.dtype(name), np.dtype(name).type)
}
_INDEX_DTYPES[None] = _INDEX_DTYPES["int64"]


def sort(
    x: Any,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    device: str | None = None,
    algorithm: str | None = None,
    out: Any = None,
    max_scratch: int | None = None,
    max_device: int | None = None,
) -> Any:
    """Return a sorted copy of an array.

    Parameters
    ----------
    x : array of any shape but 0-D
        bool, integers, float16, bfloat16, float32, float64, datetime64, timedelta64; in host memory
        also complex numbers, strings (S, U) and structured arrays, which are sorted by all of their
        fields.
    axis : int or None
        The axis to sort along; None sorts the flattened array.
    descending : bool
        Sort from the greatest to the least. Equal keys keep their order in both directions.
    stable : bool
        False allows an `algorithm` that is not stable.
    nan : {'last', 'first', 'bits'}
        Where NaN and NaT go, in both directions. 'bits' is IEEE 754's total order of NaN.
    zeros : {'tied', 'distinct'}
        'distinct' puts -0.0 before +0.0.
    bits : (begin, end), optional
        Compare only bits begin to end - 1 of the key's order; bit 0 is the least significant.
    device : str, optional
        For arrays in host memory: 'cpu:0' (the default), 'auto' (the best one), 'cuda:0',
        'opencl:0', or a part of a device's name. Arrays of a device are sorted there.
    algorithm : str, optional
        The algorithm's name; 'auto' is the default. `algorithms()` lists them.
    out : array, optional
        Receives the result: shape and dtype as x. May be x.
    max_scratch : int, optional
        The most scratch memory in bytes.
    max_device : int, optional
        For arrays in host memory that another device sorts: the most memory of that device, in
        bytes; 7/8 of what is free if it is not given. A larger list is sorted in ranges.

    Returns
    -------
    array
        Of the kind, dtype and shape of x, on its device.

    Raises
    ------
    TypeError
        x is no array, or keys of its dtype cannot be sorted.
    ValueError
        An argument's value is not allowed, or `max_scratch` is too low. The message names the
        argument and its value.
    MemoryError
        The host or the device has too little memory.

    Notes
    -----
    The result is NumPy's with ``kind='stable'``, byte for byte. Keys of 8 and 16 bits take O(N)
    time. Scratch memory is about the size of x, and twice that for other axes than the last one.
    The GIL is released.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.sort(np.array([3, 1, 2]), descending=True)
    array([3, 2, 1])
    """
    if (
        (axis == -1 or axis == getattr(x, "ndim", 0) - 1)
        and device is None
        and algorithm is None
        and bits is None
        and max_scratch is None
        and max_device is None
        and nan == "last"
        and zeros == "tied"
    ):
        result = _sort_plain(x, descending, out)
        if result is None and out is None:
            result = _sort_rows_plain(x, descending)
        if result is not None:
            return result
        results = None if out is not None else _quick.run(x, bool(descending), True, False)
        if results is not None:
            return results[0]
    order, method = order_of(descending, nan, zeros, bits), method_of(
        algorithm, max_scratch, stable, max_device
    )
    kind, x = kind_of(x)
    if _records.has_fields(x):
        return _deliver(kind.give(_records.sort(x, axis, order, method, device)), out)
    rows = Rows(x, axis, order, device, kind=kind, keeps_axis=True)
    if _can_write_into(rows, out):
        _sort_rows(rows, method, out)
        return out
    result = rows.empty(rows.shape)
    _sort_rows(rows, method, result)
    return _deliver(rows.restore(rows.code.decode(result)), out)


def argsort(
    x: Any,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    index_dtype: Any = None,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    device: str | None = None,
    algorithm: str | None = None,
    out: Any = None,
    max_scratch: int | None = None,
    max_device: int | None = None,
) -> Any:
    """Return the positions that sort an array along an axis.

    Parameters
    ----------
    index_dtype : dtype, optional
        int64 (the default; int32 with JAX unless it has 64 bits), int32, uint32 or uint64. Smaller
        ones are faster.

    The other parameters, errors and costs are those of `sort`.

    Returns
    -------
    array
        Of the shape of x. Equal keys keep their order.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.argsort(np.array([0.5, np.nan, 0.1]), descending=True)
    array([0, 2, 1])
    """
    if (
        (axis == -1 or axis == getattr(x, "ndim", 0) - 1)
        and device is None
        and out is None
        and algorithm is None
        and bits is None
        and max_scratch is None
        and max_device is None
        and nan == "last"
        and zeros == "tied"
    ):
        try:
            index = _INDEX_DTYPES.get(index_dtype)
        except TypeError:  # not hashable; the general path says what is allowed
            index = None
        if index is not None:
            result = _argsort_plain(x, descending, *index)
            if result is None:
                result = _argsort_rows_plain(x, descending, *index)
            if result is not None:
                return result
        if index_dtype is None:
            results = _quick.run(x, bool(descending), False, True)
            if results is not None:
                return results[1]
    order, method = order_of(descending, nan, zeros, bits), method_of(
        algorithm, max_scratch, stable, max_device
    )
    kind, x = kind_of(x)
    if _records.has_fields(x):
        return _deliver(
            kind.give(_records.argsort(x, axis, order, method, device, index_dtype)), out
        )
    rows = Rows(x, axis, order, device, kind=kind)
    return _deliver(rows.restore(rows.local(_argsort_rows(rows, method, index_dtype))), out)


class SortedPairs(NamedTuple):
    """The result of `sort_pairs`."""

    keys: Any
    values: tuple


def sort_pairs(
    keys: Any,
    *values: Any,
    descending: bool = False,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    device: str | None = None,
    algorithm: str | None = None,
    max_scratch: int | None = None,
    max_device: int | None = None,
) -> SortedPairs:
    """Sort keys, and arrange any number of arrays in the same order.

    Parameters
    ----------
    keys : 1-D array
        As for `sort`.
    *values : arrays of len(keys) elements
        Of any dtype, and any shape behind the first axis: an element is ``values[i]``.

    The other parameters, and errors, are those of `sort`.

    Returns
    -------
    SortedPairs
        ``keys``, and ``values``: a tuple with as many arrays as were given. Stable.

    Notes
    -----
    One array of values of 4 or 8 bytes moves with the keys. Others move once, after the sort.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> keys, (names,) = ps.sort_pairs(np.array([2, 1]), np.array(["b", "a"]))
    >>> print(keys, names)
    [1 2] ['a' 'b']
    """
    order, method = order_of(descending, nan, zeros, bits), method_of(
        algorithm, max_scratch, max_device=max_device
    )
    rows = _one_row(keys, order, device, "keys")
    columns = [_values_of(rows, v, i) for i, v in enumerate(values)]
    if not columns:
        result = rows.empty(rows.shape)
        _sort_rows(rows, method, result)
        return SortedPairs(rows.restore(rows.code.decode(result)), ())
    sorted_keys = rows.empty(rows.shape)
    moved = [rows.kind.like(c) for c in columns]
    if rows.count:
        _move_columns(rows, method, columns, sorted_keys, moved)
    results = tuple(rows.kind.give(rows.kind.finish(m)) for m in moved)
    return SortedPairs(rows.restore(rows.code.decode(sorted_keys)), results)


def sort_segments(
    x: Any,
    offsets: Any,
    /,
    *,
    descending: bool = False,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    device: str | None = None,
    max_scratch: int | None = None,
) -> Any:
    """Sort each of many lists in one array by itself.

    Parameters
    ----------
    x : 1-D array
        As for `sort`.
    offsets : 1-D integers beside x
        Segment s has the keys from ``offsets[s]`` to ``offsets[s + 1]``. They ascend from 0 to
        len(x).

    The other parameters, and errors, are those of `sort`. Segments of any lengths are sorted in one
    set of launches.

    Returns
    -------
    array
        As x.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.sort_segments(np.array([3, 1, 2, 9, 8]), [0, 3, 5])
    array([1, 2, 3, 8, 9])
    """
    if (
        device is None
        and bits is None
        and max_scratch is None
        and nan == "last"
        and zeros == "tied"
    ):
        result = _sort_segments_plain(x, offsets, descending)
        if result is not None:
            return result
    rows = _one_row(x, order_of(descending, nan, zeros, bits), device)
    starts, segments = _offsets_of(rows, offsets)
    result = rows.empty(rows.shape)
    if rows.count:
        rows.place.sort(
            rows.problem(segments=segments, offset_bytes=8),
            method_of(None, max_scratch),
            rows.keys,
            result,
            offsets=starts,
        )
    return rows.restore(rows.code.decode(result))


def argsort_segments(
    x: Any,
    offsets: Any,
    /,
    *,
    descending: bool = False,
    index_dtype: Any = None,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    device: str | None = None,
    max_scratch: int | None = None,
) -> Any:
    """Return the positions, among all of x, that sort each segment; parameters as for
    `sort_segments`.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.argsort_segments(np.array([3, 1, 2, 9, 8]), [0, 3, 5])
    array([1, 2, 0, 4, 3])
    """
    rows = _one_row(x, order_of(descending, nan, zeros, bits), device)
    starts, segments = _offsets_of(rows, offsets)
    return rows.restore(
        _argsort_rows(rows, method_of(None, max_scratch), index_dtype, starts, segments)
    )


# --------------------------------------------------------------------------------------------------


def _sort_rows(rows: Rows, method: Any, result: Any) -> None:
    if rows.count:
        rows.place.sort(rows.problem(), method, rows.keys, result)


def _argsort_rows(
    rows: Rows, method: Any, index_dtype: Any, starts: Any = None, segments: int = 0
) -> Any:
    """Return the positions, among all keys, that sort each row, or each of the segments that begin
    at `starts`."""
    dtype = index_dtype_of(index_dtype, rows.count, rows.kind)
    result = rows.empty(rows.shape, dtype)
    if rows.count:
        lists = {} if starts is None else {"segments": segments, "offset_bytes": 8}
        problem = rows.problem(
            payload="positions", value_bytes=int(dtype[-2:]) // 8, keys_out=False, **lists
        )
        rows.place.sort(problem, method, rows.keys, values_out=result, offsets=starts)
    return result


def _one_row(x: Any, order: Order, device: str | None, argument: str = "x") -> Rows:
    rows = Rows(x, -1, order, device, argument)
    if rows.ndim != 1:
        raise ValueError(f"{argument} has shape {rows.shape}; one dimension is needed")
    return rows


def _offsets_of(rows: Rows, offsets: Any) -> tuple[Any, int]:
    """Offsets as int64 beside the keys, and the number of segments. ValueError if they do not fit
    the keys."""
    kind, offsets = kind_of(offsets, "offsets")
    if isinstance(offsets, np.ndarray):
        if (
            offsets.ndim != 1
            or offsets.size == 0
            or (offsets.dtype.kind not in "iu" and offsets.size)
        ):
            raise ValueError(
                f"offsets has shape {offsets.shape} and dtype {offsets.dtype}; one dimension of "
                f"integers "
                "is needed, one more than there are segments"
            )
        starts = np.ascontiguousarray(offsets, np.int64)
        if starts[0] != 0 or starts[-1] != rows.count or (np.diff(starts) < 0).any():
            raise ValueError(
                f"offsets goes from {starts[0]} to {starts[-1]}; it must ascend from 0 to len(x), "
                f"{rows.count}"
            )
        if not isinstance(rows.keys, np.ndarray):
            starts = rows.kind.from_numpy(starts, rows.keys)
    else:
        starts = kind.astype(kind.compact(offsets), "int64")
    return starts, int(starts.shape[0]) - 1


def _values_of(rows: Rows, values: Any, number: int) -> Any:
    kind, values = kind_of(values, f"values[{number}]")
    if kind is not rows.kind:
        raise TypeError(
            f"values[{number}] is an array of {kind.name}, but keys is one of {rows.kind.name}"
        )
    if len(values.shape) == 0 or values.shape[0] != rows.count:
        raise ValueError(
            f"values[{number}] has shape {tuple(values.shape)}; its first dimension must be "
            f"len(keys), "
            f"{rows.count}"
        )
    if getattr(values.dtype, "hasobject", False):
        raise TypeError(f"values[{number}] has dtype {values.dtype}; Python objects are not moved")
    return kind.compact_same(values)


def _move_columns(rows: Rows, method: Any, columns: list, sorted_keys: Any, moved: list) -> None:
    """Sorts the keys with their values: together if that is possible, else by positions."""
    sizes = [rows.kind.element_bytes(c) for c in columns]
    if len(columns) == 1 and sizes[0] in (4, 8):
        rows.place.sort(
            rows.problem(payload="values", value_bytes=sizes[0]),
            method,
            rows.keys,
            sorted_keys,
            columns[0],
            moved[0],
        )
        return
    if max(sizes) > 256 or min(sizes) == 0 or len(columns) >= 64:
        positions = rows.kind.finish(_argsort_rows(rows, method, "int64"))
        for source, target in zip([rows.keys, *columns], [sorted_keys, *moved]):
            target[...] = source[positions]  # TypeError in libraries that cannot
        return
    o = rows.order
    key = _native.Field(
        rows.code.key,
        descending=rows.code.descending,
        nan=o.nan,
        zeros=o.zeros,
        begin_bit=o.begin_bit,
        end_bit=o.end_bit,
    )
    sizes.insert(0, rows.kind.element_bytes(rows.keys))
    problem = {
        "count": rows.count,
        "columns": [_native.Column(s, "out") for s in sizes],
        "key": [key],
    }
    rows.place.sort_records(problem, method, [rows.keys, *columns], [sorted_keys, *moved])


def _can_write_into(rows: Rows, out: Any) -> bool:
    """True if the sort may write its result where `out` lies."""
    return (
        isinstance(rows.keys, np.ndarray)
        and isinstance(out, np.ndarray)
        and not rows.is_moved
        and not rows.code.is_coded
        and out.flags.c_contiguous
        and out.flags.aligned
        and out.flags.writeable
        and out.dtype == rows.source.dtype == rows.keys.dtype
        and out.shape == rows.shape
        and (out.ctypes.data == rows.keys.ctypes.data or not np.may_share_memory(out, rows.keys))
    )


def _deliver(result: Any, out: Any) -> Any:
    """The result, in `out` if there is one. TypeError or ValueError if it does not fit."""
    if out is None:
        return result
    if type(out) is not type(result) and not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}; a {type(result).__name__} is needed")
    if tuple(out.shape) != tuple(result.shape):
        raise ValueError(f"out has shape {tuple(out.shape)}; {tuple(result.shape)} is needed")
    if out.dtype != result.dtype:
        raise TypeError(f"out has dtype {out.dtype}; {result.dtype} is needed")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out is read-only")
    out[...] = result
    return out
