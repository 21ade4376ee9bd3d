#!/usr/bin/env python3
"""sortium's files beside cp: one table.

    python bench/peers/files.py [--program build/sortium[,OLD]] [--directory /dev/shm,.]
                                [--mebibytes 512] [--runs 5] [--cases u32,u64,…]

Makes inputs of random bytes in a new folder of each directory, sorts them, and removes them. The
inputs are in the page cache. Each row has medians in seconds: of "cp IN OUT", of the steps that
sortium reports, and of the whole process. The ratio is the whole process to cp and the sort alone.
"cp, sync" also waits for the disk, as sortium does. All programs and cp take turns, and every
output replaces one of the turn before. Each result is compared with that of "--verify" or
"sortium check".
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

RECORD = ["--record", "100", "--key", "bytes[0:10]"]
U32, CPU = ["--type", "u32"], ["--device", "cpu:0"]
# Of each case: the input, and the arguments of sortium.
CASES = {
    "u32": ("keys.bin", ["sort", "keys.bin", *U32, "-o", "out", *CPU]),
    "u64 .npy": ("keys.npy", ["sort", "keys.npy", "-o", "out.npy", *CPU]),
    "argsort": ("keys.npy", ["sort", "keys.npy", "--argsort", "-o", "order.npy", *CPU]),
    "records": ("records.bin", ["sort", "records.bin", *RECORD, "-o", "out", *CPU]),
    "u32 --memory": (
        "keys.bin",
        ["sort", "keys.bin", *U32, "-o", "out", *CPU, "--memory", "{memory}"],
    ),
    "topk": ("keys.bin", ["topk", "1000", "keys.bin", *U32, "-o", "out", *CPU]),
    "u32 --verify": ("keys.bin", ["sort", "keys.bin", *U32, "-o", "out", *CPU, "--verify"]),
    "u64 --verify": ("keys.npy", ["sort", "keys.npy", "-o", "out.npy", *CPU, "--verify"]),
    "argsort --verify": (
        "keys.npy",
        ["sort", "keys.npy", "--argsort", "-o", "order.npy", *CPU, "--verify"],
    ),
    "pairs --verify": (
        "keys.bin",
        ["sort", "keys.bin", *U32, "-o", "out", "--values", "keys.bin", "--value-bytes", "4"]
        + ["-o2", "out2", *CPU, "--verify"],
    ),
    "ties --verify": (  # a quarter as many keys, of 8 bits, with values
        "bytes.bin",
        ["sort", "bytes.bin", "--type", "u8", "-o", "out", "--values", "keys.bin"]
        + ["--value-bytes", "4", "-o2", "out2", *CPU, "--verify"],
    ),
    "records --verify": (
        "records.bin",
        ["sort", "records.bin", *RECORD, "-o", "out", *CPU, "--verify"],
    ),
    "topk --verify": (
        "keys.bin",
        ["topk", "1000", "keys.bin", *U32, "-o", "out", *CPU, "--verify"],
    ),
    "check": ("sorted.bin", ["check", "sorted.bin", *U32]),
    "check two": ("sorted.bin", ["check", "sorted.bin", "keys.bin", *U32]),
    "check records": ("sorted.records", ["check", "sorted.records", *RECORD]),
    "check --records": ("sorted.records", ["check", "sorted.records", "--records"]),
}
STEPS = {
    "reading": r"reading ([\d.]+) s",
    "sorting": r"sorting ([\d.]+) s",
    "verifying": r"verified in ([\d.]+) s",
    "writing": r"writing ([\d.]+) s",
}


def make_inputs(program: str, folder: str, mebibytes: int) -> None:
    size = mebibytes << 20
    header = "{'descr': '<u8', 'fortran_order': False, 'shape': (%d,), }" % (size // 8)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(f"{folder}/keys.bin", "wb") as raw, open(f"{folder}/keys.npy", "wb") as npy:
        npy.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        for _ in range(mebibytes):
            raw.write(os.urandom(1 << 20))
            npy.write(os.urandom(1 << 20))
    with open(f"{folder}/bytes.bin", "wb") as raw:
        raw.write(os.urandom(size // 4))
    for arguments in (
        ["gen", str(size // 100), "-o", "records.bin", "--quiet"],
        ["sort", "keys.bin", *U32, "-o", "sorted.bin", *CPU, "--quiet"],
        ["sort", "records.bin", *RECORD, "-o", "sorted.records", *CPU, "--quiet"],
    ):
        subprocess.run([program, *arguments], cwd=folder, check=True)


def timed(command: list, folder: str) -> tuple:
    """Runs a command. Returns its seconds and what it prints."""
    begin = time.perf_counter()
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {result.stderr or result.stdout}")
    return seconds, result.stderr


def copy(source: str, folder: str) -> dict:
    cp = timed(["cp", source, "copy"], folder)[0]
    return {"cp": cp, "cp, sync": cp + timed(["sync", "copy"], folder)[0]}


def run(program: str, arguments: list, folder: str) -> dict:
    whole, summary = timed([program, *arguments], folder)
    found = {step: re.search(pattern, summary) for step, pattern in STEPS.items()}
    return {"whole": whole} | {step: float(m[1]) for step, m in found.items() if m}


def verify(program: str, arguments: list, folder: str) -> None:
    """Checks the result of the last run, unless the run was a check."""
    if arguments[0] == "check":
        return
    if arguments[0] == "topk" or "--argsort" in arguments or "-o2" in arguments:
        timed([program, *arguments, *(() if "--verify" in arguments else ["--verify"])], folder)
        return
    out = arguments[arguments.index("-o") + 1]
    key = RECORD if "--record" in arguments else U32 if "--type" in arguments else []
    timed([program, "check", out, *key], folder)
    timed([program, "check", out, arguments[1], *key], folder)


def measure(programs: list, folder: str, name: str, runs: int, memory: str) -> None:
    source, arguments = CASES[name]
    arguments = [memory if word == "{memory}" else word for word in arguments]
    rows: dict = {program: [] for program in programs}
    copies = []
    for turn in range(runs + 1):  # the first one touches all that the system has not used before
        copied = copy(source, folder)
        times = {program: run(program, arguments, folder) for program in programs}
        if turn == 0:
            continue
        copies.append(copied)
        for program in programs:
            rows[program].append(times[program])
    os.remove(f"{folder}/copy")
    cp = {key: statistics.median(c[key] for c in copies) for key in copies[0]}
    for program in programs:
        median = {
            key: statistics.median(row[key] for row in rows[program]) for key in rows[program][0]
        }
        line = f"{name:17}" + "".join(f"{cp[key]:9.3f}" for key in cp)
        line += "".join(f"{median[s]:10.3f}" if s in median else f"{'':10}" for s in STEPS)
        line += f"{median['whole']:9.3f}"
        line += f"{median['whole'] / (cp['cp'] + median.get('sorting', 0)):7.2f}"
        print(line + (f"  {program}" if len(programs) > 1 else ""), flush=True)
    verify(programs[0], arguments, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/sortium", help="several take turns")
    parser.add_argument("--directory", default="/dev/shm,.")
    parser.add_argument("--mebibytes", type=int, default=512, help="of each input (%(default)s)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--memory", default="384M", help="of the sort with --memory (%(default)s)")
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    programs = [os.path.abspath(program) for program in options.program.split(",")]
    for directory in options.directory.split(","):
        folder = tempfile.mkdtemp(prefix="sortium-files-", dir=directory)
        try:
            make_inputs(programs[0], folder, options.mebibytes)
            print(f"{directory}, {options.mebibytes} MiB, {len(os.sched_getaffinity(0))} cores")
            print(
                f"{'':17}{'cp':>9}{'cp, sync':>9}"
                + "".join(f"{step:>10}" for step in STEPS)
                + f"{'whole':>9}{'ratio':>7}"
            )
            for name in options.cases.split(","):
                measure(programs, folder, name, options.runs, options.memory)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
