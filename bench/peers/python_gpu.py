#!/usr/bin/env python3
"""pysortium on an NVIDIA GPU beside PyTorch, CuPy and JAX: one table, and all medians as JSON.

    python bench/peers/python_gpu.py [--exponents 10,12,…,28] [--dtypes uint32,int32,…]
                                     [--seconds 0.02] [--json FILE]
    python bench/peers/python_gpu.py --build     builds the kernels, so that a later run finds them

Each call is timed until the GPU has finished, and each row has the medians of calls that alternate.
Every result is compared before the timing: keys byte for byte, positions with those of a stable
argsort. Peers that lack a dtype, or are not installed, are left out. Memory is the peak that
PyTorch's allocator saw beside the input.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
from datetime import datetime, timezone
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Callable

import cupy
import numpy as np
import torch

import pysortium as ps

TOPK = 100
MOST_CALLS = 300
FEWEST_CALLS = 5


def library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def keys(dtype: str, distribution: str, count: int) -> cupy.ndarray:
    """Uniform over all values (floats: 0 to 1), or normal with a deviation of an eighth of the
    range (floats: 1)."""
    rng = cupy.random.default_rng(count)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return (
            rng.random(count, kind)
            if distribution == "uniform"
            else rng.standard_normal(count, kind)
        )
    if distribution == "uniform":
        words = rng.integers(
            0, 0xFFFFFFFF, count * kind.itemsize // 4, dtype=np.uint32, endpoint=True
        )
        return words.view(kind)
    middle = 0.5 if kind.kind == "u" else 0.0
    unit = cupy.clip(
        rng.standard_normal(count, np.float64) / 8 + middle, middle - 0.49, middle + 0.49
    )
    return (unit * 2.0 ** (8 * kind.itemsize)).astype(kind)


def calls(
    c: cupy.ndarray, t: torch.Tensor, j: Any, jax_sorts: tuple[Callable, Callable] | None
) -> dict[str, dict[str, Callable]]:
    """For each function, the calls by name. Ours come first."""
    k = min(TOPK, c.size)
    found: dict[str, dict[str, Callable]] = {
        "sort": {
            "pysortium": lambda: ps.sort(t),
            "pysortium, CuPy array": lambda: ps.sort(c),
            "torch.sort": lambda: torch.sort(t).values,
            "cupy.sort": lambda: cupy.sort(c),
        },
        "argsort": {
            "pysortium": lambda: ps.argsort(t),
            "pysortium, CuPy array": lambda: ps.argsort(c),
            "torch.argsort": lambda: torch.argsort(t, stable=True),
            "cupy.argsort": lambda: cupy.argsort(c),
        },
        "topk": {
            "pysortium": lambda: ps.topk(t, k).values,
            "torch.topk": lambda: torch.topk(t, k).values,
        },
        "unique": {
            "pysortium": lambda: ps.unique(t),
            "torch.unique": lambda: torch.unique(t),
            "cupy.unique": lambda: cupy.unique(c),
        },
    }
    if jax_sorts is not None:
        ours, theirs = jax_sorts
        # Apart: when their calls alternated with JAX's, sorts of few keys took longer than
        # argsorts.
        found["sort, JAX"] = {
            "pysortium": lambda: ours(j).block_until_ready(),
            "pysortium, outside of a program": lambda: ps.sort(j),
            "jnp.sort": lambda: theirs(j).block_until_ready(),
        }
    return found


def as_bytes(result: Any) -> cupy.ndarray:
    return cupy.from_dlpack(result).view(cupy.uint8)


def supported(named: dict[str, Callable], wrong: list[str]) -> dict[str, Callable]:
    """The calls that work. Adds those whose result differs from ours to `wrong`. All results have
    one right answer."""
    kept = {}
    expected = None
    for name, call in named.items():
        try:
            found = as_bytes(call())
        except (RuntimeError, TypeError, ValueError) as error:
            if name.startswith("pysortium"):
                raise
            print(f"  {name} is left out: {str(error).splitlines()[0][:80]}")
            continue
        expected = found if expected is None else expected
        if not bool((found == expected).all()):
            wrong.append(name)
        kept[name] = call
    return kept


def medians(named: dict[str, Callable], seconds: float) -> dict[str, float]:
    """Microseconds by name; the calls alternate."""
    times: dict[str, list[float]] = {name: [] for name in named}
    end = time.perf_counter() + seconds * len(named)
    for number in range(MOST_CALLS):
        if number >= FEWEST_CALLS and time.perf_counter() > end:
            break
        for name, call in named.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            call()
            torch.cuda.synchronize()
            times[name].append(time.perf_counter() - begin)
    return {name: round(statistics.median(t) * 1e6, 2) for name, t in times.items()}


def overheads(t: torch.Tensor, c: cupy.ndarray) -> dict[str, float]:
    """Microseconds that the host spends in a call, without waiting for the GPU: the median of 20
    rounds of 50."""
    named = {
        "pysortium.sort": lambda: ps.sort(t),
        "pysortium.argsort": lambda: ps.argsort(t),
        "pysortium.sort, CuPy array": lambda: ps.sort(c),
        "cupy.sort": lambda: cupy.sort(c),
    }
    if t.dtype != torch.uint32:  # PyTorch does not sort them
        named["torch.sort"] = lambda: torch.sort(t)
    found = {}
    for name, call in named.items():
        rounds = []
        for _ in range(20):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(50):
                call()
            rounds.append((time.perf_counter() - begin) / 50)
        found[name] = round(statistics.median(rounds) * 1e6, 2)
    torch.cuda.synchronize()
    return found


def peaks(t: torch.Tensor) -> dict[str, int]:
    """Bytes beside the input at the peak of a call, its result included."""
    named = {
        "pysortium.sort": lambda: ps.sort(t),
        "pysortium.argsort": lambda: ps.argsort(t),
        "torch.sort": lambda: torch.sort(t),
        "torch.argsort": lambda: torch.argsort(t, stable=True),
    }
    found = {}
    for name, call in named.items():
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        torch.cuda.synchronize()
        found[name] = torch.cuda.max_memory_allocated() - before
    return found


def build(dtypes: list[str], counts: list[int]) -> None:
    for dtype in dtypes:
        for count in counts:
            c = keys(dtype, "uniform", count)
            ps.sort(c)
            ps.argsort(c)
            ps.topk(c, min(TOPK, count))
            ps.unique(c)


def commit() -> str:
    found = subprocess.run(
        ["git", "-C", Path(__file__).parent, "rev-parse", "HEAD"], capture_output=True, text=True
    )
    return found.stdout.strip()


def measure(options: argparse.Namespace) -> dict:
    os.environ.setdefault(
        "XLA_PYTHON_CLIENT_PREALLOCATE", "false"
    )  # JAX would take most of the memory
    jax, jax_sorts = library("jax"), None
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
        import pysortium.jax as psj

        jax_sorts = jax.jit(psj.sort), jax.jit(jax.numpy.sort)
    names = ["pysortium", "torch", "cupy-cuda13x", "jax", "numpy"]
    results: dict = {
        "device": torch.cuda.get_device_name(),
        "commit": commit(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "protocol": f"medians of at least {FEWEST_CALLS} alternating calls, each waited for, µs",
        "versions": {n: v for n in names if (v := version_of(n))},
        "failures": 0,
        "rows": [],
    }
    for dtype in options.dtypes:
        for count in options.counts:
            for distribution in options.distributions:
                c = keys(dtype, distribution, count)
                t = torch.from_dlpack(c)
                j = jax.dlpack.from_dlpack(c) if jax is not None else None
                for function, named in calls(c, t, j, jax_sorts).items():
                    wrong: list[str] = []
                    found = medians(supported(named, wrong), options.seconds)
                    row: dict = {
                        "function": function,
                        "dtype": dtype,
                        "distribution": distribution,
                        "keys": count,
                        "microseconds": found,
                    }
                    if wrong:
                        row["differ"] = wrong
                        results["failures"] += 1
                    results["rows"].append(row)
                    print(line_of(row), flush=True)
            if count == min(options.counts):
                results.setdefault("overhead_microseconds", {})[dtype] = overheads(t, c)
            if count == max(options.counts) and dtype != "uint32":  # PyTorch does not sort them
                results.setdefault("peak_bytes", {})[dtype] = {"input": t.nbytes, **peaks(t)}
            del c, t, j
            cupy.get_default_memory_pool().free_all_blocks()
            torch.cuda.empty_cache()
    return results


def version_of(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ps.__version__ if name == "pysortium" else ""


def line_of(row: dict) -> str:
    found = row["microseconds"]
    peers = {n: v for n, v in found.items() if not n.startswith("pysortium")}
    best = min(peers.values()) / found["pysortium"] if peers else float("nan")
    times = "  ".join(f"{name} {value:.1f}" for name, value in found.items())
    times += f"  WRONG: {row['differ']}" if "differ" in row else ""
    return (
        f"{row['function']:10}{row['dtype']:8}{row['distribution']:8} "
        f"2^{row['keys'].bit_length() - 1:<3}"
        f"best peer / pysortium {best:5.2f}   {times}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--exponents", default="10,12,14,16,18,20,22,24,26,28")
    parser.add_argument("--dtypes", default="uint32,int32,float32,float64,int64")
    parser.add_argument("--distributions", default="uniform,normal")
    parser.add_argument(
        "--seconds", type=float, default=0.02, help="for each call and row (%(default)s)"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--build", action="store_true", help="only build the kernels")
    options = parser.parse_args()
    options.counts = [1 << int(e) for e in options.exponents.split(",")]
    options.dtypes = options.dtypes.split(",")
    options.distributions = options.distributions.split(",")
    if options.build:
        build(options.dtypes, options.counts)
        return
    results = measure(options)
    print(json.dumps({k: v for k, v in results.items() if k != "rows"}, indent=1))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    if results["failures"]:
        raise SystemExit(f"{results['failures']} results differ")


if __name__ == "__main__":
    main()
