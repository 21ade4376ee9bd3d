"""One rank of a test of pysortium.distributed; test_distributed.py starts several.

    distributed_ranks.py mpi
    distributed_ranks.py torch RANK SIZE FILE
    distributed_ranks.py late           rank 1 of MPI takes no part

Prints "passed", or what is wrong.
"""

import sys
import time

import numpy as np

import pysortium.distributed as psd


def part(array, counts, rank):
    """The part of an array that a rank has if the ranks have these numbers of elements."""
    begin = sum(counts[:rank])
    return array[begin : begin + counts[rank]]


def counts_of(count, size, balance, seed):
    """How many elements each rank has, and how many it receives."""
    random = np.random.default_rng(seed)
    cuts = np.sort(random.integers(0, count + 1, size - 1))
    have = np.diff(np.concatenate([[0], cuts, [count]])).tolist()
    even = [count // size + (r < count % size) for r in range(size)]
    return have, even if balance == "even" else have


def check(communicator, rank, size, count=30_000):
    """Sorts parts of arrays that all ranks know, and compares with NumPy's stable sorts."""
    random = np.random.default_rng(7)
    x = random.integers(-500, 500, count).astype("i2")
    values = random.random((count, 3)).astype("f4")
    floats = random.choice([1.5, -0.0, 0.0, np.nan, -3.0], count).astype("f8")
    order = np.argsort(x, kind="stable")
    for seed, balance in enumerate(["kept", "even"]):
        have, receive = counts_of(count, size, balance, seed)
        mine, same = lambda a: part(a, have, rank), lambda a: part(a, receive, rank)
        options = {"balance": balance}
        np.testing.assert_array_equal(psd.sort(mine(x), communicator, **options), same(x[order]))
        np.testing.assert_array_equal(
            psd.sort(mine(floats), communicator, **options).view("u8"),
            same(floats[np.argsort(floats, kind="stable")]).view("u8"),
        )
        for dtype in ("int64", "uint32"):
            positions = psd.argsort(mine(x), communicator, index_dtype=dtype, **options)
            assert positions.dtype == dtype
            np.testing.assert_array_equal(positions, same(order).astype(dtype))
        keys, (moved,) = psd.sort_pairs(mine(x), mine(values), communicator, **options)
        np.testing.assert_array_equal(keys, same(x[order]))
        np.testing.assert_array_equal(moved, same(values[order]))

        table = np.rec.fromarrays([x, np.char.mod("%d", x % 7).astype("S2")], names="x,s")
        by_name = np.lexsort((-x.astype(int), table["s"]))
        found = psd.sort_by(mine(np.asarray(table)), ["s", "x:desc"], communicator, **options)
        assert found.tobytes() == same(np.asarray(table)[by_name]).tobytes()
        found = psd.sort_by({"x": mine(x), "i": mine(order)}, "x:desc", communicator, **options)
        descending = np.argsort(-x.astype(int), kind="stable")
        np.testing.assert_array_equal(found["i"], same(order[descending]))
    if size > 1:
        check_errors(communicator, rank)


def check_errors(communicator, rank):
    """A wrong argument on one rank is an error on all."""
    for wrong in ({"nan": "nowhere"}, {"algorithm": "none"}, {"device": "none"}):
        try:
            psd.sort(np.arange(5), communicator, **(wrong if rank == 1 else {}))
        except ValueError as e:
            assert "nowhere" in str(e) or "none" in str(e), e
        else:
            raise AssertionError(f"no error for {wrong}")
    try:
        psd.sort(np.arange(5, dtype="f4" if rank == 1 else "u4"), communicator)
    except ValueError as e:
        assert "rank 0: u32 keys" in str(e) and "rank 1: f32 keys" in str(e), e
    else:
        raise AssertionError("no error for different dtypes")


def main():
    mode, *rest = sys.argv[1:]
    if mode == "torch":
        import torch

        rank, size = int(rest[0]), int(rest[1])
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{rest[2]}", rank=rank, world_size=size
        )
        check(torch.distributed.group.WORLD, rank, size)
        tensor = psd.sort(torch.tensor([rank, -rank]), torch.distributed.group.WORLD)
        assert (
            tensor.tolist()
            == sorted([r for i in range(size) for r in (i, -i)])[2 * rank : 2 * rank + 2]
        )
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    else:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        if mode == "late":
            if comm.rank != 1:
                try:
                    psd.sort(np.arange(5), psd.MpiCommunicator(comm, timeout=0.5))
                except TimeoutError as e:
                    print(f"passed: {e}", flush=True)
            time.sleep(2)
            comm.Abort(0)
        check(comm, comm.rank, comm.size)
        if comm.size == 2:  # long messages are sent in pieces
            small = psd.MpiCommunicator(comm)
            small._max_message_bytes = 1000
            check(small, comm.rank, comm.size)
    print("passed", flush=True)


if __name__ == "__main__":
    main()
