"""The examples of docs/python.md, README.md and the docstrings are run as they stand."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pysortium as ps
from pysortium import _devices, _records, _select, _sets, _sort

root = Path(__file__).parents[2]


def blocks(name):
    text = (root / name).read_text()
    return [
        (name, text[: m.start()].count("\n") + 2, m[1])
        for m in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    ]


EXTENDED = ("torch", "jax")  # libraries that pysortium has a module for
OPTIONAL = (*EXTENDED, "pyarrow")  # libraries that may be missing


def library_of(block):
    return next((name for name in OPTIONAL if f"import {name}" in block[2]), None)


@pytest.mark.parametrize("name, least", [("docs/python.md", 16), ("README.md", 1)])
def test_examples(name, least):
    run([block for block in blocks(name) if library_of(block) is None], least)


@pytest.mark.parametrize("library", OPTIONAL)
def test_examples_with(library):
    pytest.importorskip(library, exc_type=ImportError)
    if library in EXTENDED:
        pytest.importorskip(f"pysortium.{library}", exc_type=ImportError)
    run([block for block in blocks("docs/python.md") if library_of(block) == library], 1)


@pytest.mark.parametrize("library", EXTENDED)
def test_docstrings_with(library):
    pytest.importorskip(library, exc_type=ImportError)
    module = pytest.importorskip(f"pysortium.{library}", exc_type=ImportError)
    result = doctest.testmod(module)
    assert result.attempted > 0 == result.failed


def run(found, least):
    assert len(found) >= least
    names: dict = {}
    for file, line, code in found:
        exec(compile("\n" * (line - 1) + code, str(root / file), "exec"), names)


@pytest.mark.parametrize("module", [ps, _devices, _records, _select, _sets, _sort])
def test_docstrings(module):
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0


def test_every_public_name_has_a_docstring():
    for name in ps.__all__:
        if name not in ("__version__", "version_info"):
            assert getattr(ps, name).__doc__, name


@pytest.mark.skipif(
    not os.environ.get("SORTIUM_TEST_FULL"),
    reason="pdoc takes ten seconds: only among the slow tests",
)
def test_reference_in_html(tmp_path):
    pytest.importorskip("pdoc")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pdoc",
            "--docformat",
            "numpy",
            "--output-directory",
            tmp_path,
            "pysortium",
        ],
        check=True,
        capture_output=True,
    )
    page = (tmp_path / "pysortium.html").read_text()
    missing = [name for name in ps.__all__ if not re.search(rf'id="{name}"', page)]
    assert missing in ([], ["__version__"])
    assert page.count('id="parameters"') > 10  # tables, made of the docstrings' sections
