"""The package's annotations, the native module's stubs, and code of users that relies on both."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pysortium as ps

package = Path(ps.__file__).parent


def test_marker_and_stub():
    assert (package / "py.typed").exists()
    assert "class Plan" in (package / "_native.pyi").read_text()


@pytest.mark.skipif(
    not os.environ.get("SORTIUM_TEST_FULL"), reason="mypy takes half a minute: only when slow"
)
def test_mypy(tmp_path):
    user = tmp_path / "user.py"
    user.write_text(
        "import numpy as np, pysortium as ps\n"
        "keys, values = ps.sort_pairs(np.zeros(3), np.ones(3))\n"
        "first: ps.TopK = ps.topk(np.zeros(3), 1)\n"
        "plan = ps.Plan('f4', 3)\nbytes_needed: int = plan.scratch_bytes\n"
        "ps.sort(np.zeros(3), descendin=True)  # type: ignore[call-arg]\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--cache-dir",
        str(tmp_path),
        "--warn-unused-ignores",
        "--check-untyped-defs",
    ]
    environment = os.environ | {"MYPYPATH": str(package.parent)}
    for arguments in (
        ["-p", "pysortium", "--config-file", str(Path(__file__).parents[2] / "pyproject.toml")],
        [str(user)],
    ):
        run = subprocess.run(
            [*command, *arguments], env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stdout
