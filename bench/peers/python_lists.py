"""The lists that python_cpu.py sorts, by name."""

from typing import Iterator

import numpy as np

REAL = "u4:uniform,f4:normal,f8:normal,u8:timestamps,u4:sawtooth64,u1:uniform,i2:normal,f2:normal"
ORDER = ",".join(
    f"{dtype}:{word}"
    for dtype in ("u4", "u8", "f4")
    for word in (
        "sorted,reversed,tail1,sawtooth4,sawtooth64,sawtooth1000,interleaved4,interleaved64,"
        "timestamps,nearly"
    ).split(",")
)
SKEWED = ",".join(
    f"{dtype}:{word}"
    for dtype in ("u4", "u8", "f4", "f8")
    for word in "uniform,normal,zipf,few,and3,half,constant,sorted,sawtooth64".split(",")
)
DTYPES = ",".join(
    f"{dtype}:{word}"
    for dtype in "?,u1,i1,u2,i2,u4,i4,u8,i8,f2,f4,f8,M8[ns],m8[s],c16,S10".split(",")
    for word in ("uniform", "few")
    if word == "uniform" or dtype in ("u4", "i8", "f8")
)
GROUPS = {"real": REAL, "order": ORDER, "skewed": SKEWED, "dtypes": DTYPES}


def spread(places: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Ascending keys over the whole range for places in [0, 1)."""
    if dtype.kind == "f":
        return (2 * places - 1).astype(dtype)
    limits = np.iinfo(dtype)
    return (places * (float(limits.max) - float(limits.min)) + float(limits.min)).astype(dtype)


def make_others(dtype: np.dtype, count: int) -> np.ndarray:
    """Uniform keys that are no numbers: bool, times, complex numbers, strings."""
    rng = np.random.default_rng(count)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "mM":
        return rng.integers(0, 1 << 60, count).astype(np.int64).view(dtype)
    if dtype.kind == "c":
        return (rng.random(count) + 1j * rng.random(count)).astype(dtype)
    letters = rng.integers(97, 123, (count, dtype.itemsize), np.uint8)
    return letters.view(f"S{dtype.itemsize}").reshape(count).astype(dtype)


def make(name: str, dtype: np.dtype, count: int) -> np.ndarray:
    if dtype.kind in "bmMcSU":
        return make_others(dtype, count)
    word = name.rstrip("0123456789")
    number = int(name[len(word) :] or 0)
    rng = np.random.default_rng(count)
    at = np.arange(count)
    limits = None if dtype.kind == "f" else np.iinfo(dtype)
    if word == "uniform":
        if limits is None:
            return rng.random(count).astype(dtype)
        return rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
    if word == "normal":
        x = rng.standard_normal(count)
        if limits is None:
            return x.astype(dtype)
        middle, scale = (float(limits.max) + float(limits.min)) / 2, 2.0 ** (8 * dtype.itemsize - 4)
        return np.clip(x * scale + middle, limits.min, float(limits.max) * 0.999).astype(dtype)
    if word == "timestamps":  # milliseconds, up to a second late
        late = rng.integers(0, 1000, count)
        return (1 << min(40, 4 * dtype.itemsize)) + (at + late).astype(dtype)
    if word == "zipf":
        return spread(rng.random(1 << 20), dtype)[np.minimum(rng.zipf(1.3, count), 1 << 20) - 1]
    if word == "few":
        return spread(rng.random(16), dtype)[rng.integers(0, 16, count)]
    if word == "and":
        words = rng.integers(0, 1 << 62, (number, count)).astype(np.uint64) << np.uint64(2)
        return spread(np.bitwise_and.reduce(words) / 2.0**64, dtype)
    if word == "half":
        return spread(np.where(rng.random(count) < 0.5, 0.25, rng.random(count)), dtype)
    if word == "constant":
        return np.full(count, 7, dtype)
    if word == "sorted":
        return spread(at / count, dtype)
    if word == "reversed":
        return spread(at[::-1] / count, dtype)
    if word == "tail":  # the last NUMBER percent are random
        is_tail = at >= count - count * number // 100
        return spread(np.where(is_tail, rng.random(count), at / count), dtype)
    if word == "nearly":  # one in a hundred is elsewhere
        return spread(np.where(rng.random(count) < 0.01, rng.random(count), at / count), dtype)
    if word == "sawtooth":  # NUMBER ascending runs, one after the other
        run = max(1, count // number)
        return spread((at % run) / run, dtype)
    if word == "interleaved":  # NUMBER ascending runs, key by key
        return spread((at % number * (count // number) + at // number) / count, dtype)
    raise SystemExit(f"--lists: there is no list {name!r}")


def lists(text: str) -> Iterator[tuple[np.dtype, str]]:
    for item in text.split(","):
        for pair in GROUPS.get(item, item).split(","):
            dtype, _, name = pair.partition(":")
            yield np.dtype(dtype), name
