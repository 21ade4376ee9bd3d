"""partition, argpartition, median, quantile, rank, is_sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native, _records
from ._kinds import kind_of
from ._rows import Rows, index_dtype_of, method_of, normal_axis, order_of
from ._sort import _argsort_rows, _deliver, _one_row, _sort_rows

_partition_plain: Any = _native.partition_plain
_select_plain: Any = _native.select_plain


def _places(kth: Any, length: int) -> list[int]:
    """The indices `kth`, counted from the front. ValueError if one is outside of the axis."""
    given = np.atleast_1d(np.asarray(kth))
    if given.dtype.kind not in "iu":
        raise TypeError(f"kth is {kth!r}; integers are needed")
    places = []
    for k in given.ravel().tolist():
        if length == 0 and k in (0, -1):  # as NumPy
            continue
        if not -length <= k < length:
            raise ValueError(f"kth has {k}; the axis has {length} elements")
        places.append(k % length)
    return places


def _length(x: np.ndarray, axis: int | None) -> int:
    return x.size if axis is None else x.shape[normal_axis(axis, x.ndim)]


def partition(
    x: Any,
    kth: Any,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    nan: str = "last",
    zeros: str = "tied",
    device: str | None = None,
    out: Any = None,
) -> Any:
    """Return a copy of an array with its kth elements where a sort would put them.

    Parameters
    ----------
    kth : int or integers
        Smaller elements are before each kth one, and greater ones behind it.

    The other parameters, and errors, are those of `sort`.

    Notes
    -----
    With one row of numbers and one kth place, this is a selection. It keeps the order of the input
    in each of its three groups (before, equal, behind) and reads the keys about bits / 11 + 2
    times. Otherwise the rows are sorted.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.partition(np.array([7, 1, 5, 3]), 1)
    array([1, 3, 7, 5])
    """
    if axis == -1 and out is None and device is None and nan == "last" and zeros == "tied":
        result = _partition_plain(x, kth, descending, False)
        if result is not None:
            return result
    order = order_of(descending, nan, zeros, None)
    kind, x = kind_of(x)
    if _records.has_fields(x):
        _places(kth, _length(x, axis))
        return _deliver(
            kind.give(_records.sort(x, axis, order, method_of(None, None), device)), out
        )
    rows = Rows(x, axis, order, device, kind=kind)
    places = _places(kth, rows.length)
    result = rows.empty(rows.shape)
    if rows.count and rows.rows == 1 and len(places) == 1:
        rows.place.nth_element(rows.problem(), places[0], rows.keys, result)
    else:
        _sort_rows(rows, method_of(None, None), result)
    return _deliver(rows.restore(rows.code.decode(result)), out)


def argpartition(
    x: Any,
    kth: Any,
    /,
    axis: int | None = -1,
    *,
    descending: bool = False,
    index_dtype: Any = None,
    nan: str = "last",
    zeros: str = "tied",
    device: str | None = None,
) -> Any:
    """Return the positions that partition an array; as `partition`."""
    if axis == -1 and index_dtype is None and device is None and nan == "last" and zeros == "tied":
        result = _partition_plain(x, kth, descending, True)
        if result is not None:
            return result
    order = order_of(descending, nan, zeros, None)
    kind, x = kind_of(x)
    if _records.has_fields(x):
        _places(kth, _length(x, axis))
        return kind.give(
            _records.argsort(x, axis, order, method_of(None, None), device, index_dtype)
        )
    rows = Rows(x, axis, order, device, kind=kind)
    places = _places(kth, rows.length)
    if not (rows.count and rows.rows == 1 and len(places) == 1):
        return rows.restore(rows.local(_argsort_rows(rows, method_of(None, None), index_dtype)))
    dtype = index_dtype_of(index_dtype, rows.count, rows.kind)
    result = rows.empty(rows.shape, dtype)
    problem = rows.problem(payload="positions", value_bytes=int(dtype[-2:]) // 8, keys_out=False)
    rows.place.nth_element(problem, places[0], rows.keys, values_out=result)
    return rows.restore(result)


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    x: Any,
    q: Any,
    /,
    axis: int | None = None,
    *,
    method: str = "linear",
    device: str | None = None,
) -> Any:
    """Return quantiles along an axis, by selection.

    Parameters
    ----------
    x : array of integers or floats
    q : float or floats
        From 0 to 1.
    axis : int or None
        None uses the flattened array.
    method : {'linear', 'lower', 'higher', 'midpoint', 'nearest'}
        How to interpolate between two elements, as in NumPy.

    Returns
    -------
    array
        The shape of q, then that of x without the axis. NaN for rows that have a NaN.

    Raises
    ------
    ValueError
        q is outside of 0 to 1, `method` is unknown, or the axis is empty.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> float(ps.quantile(np.array([1, 2, 3, 4]), 0.25))
    1.75
    """
    if method not in _METHODS:
        raise ValueError(f"method is {method!r}; allowed are {', '.join(map(repr, _METHODS))}")
    fractions = np.asarray(q, np.float64)
    if not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError(f"q is {q!r}; numbers from 0 to 1 are needed")
    if device is None and axis in (None, 0, -1) and fractions.shape == ():
        result = _plain_quantile(x, float(fractions), method)
        if result is not None:
            return result
    rows = Rows(x, axis, order_of(False, "last", "tied", None), device)
    if rows.length == 0:
        raise ValueError("x has no elements along the axis")
    if rows.code.is_coded or rows.dtype.startswith(("datetime", "timedelta", "bool")):
        raise TypeError(f"x has dtype {rows.dtype}; quantiles are of integers and floats")
    at = [f * (rows.length - 1) for f in fractions.ravel().tolist()]
    wanted = sorted({p for a in at for p in (int(a), min(int(a) + 1, rows.length - 1))})
    found = _selected(rows, wanted)
    last = found[rows.length - 1]
    results = [_with_nan(_between(found, a, rows.length, method), last) for a in at]
    return rows.kind.give(_stacked(rows, results, fractions.shape))


def median(x: Any, /, axis: int | None = None, *, device: str | None = None) -> Any:
    """Return the median along an axis, by selection; as `quantile` with q = 0.5."""
    if device is None and axis in (None, 0, -1):
        result = _plain_quantile(x, 0.5, "linear")
        if result is not None:
            return result
    return quantile(x, 0.5, axis, device=device)


def _plain_quantile(x: Any, q: float, method: str) -> Any:
    """A quantile of a plain 1-D array of numbers without NaN; None for others."""
    if type(x) is not np.ndarray or x.ndim != 1 or x.size == 0:
        return None
    at = q * (x.size - 1)
    low, high = int(at), min(int(at) + 1, x.size - 1)
    if at == low:
        high = low
    chosen = _select_plain(x, low, high)
    if chosen is None:
        return None
    return _between({low: chosen[0], high: chosen[1]}, at, x.size, method)


def _selected(rows: Rows, places: list[int]) -> dict:
    """The elements at these places of each sorted row, by place, and the last one: NaN, if there is
    one."""
    last = rows.length - 1
    if rows.rows != 1 or not isinstance(rows.keys, np.ndarray) or len(places) > 2:
        result = rows.empty(rows.shape)
        _sort_rows(rows, method_of(None, None), result)
        result = rows.kind.finish(result)
        return {p: result[..., p] for p in {*places, last}}
    result = rows.empty(rows.shape)
    found = {}
    for p in {*places, last}:
        if p == last:
            found[p] = _greatest(rows.keys)
        elif p - 1 in found:  # the least of those behind
            found[p] = np.min(result[..., p:], axis=-1)
        else:
            rows.place.nth_element(rows.problem(), p, rows.keys, result)
            found[p] = result[..., p].copy()
    return found


def _greatest(keys: np.ndarray) -> Any:
    return keys.max(axis=-1)  # NaN if there is one


def _between(found: dict, at: float, length: int, method: str) -> Any:
    """The element at a place that may lie between two of `found`."""
    low = int(at)
    high = min(low + 1, length - 1)
    if method == "nearest":
        low = high = round(at)  # of two nearest ones the even one, as np.rint
    elif method == "lower" or at == low:
        high = low
    elif method == "higher":
        low = high
    if low == high:
        return found[low]
    weight = 0.5 if method == "midpoint" else at - low
    a, b = found[low], found[high]
    return a + (b - a) * weight if _is_float(a) else a * (1.0 - weight) + b * weight


def _with_nan(result: Any, last: Any) -> Any:
    """The result, or NaN where the last element of a sorted row is NaN."""
    is_nan = last != last
    return result + (last - last) * is_nan if _is_float(last) and bool(is_nan.any()) else result


def _is_float(x: Any) -> bool:
    kind = getattr(x.dtype, "kind", None)  # of NumPy's dtypes; their names take a microsecond
    return kind == "f" if kind in ("i", "u", "f") else "float" in str(x.dtype)


def _stacked(rows: Rows, results: list, shape: tuple) -> Any:
    if shape == ():
        return results[0]
    xp = rows.kind.xp
    return rows.kind.reshape(xp.stack([xp.asarray(r) for r in results]), shape + rows.shape[:-1])


def is_sorted(
    x: Any,
    /,
    *,
    descending: bool = False,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    device: str | None = None,
) -> bool:
    """Return whether a 1-D array is sorted, in the order that `sort` makes. Reads x once.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.is_sorted(np.array([1.0, 2.0, np.nan]))
    True
    """
    rows = _one_row(x, order_of(descending, nan, zeros, bits), device)
    return rows.count < 2 or rows.place.first_unsorted(rows.problem(), rows.keys) == rows.count


_RANKS = ("ordinal", "min", "max", "dense", "average")


def rank(
    x: Any,
    /,
    axis: int | None = -1,
    *,
    method: str = "ordinal",
    descending: bool = False,
    nan: str = "last",
    device: str | None = None,
) -> Any:
    """Return each element's place in the sorted order, counted from 1.

    Parameters
    ----------
    method : {'ordinal', 'min', 'max', 'dense', 'average'}
        The ranks of equal elements, as in SciPy's rankdata: by the order of the input, all the
        first or all the last one's place, places without gaps, or the mean place.

    The other parameters, and errors, are those of `sort`. All NaN tie.

    Returns
    -------
    array of int64 (float64 for 'average')

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.rank(np.array([30, 10, 20, 10]), method="min")
    array([4, 1, 3, 1])
    """
    if method not in _RANKS:
        raise ValueError(f"method is {method!r}; allowed are {', '.join(map(repr, _RANKS))}")
    rows = Rows(x, axis, order_of(descending, nan, "tied", None), device)
    xp = rows.kind.xp
    if xp is None or rows.kind.name == "PyOpenCL":
        raise TypeError(f"x is an array of {rows.kind.name}; rank needs NumPy, CuPy or PyTorch")
    dtype = rows.kind.index_dtype()
    flat = rows.kind.reshape(
        rows.kind.finish(_argsort_rows(rows, method_of(None, None), dtype)), (-1,)
    )
    ranks = rows.kind.finish(rows.empty((rows.count,), dtype))
    if rows.count:
        ranks = rows.kind.put(ranks, flat, _sorted_ranks(rows, xp, flat, method))
    if method == "average":
        ranks = rows.kind.astype(ranks, "float64") / 2.0
    return rows.restore(rows.kind.reshape(ranks, rows.shape))


def _sorted_ranks(rows: Rows, xp: Any, flat: Any, method: str) -> Any:
    """The rank of each record of the sorted rows; for 'average' twice the rank."""
    places = rows.kind.finish(rows.kind.arange(0, rows.count, 1, rows.keys))
    first_of_row = (places // rows.length) * rows.length
    if method == "ordinal":
        return places - first_of_row + 1
    keys = rows.kind.reshape(rows.keys, (-1,))[flat]
    before, after = keys[:-1], keys[1:]
    differ = (before != after) & ((before == before) | (after == after))
    begins = xp.concatenate([places[:1] == 0, differ]) | (places == first_of_row)
    starts = places[begins]
    run = rows.kind.astype(begins, "int64").cumsum(0) - 1
    if method == "dense":
        return run - run[first_of_row] + 1
    least = starts[run] - first_of_row + 1
    if method == "min":
        return least
    ends = xp.concatenate([starts[1:], places[-1:] + 1])
    greatest = ends[run] - first_of_row
    return greatest if method == "max" else least + greatest
