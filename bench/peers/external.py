#!/usr/bin/env python3
"""Sorts of files that are larger than memory, beside other programs and the disk: one table.

    python3 -m venv env && env/bin/pip install duckdb polars numpy pyarrow
    env/bin/python bench/peers/external.py [--program build/sortium] [--directory .] [--limit 256M]
                                           [--sizes 1,4,16] [--kinds u64,records,text,log]
                                           [--peers …] [--runs 3] [--json FILE]

Makes inputs of 1, 4 and 16 times the memory limit in a new folder, sorts them file to file, and
removes them. It needs disk space for six times the largest input.

    kind     sortium, numpy                    DuckDB, Polars          GNU sort
    u64      8-byte keys, raw                  Parquet                 -
    records  gensort's 100 bytes, key of 10    Parquet, key and rest   -
    text     words, 10 bytes a line            the same file           the same file
    log      lines of a log, 95 bytes a line   the same file           the same file

Every program gets the memory limit in its own way: sortium --memory, sort -S, DuckDB's
memory_limit, Polars' POLARS_OOC_MEMORY_BUDGET_MB. numpy sorts a mapped copy of the file and has no
limit. The peak is the kernel's figure of the process's resident memory. Before a cold run, the
input is removed from the page cache; before a warm run, it is read. All programs take turns; a
figure is the median. sortium, DuckDB and Polars use all cores, GNU sort --parallel has as many
threads, numpy has one. sortium and numpy wait until the output is on the disk; the others do not.

"disk" is the time of two copies of the input with large direct transfers, four at a time: what the
disk gives for two passes. All results are compared.
"""

import argparse
import json
import mmap
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

CORES = len(os.sched_getaffinity(0))
KINDS = ("u64", "records", "text", "log")
PEERS = {
    "sortium": KINDS,
    "GNU sort": ("text", "log"),
    "DuckDB": KINDS,
    "Polars": KINDS,
    "numpy": ("u64",),
}
BLOCK = 4 << 20
LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"
WORDS = bytes(LETTERS[i % 36] if i < 230 else 10 for i in range(256))


