#!/usr/bin/env python3
"""Particles by cell and back: a particle-in-cell step with pysortium, and a picture of what sorting
does.

    python python/examples/particles.py [--count 2000000] [--cells 256] [--picture particles.png]

1. Sort the particles by their cell: neighbours in space become neighbours in memory.
2. Deposit their charge: each cell's particles are one segment, so that a cell is summed without
   atomics.
3. Find each cell's fastest particles.
4. Put the particles back into the order of their numbers.

The picture shows particles in memory order, from dark to light, before and after; and the charge of
the cells.
"""

import argparse
import struct
import time
import zlib

import numpy as np

import pysortium as ps


def two_streams(count: int, rng: np.random.Generator) -> dict:
    """Particles in a unit square, in two spirals that wind around each other."""
    turn = rng.random(count) ** 0.5
    angle = 9 * turn + np.pi * rng.integers(0, 2, count)
    place = (
        0.5
        + 0.45 * turn * np.array([np.cos(angle), np.sin(angle)])
        + rng.normal(0, 0.015, (2, count))
    )
    return {
        "x": np.clip(place.T, 0, 1 - 1e-9).astype(np.float32),
        "v": rng.normal(0, 1, (count, 2)).astype(np.float32),
        "id": np.arange(count, dtype=np.uint32),
    }


def step(particles: dict, cells: int) -> tuple[dict, np.ndarray, np.ndarray]:
    """Particles in the order of their cells, the cells' charge, and the greatest speed in each
    cell."""
    at = (particles["x"] * cells).astype(np.uint32)
    cell = at[:, 1] * np.uint32(cells) + at[:, 0]
    cell, (x, v, number) = ps.sort_pairs(cell, particles["x"], particles["v"], particles["id"])
    begins = ps.searchsorted(cell, np.arange(cells * cells + 1, dtype=np.uint32))
    charge = np.diff(begins).reshape(cells, cells)
    speed = ps.sort_segments(np.hypot(v[:, 0], v[:, 1]), begins)
    fastest = np.where(charge.ravel() > 0, speed[np.maximum(begins[1:], 1) - 1], 0).reshape(
        cells, cells
    )
    return {"x": x, "v": v, "id": number}, charge, fastest


def back(particles: dict) -> dict:
    """The particles in the order of their numbers."""
    return ps.sort_by(particles, by="id")


def in_memory_order(x: np.ndarray, size: int) -> np.ndarray:
    """A picture: each particle's point has the brightness of its place in memory."""
    picture = np.zeros((size, size), np.uint8)
    at = (x * size).astype(int)
    drawn = np.random.default_rng(2).permutation(len(x))  # one of a point's particles, any of them
    picture[at[drawn, 1], at[drawn, 0]] = np.linspace(40, 255, len(x))[drawn]
    return picture


def write_png(name: str, grey: np.ndarray) -> None:
    """An 8-bit grey PNG."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    height, width = grey.shape
    lines = np.zeros((height, width + 1), np.uint8)
    lines[:, 1:] = grey
    with open(name, "wb") as file:
        file.write(
            b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
            + chunk(b"IEND", b"")
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=2_000_000, help="particles (%(default)s)")
    parser.add_argument(
        "--cells", type=int, default=256, help="cells along each side (%(default)s)"
    )
    parser.add_argument("--picture", default="particles.png", help="file to write (%(default)s)")
    options = parser.parse_args()

    particles = two_streams(options.count, np.random.default_rng(1))
    begin = time.perf_counter()
    by_cell, charge, fastest = step(particles, options.cells)
    middle = time.perf_counter()
    again = back(by_cell)
    end = time.perf_counter()
    for name, column in particles.items():
        if not np.array_equal(again[name], column):
            raise SystemExit(f"column {name} is not what it was")
    print(
        f"{options.count} particles in {options.cells} x {options.cells} cells: by cell, with "
        f"charge and greatest "
        f"speed {middle - begin:.3f} s, back {end - middle:.3f} s"
    )
    print(
        f"charge: {charge.sum()} in {np.count_nonzero(charge)} cells; greatest speed "
        f"{fastest.max():.2f}"
    )

    size = 384
    cell = np.arange(size) * options.cells // size
    density = np.sqrt(charge / charge.max())[cell][:, cell] * 255
    picture = np.zeros((size, 3 * size + 20), np.uint8) + 255
    for i, part in enumerate(
        (in_memory_order(particles["x"], size), in_memory_order(by_cell["x"], size), density)
    ):
        picture[:, i * (size + 10) : i * (size + 10) + size] = part
    write_png(options.picture, picture)
    print(
        f"{options.picture}: memory order before and after, from dark to light; the charge of the "
        f"cells"
    )


if __name__ == "__main__":
    main()
