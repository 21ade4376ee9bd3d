"""pysortium.jax on the CPU."""

import os

import numpy as np
import pytest

import jax_checks

jax = pytest.importorskip("jax", exc_type=ImportError)
psj = pytest.importorskip("pysortium.jax", exc_type=ImportError)

# XLA compiles each for a third of a second.
DTYPES = (
    [
        "bool",
        "uint8",
        "uint16",
        "uint32",
        "int8",
        "int16",
        "int32",
        "float16",
        "bfloat16",
        "float32",
    ]
    if os.environ.get("SORTIUM_TEST_FULL")
    else ["bool", "int32", "bfloat16"]
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, axis", [((1000,), 0), ((5, 300), 1), ((40, 6), 0)])
@pytest.mark.parametrize("descending", [False, True])
def test_compiled(dtype, shape, axis, descending):
    jax_checks.check_compiled(jax, psj, dtype, shape, axis, descending)


def test_64_bits():
    with jax.enable_x64(True):
        for dtype in ("int64", "uint64", "float64"):
            jax_checks.check_compiled(jax, psj, dtype, (7, 100), 1, False)


def test_transformations():
    jax_checks.check_transformations(jax, psj)


def test_in_a_program():
    jax_checks.check_in_a_program(jax, psj)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1,), (1, 1)])
def test_few(shape):
    x = jax.numpy.zeros(shape, "float32")
    assert psj.sort(x).shape == psj.argsort(x).shape == shape
    assert jax.vmap(psj.sort)(x[None]).shape == (1, *shape)


def test_errors():
    x = jax.numpy.zeros(3)
    for call, kind, words in [
        (lambda: psj.sort(x, 1), np.exceptions.AxisError, "axis 1"),
        (lambda: psj.sort(x[0]), np.exceptions.AxisError, "axis -1"),
        (lambda: psj.argsort(x.astype("complex64")), TypeError, "complex64"),
        (lambda: psj.sort(x, 0.5), TypeError, "float"),
    ]:
        with pytest.raises(kind, match=words):
            call()
        with pytest.raises(kind, match=words):
            jax.jit(call)()
