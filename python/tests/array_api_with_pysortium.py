"""A namespace for data-apis/array-api-tests: these functions from pysortium, all others from
array-api-strict.

    git clone --recursive https://github.com/data-apis/array-api-tests && cd array-api-tests
    export PYTHONPATH=…/build/python:…/python/tests
    export ARRAY_API_TESTS_MODULE=array_api_with_pysortium
    python -m pytest \\
        array_api_tests/test_sorting_functions.py array_api_tests/test_searching_functions.py \\
        array_api_tests/test_set_functions.py array_api_tests/test_signatures.py
"""

import array_api_strict as _strict
from array_api_strict import *  # noqa: F403
from array_api_strict import __array_api_version__  # noqa: F401

from pysortium import (  # noqa: F401
    argsort,
    searchsorted,
    sort,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)


def __getattr__(name):
    return getattr(_strict, name)
