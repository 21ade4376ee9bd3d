"""A pytest plugin that runs NumPy's own tests of sorting on pysortium's functions.

test_numpy.py runs them, and lists the tests that do not hold, each with the reason.
"""

import functools

import numpy as np

import pysortium as ps


def _array(x):
    return x if isinstance(x, np.ndarray) else np.asarray(x)


def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    if order is not None or _array(a).dtype.hasobject:
        return _originals["sort"](a, axis, kind, order, stable=stable)
    return _like(a, ps.sort(_array(a), axis))


def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    if order is not None or _array(a).dtype.hasobject:
        return _originals["argsort"](a, axis, kind, order, stable=stable)
    return _like(a, ps.argsort(_array(a), axis))


def partition(a, kth, axis=-1, kind="introselect", order=None):
    return _like(a, ps.partition(_array(a), kth, axis))


def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    return _like(a, ps.argpartition(_array(a), kth, axis))


def searchsorted(a, v, side="left", sorter=None):
    return ps.searchsorted(_array(a), v, side=side, sorter=sorter)


def lexsort(keys, axis=-1):
    return ps.lexsort(keys, axis)


def unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,
):
    x = _array(ar)
    if axis is not None or x.dtype.hasobject:
        return _originals["unique"](
            ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan
        )
    return ps.unique(x, return_index, return_inverse, return_counts, equal_nan=equal_nan)


def _like(a, result):
    """NumPy's functions keep subclasses; pysortium's return arrays."""
    return (
        result.view(type(a)) if isinstance(a, np.ndarray) and type(a) is not np.ndarray else result
    )


_ours = {
    f.__name__: f for f in (sort, argsort, partition, argpartition, searchsorted, lexsort, unique)
}
_originals = {name: getattr(np, name) for name in _ours}
calls = dict.fromkeys(_ours, 0)


def _counted(name, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        calls[name] += 1
        return function(*args, **kwargs)

    return wrapper


def pytest_configure(config):
    for name, function in _ours.items():
        setattr(np, name, _counted(name, function))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line("calls: " + ", ".join(f"{name} {n}" for name, n in calls.items()))
