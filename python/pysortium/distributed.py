"""Stable sorts of an array that is divided among ranks: processes of MPI or of torch.distributed.

    >>> import numpy as np
    >>> from mpi4py import MPI                                            # doctest: +SKIP
    >>> import pysortium.distributed as psd
    >>> part = psd.sort(np.random.random(10**6), MPI.COMM_WORLD)          # doctest: +SKIP

Every rank passes its part of the array and receives its part of the sorted one. Equal keys keep the
order of their ranks and, within a rank, of their positions. All ranks call the same function with
the same dtypes and options.

A communicator is one of mpi4py, a process group of torch.distributed that exchanges tensors of the
CPU (gloo), or an object of a class derived from `Communicator`. `run_ranks` makes the ranks of one
process, which are threads.

`sort`, `argsort` and `sort_pairs` take arrays in a device's memory, too: of CuPy, PyTorch or
PyOpenCL. All ranks do, or none. Ranks of `run_ranks` copy from device to device. Those of a
communicator that `nccl_communicator` made send by NCCL. All others copy through host memory.
"""

from __future__ import annotations

import abc
import sys
import time
from typing import Any, Callable, Sequence

import numpy as np

from . import _native, _records
from ._kinds import NUMPY
from ._places import HostPlace, Method, QueuePlace, _options
from ._rows import Order, Rows, index_dtype_of, method_of, order_of
from ._sort import SortedPairs, _one_row, _values_of

__all__ = [
    "Communicator",
    "MpiCommunicator",
    "TorchCommunicator",
    "argsort",
    "nccl_communicator",
    "run_ranks",
    "sort",
    "sort_by",
    "sort_pairs",
]

_DEFAULT_TIMEOUT = 600.0  # seconds


class Communicator(abc.ABC):
    """How ranks exchange data. Derive from it to use another transport.

    All ranks call the same methods in the same order. A method that cannot reach the other ranks
    raises an exception, which the sort then raises.
    """

    @property
    @abc.abstractmethod
    def rank(self) -> int:
        """The number of this rank, from 0 on."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of ranks."""

    @abc.abstractmethod
    def all_gather(self, mine: bytes) -> bytes:
        """Return the bytes of all ranks in the order of the ranks. Their numbers may differ."""

    @abc.abstractmethod
    def exchange(
        self,
        send: memoryview,
        send_bytes: Sequence[int],
        receive: memoryview,
        receive_bytes: Sequence[int],
    ) -> None:
        """Send bytes to every rank, and receive bytes from every rank, this one included.

        `send` and `receive` hold the ranks' bytes in the order of the ranks, without gaps.
        `send_bytes` and `receive_bytes` have their numbers, for each rank. The memory must not be
        used after the call.
        """


def _pieces(view: memoryview, lengths: Sequence[int]) -> list[memoryview]:
    """The part of the view for each rank."""
    pieces, begin = [], 0
    for length in lengths:
        pieces.append(view[begin : begin + length])
        begin += length
    return pieces


