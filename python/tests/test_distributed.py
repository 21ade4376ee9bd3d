"""pysortium.distributed over threads with a communicator of the test, MPI, torch.distributed."""

import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import distributed_ranks
import pysortium.distributed as psd

PROGRAM = distributed_ranks.__file__


class Threads(psd.Communicator):
    """A rank that is a thread. `group` has a barrier and a list with an element for each rank."""

    def __init__(self, group, rank):
        self.group, self._rank = group, rank

    @property
    def rank(self):
        return self._rank

    @property
    def size(self):
        return len(self.group.posted)

    def all_gather(self, mine):
        self.group.posted[self.rank] = mine
        self.group.barrier.wait()
        result = b"".join(self.group.posted)
        self.group.barrier.wait()
        return result

    def exchange(self, send, send_bytes, receive, receive_bytes):
        self.group.posted[self.rank] = psd._pieces(send, send_bytes)
        self.group.barrier.wait()
        for to, pieces in zip(psd._pieces(receive, receive_bytes), self.group.posted):
            to[:] = pieces[self.rank]
        self.group.barrier.wait()


class Group:
    def __init__(self, size):
        self.barrier = threading.Barrier(size, timeout=60)
        self.posted = [None] * size


def run_threads(size, work):
    """Calls work(communicator) on each rank. Returns the exceptions, None where there is none."""
    group, failures = Group(size), [None] * size

    def run(rank):
        try:
            work(Threads(group, rank))
        except Exception as e:
            failures[rank] = e

    threads = [threading.Thread(target=run, args=(r,)) for r in range(size)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return failures


@pytest.mark.parametrize("size", [1, 2, 5])
def test_threads(size):
    failures = run_threads(size, lambda ranks: distributed_ranks.check(ranks, ranks.rank, size))
    assert failures == [None] * size


@pytest.mark.parametrize("size", [1, 3])
def test_run_ranks(size):
    results = psd.run_ranks(
        size, lambda ranks: distributed_ranks.check(ranks, ranks.rank, size) or ranks.rank
    )
    assert results == list(range(size))


def test_run_ranks_raises_what_a_rank_raised():
    kept = []

    def work(ranks):
        kept.append(ranks)
        if ranks.rank == 1:
            raise KeyError("rank 1 has gone")
        psd.sort(np.arange(5), ranks)

    with pytest.raises(KeyError, match="rank 1 has gone"):
        psd.run_ranks(3, work)
    with pytest.raises(ValueError, match="run_ranks.. has ended"):
        kept[0].all_gather(b"")
    with pytest.raises(ValueError, match="ranks is 0"):
        psd.run_ranks(0, work)


def sort_in_device_memory(ranks, x):
    """Sorts x, and finds global positions, in the memory of cpu:0, which is that of the host."""
    native = psd._native
    queue = native.find_device("cpu:0").make_queue()
    problem = native.Problem(
        key="u32", count=len(x), payload="positions", value_bytes=8, descending=True
    )
    keys, positions = np.empty_like(x), np.empty(len(x), "u8")
    memory = [native.Memory(a.ctypes.data, 0, a.nbytes) for a in (x, keys, positions)]
    native.distributed_sort_on_device(
        ranks, queue, problem, "auto", 0, 0, False, *memory[:2], native.Memory(), memory[2]
    )
    return keys, positions


def test_device_memory():
    x = np.random.default_rng(3).integers(0, 300, 9000).astype("u4")
    order = np.argsort(-x.astype("i8"), kind="stable")

    def work(ranks):
        return sort_in_device_memory(ranks, x[ranks.rank * 3000 : (ranks.rank + 1) * 3000])

    for results in (psd.run_ranks(3, work), collect(3, work)):
        np.testing.assert_array_equal(np.concatenate([k for k, _ in results]), x[order])
        np.testing.assert_array_equal(np.concatenate([p for _, p in results]), order)


def collect(size, work):
    """work's results on ranks of a communicator of the test."""
    results = [None] * size

    def keep(ranks):
        results[ranks.rank] = work(ranks)

    assert run_threads(size, keep) == [None] * size
    return results


def test_nccl_names_what_is_missing():
    with pytest.raises(ValueError, match="rank 0 of 1: device is cpu:0; NCCL needs one of CUDA"):
        psd.nccl_communicator(Threads(Group(1), 0), "cpu:0")


def test_exceptions_of_the_communicator():
    class Broken(Threads):
        def exchange(self, *_):
            raise KeyError("the cable is cut")

    x = np.arange(100)[::-1].copy()
    group = Group(1)
    with pytest.raises(KeyError, match="the cable is cut"):
        psd.sort(x, Broken(group, 0))
    assert (x == np.arange(100)[::-1]).all()


def test_wrong_arguments():
    alone = Threads(Group(1), 0)
    with pytest.raises(TypeError, match="communicator is a str"):
        psd.sort(np.arange(3), "MPI")
    with pytest.raises(ValueError, match="balance is 'odd'"):
        psd.sort(np.arange(3), alone, balance="odd")
    with pytest.raises(ValueError, match="one dimension"):
        psd.sort(np.zeros((2, 2)), alone)
    with pytest.raises(TypeError, match="complex128"):
        psd.sort_by({"x": np.zeros(2, complex)}, "x", alone)
    with pytest.raises(ValueError, match="by has 'y'"):
        psd.sort_by({"x": np.zeros(2)}, "y", alone)
    with pytest.raises(ValueError, match="'bitonic-local', which leaves several sorted runs"):
        psd.sort(np.arange(3), alone, algorithm="bitonic-local")


def mpirun(ranks, mode):
    pytest.importorskip("mpi4py.MPI", exc_type=ImportError)
    program = shutil.which("mpirun")
    assert program is not None, "mpi4py is here, but no mpirun (Debian: openmpi-bin)"
    environment = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }
    return subprocess.run(
        [program, "-n", str(ranks), sys.executable, PROGRAM, mode],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("ranks", [2, 3])
def test_mpi(ranks):
    result = mpirun(ranks, "mpi")
    # Not "passed\n": the ends of lines of several ranks may follow one another.
    assert result.stdout.count("passed") == ranks, result.stdout + result.stderr
    assert result.returncode == 0, result.stderr


def test_late_rank_is_a_timeout():
    result = mpirun(3, "late")
    assert result.stdout.count("of 3 had no answer from all others within 0.5 s") == 2, result


def test_torch(tmp_path):
    pytest.importorskip("torch", exc_type=ImportError)
    command = [sys.executable, PROGRAM, "torch"]
    ranks = [
        subprocess.Popen(
            [*command, str(r), "2", str(tmp_path / "group")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for r in range(2)
    ]
    for rank in ranks:
        output, _ = rank.communicate(timeout=120)
        # PyTorch's threads sometimes end the process with a message of their own after that.
        assert output.startswith("passed\n"), output
