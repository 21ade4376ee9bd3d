"""Threads that share arrays, plans and everything else; with and without a GIL."""

import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest

import pysortium as ps


def at_once(number, work):
    """Runs `work` in threads that begin together. Raises what a thread raised."""
    barrier = threading.Barrier(number, timeout=60)
    failures = []

    def run(thread):
        barrier.wait()
        try:
            work(thread)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(t,)) for t in range(number)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("count", [100, 3000, 50000])
def test_threads_share_everything(count):
    x = np.random.default_rng(0).integers(0, count // 2, count).astype("f8")
    order = np.argsort(x, kind="stable")
    plan = ps.Plan("float64", count, payload="positions")

    def work(thread):
        for _ in range(5):
            np.testing.assert_array_equal(ps.argsort(x), order)
            np.testing.assert_array_equal(ps.sort(x), x[order])
            np.testing.assert_array_equal(plan.run(x)[1], order)
            np.testing.assert_array_equal(ps.unique(x), np.unique(x))
            np.testing.assert_array_equal(
                ps.searchsorted(x[order], x), np.searchsorted(x[order], x)
            )
            keys, (values,) = ps.sort_pairs(x, order)
            np.testing.assert_array_equal(values, order[order])
            np.testing.assert_array_equal(ps.topk(x, 5).values, x[order][::-1][:5])
            np.testing.assert_array_equal(ps.sort_by({"a": x}, "a")["a"], x[order])

    at_once(8, work)


def test_the_first_calls_of_a_process():
    """What is made at first use is made once, although threads need it at the same time."""
    code = (
        "import threading, numpy as np, pysortium as ps\n"
        "x = np.random.default_rng(0).random(5000); barrier = threading.Barrier(8); right = []\n"
        "def work():\n"
        "    barrier.wait()\n"
        "    right.append((ps.sort(x) == np.sort(x)).all() and (ps.topk(x, 3).indices >= 0).all()\n"
        "                 and len(ps.algorithms()) > 0 and ps.Plan('f8', 9).scratch_bytes >= 0)\n"
        "threads = [threading.Thread(target=work) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert right == [True] * 8, right\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is built with a GIL"
)
def test_the_gil_stays_off():
    """Python turns the GIL on when it imports a module that does not declare to work without."""
    code = "import sys, pysortium; assert not sys._is_gil_enabled()"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
