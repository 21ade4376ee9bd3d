"""What a result must be: sorts by NumPy, made of ranks."""

import numpy as np

INTEGERS = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"]
FLOATS = ["f2", "f4", "f8"]
TIMES = ["M8[s]", "m8[us]"]
DTYPES = ["?", *INTEGERS, *FLOATS, *TIMES]


def ranks(
    x: np.ndarray, descending: bool = False, nan: str = "last", zeros: str = "tied"
) -> np.ndarray:
    """int64 numbers in the order of x along no axis: equal where keys tie."""
    flat = x.ravel()
    is_nan = flat != flat
    numbers = flat.copy()
    numbers[is_nan] = (
        flat.dtype.type(0) if flat.dtype.kind not in "mM" else np.zeros(1, flat.dtype)[0]
    )
    _, rank = np.unique(numbers, return_inverse=True)
    rank = 2 * rank.astype(np.int64).reshape(flat.shape)
    if zeros == "distinct" and flat.dtype.kind == "f":
        rank += (numbers == 0) & ~np.signbit(numbers)
    if descending:
        rank = -rank
    beyond = np.int64(4 * len(flat) + 4)
    rank[is_nan] = beyond if nan == "last" else -beyond
    return rank.reshape(x.shape)


def argsort(x: np.ndarray, axis: int = -1, **order) -> np.ndarray:
    return np.argsort(ranks(x, **order), axis=axis, kind="stable")


def sort(x: np.ndarray, axis: int = -1, **order) -> np.ndarray:
    return np.take_along_axis(x, argsort(x, axis, **order), axis)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Byte for byte, in shape and dtype, too."""
    assert type(found) is np.ndarray
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()
