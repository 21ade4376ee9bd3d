"""Arrow tables, by pyarrow, which reads any producer's PyCapsules without a copy."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ._rows import Order


def sort_by(table: Any, argsort: Callable[[dict], np.ndarray], by: list[tuple[str, Order]]) -> Any:
    """The table's rows in the order of columns. `argsort` takes NumPy arrays by name. Returns a
    pyarrow.Table, or the
    kind of the caller's if it has `from_arrow`."""
    try:
        import pyarrow as pa
    except ImportError:
        raise TypeError(f"table is a {type(table).__name__}; Arrow tables need pyarrow") from None
    rows = (
        pa.table(table)
        if hasattr(table, "__arrow_c_stream__")
        else pa.Table.from_batches([pa.record_batch(table)])
    )
    views = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    for i, field in enumerate(rows.schema):  # Arrow takes no rows of views
        if str(field.type) in views:
            rows = rows.set_column(i, field.name, rows.column(i).cast(views[str(field.type)]))
    columns = {}
    for name, _ in by:
        if rows.column_names.count(name) != 1:
            raise ValueError(
                f"by has {name!r}; the columns are {', '.join(map(repr, rows.column_names))}"
            )
        columns[name] = _keys(rows.column(name), name, pa)
    result = rows.take(pa.array(argsort(columns)))
    give = getattr(type(table), "from_arrow", None)
    return result if give is None else give(result)


def _keys(column: Any, name: str, pa: Any) -> np.ndarray:
    """A column as a NumPy array. TypeError if it has nulls, or no dtype that can be sorted."""
    if column.null_count:
        raise TypeError(
            f"table[{name!r}] has {column.null_count} nulls, which have no order here; fill or "
            f"drop them"
        )
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array([s.encode() for s in column.to_pylist()] or [b""][:0], "S")
    if pa.types.is_dictionary(kind):
        return _keys(column.cast(kind.value_type), name, pa)
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], kind)
    return array.to_numpy(zero_copy_only=False)
