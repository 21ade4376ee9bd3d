"""Keys of several fields in host memory: complex numbers, strings, structured arrays, tables."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _native
from ._kinds import NUMPY
from ._places import HostPlace, Method
from ._rows import Code, Order, code_of, index_dtype_of, normal_axis

_lexsort_plain: Any = _native.lexsort_plain

_FIELDS_AT_ONCE = 32  # of a key
_STRING_BYTES = 32  # of a field
_ELEMENT_BYTES = 256  # of a column
_COLUMNS = 64  # of a sort


def has_fields(x: Any) -> bool:
    """True for a NumPy array of complex numbers, strings or records, but not for ml_dtypes'
    bfloat16."""
    return isinstance(x, np.ndarray) and (x.dtype.kind in "SUc" or x.dtype.names is not None)


class KeyColumn(NamedTuple):
    """A contiguous array, and the fields of its elements, the most significant first."""

    array: np.ndarray
    fields: list  # keyword arguments of _native.Field, without `column`


def _columns(x: np.ndarray, order: Order, argument: str) -> list[KeyColumn]:
    """The key columns of a 1-D array."""
    if x.dtype.names is not None:
        return [
            c for name in x.dtype.names for c in _columns(x[name], order, f"{argument}[{name!r}]")
        ]
    if x.ndim > 1:  # a field that is an array
        rest = x.reshape(len(x), -1)
        return [c for i in range(rest.shape[1]) for c in _columns(rest[:, i], order, argument)]
    if x.dtype.kind == "S":
        return _byte_columns(x, order)
    if x.dtype.kind == "U":
        return _text_columns(x, order)
    if x.dtype.kind == "c":
        return _complex_columns(x, order, argument)
    code = code_of(NUMPY, x, order, argument)
    return [KeyColumn(code.encode(NUMPY.compact(x)), [_number_field(code, order)])]


def _number_field(code: Code, order: Order) -> dict:
    return {
        "type": code.key,
        "descending": code.descending,
        "nan": order.nan,
        "zeros": order.zeros,
        "begin_bit": order.begin_bit,
        "end_bit": order.end_bit,
    }


def _byte_columns(x: np.ndarray, order: Order) -> list[KeyColumn]:
    """Strings of bytes, in pieces that are a column each. NumPy's order is that of memcmp: zeros
    fill the rest."""
    width = x.dtype.itemsize
    pieces = np.ascontiguousarray(x).view(np.uint8).reshape(len(x), width)
    columns = []
    for begin in range(0, width, _ELEMENT_BYTES):
        piece = np.ascontiguousarray(pieces[:, begin : begin + _ELEMENT_BYTES])
        fields = [
            {
                "type": "bytes",
                "offset": at,
                "bytes": min(_STRING_BYTES, piece.shape[1] - at),
                "descending": order.descending,
            }
            for at in range(0, piece.shape[1], _STRING_BYTES)
        ]
        columns.append(KeyColumn(piece, fields))
    return columns


def _text_columns(x: np.ndarray, order: Order) -> list[KeyColumn]:
    """Strings of UCS-4. Only bits that some character has are compared."""
    points = np.ascontiguousarray(x, x.dtype.newbyteorder("=")).view(np.uint32).reshape(len(x), -1)
    bits = int(points.max(initial=1)).bit_length()
    width = _ELEMENT_BYTES // 4
    columns = []
    for begin in range(0, points.shape[1], width):
        piece = np.ascontiguousarray(points[:, begin : begin + width])
        fields = [
            {"type": "u32", "offset": 4 * i, "descending": order.descending, "end_bit": bits}
            for i in range(piece.shape[1])
        ]
        columns.append(KeyColumn(piece, fields))
    return columns


def _complex_columns(x: np.ndarray, order: Order, argument: str) -> list[KeyColumn]:
    """By the real part, then by the imaginary one. NaN as NumPy has them: R + nanj, nan + Rj, nan +
    nanj."""
    part = {8: "f32", 16: "f64"}.get(x.dtype.itemsize)
    if part is None:
        raise TypeError(
            f"{argument} has dtype {x.dtype}, which cannot be sorted; complex64 and complex128 can"
        )
    field = {"type": part, "descending": order.descending, "zeros": order.zeros}
    size = x.dtype.itemsize // 2
    parts = KeyColumn(
        np.ascontiguousarray(x, x.dtype.newbyteorder("=")), [field, {**field, "offset": size}]
    )
    nans = (2 * np.isnan(x.real) + np.isnan(x.imag)).astype(np.uint8)
    return (
        [KeyColumn(nans, [{"type": "u8", "descending": order.nan == "first"}]), parts]
        if nans.any()
        else [parts]
    )


def _groups(columns: list[KeyColumn]) -> list[list[KeyColumn]]:
    """The columns in groups of as many fields as one sort takes, the most significant group
    first."""
    groups: list[list[KeyColumn]] = [[]]
    room = _FIELDS_AT_ONCE
    for array, fields in columns:
        while fields:
            if room == 0:
                groups.append([])
                room = _FIELDS_AT_ONCE
            groups[-1].append(KeyColumn(array, fields[:room]))
            room, fields = room - len(groups[-1][-1].fields), fields[room:]
    return groups


def _argsort_group(
    group: list[KeyColumn], count: int, dtype: str, place: HostPlace, method: Method
) -> np.ndarray:
    fields = [
        _native.Field(column=i, **field)
        for i, column in enumerate(group)
        for field in column.fields
    ]
    columns = [_native.Column(NUMPY.element_bytes(c.array), "no") for c in group]
    positions = np.empty(count, dtype)
    problem = {
        "count": count,
        "columns": columns,
        "key": fields,
        "position_bytes": positions.itemsize,
    }
    place.sort_records(problem, method, [c.array for c in group], [], positions)
    return positions


def argsort_columns(
    columns: list[KeyColumn], count: int, dtype: str, device: str | None, method: Method
) -> np.ndarray:
    """The positions that sort rows of columns; the sort is stable."""
    if not columns or count < 2:
        return np.arange(count, dtype=dtype)
    place = NUMPY.place(None, device)
    positions = None
    for group in reversed(_groups(columns)):
        if positions is not None:
            group = [KeyColumn(take(c.array, positions), c.fields) for c in group]
        here = _argsort_group(group, count, dtype, place, method)
        positions = here if positions is None else positions[here]
    assert positions is not None
    return positions


def take(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """x[positions], copied by all cores if x's elements have at most 256 bytes."""
    size = _element_bytes(x)
    if size is None or len(positions) == 0:
        return x[positions]
    source = np.ascontiguousarray(x)
    result = np.empty((len(positions), *x.shape[1:]), x.dtype)
    _native.gather(
        len(positions),
        size,
        positions.itemsize,
        len(x),
        source.ctypes.data,
        positions.ctypes.data,
        result.ctypes.data,
    )
    return result


