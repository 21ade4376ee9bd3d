"""PyTorch and JAX in host memory. The test environment has neither, as they are large: then this is
skipped."""

import numpy as np
import pytest

import pysortium as ps
from reference import same


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
)
def test_torch(dtype):
    torch = pytest.importorskip("torch", exc_type=ImportError)
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 50, (7, 300)).astype(dtype)
    t = torch.from_numpy(x)
    for axis in (0, 1, None):
        same(ps.sort(t, axis).numpy(), np.sort(x, axis, kind="stable"))
        same(ps.argsort(t, axis).numpy(), np.argsort(x, axis, kind="stable"))
    same(ps.argsort(t, index_dtype=torch.int32).numpy(), np.argsort(x, kind="stable").astype("i4"))
    assert ps.argsort(t, index_dtype="uint32").dtype == torch.uint32
    found = ps.topk(t, 3, axis=0)
    same(found.values.numpy(), np.sort(x, 0)[::-1][:3].copy())
    same(ps.unique_values(t).numpy(), np.unique(x))
    for a, b in zip(ps.unique(t, True, True, True), np.unique(x, True, True, True)):
        same(a.numpy(), b)
    if dtype != "bool":
        row = x[0].astype("f8")
        np.testing.assert_array_equal(
            ps.rank(t[0], method="min").numpy(), np.searchsorted(np.sort(row), row) + 1
        )
        np.testing.assert_allclose(
            ps.quantile(t.to(torch.float64), [0.25, 0.5], 1).numpy(),
            np.quantile(x.astype("f8"), [0.25, 0.5], 1),
        )
    keys, (values,) = ps.sort_pairs(t[0], torch.arange(300))
    same(values.numpy(), np.argsort(x[0], kind="stable"))


def test_torch_bfloat16_and_gradients():
    torch = pytest.importorskip("torch", exc_type=ImportError)
    x = torch.randn(1000).to(torch.bfloat16)
    assert torch.equal(ps.sort(x), torch.sort(x, stable=True).values)
    assert torch.equal(ps.argsort(x), torch.sort(x, stable=True).indices)
    assert not ps.sort(torch.randn(10, requires_grad=True)).requires_grad


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float32", "bfloat16"])
def test_jax(dtype):
    jax = pytest.importorskip("jax", exc_type=ImportError)
    x = jax.numpy.asarray(
        np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 50, (7, 300))
    ).astype(dtype)
    for axis in (0, 1):
        found = ps.sort(x, axis)
        assert isinstance(found, jax.Array) and found.dtype == x.dtype
        assert (found == jax.numpy.sort(x, axis)).all()
        assert (ps.argsort(x, axis) == jax.numpy.argsort(x, axis, stable=True)).all()
    assert ps.argsort(x).dtype == jax.numpy.arange(1).dtype
    assert (ps.unique_values(x) == jax.numpy.unique(x)).all()


@pytest.mark.filterwarnings("default:The .grad attribute of a Tensor")  # PyTorch's own check warns
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_torch_operators(descending, dim):
    torch = pytest.importorskip("torch", exc_type=ImportError)
    import pysortium.torch as pst
    from operator_checks import check_gradients, check_operators

    x = torch.randn(6, 50, dtype=torch.float64)
    check_operators(torch, pst, x, dim, descending)
    check_gradients(torch, pst, x, dim, descending)


def test_torch_compile():
    torch = pytest.importorskip("torch", exc_type=ImportError)
    import pysortium.torch as pst
    from operator_checks import check_compiled

    check_compiled(torch, pst, torch.randn(4, 100), "aot_eager")
