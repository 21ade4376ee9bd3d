#!/usr/bin/env python3
"""Runs the program with random command lines for some seconds.

    tests/fuzz/command_lines.py PROGRAM SECONDS [SEED]

Options come from the program's help; their values are valid, odd or nonsense. Whatever the command
line is, the program must end with one of its exit codes, print no control characters, leave no
temporary file, and change no file but its outputs. It prints every command line that breaks this,
and exits with 1 then.
"""

import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

EXIT_CODES = {0, 1, 2, 3}
LIMIT_SECONDS = 20
# Commands that work as long as they are told to.
LONG = {"bench", "tune", "gen", "pic", "doctor", "devices"}
OUTPUT_OPTIONS = {"-o", "--output", "-o2", "--output2", "--json", "--csv", "--summary", "--picture"}

NUMBERS = """0 1 -1 2 3 7 8 32 33 64 255 256 257 1000 4294967295 4294967296 18446744073709551615
18446744073709551616 -9223372036854775808 1e308 1e-308 nan inf -inf 0x10 2^3 2^20 2^31 2^63 2^64
2^-1 2^ 1.5 1,2 1,,2 1:5 5:1 2^3:2^5 0:64 64:0 0:1 31:32 8G 500M 1K 1T 9999999T 300M""".split()
WORDS = """u8 i8 u16 i16 u32 i32 f32 u64 i64 f64 f16 bf16 auto none all last first bits tied
distinct cpu:0 opencl:0 cpu:* cuda:* opencl:* cpu:0,cpu:0 cpu:0, , cuda:0 opencl:99 x
uniform few zipf1 zipf normal+nan10 sorted distinct16 file:k.bin file: timestamps keys
values keys,values a b id a:desc a:desc:nan-first,id u32@0 u32@0:desc u16@2,u16@0
bytes[0:10] bytes[0:100] bytes[10:5] u32@99 f64@0 threads=1 threads=0 r=4 items=4096 x=y =,
, sample lsd merge radix topk segmented bitonic std::sort selection-local counting 000 003
light dark \\t \\0 ; %s %n ../k.bin - -- --quiet -o""".split()
FILES = """k.bin k.npy r.bin r.npy t.txt s.npy v.bin d.json empty dir link missing /dev/null dir/x
/dev/full - sums""".split()
NASTY = ["", " ", "\t", "\n", "\x1b[2J", "\xff", "é", "a" * 300, "x" * 5000, "\udc80", "'", '"']


def npy(descr, count, data):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': ({count},), }}".encode()
    header += b" " * ((64 - (11 + len(header)) % 64) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def make_files(directory, rng):
    """Writes the inputs and returns their contents by name."""
    contents = {
        "k.bin": rng.randbytes(400),
        "k.npy": npy("'<u4'", 100, rng.randbytes(400)),
        "r.bin": rng.randbytes(1000),
        "r.npy": npy("[('a', '<f4'), ('b', '>u2'), ('id', '|S6')]", 20, rng.randbytes(240)),
        "t.txt": "".join(f"{rng.randrange(50)} {rng.randrange(9)}\n" for _ in range(50)).encode(),
        "s.npy": npy("'<u4'", 3, struct.pack("<III", 0, 40, 100)),
        "v.bin": rng.randbytes(400),
        "d.json": b'{"results": [{"algorithm": "a", "type": "u32", "n": 8, "device": "d",'
        b' "seconds": 1, "verified": true}]}',
        "empty": b"",
        "sums": rng.randbytes(280),
    }
    for name, data in contents.items():
        (directory / name).write_bytes(data)
    (directory / "dir").mkdir()
    (directory / "link").symlink_to("k.bin")
    return contents


def options_of(program, command):
    """Returns the options that the help of a command lists: (names, whether it takes a value)."""
    text = subprocess.run([program, command, "--help"], capture_output=True, text=True).stdout
    found = []
    for line in text.splitlines():
        match = re.match(r"  (-[-\w]+)(?:,(--[-\w]+))?(.*)", line)
        if match:
            names = [name for name in match.groups()[:2] if name]
            found.append((names, bool(re.match(r" [A-Z]", match.group(3)))))
    return found


def value(rng):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NUMBERS)
    if kind < 0.7:
        return rng.choice(WORDS)
    if kind < 0.95:
        return rng.choice(FILES)
    return rng.choice(NASTY)


