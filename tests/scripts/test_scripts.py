"""The command line as its user sees it: each script is a session with files and expectations.

A script is a txtar archive: first the lines of the session, then files, each after a line
``-- name --``. Lines of the session:

    procexec ARGUMENTS        run it; it must end with exit code 0
    exit N procexec ARGUMENTS run it; it must end with exit code N
    stdout REGEX              what the last command printed must match (multi-line)
    stderr REGEX
    no-stdout REGEX           must not match
    no-stderr REGEX
    same stdout FILE          the output must equal a file of the script
    exists FILE
    equal FILE FILE           two files must be byte-identical
    env NAME=VALUE            for the commands that follow
    stdin FILE                for the next command
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SCRIPTS = sorted(HERE.glob("*.txtar"))


def _marked(path: Path) -> object:
    needs_engine = path.read_text().startswith("# needs an engine")
    return pytest.param(path, id=path.stem, marks=[pytest.mark.docker] if needs_engine else [])


@pytest.mark.parametrize("path", [_marked(path) for path in SCRIPTS])
def test_the_session_goes_as_its_script_says(path: Path, tmp_path: Path) -> None:
    lines = _unpacked(path.read_text(), tmp_path)
    for name in ("procedures", "sandboxes", "examples"):
        if not (tmp_path / name).exists():
            (tmp_path / name).symlink_to(ROOT / name)

    session = Session(folder=tmp_path)
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            session.do(line, f"{path.name}:{number}")


def _unpacked(text: str, folder: Path) -> list[str]:
    head, *sections = re.split(r"^-- (.+) --\n", text, flags=re.MULTILINE)
    for name, content in zip(sections[::2], sections[1::2], strict=True):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    return head.split("\n")


@dataclass(slots=True)
class Session:
    """What the last command printed, and the environment of the next one."""

    folder: Path
    stdout: str = ""
    stderr: str = ""
    stdin: str = ""
    environment: dict[str, str] = field(default_factory=lambda: {**os.environ, "NO_COLOR": "1"})

    def do(self, line: str, place: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "procexec":
                self.run(line, 0, place)
            case "exit":
                code, _, command = rest.partition(" ")
                self.run(command, int(code), place)
            case "stdout" | "stderr":
                text = self.stdout if word == "stdout" else self.stderr
                assert re.search(rest, text, re.MULTILINE), f"{place}: {rest!r} not in:\n{text}"
            case "no-stdout" | "no-stderr":
                text = self.stdout if word == "no-stdout" else self.stderr
                assert not re.search(rest, text, re.MULTILINE), f"{place}: {rest!r} in:\n{text}"
            case "same":
                self.same(rest, place)
            case "exists":
                assert (self.folder / rest).exists(), f"{place}: there is no {rest}"
            case "equal":
                one, other = (self.folder / name for name in rest.split())
                assert one.read_bytes() == other.read_bytes(), f"{place}: they differ"
            case "env":
                name, _, value = rest.partition("=")
                self.environment[name] = value
            case "stdin":
                self.stdin = (self.folder / rest).read_text()
            case _:
                pytest.fail(f"{place}: unknown word {word!r}")

    def run(self, command: str, code: int, place: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)],
            cwd=self.folder,
            env=self.environment,
            input=self.stdin,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.stdout, self.stderr, self.stdin = done.stdout, done.stderr, ""
        told = f"{place}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == code, told

    def same(self, rest: str, place: str) -> None:
        stream, name = rest.split()
        text = self.stdout if stream == "stdout" else self.stderr
        assert text == (self.folder / name).read_text(), f"{place}:\n{text}"