class MpiCommunicator(Communicator):
    """A communicator of mpi4py.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        It must carry no other messages while ranks sort; pass ``comm.Dup()`` if it does.
    timeout : float
        Seconds that this rank waits for the others; then the call raises TimeoutError.
    """

    _tag = 29
    _max_message_bytes = 1 << 30  # MPI counts have 31 bits

    def __init__(self, comm: Any, timeout: float = _DEFAULT_TIMEOUT):
        from mpi4py import MPI

        self._mpi: Any = MPI
        self._comm = comm
        self._timeout = timeout

    @property
    def rank(self) -> int:
        return int(self._comm.Get_rank())

    @property
    def size(self) -> int:
        return int(self._comm.Get_size())

    def all_gather(self, mine: bytes) -> bytes:
        lengths = np.empty(self.size, np.int64)
        self._wait([self._comm.Iallgather(np.array([len(mine)], np.int64), lengths)])
        all_bytes = bytearray(int(lengths.sum()))
        receive = [all_bytes, lengths.tolist(), self._mpi.BYTE]
        self._wait([self._comm.Iallgatherv([mine, self._mpi.BYTE], receive)])
        return bytes(all_bytes)

    def exchange(
        self,
        send: memoryview,
        send_bytes: Sequence[int],
        receive: memoryview,
        receive_bytes: Sequence[int],
    ) -> None:
        to, rank = _pieces(receive, receive_bytes), self.rank
        requests = []
        for r, piece in enumerate(to):
            if r != rank:
                requests += self._in_messages(self._comm.Irecv, piece, r)
        for r, piece in enumerate(_pieces(send, send_bytes)):
            if r == rank:
                to[r][:] = piece
            else:
                requests += self._in_messages(self._comm.Isend, piece, r)
        self._wait(requests)

    def _in_messages(self, call: Callable, piece: memoryview, rank: int) -> list:
        most = self._max_message_bytes
        return [
            call([piece[at : at + most], self._mpi.BYTE], rank, self._tag)
            for at in range(0, len(piece), most)
        ]

    def _wait(self, requests: list) -> None:
        """Wait for all requests: poll first, then leave the core to others."""
        polls_before_sleep, seconds_of_sleep = 1000, 0.0001
        start, polls = time.monotonic(), 0
        while not self._mpi.Request.Testall(requests):
            polls += 1
            if time.monotonic() - start > self._timeout:
                raise TimeoutError(
                    f"rank {self.rank} of {self.size} had no answer from all others within "
                    f"{self._timeout} s"
                )
            if polls > polls_before_sleep:
                time.sleep(seconds_of_sleep)


class TorchCommunicator(Communicator):
    """A process group of torch.distributed, whose timeout holds.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup
        It must exchange tensors of the CPU: its backend is 'gloo' or 'cpu:gloo,cuda:nccl'.
    """

    def __init__(self, group: Any):
        self._torch: Any = sys.modules["torch"]
        self._group = group

    @property
    def rank(self) -> int:
        return int(self._torch.distributed.get_rank(self._group))

    @property
    def size(self) -> int:
        return int(self._torch.distributed.get_world_size(self._group))

    def all_gather(self, mine: bytes) -> bytes:
        torch = self._torch
        gather = torch.distributed.all_gather
        lengths = [torch.empty(1, dtype=torch.int64) for _ in range(self.size)]
        gather(lengths, torch.tensor([len(mine)]), group=self._group)
        longest = max(int(n) for n in lengths)
        if longest == 0:
            return b""
        padded = torch.from_numpy(np.frombuffer(mine.ljust(longest, b"\0"), np.uint8).copy())
        received = [torch.empty(longest, dtype=torch.uint8) for _ in range(self.size)]
        gather(received, padded, group=self._group)
        return b"".join(r[: int(n)].numpy().tobytes() for r, n in zip(received, lengths))

    def exchange(
        self,
        send: memoryview,
        send_bytes: Sequence[int],
        receive: memoryview,
        receive_bytes: Sequence[int],
    ) -> None:
        torch, distributed, rank = self._torch, self._torch.distributed, self.rank
        to = _pieces(receive, receive_bytes)
        work = []
        for r, piece in enumerate(to):
            if r != rank and len(piece):
                tensor = torch.frombuffer(piece, dtype=torch.uint8)
                work.append(distributed.irecv(tensor, self._global(r), group=self._group))
        for r, piece in enumerate(_pieces(send, send_bytes)):
            if r == rank:
                to[r][:] = piece
            elif len(piece):  # a copy, because PyTorch warns of memory that is only read
                tensor = torch.from_numpy(np.frombuffer(piece, np.uint8).copy())
                work.append(distributed.isend(tensor, self._global(r), group=self._group))
        for one in work:
            one.wait()

    def _global(self, rank: int) -> int:
        return int(self._torch.distributed.get_global_rank(self._group, rank))