# What makes a command line likely to be accepted, so that the options beside it matter.
GOOD = {
    "sort": [
        ["k.bin", "--type", "u32", "-o", "out"],
        ["k.npy", "-o", "out.npy"],
        ["k.bin", "--type", "u32", "-o", "k.bin", "--values", "v.bin", "--value-bytes", "4"]
        + ["-o2", "v.bin"],
        ["k.npy", "-o", "out", "--segments", "s.npy"],
        ["k.npy", "-o", "out", "--row-length", "10"],
        ["r.npy", "-o", "out", "--by", "a,id"],
        ["r.bin", "-o", "out", "--record", "10", "--key", "bytes[0:4],u32@4"],
        ["t.txt", "-o", "out", "--lines"],
        ["t.txt", "-o", "out", "--lines", "--field", "2", "--numeric"],
        ["k.bin", "--type", "u64", "-o", "out", "--memory", "300M"],
        ["k.bin", "--type", "u16", "-o", "out", "--distributed"],
    ],
    "topk": [
        ["5", "k.bin", "--type", "u32", "-o", "out"],
        ["5", "k.bin", "--type", "u32", "-o", "out", "--row-length", "10"],
    ],
    "check": [
        ["k.bin", "--type", "u32"],
        ["k.bin", "v.bin", "--type", "u32"],
        ["r.bin", "--records", "--summary", "out"],
        ["--summaries", "sums"],
    ],
    "gen": [["10", "-o", "out"]],
    "report": [["d.json", "-o", "out"]],
    "draw": [["bitonic", "-o", "out"]],
    "bench": [["--n", "100", "--min-time", "0.001", "--device", "cpu:0"]],
    "tune": [["--n", "100", "--seconds", "0.1", "--device", "cpu:0", "-o", "out"]],
    "pic": [["--particles", "512", "--grid", "4", "--min-time", "0.001", "--device", "cpu:0"]],
    "algorithms": [[]],
    "devices": [[]],
}


def command_line(rng, options):
    command = rng.choice([*GOOD, "sort", "sort", "sort"])
    words = list(rng.choice(GOOD[command])) if rng.random() < 0.9 else []
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        names, takes_value = rng.choice(options[command])
        added = [rng.choice(names)] + ([value(rng)] if takes_value else [])
        if added[0] not in ("--warm", "--self-test"):  # they take minutes
            at = rng.randrange(len(words) + 1)
            words[at:at] = added
    if rng.random() < 0.3 and words:
        words[rng.randrange(len(words))] = value(rng)
    if rng.random() < 0.1 and words:
        del words[rng.randrange(len(words))]
    return [command, *words]


def set_limits():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def outputs(arguments):
    """The names of files that this command line may change: what follows an output's option."""
    found = set()
    for option, name in zip(arguments, arguments[1:] + [""]):
        if option in OUTPUT_OPTIONS:
            found.add(name)
        elif "=" in option and option.split("=")[0] in OUTPUT_OPTIONS:
            found.add(option.split("=", 1)[1])
        elif option.startswith("-o"):
            found.add(option[2:].lstrip("="))
    if "link" in found or "./link" in found:
        found.add("k.bin")
    return found


def faults(directory, contents, arguments, ran):
    """Yields what is wrong with a run."""
    if ran.returncode not in EXIT_CODES:
        yield f"it ended with {ran.returncode}"
    text = ran.stderr.decode(errors="surrogateescape")
    if re.search("[\x00-\x08\x0b-\x1f\x7f]", text):
        yield f"it printed control characters: {text!r}"
    if ran.returncode in (2, 3) and not text.strip():
        yield "it said nothing"
    if "terminate called" in text or "what():" in text or "basic_string" in text:
        yield f"its message is not its own: {text!r}"
    allowed = outputs(arguments)
    for name, data in contents.items():
        file = directory / name
        if name in allowed and ran.returncode in (0, 1):
            continue
        if not file.exists() or file.read_bytes() != data:
            yield f"{name} has changed"
    for name in os.listdir(directory):
        if name.startswith(".sortium-"):
            yield f"{name} was left"


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    program = str(pathlib.Path(sys.argv[1]).resolve())
    seed = int(sys.argv[3]) if len(sys.argv) == 4 else random.SystemRandom().getrandbits(32)
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    options = {command: options_of(program, command) for command in GOOD}
    assert all(options[command] for command in GOOD), "the help lists options"
    end = time.monotonic() + float(sys.argv[2])
    runs = accepted = wrong = 0
    work = pathlib.Path(tempfile.mkdtemp(prefix="sortium-fuzz-"))
    environment = dict(os.environ, HOME=str(work / "home"), SORTIUM_TUNING="off")
    environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    while time.monotonic() < end:
        directory = work / "files"
        directory.mkdir()
        contents = make_files(directory, rng)
        arguments = command_line(rng, options)
        try:
            ran = subprocess.run(
                [os.fsencode(word) for word in (program, *arguments)],
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=LIMIT_SECONDS,
                preexec_fn=set_limits,
            )
            found = list(faults(directory, contents, arguments, ran))
            accepted += ran.returncode == 0
        except subprocess.TimeoutExpired:
            reads_for_ever = any("/dev/full" in a for a in arguments)
            found = [] if arguments[0] in LONG or reads_for_ever else ["it did not end"]
        runs += 1
        wrong += bool(found)
        for fault in found:
            print(f"{arguments}: {fault}", flush=True)
        shutil.rmtree(directory)
    shutil.rmtree(work)
    print(f"{runs} command lines, {accepted} of them accepted, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