def parse_size(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([KMG]?)", text).groups()
    return int(number) << {"": 0, "K": 10, "M": 20, "G": 30}[unit]


# ---- inputs ----


def log_lines(numbers: bytes) -> bytes:
    """Makes lines of a log from random bytes."""
    lines = []
    for i in range(0, len(numbers), 16):
        n = int.from_bytes(numbers[i : i + 16], "little")
        day, second, host, port, request, took = (
            n % 28 + 1,
            (n >> 8) % 86400,
            (n >> 26) % 40,
            (n >> 32) % 65536,
            (n >> 48) % (1 << 40),
            (n >> 88) % 5000,
        )
        address = ".".join(str(n >> (96 + 8 * k) & 255) for k in range(3))
        lines.append(
            f"2026-11-{day:02} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} "
            f"host{host} service[{port}]: request {request} from 10.{address} took {took} ms\n"
        )
    return "".join(lines).encode()


def write_parquet(kind: str, source: str, target: str) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    width = 8 if kind == "u64" else 100
    blob = {n: pa.binary(n) for n in (10, 90)}
    fields = [("k", pa.uint64())] if kind == "u64" else [("k", blob[10]), ("v", blob[90])]
    with (
        open(source, "rb") as file,
        pq.ParquetWriter(
            target, pa.schema(fields), compression="none", use_dictionary=False
        ) as out,
    ):
        while data := file.read((32 << 20) // width * width):
            if kind == "u64":
                columns = [pa.array(np.frombuffer(data, np.uint64))]
            else:
                rows = np.frombuffer(data, np.uint8).reshape(-1, 100)
                columns = [
                    pa.FixedSizeBinaryArray.from_buffers(
                        blob[part.shape[1]], len(rows), [None, pa.py_buffer(part.tobytes())]
                    )
                    for part in (rows[:, :10], rows[:, 10:])
                ]
            out.write_table(pa.table(columns, schema=pa.schema(fields)))


def make_input(program: str, kind: str, size: int, peers: list) -> None:
    if kind == "records":
        subprocess.run([program, "gen", str(size // 100), "-o", "in", "--quiet"], check=True)
    else:
        with open("in", "wb") as out:
            while (done := out.tell()) < size:
                data = os.urandom(min(1 << 20, size - done))
                if kind == "text":
                    data = data.translate(WORDS)
                out.write(log_lines(data) if kind == "log" else data)
            if kind in ("text", "log"):
                out.write(b"\n")
        os.sync()
    if kind in ("u64", "records") and {"DuckDB", "Polars"} & set(peers):
        write_parquet(kind, "in", "in.parquet")
    os.sync()


# ---- the disk ----


def copy_directly(source: str, target: str) -> float:
    """Copies with direct transfers, four at a time. Returns the seconds."""
    size = os.path.getsize(source)
    begin = time.perf_counter()
    with open(target, "wb"):
        pass
    fds = os.open(source, os.O_RDONLY | os.O_DIRECT), os.open(target, os.O_WRONLY | os.O_DIRECT)
    os.posix_fallocate(fds[1], 0, size // BLOCK * BLOCK)
    blocks = iter(range(0, size // BLOCK * BLOCK, BLOCK))
    lock = threading.Lock()

    def work() -> None:
        with mmap.mmap(-1, BLOCK) as buffer:
            while True:
                with lock:
                    at = next(blocks, None)
                if at is None:
                    return
                os.preadv(fds[0], [buffer], at)
                os.pwrite(fds[1], buffer, at)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.fsync(fds[1])
    for fd in fds:
        os.close(fd)
    return time.perf_counter() - begin


# ---- the programs ----


def run_peer(name: str, kind: str, limit: int) -> None:
    """Sorts in this process. Run as: external.py --run NAME KIND BYTES."""
    is_text = kind in ("text", "log")
    if name == "DuckDB":
        import duckdb

        connection = duckdb.connect()
        connection.execute(f"SET memory_limit='{limit // 1000}KB'")
        connection.execute("SET temp_directory='temp'")
        connection.execute(f"SET threads={CORES}")
        connection.execute("SET preserve_insertion_order=false")
        if is_text:
            connection.execute(
                "COPY (SELECT l FROM read_csv('in', header=false, columns={'l': 'VARCHAR'}, "
                "auto_detect=false, delim='\x01', quote='', escape='') ORDER BY l NULLS FIRST) "
                "TO 'out' (FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE '')"
            )
        else:
            connection.execute(
                "COPY (SELECT * FROM 'in.parquet' ORDER BY k) "
                "TO 'out.parquet' (FORMAT parquet, COMPRESSION uncompressed)"
            )
    elif name == "Polars":
        os.environ["POLARS_OOC_MEMORY_BUDGET_MB"] = str(limit // 1_000_000)
        os.environ["POLARS_OOC_SPILL_DIR"] = os.path.abspath("temp")
        import polars as pl

        if is_text:
            pl.scan_csv(
                "in", has_header=False, separator="\x01", quote_char=None, schema={"l": pl.String}
            ).sort("l").sink_csv(
                "out",
                include_header=False,
                separator="\x01",
                quote_style="never",
                engine="streaming",
            )
        else:
            pl.scan_parquet("in.parquet").sort("k").sink_parquet(
                "out.parquet", compression="uncompressed", engine="streaming"
            )
    else:
        import numpy as np

        shutil.copyfile("in", "out")
        keys = np.memmap("out", np.uint64, "r+")
        keys.sort()
        keys.flush()


def command_of(name: str, program: str, kind: str, limit: int) -> list:
    if name == "sortium":
        options = {
            "u64": ["--type", "u64"],
            "records": ["--record", "100", "--key", "bytes[0:10]"],
        }.get(kind, ["--lines"])
        within = ["--memory", str(limit), "--temp", "temp"]
        return [program, "sort", "in", "-o", "out", *options, *within]
    if name == "GNU sort":
        return ["sort", "in", "-o", "out", "-S", f"{limit}b", f"--parallel={CORES}", "-T", "temp"]
    return [sys.executable, os.path.abspath(__file__), "--run", name, kind, str(limit)]


def read_to_cache(path: str) -> None:
    with open(path, "rb", buffering=0) as file:
        while file.read(16 << 20):
            pass


def timed(command: list, source: str, cold: bool) -> dict:
    """Runs a command. Returns its seconds, its peak memory, and what it prints."""
    for old in ("out", "out.parquet"):
        if os.path.exists(old):
            os.remove(old)
    shutil.rmtree("temp", ignore_errors=True)
    os.mkdir("temp")
    os.sync()
    if cold:
        with open(source, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    else:
        read_to_cache(source)
    begin = time.perf_counter()
    with open("log", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=os.environ | {"LC_ALL": "C", "LANG": "C"}
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        log.seek(0)
        text = log.read().strip()
    return {
        "seconds": seconds,
        "processor": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss << 10,
        "failed": process.returncode != 0,
        "text": text,
    }


def is_right(name: str, program: str, kind: str) -> bool:
    """Compares the output with that of sortium, "expected"."""
    if name == "sortium":
        how = {"u64": ["--type", "u64"], "records": ["--records"]}.get(kind)
        check = ["sort", "-c", "out"] if how is None else [program, "check", "out", *how]
        environment = os.environ | {"LC_ALL": "C"}
        run = subprocess.run(check, env=environment, stdout=subprocess.DEVNULL, check=False)
        return run.returncode == 0
    if os.path.exists("out"):
        return subprocess.run(["cmp", "-s", "out", "expected"], check=False).returncode == 0
    import numpy as np
    import pyarrow.parquet as pq

    with open("expected", "rb") as expected:
        for batch in pq.ParquetFile("out.parquet").iter_batches(1 << 18, columns=["k"]):
            if kind == "u64":
                want, have = expected.read(8 * len(batch)), np.asarray(batch["k"]).tobytes()
            else:  # records with equal keys may be in any order
                rows = np.frombuffer(expected.read(100 * len(batch)), np.uint8).reshape(-1, 100)
                want, have = rows[:, :10].tobytes(), b"".join(batch["k"].to_pylist())
            if want != have:
                return False
        return not expected.read(1)


# ---- the table ----


def measure(options: argparse.Namespace, kind: str, times: int) -> list:
    limit = parse_size(options.limit)
    size = limit * times
    peers = [name for name in PEERS if name in options.peers and kind in PEERS[name]]
    if in_process("--make", options.program, kind, str(size), ",".join(peers)) != 0:
        sys.exit(1)
    size = os.path.getsize("in")
    found: dict = {(name, cold): [] for name in peers for cold in (True, False)}
    disk = []
    for _ in range(options.runs):
        disk.append(2 * copy_directly("in", "copy"))
        os.remove("copy")
        for name in peers:
            is_parquet = kind in ("u64", "records") and name in ("DuckDB", "Polars")
            source = "in.parquet" if is_parquet else "in"
            for cold in (True, False):
                earlier = found[name, cold]
                if earlier and (earlier[0]["failed"] or earlier[0]["seconds"] > options.long):
                    continue
                result = timed(command_of(name, options.program, kind, limit), source, cold)
                earlier.append(result)
                if not result["failed"] and len(earlier) == 1 and not cold:
                    result["right"] = in_process("--check", name, options.program, kind) == 0
                    if name == "sortium":
                        os.replace("out", "expected")
    rows = []
    passes = statistics.median(disk)
    for (name, cold), results in found.items():
        row = {
            "kind": kind,
            "bytes": size,
            "times": times,
            "program": name,
            "cold": cold,
            "disk": passes,
            "peak": max(r["peak"] for r in results),
            "runs": len(results),
        }
        if results[0]["failed"]:
            row["error"] = results[0]["text"][-200:]
        else:
            row["seconds"] = statistics.median(r["seconds"] for r in results)
            row["processor"] = statistics.median(r["processor"] for r in results)
            if not cold:
                row["right"] = results[0]["right"]
        rows.append(row)
    return rows


def print_rows(rows: list, limit: int) -> None:
    ours = {row["cold"]: row.get("seconds") for row in rows if row["program"] == "sortium"}
    for row in rows:
        seconds, own = row.get("seconds"), ours.get(row["cold"])
        processor = row.get("processor", 0)
        cells = [
            f"{row['kind']:8}{row['times']:4}x {row['bytes'] / 2**30:6.2f} GiB  {row['program']:9}",
            "cold" if row["cold"] else "warm",
            f"{seconds:8.2f} {processor:8.2f}" if seconds else f"{'failed':>17}",
            f"{row['disk'] / seconds:7.2f}" if seconds else " " * 7,
            f"{seconds / own:7.2f}" if seconds and own else " " * 7,
            f"{row['peak'] / limit:7.2f}",
            row.get("error", "").replace("\n", " ")[:60],
            "" if row.get("right", True) else "WRONG",
        ]
        print(" ".join(cells).rstrip(), flush=True)


def in_process(function: str, *arguments: str) -> int:
    """Calls a function in a process of its own, so that this one stays small: the peak of a program
    counts what its parent had when it was started. Returns its exit status."""
    command = [sys.executable, os.path.abspath(__file__), function, *arguments]
    return subprocess.run(command, check=False).returncode


def main() -> None:
    function, arguments = (sys.argv + [""])[1], sys.argv[2:]
    if function == "--run":
        sys.exit(run_peer(arguments[0], arguments[1], int(arguments[2])))
    if function == "--make":
        sys.exit(make_input(arguments[0], arguments[1], int(arguments[2]), arguments[3].split(",")))
    if function == "--check":
        sys.exit(0 if is_right(*arguments) else 1)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/sortium")
    parser.add_argument("--directory", default=".")
    parser.add_argument("--limit", default="256M", help="memory of every program (%(default)s)")
    parser.add_argument("--sizes", default="1,4,16", help="of the inputs, in limits (%(default)s)")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--long",
        type=float,
        default=60,
        help="seconds from which on one run suffices (%(default)s)",
    )
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    options.peers = options.peers.split(",")
    if "sortium" not in options.peers or not set(options.peers) <= set(PEERS):
        parser.error(
            f"--peers: sortium and any of {', '.join(PEERS)}; all are compared with its results"
        )
    json_path = os.path.abspath(options.json) if options.json else None
    limit = parse_size(options.limit)
    print(f"{CORES} cores, limit {options.limit}, {options.directory}")
    print(
        f"{'kind':8}{'':4}  {'input':>10}  {'program':9} {'':4} {'seconds':>8} {'cpu':>8} "
        f"{'of disk':>7} {'sortium':>7} {'peak':>7}"
    )
    rows = []
    for kind in options.kinds.split(","):
        for times in options.sizes.split(","):
            folder = tempfile.mkdtemp(prefix="sortium-external-", dir=options.directory)
            before = os.getcwd()
            try:
                os.chdir(folder)
                found = measure(options, kind, int(times))
            finally:
                os.chdir(before)
                shutil.rmtree(folder)
            print_rows(found, limit)
            rows += found
            if json_path:
                with open(json_path, "w", encoding="utf-8") as out:
                    json.dump({"cores": CORES, "limit": limit, "rows": rows}, out, indent=1)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