def nccl_communicator(
    communicator: Any, device: str, *, timeout: float = _DEFAULT_TIMEOUT
) -> _native.Ranks:
    """Return a communicator whose ranks exchange memory of CUDA devices by NCCL.

    All ranks call it. Make it once, and use it for all sorts: that takes NCCL about a second.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm, torch.distributed.ProcessGroup or Communicator
        Carries what is in host memory.
    device : str
        This rank's device, such as 'cuda:0'. Every rank needs another one.
    timeout : float
        Seconds that this rank waits for the others.
    """
    return _native.Ranks(_communicator_of(communicator), device, timeout)


def run_ranks(
    ranks: int,
    work: Callable[[_native.Ranks], Any],
    *,
    timeout: float = _DEFAULT_TIMEOUT,
) -> list:
    """Call ``work(communicator)`` on threads, one for each rank, and return their results.

        >>> import numpy as np
        >>> import pysortium.distributed as psd
        >>> parts = [np.array([5, 1]), np.array([4, 0])]
        >>> [p.tolist() for p in psd.run_ranks(2, lambda ranks: psd.sort(parts[ranks.rank], ranks))]
        [[0, 1], [4, 5]]

    The communicator ends with the call. If `work` raises on a rank, the other ranks' sorts raise,
    too, and then this function raises what the first rank raised.
    """
    return _native.run_ranks(ranks, work, timeout)


def _communicator_of(communicator: Any) -> Any:
    if isinstance(communicator, (Communicator, _native.Ranks)):
        return communicator
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and isinstance(communicator, mpi.Comm):
        return MpiCommunicator(communicator)
    torch = sys.modules.get("torch.distributed")
    if torch is not None and isinstance(communicator, torch.ProcessGroup):
        return TorchCommunicator(communicator)
    raise TypeError(
        f"communicator is a {type(communicator).__name__}; one of mpi4py, a process group of "
        "torch.distributed or a pysortium.distributed.Communicator is needed"
    )


def _together(ranks: Any, work: Callable) -> Any:
    """work() on every rank; if it raises on one, all raise. It must not use the communicator."""
    result, failure, text = None, None, b""
    try:
        result = work()
    except Exception as e:
        failure, text = e, f"rank {ranks.rank} of {ranks.size}: {e}\n".encode()
    texts = ranks.all_gather(text)
    if failure is not None:
        raise failure
    if texts:
        raise ValueError(f"another rank has failed: {texts.decode().splitlines()[0]}")
    return result


def _is_even(balance: str) -> bool:
    if balance not in ("kept", "even"):
        raise ValueError(f"balance is {balance!r}; allowed are 'kept' and 'even'")
    return balance == "even"


class _Call:
    """What the functions have in common: arguments that are checked on all ranks, and places."""

    def __init__(
        self,
        communicator: Any,
        keys: Any,
        order: Callable[[], Order],
        method: Callable[[], Method],
        device: str | None,
        balance: str,
        values: Any = None,
    ):
        self.ranks = _communicator_of(communicator)

        def check() -> tuple[Rows, Any, Method, bool]:
            rows = _one_row(keys, order(), device, "x" if values is None else "keys")
            column = None if values is None else _values_of(rows, values, 0)
            return rows, column, method(), _is_even(balance)

        self.rows, self.values, self.method, self.even = _together(self.ranks, check)
        self.count = _native.distributed_part_count(self.ranks, self.rows.count, self.even)

    def sort(self, sorted_keys: Any, moved: Any = None, **problem: Any) -> None:
        arrays = (self.rows.keys, sorted_keys, self.values, moved)
        solved = _native.Problem(**self.rows.problem(**problem))
        place, memory = self.rows.place, self.rows.kind.memory
        if isinstance(place, HostPlace):
            _native.distributed_sort(
                self.ranks,
                solved,
                _options(place.device, self.method),
                self.even,
                *(0 if a is None else memory(a)[0] for a in arrays),
            )
        else:
            assert isinstance(place, QueuePlace)
            _native.distributed_sort_on_device(
                self.ranks,
                place.queue,
                solved,
                self.method.algorithm,
                self.method.max_scratch,
                self.method.max_device,
                self.even,
                *(
                    _native.Memory() if a is None or n == 0 else _native.Memory(*memory(a))
                    for a, n in zip(arrays, (self.rows.count, self.count) * 2)
                ),
            )

    def restore(self, keys: Any) -> Any:
        return self.rows.restore(self.rows.code.decode(keys))


