"""Time the reading and checking of many answers, beside a bare ``json.loads`` of each line.

Each is run in a process of its own, so that its peak of memory is its own: the same number of
answers again, ten times as many, must not need more memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

SECONDS = 2.0  # for 20,000 answers
GROWTH = 40_000  # KiB that ten times the answers may need beyond what one tenth of them needs
TEXT = "Run `git init demo`, then `cd demo`.\n" * 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=20_000, help="how many (default 20000)")
    parser.add_argument("--inner", choices=["ours", "bare"], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inner:
        return _inner(options.inner, Path(options.file))
    with tempfile.TemporaryDirectory() as folder:
        few, many = (_written(Path(folder), n) for n in (options.answers // 10, options.answers))
        rows = {
            (kind, path): _measured(kind, path) for kind in ("ours", "bare") for path in (few, many)
        }
    for (kind, path), (seconds, peak) in rows.items():
        print(f"{kind:5} {path.stem:>7} answers  {seconds:6.2f} s  peak {peak / 1024:6.1f} MiB")
    ours, small = rows["ours", many], rows["ours", few]
    ratio = ours[0] / rows["bare", many][0]
    print(
        f"ours / json.loads alone: {ratio:.1f}; memory grows by {(ours[1] - small[1]) / 1024:.1f} MiB"
    )
    return 0 if ours[0] < SECONDS and ours[1] - small[1] < GROWTH else 1


def _written(folder: Path, count: int) -> Path:
    path = folder / f"{count}.jsonl"
    with path.open("w") as file:
        for number in range(count):
            row = {"id": f"a{number}", "question": "How?", "answer": TEXT, "slices": ["bench"]}
            file.write(json.dumps(row) + "\n")
    return path


def _measured(kind: str, path: Path) -> tuple[float, int]:
    """Return seconds and peak memory in KiB of reading a file in a fresh process."""
    command = [sys.executable, __file__, "--inner", kind, "--file", str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(told[0]), int(told[1])


def _inner(kind: str, path: Path) -> int:
    began = perf_counter()
    if kind == "bare":
        with path.open("rb") as file:
            for line in file:
                json.loads(line)
    else:
        _check(path)
    seconds = perf_counter() - began
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return 0


def _check(path: Path) -> None:
    from procexec.read.answers import open_answers
    from procexec.read.check import Known, check_answers

    with open_answers(str(path)) as file:
        checked = check_answers(file, Known(procedures={}, sandboxes=frozenset()))
    assert not checked.errors, checked.errors[0]


if __name__ == "__main__":
    sys.exit(main())
