"""The example program runs, checks itself and draws its picture."""

import subprocess
import sys
from pathlib import Path

import pytest

root = Path(__file__).parents[2]


def test_particles(tmp_path):
    picture = tmp_path / "particles.png"
    subprocess.run(
        [
            sys.executable,
            root / "python/examples/particles.py",
            "--count",
            "20000",
            "--picture",
            picture,
        ],
        check=True,
        capture_output=True,
    )
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000


def test_table_beside_numpy(tmp_path):
    table = root / "bench/peers/python_cpu.py"
    if not table.exists():
        pytest.skip("this is not the whole repository")
    options = "--suites keys,functions --exponents 8 --lists u4:uniform,f8:normal --seconds 0.01"
    command = [sys.executable, table, *options.split()]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    # Lines: the machine; a title and a row for each of two lists; a title and nine rows for each
    # list, one for each function; what is slower than NumPy's.
    assert run.stdout.count("\n") == 1 + (1 + 2) + (1 + 2 * 9) + 1