def sort(
    x: Any,
    communicator: Any,
    /,
    *,
    descending: bool = False,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    balance: str = "kept",
    device: str | None = None,
    algorithm: str | None = None,
    max_scratch: int | None = None,
    max_device: int | None = None,
) -> Any:
    """Return this rank's part of the sorted array.

    Parameters
    ----------
    x : 1-D array
        This rank's part of the array, perhaps empty. Numbers, bool and times, as for
        `pysortium.sort`.
    communicator : mpi4py.MPI.Comm, torch.distributed.ProcessGroup or Communicator
        The ranks; or what `nccl_communicator` returned or `run_ranks` passed.
    balance : {'kept', 'even'}
        'kept': each rank receives as many elements as it has. 'even': all receive equally many, the
        first ones one more if the division has a remainder.
    device : str, optional
        Where this rank sorts an array in host memory; ranks may differ.
    max_device : int, optional
        For an array in a device's memory, the most memory of the device, in bytes, beside arrays.
        9/8 of the bytes of x suffice for 2^20 elements and more.

    The other parameters are those of `pysortium.sort`.

    Returns
    -------
    array
        Of the kind and dtype of x.

    Raises
    ------
    TypeError, ValueError
        An argument is not allowed, or the ranks' calls differ. All ranks raise.
    pysortium.DeviceError, MemoryError
        A rank has failed. All ranks raise.
    TimeoutError, or what the communicator raises
        The other ranks cannot be reached.
    """
    call = _Call(
        communicator,
        x,
        lambda: order_of(descending, nan, zeros, bits),
        lambda: method_of(algorithm, max_scratch, max_device=max_device),
        device,
        balance,
    )
    result = call.rows.empty((call.count,))
    call.sort(result)
    return call.restore(result)


def argsort(
    x: Any,
    communicator: Any,
    /,
    *,
    descending: bool = False,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    balance: str = "kept",
    index_dtype: Any = None,
    device: str | None = None,
    algorithm: str | None = None,
    max_scratch: int | None = None,
    max_device: int | None = None,
) -> Any:
    """Return the global positions of the keys in this rank's part of the sorted array.

    Positions count from the first rank's first key. `index_dtype` is int64 (the default), uint64,
    uint32 or int32. The other parameters, and errors, are those of `sort`.
    """
    call = _Call(
        communicator,
        x,
        lambda: order_of(descending, nan, zeros, bits),
        lambda: method_of(algorithm, max_scratch, max_device=max_device),
        device,
        balance,
    )
    total = np.frombuffer(call.ranks.all_gather(np.int64(call.count).tobytes()), np.int64).sum()
    dtype = _together(call.ranks, lambda: index_dtype_of(index_dtype, int(total), call.rows.kind))
    positions = call.rows.empty((call.count,), dtype)
    call.sort(
        None, positions, payload="positions", value_bytes=int(dtype[-2:]) // 8, keys_out=False
    )
    return call.rows.restore(positions)


