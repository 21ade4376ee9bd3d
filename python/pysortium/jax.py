"""Sorts of JAX arrays with gradients, inside compiled programs: for `jax.jit`, `jax.vmap` and
`jax.grad`.

    >>> import jax, jax.numpy as jnp, pysortium.jax as psj
    >>> jax.jit(psj.sort)(jnp.array([3.0, 1.0, 2.0])).tolist()
    [1.0, 2.0, 3.0]

XLA calls the library through its foreign function interface, on its own stream and with its own
memory, on CPUs and NVIDIA GPUs.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from . import _native
from ._rows import key_type_of, normal_axis

__all__ = ["argsort", "sort"]

if not hasattr(_native, "jax_handlers"):
    raise ImportError(
        "this pysortium was built without jaxlib, whose headers pysortium.jax needs; build it "
        "where jaxlib is installed, or let pip build it with build isolation"
    )
for _platform, _handler in _native.jax_handlers().items():
    jax.ffi.register_ffi_target("pysortium_sort", _handler, platform=_platform)


def _call(x: Any, dtype: Any, descending: bool, positions: bool) -> Any:
    """Sorts the rows of x, which are its last axis. Positions count from the first row's first
    key."""
    run = jax.ffi.ffi_call("pysortium_sort", jax.ShapeDtypeStruct(x.shape, dtype))
    return run(x, descending=descending, positions=positions)


@functools.lru_cache(maxsize=None)
def _sorter(descending: bool, positions: bool) -> Any:
    """Sorts rows: the last axis. Under `vmap`, x has more rows."""

    @jax.custom_batching.custom_vmap
    def rows(x: Any) -> Any:
        if x.size == 0:
            return jnp.zeros(x.shape, jnp.arange(0).dtype if positions else x.dtype)
        if not positions:
            return _call(x, x.dtype, descending, False)
        return _call(x, jnp.arange(0).dtype, descending, True) % x.shape[-1]

    @rows.def_vmap
    def _(axis_size: int, in_batched: list, x: Any) -> tuple:
        return rows(x), True

    return rows


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _sort_rows(x: Any, descending: bool) -> Any:
    return _sorter(descending, False)(x)


@_sort_rows.defjvp
def _(descending: bool, primals: tuple, tangents: tuple) -> tuple:
    positions = _sorter(descending, True)(jax.lax.stop_gradient(primals[0]))
    return tuple(jnp.take_along_axis(v[0], positions, -1) for v in (primals, tangents))


def _along(axis: int, x: Any, work: Any) -> Any:
    """`work` on x with `axis` as its last one, and back."""
    x = jnp.asarray(x)
    axis = normal_axis(axis, x.ndim)
    key_type_of(str(x.dtype))
    if x.size > 2**31 - 1 and jnp.arange(0).dtype.itemsize < 8:
        raise ValueError(
            f"x has {x.size} elements; more than 2^31 - 1 need jax_enable_x64, for their positions"
        )
    return jnp.moveaxis(work(jnp.moveaxis(x, axis, -1)), -1, axis)


def sort(x: Any, axis: int = -1, *, descending: bool = False) -> Any:
    """Return the sorted elements of an array along an axis, as `pysortium.sort`, with a gradient.

    Parameters
    ----------
    x : array
        Of at least one dimension; bool, integers, float16, bfloat16, float32 or float64.
    axis : int
    descending : bool
        Equal elements keep their order in both directions. NaN come last in both.

    Returns
    -------
    jax.Array
        Of the shape and dtype of x.

    Raises
    ------
    TypeError
        Elements of this dtype cannot be sorted.
    ValueError
        x has no such axis, or too many elements for positions of 32 bits.

    Notes
    -----
    Rows and batches are sorted in one set of launches. The gradient needs a second sort, for the
    positions. An array that is divided among devices is gathered first.
    """
    return _along(axis, x, lambda rows: _sort_rows(rows, bool(descending)))


def argsort(x: Any, axis: int = -1, *, descending: bool = False) -> Any:
    """Return the positions that sort an array along an axis; parameters and errors as for `sort`.

    Positions are int32, or int64 with jax_enable_x64. They have no gradient. Equal elements keep
    their order.
    """
    rows = _sorter(bool(descending), True)
    return _along(axis, jax.lax.stop_gradient(x), rows)
