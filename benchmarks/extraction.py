"""Time the way from Markdown to an alignment, beside what others need for a part of it.

Answers of ten steps, each written another way, are read and compared with a documented procedure, all in one process
on one core. Beside it, in the same rounds: the same Markdown parsed by markdown-it alone, and one run of shfmt over the
same commands. The ratios matter; milliseconds are this machine's.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter

from markdown_it import MarkdownIt

from procexec.align.alignment import Documented, align
from procexec.extract.extraction import extract
from procexec.extract.hints import Hints
from procexec.read.procedures import read_procedures
from procexec.read.sandboxes import read_sandboxes
from procexec.trial import document, hints_of

ROOT = Path(__file__).resolve().parent.parent
SHFMT = Path(sys.executable).parent / "shfmt"
PROCEDURE, VERSION = "git/publish-new-repo", "2.47"
SIZES = (250, 500, 1000, 2000)
ROUNDS = 3
SEED = 20261201

ONE = 0.010  # seconds for one answer, the median
THOUSAND = 8.0  # seconds
GROWTH = 1.5  # times that an answer among the most may take of one among the fewest

COMMANDS = (
    "cd notes-{n}",
    "git init -b main-{n}",
    "git config user.name 'Reader {n}'",
    "git config user.email reader{n}@example.test",
    "cat > .gitignore <<'EOF'\n*.log{n}\nbuild/\nEOF",
    "git add ./{n}",
    'git commit -m "Import {n}"',
    "git remote add origin /srv/git/notes-{n}.git",
    "git push -u origin main-{n}",
    "git status -sb {n}",
)
"""Other words in each answer, so that nothing is known from the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """What an answer is read with."""

    hints: Hints
    document: Documented

    def read(self, markdown: str) -> int:
        """Read and align; return the number of steps."""
        steps = extract(markdown, self.hints).steps
        align([step.action for step in steps], self.document)
        return len(steps)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}")
    rounds = parser.parse_args().rounds
    reader, answers = _reader(), list(_answers(max(SIZES)))
    assert all(reader.read(text) == len(COMMANDS) for text in answers[:50])
    median, ratios = _one(reader, answers[:200], rounds)
    each = {size: _each(reader, answers[:size], rounds) for size in SIZES}
    growth = each[SIZES[-1]] / each[SIZES[0]]
    print(f"one answer of {len(COMMANDS)} steps: {median * 1000:.2f} ms (median of {200 * rounds})")
    for name, ratio in ratios.items():
        print(f"  ours / {name}: {ratio:.1f}")
    for size, seconds in each.items():
        print(
            f"{size:5} answers: {seconds * size:6.2f} s, {seconds * 1000:.2f} ms each "
            f"(best of {rounds})"
        )
    print(f"an answer among {SIZES[-1]} takes {growth:.2f} times one among {SIZES[0]}")
    return 0 if median < ONE and each[1000] * 1000 < THOUSAND and growth < GROWTH else 1


def _reader() -> Reader:
    procedures, _ = read_procedures(ROOT / "procedures")
    sandboxes, _ = read_sandboxes(ROOT / "sandboxes")
    procedure = procedures[PROCEDURE]
    spec = sandboxes[procedure.product, VERSION].spec
    return Reader(hints=hints_of(spec), document=document(procedure, VERSION, spec))


def _answers(count: int) -> list[str]:
    random = Random(SEED)
    return ["\n\n".join(_pieces(random, n)) + "\n" for n in range(count)]


def _pieces(random: Random, n: int) -> list[str]:
    """Return the commands as an assistant writes them: blocks, sentences, terminals."""
    pieces = ["Here is how to publish it. Mind the *branch name* (`main`)."]
    for number, template in enumerate(COMMANDS, 1):
        command = template.format(n=n)
        ways = [_in_list, _in_block, _in_terminal]
        if "\n" not in command:
            ways.append(_in_sentence)
        pieces.append(random.choice(ways)(number, command))
    return [*pieces, f"That is all; see section {random.randint(1, 99)} for more."]


def _in_list(number: int, command: str) -> str:
    inner = "\n".join("    " + line for line in ("```bash", *command.split("\n"), "```"))
    return f"{number}.  Next step:\n\n{inner}"


def _in_block(_number: int, command: str) -> str:
    return f"Then:\n\n```bash\n{command}\n```"


def _in_terminal(number: int, command: str) -> str:
    return f"Then:\n\n```console\n$ {command}\ndone: {number}\n```"


def _in_sentence(_number: int, command: str) -> str:
    return f"Then run `{command}`."


def _one(reader: Reader, answers: Sequence[str], rounds: int) -> tuple[float, dict[str, float]]:
    """Return the median seconds of an answer, and how many times as much as others' part it is."""
    parse = MarkdownIt("commonmark").enable("table").parse
    script = "\n".join(COMMANDS)
    ours, parsed, formatted = [], [], []
    for _ in range(rounds):
        for text in answers:
            ours.append(_seconds(partial(reader.read, text)))
            parsed.append(_seconds(partial(parse, text)))
        formatted += [_seconds(lambda: _shfmt(script)) for _ in range(10)]
    median = statistics.median(ours)
    return median, {
        "markdown-it alone": median / statistics.median(parsed),
        "one run of shfmt": median / statistics.median(formatted),
    }


def _shfmt(script: str) -> None:
    subprocess.run([SHFMT, "--to-json"], input=script.encode(), capture_output=True, check=True)


def _each(reader: Reader, answers: Sequence[str], rounds: int) -> float:
    """Return the seconds that one of so many answers takes, in the best of the rounds."""
    best = min(_seconds(lambda: [reader.read(text) for text in answers]) for _ in range(rounds))
    return best / len(answers)


def _seconds(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