def sort_pairs(
    keys: Any,
    values: Any,
    communicator: Any,
    /,
    *,
    descending: bool = False,
    nan: str = "last",
    zeros: str = "tied",
    bits: tuple[int, int] | None = None,
    balance: str = "kept",
    device: str | None = None,
    algorithm: str | None = None,
    max_scratch: int | None = None,
    max_device: int | None = None,
) -> SortedPairs:
    """Return this rank's part of the sorted keys, and of the values that move with them.

    `values` has as many elements as `keys`; an element ``values[i]`` has at most 256 bytes, and 4
    or 8 in a device's memory. The other parameters, and errors, are those of `sort`. The result's
    ``values`` is a tuple of one array.
    """
    call = _Call(
        communicator,
        keys,
        lambda: order_of(descending, nan, zeros, bits),
        lambda: method_of(algorithm, max_scratch, max_device=max_device),
        device,
        balance,
        values,
    )
    rows, column = call.rows, call.values
    sorted_keys = rows.empty((call.count,))
    moved = rows.kind.empty((call.count, *column.shape[1:]), rows.kind.dtype(column), column)
    call.sort(sorted_keys, moved, payload="values", value_bytes=rows.kind.element_bytes(column))
    return SortedPairs(call.restore(sorted_keys), (rows.kind.give(rows.kind.finish(moved)),))


def sort_by(
    table: Any,
    by: str | Sequence[str],
    communicator: Any,
    /,
    *,
    balance: str = "kept",
    device: str | None = None,
) -> Any:
    """Return this rank's part of a table's rows, in the order of some of its columns.

    Parameters
    ----------
    table : structured array or dict of arrays
        This rank's rows: NumPy arrays of one dimension. Columns of `by` are numbers, times or
        strings of bytes (S). An element has at most 256 bytes.
    by : str or sequence of str
        As for `pysortium.sort_by`.

    The other parameters, and errors, are those of `sort`.

    Returns
    -------
    structured array or dict
        As `table`.
    """
    ranks = _communicator_of(communicator)

    def check() -> tuple[dict, list, bool]:
        if isinstance(table, np.ndarray) and table.dtype.names is not None and table.ndim == 1:
            moved, named = {"": table}, {n: table[n] for n in table.dtype.names}
        elif isinstance(table, dict):
            moved = named = {name: np.asarray(c) for name, c in table.items()}
        else:
            raise TypeError(
                f"table is a {type(table).__name__}; a structured array of one dimension or a dict "
                "of arrays is needed"
            )
        lengths = {name: c.shape for name, c in moved.items()}
        if len(set(lengths.values())) != 1 or any(len(s) != 1 for s in lengths.values()):
            raise ValueError(f"table has columns of shapes {lengths}; equal ones are needed")
        return moved, _key_columns(named, by), _is_even(balance)

    moved, keys, even = _together(ranks, check)
    sources = [np.require(c, None, ["C"]) for c in moved.values()]
    count = _native.distributed_part_count(ranks, len(sources[0]), even)
    results = [np.empty(count, c.dtype) for c in sources]
    columns = [_native.Column(NUMPY.element_bytes(k.array), "no") for k in keys]
    columns += [_native.Column(c.dtype.itemsize, "out") for c in sources]
    fields = [_native.Field(column=i, **f) for i, k in enumerate(keys) for f in k.fields]
    _native.distributed_sort_records(
        ranks,
        _native.RecordProblem(len(sources[0]), columns, fields),
        _options("cpu:0" if device is None else device, Method()),
        even,
        [NUMPY.memory(k.array)[0] for k in keys] + [NUMPY.memory(c)[0] for c in sources],
        [0] * len(keys) + [NUMPY.memory(c)[0] for c in results],
    )
    return results[0] if isinstance(table, np.ndarray) else dict(zip(moved, results))


def _key_columns(columns: dict, by: str | Sequence[str]) -> list:
    keys = []
    for name, order in _records._parse_by(by):
        if name not in columns:
            raise ValueError(f"by has {name!r}; the columns are {', '.join(map(repr, columns))}")
        if columns[name].dtype.kind in "Uc":
            raise TypeError(
                f"table[{name!r}] has dtype {columns[name].dtype}; a key of a distributed sort is "
                "a number, a time or a string of bytes"
            )
        keys += _records._columns(columns[name], order, f"table[{name!r}]")
    return keys