def argsort(
    x: np.ndarray,
    axis: int | None,
    order: Order,
    method: Method,
    device: str | None,
    index_dtype: Any,
) -> np.ndarray:
    """Positions of sorted strings or records along an axis."""
    if axis is None:
        x, axis = x.reshape(-1), -1
    axis = normal_axis(axis, x.ndim)
    dtype = index_dtype_of(index_dtype, x.size, NUMPY)
    moved = np.moveaxis(x, axis, -1)
    result = np.empty(moved.shape, dtype)
    if moved.size:
        for row, positions in zip(
            moved.reshape(-1, moved.shape[-1]), result.reshape(-1, moved.shape[-1])
        ):
            positions[:] = argsort_columns(
                _columns(row, order, "x"), len(row), dtype, device, method
            )
    return np.ascontiguousarray(np.moveaxis(result, -1, axis))


def sort(
    x: np.ndarray, axis: int | None, order: Order, method: Method, device: str | None
) -> np.ndarray:
    """Sorted strings or records along an axis."""
    if axis is None:
        x, axis = x.reshape(-1), -1
    if x.ndim == 1 and x.dtype.names is not None:
        rows = _sort_rows(x, [(name, order) for name in x.dtype.names], device, method)
        if rows is not None:
            return rows
    positions = argsort(x, axis, order, method, device, None)
    return take(x, positions) if x.ndim == 1 else np.take_along_axis(x, positions, axis)


def _field_of(dtype: np.dtype, order: Order, argument: str) -> dict | None:
    """Keyword arguments of _native.Field, by which elements are sorted as they are. None if they
    must be encoded first."""
    if dtype.kind == "S" and 0 < dtype.itemsize <= _STRING_BYTES:
        return {"type": "bytes", "bytes": dtype.itemsize, "descending": order.descending}
    if dtype.kind in "biufmM" and dtype.isnative:
        code = code_of(NUMPY, np.empty(0, dtype), order, argument)
        return None if code.is_coded else _number_field(code, order)
    return None


