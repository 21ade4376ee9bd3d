"""A small benchmark: pysortium beside the array's own library."""

from __future__ import annotations

import statistics
import time
from html import escape
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from . import _sort


class Timing(NamedTuple):
    """Median seconds of a call, with one length and dtype."""

    function: str
    dtype: str
    keys: int
    seconds: float
    numpy_seconds: float


class BenchResult:
    """What `bench` returns: text by `str`, a table with a plot in a notebook, and the `timings`."""

    def __init__(self, timings: list[Timing], device: str):
        self.timings = timings
        self.device = device

    def __repr__(self) -> str:
        lines = [
            f"{'function':10} {'dtype':8} {'keys':>10} {'pysortium':>12} {'NumPy':>12} "
            f"{'times faster':>13}"
        ]
        for t in self.timings:
            lines.append(
                f"{t.function:10} {t.dtype:8} {t.keys:10} {_time(t.seconds):>12} "
                f"{_time(t.numpy_seconds):>12} {t.numpy_seconds / t.seconds:13.1f}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(t.function)}</td><td>{escape(t.dtype)}</td><td>{t.keys}</td>"
            f"<td>{_time(t.seconds)}</td><td>{_time(t.numpy_seconds)}</td>"
            f"<td>{t.numpy_seconds / t.seconds:.1f}</td></tr>"
            for t in self.timings
        )
        return (
            f"<p>{escape(self.device)}</p><table><tr><th>function</th><th>dtype</th><th>keys</th>"
            f"<th>pysortium</th><th>NumPy</th><th>times "
            f"faster</th></tr>{rows}</table>{self._plot()}"
        )

    def _plot(self) -> str:
        """Keys per second by count, both axes logarithmic, as SVG."""
        series: dict = {}
        for t in self.timings:
            series.setdefault((t.function, t.dtype, "pysortium"), []).append(
                (t.keys, t.keys / t.seconds)
            )
            series.setdefault((t.function, t.dtype, "NumPy"), []).append(
                (t.keys, t.keys / t.numpy_seconds)
            )
        points = np.log10([p for line in series.values() for p in line])
        low, span = points.min(0), np.maximum(np.ptp(points, axis=0), 0.1)
        parts = []
        for number, (name, line) in enumerate(series.items()):
            at = (np.log10(line) - low) / span * [330, -180] + [40, 200]
            colour = f"hsl({number // 2 * 67 % 360} 70% 40%)"
            dash = ' stroke-dasharray="4 3"' if name[2] == "NumPy" else ""
            parts.append(
                f'<polyline fill="none" stroke="{colour}"{dash} points="'
                + " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
                + '"/>'
                f'<text x="{at[-1][0] + 5:.0f}" y="{at[-1][1] + 4:.0f}" fill="{colour}">'
                f'{escape(" ".join(name))}</text>'
            )
        return (
            f'<svg width="560" height="240" font-size="11" '
            f'font-family="sans-serif">{"".join(parts)}'
            f'<text x="40" y="230">{10 ** low[0]:.0f} to {10 ** (low + span)[0]:.0f} keys; '
            f"{10 ** low[1] / 1e6:.1f} to {10 ** (low + span)[1] / 1e6:.1f} Mkey/s</text></svg>"
        )


def bench(
    counts: Sequence[int] = (1 << 8, 1 << 12, 1 << 16, 1 << 20),
    dtypes: Sequence[Any] = ("uint32", "float64"),
    *,
    device: str | None = None,
    seconds: float = 0.2,
) -> BenchResult:
    """Measure `sort` and `argsort` of uniform keys beside NumPy's, on this machine.

    Parameters
    ----------
    counts : sequence of int
    dtypes : sequence of dtypes
        Integers and floats.
    device : str, optional
        As for `sort`.
    seconds : float
        The time for each function, dtype and count.

    Returns
    -------
    BenchResult
        Medians. Calls alternate between pysortium and NumPy, and each result is compared with
        NumPy's.

    Raises
    ------
    RuntimeError
        A result is wrong.
    """
    timings = []
    for dtype in map(np.dtype, dtypes):
        for count in counts:
            x = _uniform(dtype, count)
            pairs: list[tuple[str, Callable, Callable]] = [
                ("sort", lambda: _sort.sort(x, device=device), lambda: np.sort(x)),
                (
                    "argsort",
                    lambda: _sort.argsort(x, device=device),
                    lambda: np.argsort(x, kind="stable"),
                ),
            ]
            for name, ours, numpys in pairs:
                if not np.array_equal(ours(), numpys()):
                    raise RuntimeError(
                        f"{name} of {count} keys of dtype {dtype} differs from NumPy's"
                    )
                timings.append(Timing(name, dtype.name, count, *_medians((ours, numpys), seconds)))
    return BenchResult(timings, device or "cpu:0")


def _uniform(dtype: np.dtype, count: int) -> np.ndarray:
    rng = np.random.default_rng(count)
    if dtype.kind == "f":
        return rng.random(count).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, count, dtype, endpoint=True)


def _medians(calls: Sequence[Callable], seconds: float) -> list[float]:
    """The median time of each call; they alternate."""
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds
    while len(times[0]) < 5 or (time.perf_counter() < end and len(times[0]) < 10000):
        for call, own in zip(calls, times):
            begin = time.perf_counter()
            call()
            own.append(time.perf_counter() - begin)
    return [statistics.median(t) for t in times]


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"
