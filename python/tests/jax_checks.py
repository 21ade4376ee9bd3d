"""Checks of pysortium.jax that tests on the CPU and on a GPU share."""

import numpy as np


def keys(jax, dtype, shape):
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 50, shape)
    x = jax.numpy.asarray(x).astype(dtype)
    if jax.numpy.issubdtype(x.dtype, jax.numpy.floating) and x.size > 3:
        x = x.at[..., 1].set(jax.numpy.nan).at[..., 2].set(-0.0).at[..., 3].set(0)
    return x


def same_bits(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def check_compiled(jax, psj, dtype, shape, axis, descending):
    """Values and positions of a compiled call, and of a plain one."""
    x = keys(jax, dtype, shape)
    positions = jax.numpy.argsort(x, axis, stable=True, descending=descending)
    if descending:  # jnp.argsort puts NaN first then
        nan = jax.numpy.isnan(x)
        low = jax.numpy.where(nan, -jax.numpy.inf, x.astype("float32"))
        positions = jax.numpy.argsort(-low, axis, stable=True)
    expected = jax.numpy.take_along_axis(x, positions, axis)
    for wrap in (lambda f: f, jax.jit):
        found = wrap(lambda v: psj.sort(v, axis, descending=descending))(x)
        same_bits(found, expected)
        assert isinstance(found, jax.Array) and found.devices() == x.devices()
        same_bits(wrap(lambda v: psj.argsort(v, axis, descending=descending))(x), positions)


def check_transformations(jax, psj):
    """vmap along any axis, gradients beside those of jnp.sort, and both together."""
    jnp = jax.numpy
    x = jnp.asarray(np.random.default_rng(0).permutation(60).reshape(3, 4, 5).astype("float32"))
    for axis in (0, 1, 2):
        same_bits(jax.vmap(psj.sort, axis)(x), jax.vmap(jnp.sort, axis)(x))
        same_bits(jax.jit(jax.vmap(psj.argsort, axis))(x), jax.vmap(jnp.argsort, axis)(x))
    same_bits(jax.vmap(jax.vmap(psj.sort))(x), jnp.sort(x))

    def loss(sort):
        return lambda v: (sort(v, 0) ** 2 * jnp.arange(v.size).reshape(v.shape)).sum()

    for wrap in (
        jax.grad,
        jax.hessian,
        lambda f: jax.jit(jax.grad(f)),
        lambda f: jax.vmap(jax.grad(f)),
    ):
        np.testing.assert_allclose(wrap(loss(psj.sort))(x), wrap(loss(jnp.sort))(x))
    tangents = jax.jvp(psj.sort, (x,), (x + 100,))
    np.testing.assert_allclose(tangents[1], jnp.sort(x) + 100)


def check_in_a_program(jax, psj):
    """Between other operations, in a loop, and for the keys that it made itself."""
    jnp = jax.numpy

    @jax.jit
    def program(x):
        def step(i, y):
            return psj.sort(y * -1.0 + i)

        return jax.lax.fori_loop(0, 5, step, x).sum(), psj.argsort(x)[::2]

    x = jnp.asarray(np.random.default_rng(1).random(70001).astype("float32"))
    expected = np.asarray(x)
    for i in range(5):
        expected = np.sort(expected * np.float32(-1) + np.float32(i))
    total, positions = program(x)
    np.testing.assert_allclose(total, expected.sum(), rtol=1e-4)
    np.testing.assert_array_equal(positions, np.argsort(np.asarray(x), kind="stable")[::2])
