"""Sorts of PyTorch tensors with gradients, as custom operators: for autograd, `torch.compile` and
autocast.

    >>> import torch, pysortium.torch as pst
    >>> x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    >>> (pst.sort(x) * torch.arange(3.0)).sum().backward()
    >>> x.grad
    tensor([2., 0., 1.])
"""

from __future__ import annotations

from typing import Any

import torch

from . import _sort

__all__ = ["argsort", "sort"]


@torch.library.custom_op("pysortium::sort", mutates_args=())
def _sort_op(x: torch.Tensor, dim: int, descending: bool) -> torch.Tensor:
    return _sort.sort(x.detach(), dim, descending=descending).contiguous()


@torch.library.custom_op("pysortium::argsort", mutates_args=())
def _argsort_op(x: torch.Tensor, dim: int, descending: bool) -> torch.Tensor:
    return _sort.argsort(x.detach(), dim, descending=descending).contiguous()


@_sort_op.register_fake
def _(x: torch.Tensor, dim: int, descending: bool) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@_argsort_op.register_fake
def _(x: torch.Tensor, dim: int, descending: bool) -> torch.Tensor:
    return torch.empty_like(x, dtype=torch.int64, memory_format=torch.contiguous_format)


def _keep_input(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    x, ctx.dim, ctx.descending = inputs
    ctx.save_for_backward(x)


def _gradient(ctx: Any, grad: torch.Tensor) -> tuple:
    """Each key's gradient goes back to where the key came from."""
    (x,) = ctx.saved_tensors
    positions = _argsort_op(x, ctx.dim, ctx.descending)
    return torch.zeros_like(grad).scatter(ctx.dim, positions, grad), None, None


_sort_op.register_autograd(_gradient, setup_context=_keep_input)


def sort(x: torch.Tensor, dim: int = -1, *, descending: bool = False) -> torch.Tensor:
    """Return the sorted elements of a tensor along a dimension, as `pysortium.sort`, with a
    gradient.

    Parameters
    ----------
    x : tensor
        Of at least one dimension, on the CPU or on CUDA.
    dim : int
    descending : bool
        Equal elements keep their order in both directions. NaN come last in both.

    Returns
    -------
    tensor
        Of the shape and dtype of x, contiguous. Autocast leaves the dtype alone.

    Raises
    ------
    TypeError, ValueError
        As `pysortium.sort`.

    Notes
    -----
    The forward call keeps x and no positions. The backward call sorts once more, for the positions,
    and scatters.
    """
    return _sort_op(x, dim, descending)


def argsort(x: torch.Tensor, dim: int = -1, *, descending: bool = False) -> torch.Tensor:
    """Return the positions (int64) that sort a tensor along a dimension; parameters and errors as
    for `sort`.

    Positions have no gradient. Equal elements keep their order.
    """
    return _argsort_op(x.detach(), dim, descending)