def _fields_of_rows(dtype: np.dtype, by: list[tuple[str, Order]]) -> list | None:
    """The fields of records that are sorted as they are; None if one must be encoded first."""
    fields = []
    for name, order in by:
        element, offset = dtype.fields[name][:2]  # type: ignore[index]
        field = _field_of(element, order, f"table[{name!r}]")
        if field is None:
            return None
        fields.append({"offset": offset, **field})
    return fields if 0 < len(fields) <= _FIELDS_AT_ONCE else None


def _sort_columns(
    columns: dict[str, np.ndarray], by: list[tuple[str, Order]], device: str | None
) -> dict | None:
    """The columns of a table in the order of some of them, by one sort. None if the columns do not
    allow that."""
    sizes = [_element_bytes(c) for c in columns.values()]
    count = len(next(iter(columns.values())))
    if count < 2 or len(columns) > _COLUMNS or len(by) > _FIELDS_AT_ONCE or None in sizes:
        return None
    places = {name: i for i, name in enumerate(columns)}
    key = []
    for name, order in by:
        column = columns[name]
        field = _field_of(column.dtype, order, f"table[{name!r}]") if column.ndim == 1 else None
        if field is None:
            return None
        key.append(_native.Field(column=places[name], **field))
    sources = [np.ascontiguousarray(c) for c in columns.values()]
    results = [np.empty(c.shape, c.dtype) for c in sources]
    problem = {
        "count": count,
        "columns": [_native.Column(size, "out") for size in sizes],
        "key": key,
        "position_bytes": 0,
    }
    NUMPY.place(None, device).sort_records(problem, Method(), sources, results)
    return dict(zip(columns, results))


def _element_bytes(x: np.ndarray) -> int | None:
    """The bytes of x[0]; None if a sort of records cannot move it."""
    size = x.dtype.itemsize * int(np.prod(x.shape[1:], dtype=np.int64))
    return size if 0 < size <= _ELEMENT_BYTES and not x.dtype.hasobject else None


def _sort_rows(
    x: np.ndarray, by: list[tuple[str, Order]], device: str | None, method: Method
) -> np.ndarray | None:
    """The records of a 1-D structured array in the order of some fields, moved as a whole. None if
    the records or the fields do not allow that."""
    if x.dtype.hasobject or x.dtype.itemsize > _ELEMENT_BYTES or len(x) < 2:
        return None
    fields = _fields_of_rows(x.dtype, by)
    if fields is None:
        return None
    source = np.ascontiguousarray(x)
    result = np.empty(len(x), x.dtype)
    problem = {
        "count": len(x),
        "columns": [_native.Column(x.dtype.itemsize, "out")],
        "key": [_native.Field(column=0, **field) for field in fields],
        "position_bytes": 0,
    }
    NUMPY.place(None, device).sort_records(problem, method, [source], [result])
    return result


# --------------------------------------------------------------------------------------------------
# Tables


def lexsort(
    keys: Any, /, axis: int = -1, *, index_dtype: Any = None, device: str | None = None
) -> np.ndarray:
    """Return the positions that sort by several keys, the last one first, as NumPy's lexsort.

    Parameters
    ----------
    keys : sequence of arrays, or 2-D array
        Arrays in host memory of one shape. The last one is the primary key.
    axis : int
        The axis to sort along.
    index_dtype : dtype, optional
        int64, int32, uint32 or uint64.
    device : str, optional
        As for `sort`.

    Returns
    -------
    numpy.ndarray
        Positions; equal rows keep their order.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> ps.lexsort((np.array([9, 4, 0]), np.array([1, 1, 0])))
    array([2, 1, 0])
    """
    if device is None and index_dtype is None and type(keys) is tuple and axis in (0, -1):
        result = _lexsort_plain(keys)
        if result is not None:
            return result
    arrays = [np.asarray(k) for k in keys]
    if not arrays:
        raise TypeError("keys is empty; at least one array is needed")
    for i, a in enumerate(arrays):
        if a.shape != arrays[0].shape:
            raise ValueError(
                f"keys[{i}] has shape {a.shape}, and keys[0] has {arrays[0].shape}; equal ones are "
                f"needed"
            )
    if arrays[0].ndim == 0:
        return np.zeros((), np.int64)
    axis = normal_axis(axis, arrays[0].ndim)
    dtype = index_dtype_of(index_dtype, arrays[0].size, NUMPY)
    moved = [np.moveaxis(a, axis, -1) for a in reversed(arrays)]
    result = np.empty(moved[0].shape, dtype)
    if result.size:
        length = result.shape[-1]
        flat = [m.reshape(-1, length) for m in moved]
        for row, positions in enumerate(result.reshape(-1, length)):
            columns = [
                c
                for i, k in enumerate(flat)
                for c in _columns(k[row], Order(), f"keys[{len(flat) - 1 - i}]")
            ]
            positions[:] = argsort_columns(columns, length, dtype, device, Method())
    return np.ascontiguousarray(np.moveaxis(result, -1, axis))


