"""Sorting on NVIDIA GPUs, OpenCL devices and the host's cores, for NumPy, CuPy, PyTorch, JAX, Numba
and PyOpenCL.

    >>> import numpy as np, pysortium as ps
    >>> ps.sort(np.array([3, 1, 2]))
    array([1, 2, 3])
"""

from ._bench import BenchResult, bench
from ._devices import (
    AlgorithmInfo,
    BackendInfo,
    DeviceInfo,
    Plan,
    SelfTest,
    VersionInfo,
    __version__,
    algorithms,
    backends,
    devices,
    self_test,
    version_info,
    warnings,
)
from ._native import DeviceError
from ._records import lexsort, sort_by
from ._select import argpartition, is_sorted, median, partition, quantile, rank
from ._sets import (
    UniqueAll,
    UniqueCounts,
    UniqueInverse,
    merge,
    searchsorted,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from ._sort import SortedPairs, argsort, argsort_segments, sort, sort_pairs, sort_segments
from ._topk import TopK, argtopk, topk

DeviceError.__module__ = "pysortium"

__all__ = [
    "AlgorithmInfo",
    "BackendInfo",
    "BenchResult",
    "DeviceError",
    "DeviceInfo",
    "Plan",
    "SelfTest",
    "SortedPairs",
    "TopK",
    "UniqueAll",
    "UniqueCounts",
    "UniqueInverse",
    "VersionInfo",
    "__version__",
    "algorithms",
    "argpartition",
    "argsort",
    "argsort_segments",
    "argtopk",
    "backends",
    "bench",
    "devices",
    "is_sorted",
    "lexsort",
    "median",
    "merge",
    "partition",
    "quantile",
    "rank",
    "searchsorted",
    "self_test",
    "sort",
    "sort_by",
    "sort_pairs",
    "sort_segments",
    "topk",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "version_info",
    "warnings",
]
