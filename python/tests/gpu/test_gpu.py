"""Arrays of CuPy, PyTorch, JAX and Numba on an NVIDIA GPU: results, kinds, devices, streams.

Needs a GPU and the libraries; what is missing is skipped, and the reason says so. Run with
    PYTHONPATH=build/python python -m pytest -rs python/tests/gpu
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import pysortium as ps
import pysortium.distributed as psd

sys.path.insert(0, str(Path(__file__).parent.parent))
from reference import DTYPES, argsort, same, sort  # noqa: E402

os.environ.setdefault(
    "XLA_PYTHON_CLIENT_PREALLOCATE", "false"
)  # JAX would take most of the GPU's memory
pytestmark = pytest.mark.filterwarnings("default")  # those of other libraries are not ours

if not any(d.backend == "cuda" for d in ps.devices()):
    why = next(b.why for b in ps.backends() if b.backend == "cuda")
    pytest.skip(f"there is no CUDA device: {why}", allow_module_level=True)


class CuPy:
    def __init__(self):
        self.xp = pytest.importorskip("cupy", exc_type=ImportError)
        self.array = self.xp.ndarray

    def to(self, x):
        return self.xp.asarray(x)

    def back(self, x):
        return self.xp.asnumpy(x)

    def stream(self):
        return self.xp.cuda.Stream(non_blocking=True)

    def gpu(self, rank):
        """Makes a device current: another one for each rank, if there are as many."""
        return self.xp.cuda.Device(rank % self.xp.cuda.runtime.getDeviceCount())

    def late(self, x):
        """x, by work that takes a while on the current stream."""
        d = self.xp.zeros_like(self.xp.asarray(x))
        for _ in range(40):
            self.xp.matmul(*[self.xp.ones((2048, 2048), "f4")] * 2)
        d += self.xp.asarray(x)
        return d


class Torch:
    def __init__(self):
        self.xp = pytest.importorskip("torch", exc_type=ImportError)
        if not self.xp.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA")
        self.array = self.xp.Tensor

    def to(self, x):
        return self.xp.from_numpy(np.ascontiguousarray(x)).cuda()

    def back(self, x):
        return x.cpu().numpy()

    def stream(self):
        return self.xp.cuda.stream(self.xp.cuda.Stream())

    def gpu(self, rank):
        return self.xp.cuda.device(rank % self.xp.cuda.device_count())

    def late(self, x):
        d = self.xp.zeros_like(self.to(x))
        ones = self.xp.ones((2048, 2048), device="cuda")
        for _ in range(40):
            self.xp.matmul(ones, ones)
        d += self.xp.from_numpy(x).cuda(non_blocking=True)
        return d


class Jax:
    def __init__(self):
        self.xp = pytest.importorskip("jax", exc_type=ImportError)
        self.xp.config.update("jax_enable_x64", True)
        if self.xp.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")
        self.array = self.xp.Array

    def to(self, x):
        return self.xp.numpy.asarray(x)

    def back(self, x):
        return np.asarray(x)


class Numba:
    def __init__(self):
        self.xp = pytest.importorskip("numba.cuda", exc_type=ImportError)
        self.array = type(self.xp.to_device(np.zeros(1)))

    def to(self, x):
        return self.xp.to_device(np.ascontiguousarray(x))

    def back(self, x):
        return x.copy_to_host()


@pytest.fixture(params=[CuPy, Torch, Jax, Numba], ids=lambda c: c.__name__, scope="module")
def library(request):
    return request.param()


@pytest.fixture(params=[CuPy, Torch], ids=lambda c: c.__name__, scope="module")
def with_streams(request):
    return request.param()


def numbers(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2 if dtype == "?" else 100, shape).astype(dtype)
    if x.dtype.kind == "f" and x.size > 3:
        x.flat[[0, 3]] = np.nan
        x.flat[1] = -0.0
    return x


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d[0] not in "mM"])
@pytest.mark.parametrize("n", [0, 1, 2, 1000, 70001, 1 << 20])
@pytest.mark.parametrize("descending", [False, True])
def test_one_row(library, dtype, n, descending):
    x = numbers(dtype, n)
    d = library.to(x)
    found = ps.sort(d, descending=descending)
    assert isinstance(found, library.array)
    same(library.back(found), sort(x, descending=descending))
    same(library.back(ps.argsort(d, descending=descending)), argsort(x, descending=descending))
    same(library.back(d), x)


@pytest.mark.parametrize("dtype", ["f4", "i8", "u1"])
@pytest.mark.parametrize("shape", [(5, 1000), (300, 7), (4, 5, 600)])
def test_rows(library, dtype, shape):
    x = numbers(dtype, shape)
    d = library.to(x)
    for axis in range(-1, len(shape) - 1):
        same(library.back(ps.sort(d, axis=axis)), sort(x, axis))
        if not isinstance(library, Numba):
            same(library.back(ps.argsort(d, axis=axis)), argsort(x, axis))
            found = ps.topk(d, 3, axis=axis)
            same(
                library.back(found.indices),
                np.take(argsort(x, axis, descending=True), range(3), axis),
            )


def test_distributed(with_streams):
    library, size, each = with_streams, 2, 200_000
    x = numbers("f4", size * each)
    order = np.argsort(x, kind="stable")

    def work(ranks):
        mine = slice(ranks.rank * each, (ranks.rank + 1) * each)
        with library.gpu(ranks.rank):
            d = library.to(x[mine])
            found = psd.sort(d, ranks)
            assert isinstance(found, library.array)
            _, (moved,) = psd.sort_pairs(d, library.to(order[mine]), ranks, balance="even")
            arrays = found, psd.argsort(d, ranks), moved
            return [library.back(a) for a in arrays]

    keys, positions, values = (np.concatenate(a) for a in zip(*psd.run_ranks(size, work)))
    same(keys, x[order])
    same(positions, order)
    same(values, order[order])


def test_other_functions(library):
    x = numbers("f4", 30000)
    d = library.to(x)
    ordered = ps.sort(d)
    assert ps.is_sorted(ordered) and not ps.is_sorted(d)
    s = np.sort(x, kind="stable")  # x has -0.0 and +0.0
    same(library.back(ps.searchsorted(ordered, d)), np.searchsorted(s, x))
    same(library.back(ps.merge(ordered, ordered)), np.sort(np.concatenate([s, s]), kind="stable"))
    same(
        library.back(ps.sort_segments(d, [0, 500, 30000])),
        np.concatenate([sort(x[:500]), sort(x[500:])]),
    )
    keys, (values, more) = ps.sort_pairs(
        d, library.to(np.arange(30000)), library.to(x.astype("f8"))
    )
    same(library.back(values), argsort(x))
    same(library.back(more), s.astype("f8"))
    found = ps.topk(d, 100)
    same(library.back(found.indices), argsort(x, descending=True)[:100])
    if not isinstance(library, Numba):
        np.testing.assert_array_equal(
            library.back(ps.unique(d)), np.unique(x)
        )  # either zero may stand for both
        for a, b in zip(ps.unique(d, True, True, True)[1:], np.unique(x, True, True, True)[1:]):
            same(library.back(a), b)
        assert library.back(ps.unique_values(d)).size == np.unique(x, equal_nan=False).size
        same(library.back(ps.rank(d, method="min")), np.searchsorted(s, x) + 1)


def test_streams(with_streams):
    """Input that is still being made on the current stream, and results that are read on it."""
    x = numbers("i4", 1 << 20)
    for _ in range(5):
        with with_streams.stream():
            found = ps.sort(with_streams.late(x))
            positions = ps.argsort(with_streams.late(x))
            same(with_streams.back(found), np.sort(x))
            same(with_streams.back(positions), np.argsort(x, kind="stable"))


def test_many_results_without_waiting(with_streams):
    """Scratch memory that the allocator reuses while sorts are still running."""
    inputs = [numbers("u4", 1 << 18, seed) for seed in range(20)]
    on_device = [with_streams.to(x) for x in inputs]
    results = [ps.sort(d) for d in on_device]
    for found, x in zip(results, inputs):
        same(with_streams.back(found), np.sort(x))


def test_views(with_streams):
    x = numbers("f4", (300, 40))
    d = with_streams.to(x)
    same(with_streams.back(ps.sort(d.T)), sort(x.T))
    same(with_streams.back(ps.sort(d[::2, 1::3])), sort(x[::2, 1::3]))


def test_torch_bfloat16():
    torch = Torch().xp
    x = torch.randn(10000, device="cuda").to(torch.bfloat16)
    assert torch.equal(ps.sort(x), torch.sort(x, stable=True).values)
    assert torch.equal(ps.argsort(x), torch.sort(x, stable=True).indices)


def test_plan_in_a_cuda_graph():
    torch = Torch().xp
    x = torch.randint(0, 1000, (1 << 16,), device="cuda", dtype=torch.int32)
    plan = ps.Plan("int32", 1 << 16, device="cuda:0")
    out, scratch = torch.empty_like(x), torch.empty(
        plan.scratch_bytes, dtype=torch.uint8, device="cuda"
    )
    plan.run(x, out=out, scratch=scratch)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        plan.run(x, out=out, scratch=scratch)
    x.copy_(torch.randint(0, 1000, (1 << 16,), device="cuda", dtype=torch.int32))
    graph.replay()
    assert torch.equal(out, torch.sort(x).values)


@pytest.mark.parametrize("shape", [(300, 7), (5, 1000), (2, 100_000)])
def test_plan_of_rows(with_streams, shape):
    x = numbers("i4", shape)
    plan = ps.Plan("i4", x.size, payload="positions", row_length=shape[1], device="cuda:0")
    keys, positions = plan.run(with_streams.to(x))
    same(with_streams.back(keys), sort(x))
    same(with_streams.back(positions), argsort(x) + np.arange(shape[0])[:, None] * shape[1])
    with pytest.raises(ValueError, match="not contiguous"):
        plan.run(with_streams.to(np.ascontiguousarray(x.T)).T)


def test_between_libraries():
    cupy, torch = CuPy().xp, Torch().xp
    x = numbers("i4", 10000)
    found = ps.sort(cupy.asarray(x))
    same(torch.from_dlpack(found).cpu().numpy(), sort(x))


def test_device_array_of_an_unknown_library():
    cupy = CuPy().xp

    class Unknown:
        def __init__(self, x):
            self.x = x
            self.__cuda_array_interface__ = x.__cuda_array_interface__

    x = numbers("f8", 5000)
    found = ps.sort(Unknown(cupy.asarray(x)))
    same(cupy.asnumpy(cupy.asarray(found)), sort(x))
    same(cupy.asnumpy(cupy.from_dlpack(found)), sort(x))


def test_wrong_device():
    d = CuPy().to(np.arange(3.0))
    with pytest.raises(ValueError, match="cuda:0"):
        ps.sort(d, device="cpu:0")


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_torch_operators(descending, dim):
    torch = Torch().xp
    import pysortium.torch as pst
    from operator_checks import check_gradients, check_operators

    x = torch.randn(6, 50, dtype=torch.float64, device="cuda")
    check_operators(torch, pst, x, dim, descending)
    check_gradients(torch, pst, x, dim, descending)


def test_torch_compile():
    torch = Torch().xp
    import pysortium.torch as pst
    from operator_checks import check_compiled

    check_compiled(torch, pst, torch.randn(4, 100, device="cuda"), "inductor")


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int16", "int32", "uint64", "float16", "bfloat16", "float32", "float64"],
)
@pytest.mark.parametrize(
    "shape, axis", [((1000,), 0), ((1 << 18,), 0), ((5, 3000), 1), ((400, 60), 0)]
)
@pytest.mark.parametrize("descending", [False, True])
def test_jax_programs(dtype, shape, axis, descending):
    jax = Jax().xp
    import jax_checks
    import pysortium.jax as psj

    jax_checks.check_compiled(jax, psj, dtype, shape, axis, descending)


def test_jax_transformations():
    jax = Jax().xp
    import jax_checks
    import pysortium.jax as psj

    jax_checks.check_transformations(jax, psj)
    jax_checks.check_in_a_program(jax, psj)