_BY = re.compile(r"^(?P<name>.*?)(?P<words>(?::(?:asc|desc|nan_first|nan_last))*)$", re.DOTALL)


def _parse_by(by: str | Sequence[str]) -> list[tuple[str, Order]]:
    parsed = []
    for text in [by] if isinstance(by, str) else by:
        if not isinstance(text, str):
            raise TypeError(f"by has {text!r}; strings such as 'mass:desc' are needed")
        match = _BY.match(text)
        assert match is not None
        words = match["words"].split(":")[1:]
        parsed.append(
            (match["name"], Order("desc" in words, "first" if "nan_first" in words else "last"))
        )
    if not parsed:
        raise ValueError("by is empty; at least one column is needed")
    return parsed


def sort_by(table: Any, by: str | Sequence[str], *, device: str | None = None) -> Any:
    """Return the rows of a table in the order of some of its columns.

    Parameters
    ----------
    table : dict of arrays, structured array, or Arrow table
        Columns of equal length. A dict's arrays may have more dimensions behind the first. Arrow:
        anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``; needs pyarrow.
    by : str or sequence of str
        Columns, the primary one first: "mass", "mass:desc", "mass:desc:nan_first".
    device : str, optional
        As for `sort`.

    Returns
    -------
    dict, structured array or Arrow table
        As `table`. Rows that are equal in `by` keep their order.

    Raises
    ------
    TypeError
        `table` is no table, or a column of `by` cannot be sorted.
    ValueError
        There is no such column, or columns differ in length.

    Examples
    --------
    >>> import numpy as np, pysortium as ps
    >>> table = {"mass": np.array([1.0, 2.0, 2.0]), "id": np.array([7, 9, 5])}
    >>> ps.sort_by(table, by=["mass:desc", "id"])["id"]
    array([5, 9, 7])
    """
    if isinstance(table, np.ndarray) and table.dtype.names is not None:
        if table.ndim != 1:
            raise ValueError(f"table has shape {table.shape}; one dimension is needed")
        columns = {name: table[name] for name in table.dtype.names}
        parsed = _parse_by(by)
        _check_names(parsed, columns)
        rows = _sort_rows(table, parsed, device, Method())
        if rows is not None:
            return rows
        return take(table, _argsort_table(columns, parsed, device))
    if isinstance(table, dict):
        columns = {name: np.asarray(c) for name, c in table.items()}
        lengths = {name: len(c) if c.ndim else None for name, c in columns.items()}
        if len(set(lengths.values())) > 1 or None in lengths.values():
            raise ValueError(f"table has columns of lengths {lengths}; equal ones are needed")
        parsed = _parse_by(by)
        _check_names(parsed, columns)
        result = _sort_columns(columns, parsed, device)
        if result is not None:
            return result
        positions = _argsort_table(columns, parsed, device)
        return {name: take(c, positions) for name, c in columns.items()}
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        from . import _arrow

        return _arrow.sort_by(
            table, lambda columns: _argsort_table(columns, _parse_by(by), device), _parse_by(by)
        )
    raise TypeError(
        f"table is a {type(table).__name__}; a dict of arrays, a structured array or an Arrow "
        f"table is "
        "needed"
    )


def _check_names(by: list[tuple[str, Order]], table: dict) -> None:
    for name, _ in by:
        if name not in table:
            raise ValueError(f"by has {name!r}; the columns are {', '.join(map(repr, table))}")


def _argsort_table(table: dict, by: list[tuple[str, Order]], device: str | None) -> np.ndarray:
    _check_names(by, table)
    columns = []
    for name, order in by:
        columns += _columns(table[name], order, f"table[{name!r}]")
    count = len(next(iter(table.values()))) if table else 0
    dtype = "uint32" if count < 2**32 else "uint64"
    return argsort_columns(columns, count, dtype, device, Method())
