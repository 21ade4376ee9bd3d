"""NumPy's own tests of sorting, partitions, searches and sets, run on pysortium's functions by
numpy_own.py."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = [
    "numpy._core.tests.test_multiarray",
    "numpy._core.tests.test_datetime",
    "numpy._core.tests.test_half",
    "numpy.lib.tests.test_arraysetops",
    "numpy.lib.tests.test_function_base",
]
NAMES = (
    "sort or partition or unique or search or setdiff or intersect or union or isin or Lexsort or "
    "median or "
    "percentile"
)

# Tests that do not hold, by their names, and why.
EXCEPTIONS = {
    r"longdouble|TestSortComplex|test_unique_1d|test_unique_zero_sized|test_unique_axis": (
        "longdouble is not sorted"
    ),
    r"TestZeroSizeFlexible": "an unstructured void is not sorted",
    r"TestMethods::test_sort$|TestMethods::test_argsort$": (
        "the plugin ignores `kind`, and NumPy checks its spelling"
    ),
    r"test_partition$": "the plugin ignores `kind`, and NumPy checks its spelling",
    r"test_partition_iterative": "demands NumPy's own order on both sides of the kth element",
    r"test_partition_cdtype": "partition by `order=`, which sort_by is for",
    r"TestLexsort::test_object|TestLexsort::test_strings|vstring": (
        "Python objects and StringDType are not sorted"
    ),
    r"test_c_func_dispatcher_signature": "about NumPy's C functions",
    r"test_unique_subclass|test_unique_masked": "results are arrays, not of subclasses",
}


@pytest.mark.skipif(
    not os.environ.get("SORTIUM_TEST_FULL"), reason="takes a minute: only among the slow tests"
)
def test_numpys_own_tests():
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{here}"}
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "numpy_own",
            "-p",
            "no:cacheprovider",
            "--tb=line",
            "-W",
            "ignore",
            "--pyargs",
            *MODULES,
            "-k",
            NAMES,
        ],
        env=environment,
        cwd=here.root,
        capture_output=True,
        text=True,
    )
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    unexpected = [f for f in failed if not any(re.search(e, f) for e in EXCEPTIONS)]
    assert not unexpected, run.stdout[-5000:]
    assert run.returncode in (0, 1), run.stderr[-3000:]
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None and int(passed[1]) > 5000, run.stdout[-5000:]
    calls = dict(
        re.findall(r"(\w+) (\d+)", re.search(r"^calls: (.*)$", run.stdout, re.MULTILINE)[1])
    )
    assert all(int(n) > 10 for n in calls.values()), calls
