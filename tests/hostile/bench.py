"""A small library of one procedure, and procexec run on it by the command line."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from docker import DockerClient

from procexec.model.result import AnswerResult, Verdict
from procexec.report.journal import Row, read_rows, results_of
from procexec.sandbox.images import list_images
from procexec.sandbox.owner import RUN

ROOT = Path(__file__).parent.parent.parent
PRODUCT, VERSION = "openssl", "1.1.1"
PROCEDURE = f"{PRODUCT}/note"
RIGHT = "Leave a note:\n\n```sh\necho done > ~/note\n```\n"
WRONG = "Leave a note:\n\n```sh\necho nothing > ~/other\n```\n"
PATIENCE = 240.0


def image_tag(client: DockerClient) -> str:
    """Return the tag of the image that the bench runs on; the smallest of those that are made."""
    start = f"procexec/{PRODUCT}:{VERSION}-"
    return next(image.tag for image in list_images(client) if image.tag.startswith(start))


def left_by(client: DockerClient, pid: int) -> list[str]:
    """Return the containers that a process has made and not removed."""
    mine: dict[str, str | list[str] | bool] = {"label": [RUN, f"procexec.owner.pid={pid}"]}
    return [str(c.id) for c in client.containers.list(all=True, sparse=True, filters=mine)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a run of the program came to."""

    code: int
    said: str
    told: str
    pid: int


@dataclass(slots=True, kw_only=True)
class Bench:
    """A folder with a procedure, its sandbox and answers; ``engine`` is where it is run."""

    folder: Path
    engine: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def rows(self) -> list[Row]:
        path = self.out / "results.jsonl"
        return read_rows(path) if path.exists() else []

    @property
    def results(self) -> dict[str, AnswerResult]:
        return {result.id: result for result in results_of(self.rows)}

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {name: result.verdict for name, result in self.results.items()}

    def write(self, answers: Mapping[str, str]) -> None:
        rows = [{"id": i, "procedure": PROCEDURE, "answer": text} for i, text in answers.items()]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / "answers.jsonl").write_text(text)

    def start(self, *arguments: str, jobs: int = 2) -> "subprocess.Popen[str]":
        """Start ``procexec run``."""
        where = arguments if "--resume" in arguments else (*arguments, "--out", str(self.out))
        return self.call("run", "answers.jsonl", "-q", "-j", str(jobs), *where)

    def call(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start procexec; what it prints is taken by ``finish``."""
        return subprocess.Popen(
            [sys.executable, "-m", "procexec", *arguments],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, process: "subprocess.Popen[str]", timeout: float = PATIENCE) -> Finished:
        try:
            said, told = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            said, told = process.communicate()
            raise AssertionError(f"it did not end in time\n{said}\n{told}") from None
        return Finished(code=process.returncode, said=said, told=told, pid=process.pid)

    def run(self, *arguments: str, jobs: int = 2, timeout: float = PATIENCE) -> Finished:
        return self.finish(self.start(*arguments, jobs=jobs), timeout)

    def resume(self, *arguments: str, timeout: float = PATIENCE) -> Finished:
        return self.run("--resume", str(self.out), *arguments, timeout=timeout)

    def _environment(self) -> dict[str, str]:
        where = {"DOCKER_HOST": self.engine} if self.engine else {}
        cache = {"XDG_CACHE_HOME": str(self.folder / "cache"), "NO_COLOR": "1"}
        return {**os.environ, **cache, **where, **self.environment}


def make_bench(folder: Path, **procedure: object) -> Bench:
    """Make a bench; ``procedure`` replaces parts of the procedure."""
    (folder / "cache").mkdir(parents=True)
    shipped = ROOT / "sandboxes" / PRODUCT / VERSION
    sandbox = folder / "sandboxes" / PRODUCT / VERSION
    sandbox.mkdir(parents=True)
    shutil.copy(shipped / "Dockerfile", sandbox)
    spec = yaml.safe_load((shipped / "sandbox.yaml").read_text())
    kept = {name: spec[name] for name in ("product", "version", "base", "user", "workdir")}
    write_yaml(sandbox / "sandbox.yaml", kept | {"memory": "192m", "step_timeout": 20.0})
    write_yaml(folder / "procedures" / f"{PROCEDURE}.yaml", _PROCEDURE | procedure)
    return Bench(folder=folder)


def write_yaml(path: Path, document: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(dict(document), sort_keys=False))


def many(count: int, text: str = RIGHT) -> dict[str, str]:
    """Return so many answers; each is a text of its own."""
    return {f"a{k}": f"{text}\nAnswer {k}.\n" for k in range(count)}


def all_pass(verdicts: Mapping[str, Verdict], names: Sequence[str]) -> bool:
    return dict(verdicts) == dict.fromkeys(names, Verdict.PASS)


_PROCEDURE: dict[str, object] = {
    "id": PROCEDURE,
    "title": "Leave a note",
    "product": PRODUCT,
    "doc": {"title": "Notes", "url": "https://example.test/"},
    "versions": [VERSION],
    "user": "dev",
    "workdir": "/home/dev",
    "steps": [{"id": "note", "run": "echo done > ~/note"}],
    "goal": [{"id": "noted", "file": "/home/dev/note", "contains": "done"}],
}
