"""bench, and the processes around the module: fork and import without drivers."""

import os
import signal
import subprocess
import sys
import threading
import xml.etree.ElementTree

import numpy as np
import pytest

import pysortium as ps


def test_bench():
    found = ps.bench((16, 300), ("u4", "f8"), seconds=0.001)
    assert len(found.timings) == 8 and all(t.seconds > 0 for t in found.timings)
    assert str(found).count("\n") == 8
    page = xml.etree.ElementTree.fromstring(f"<body>{found._repr_html_()}</body>")
    assert len(page.findall(".//tr")) == 9
    assert len(page.findall(".//polyline")) == 8


def test_fork_after_import_and_after_sorts():
    x = np.random.default_rng(0).random(200000)
    expected = np.sort(x)
    for _ in range(3):
        assert np.array_equal(ps.sort(x), expected)  # starts threads, which a child does not have
        child = os.fork()
        if child == 0:
            os._exit(
                0
                if np.array_equal(ps.sort(x), expected)
                and np.array_equal(x[ps.argsort(x)], expected)
                else 1
            )
        assert os.waitpid(child, 0)[1] == 0


def test_import_opens_no_driver():
    code = (
        "import pysortium, numpy; pysortium.sort(numpy.arange(100000.0)[::-1]);"
        "maps = open('/proc/self/maps').read(); assert 'libcuda' not in maps and 'libOpenCL' not "
        "in maps"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_interrupts_arrive():
    """Between the sorts of a program."""
    code = (
        "import os, signal, threading, time, numpy, pysortium\n"
        "x = numpy.random.default_rng(0).random(2_000_000)\n"
        "threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    while True: pysortium.argsort(x)\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout == "interrupted\n"


def test_signals_during_a_long_sort():
    """Handlers run while the sort goes on, and one that raises ends it."""
    x = np.random.default_rng(0).random(1 << 24)
    ends = threading.Event()
    calls = []

    def handle(*_):
        calls.append(len(calls))
        if ends.is_set():
            raise KeyboardInterrupt

    def sort():
        return ps.argsort(x)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        found = sort()
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert ps.is_sorted(x[found])
        assert len(calls) > 1  # were they to wait for the end, they would be one
        ends.set()
        with pytest.raises(KeyboardInterrupt):  # also if the machine is slow: before the sort
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            sort()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
