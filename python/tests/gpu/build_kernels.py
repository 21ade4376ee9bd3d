"""Builds the kernels that test_gpu.py's sorts of one dtype need: build_kernels.py DTYPE"""

import sys

import numpy as np

from pysortium import _native, _quick

key = _quick.KEY_TYPES[np.dtype(sys.argv[1]).name]
device = _native.find_device("cuda:0")
for count in (1, 2, 1000, 70001, 1 << 20):
    for descending in (False, True):
        for more in ({}, {"payload": "positions", "value_bytes": 8, "keys_out": False}):
            _native.Plan(device, _native.Problem(key, count, descending=descending, **more))
