"""A machine with secrets and strangers' files, on which procexec is run; what must hold after every run."""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from procexec.model.result import AnswerResult
from procexec.report.journal import read_rows, results_of
from procexec.sandbox.engine import connect
from procexec.sandbox.owner import RUN

ROOT = Path(__file__).parent.parent.parent
NOWHERE = "unix:///nowhere.sock"
PEAK_MIB = 300
SLACK = 15.0
STEP_TIMEOUT = 3.0
MAY_CHANGE = ("out", "cache", "told.json")
STEPS = 8  # more than any answer here has

# A process's peak counts what its parent held when it was forked: between a large test process and
# procexec stands a small one, which tells on its last line.
LAUNCH = """
import json, resource, subprocess, sys, time
began = time.monotonic()
process = subprocess.Popen(sys.argv[2:])
code = process.wait()
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
told = {"code": code, "pid": process.pid, "peak_mib": peak / 1024, "seconds": time.monotonic() - began}
open(sys.argv[1], "w").write(json.dumps(told))
"""
# Written as two halves, so that the word that is looked for stands in no file of ours.
SECRET = "canary-" + hashlib.sha256(b"procexec").hexdigest()[:24]

_ESCAPES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
_CI_COMMAND = re.compile(
    rb"(?m)^[ \t]*::[a-zA-Z-]+[^\n]*?::|##\[[a-z]|##vso\[|##teamcity\[|section_(?:start|end):"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one run of procexec said, left behind and took."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    peak_mib: float
    pid: int
    out: Path
    broken: tuple[str, ...]

    @property
    def told(self) -> str:
        return self.stderr.decode()

    @property
    def results(self) -> dict[str, AnswerResult]:
        """Return the results by answer."""
        return {r.id: r for r in results_of(read_rows(self.out / "results.jsonl"))}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The folders of one machine: ``work`` is where procexec is run."""

    base: Path
    step_timeout: float = STEP_TIMEOUT

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def out(self) -> Path:
        return self.base / "out"

    def run(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        also_changes: Sequence[str] = (),
        timeout: float = 300,
    ) -> Done:
        """Run procexec as a user does; ``broken`` tells which of the standing promises it broke.

        ``also_changes`` are paths that somebody else changes meanwhile.
        """
        kept = frozenset(self.base / name for name in (*MAY_CHANGE, *also_changes))
        before = _snapshot(self.base, kept)
        told = self.base / "told.json"
        done = subprocess.run(
            [sys.executable, "-c", LAUNCH, str(told), sys.executable, "-m", "procexec", *arguments],
            cwd=self.work,
            env=self._environment() | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=True,
        )
        facts = json.loads(told.read_text())
        told.unlink()
        result = Done(**facts, stdout=done.stdout, stderr=done.stderr, out=self.out, broken=())
        broken = (*_changes(before, _snapshot(self.base, kept)), *self._broken(result))
        return Done(**facts, stdout=done.stdout, stderr=done.stderr, out=self.out, broken=broken)

    def judge(
        self,
        answers: Mapping[str, str],
        *arguments: str,
        env: Mapping[str, str] | None = None,
        timeout: float = 300,
    ) -> Done:
        """Run answers that all are about leaving a note."""
        rows = [
            {"id": name, "procedure": "git/note", "answer": text} for name, text in answers.items()
        ]
        self.write_answers(*rows)
        command = ("run", "answers.jsonl", "--out", str(self.out), "-j", "2", *arguments)
        return self.run(*command, env=env, timeout=timeout)

    def write_answers(self, *rows: object) -> None:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.work / "answers.jsonl").write_text(text)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.base / "home"),
            "XDG_CACHE_HOME": str(self.base / "cache"),
            "TMPDIR": str(self.base / "tmp"),
            "DOCKER_CONFIG": str(self.base / "home" / ".docker"),
            "LANG": "C.UTF-8",
            "PROCEXEC_CANARY": SECRET,
            "OPENAI_API_KEY": SECRET,
            "BASH_ENV": f"/{SECRET}",
        }

    def _broken(self, done: Done) -> Iterator[str]:
        if done.peak_mib >= PEAK_MIB:
            yield f"took {done.peak_mib:.0f} MiB"
        for name, data in (("stdout", done.stdout), ("stderr", done.stderr)):
            for pattern in (_ESCAPES, _CI_COMMAND):
                if found := pattern.search(data):
                    yield f"printed {found[0]!r} to {name}"
            if SECRET.encode() in data:
                yield f"printed a secret to {name}"
        yield from (f"a secret stands in {path}" for path in _holding(self.out, SECRET.encode()))
        if self.out.exists():
            yield from (f"left {name} behind" for name in _left_by(done.pid))
        yield from self._rows_broken(done)

    def _rows_broken(self, done: Done) -> Iterator[str]:
        journal = self.out / "results.jsonl"
        if not journal.exists() or done.code == 2:
            return
        rows = read_rows(journal)
        wanted = json.loads((self.out / "manifest.json").read_text())["expected_results"]
        keys = [f"{row['id']}@{row['version']}" for row in rows]
        if len(keys) != wanted or len(set(keys)) != wanted:
            yield f"{wanted} results were wanted, {len(keys)} rows and {len(set(keys))} results came"
        for row in rows:
            times = row["times"]
            assert isinstance(times, dict)
            if times["seconds"] > STEPS * self.step_timeout + SLACK:
                yield f"{row['id']} took {times['seconds']} s"


def make_world(base: Path, *, step_timeout: float = STEP_TIMEOUT) -> World:
    """Make a machine: sandboxes with short limits, procedures, a home with secrets, strangers' files."""
    for folder in ("work", "home/.docker", "tmp", "cache", "strangers"):
        (base / folder).mkdir(parents=True)
    (base / "strangers" / "file").write_text("not yours\n")
    proxy = f"http://user:{SECRET}@proxy.invalid:3128"
    config = {"proxies": {"default": {"httpProxy": proxy, "httpsProxy": proxy}}}
    (base / "home" / ".docker" / "config.json").write_text(json.dumps(config))
    (base / "home" / ".bashrc").write_text(f"export LEAK={SECRET}\n")
    _add_sandbox(base / "work", step_timeout)
    for name, procedure in PROCEDURES.items():
        add_procedure(base / "work", name, procedure)
    return World(base=base, step_timeout=step_timeout)


NOTE = {
    "steps": [{"id": "note", "run": "echo done > ~/note"}],
    "goal": [{"id": "noted", "file": "/root/note", "contains": "done"}],
}
PROCEDURES: dict[str, dict[str, object]] = {
    "git/note": {"title": "Leave a note", "user": "root", "workdir": "/root", **NOTE},
    "git/dev-note": {
        "title": "Leave a note as a user",
        "user": "dev",
        "workdir": "/home/dev",
        "steps": NOTE["steps"],
        "goal": [{"id": "noted", "file": "/home/dev/note", "contains": "done"}],
    },
}


def add_procedure(work: Path, name: str, more: Mapping[str, object]) -> Path:
    """Write a procedure of git 2.39."""
    path = work / "procedures" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    doc = {"title": "Hostile", "url": "https://example.test/"}
    document = {"id": name, "title": "x", "product": "git", "doc": doc, "versions": ["2.39"]}
    path.write_text(yaml.safe_dump(document | dict(more), sort_keys=False))
    return path


def _add_sandbox(work: Path, step_timeout: float) -> None:
    """Give the sandbox of git 2.39 with little memory and patience; its image is the shipped one."""
    shipped = ROOT / "sandboxes" / "git" / "2.39"
    folder = work / "sandboxes" / "git" / "2.39"
    folder.mkdir(parents=True)
    shutil.copy(shipped / "Dockerfile", folder)
    spec = yaml.safe_load((shipped / "sandbox.yaml").read_text())
    kept = {key: spec[key] for key in ("product", "version", "base", "user", "workdir", "ignore")}
    short = {"step_timeout": step_timeout, "memory": "192m"}
    (folder / "sandbox.yaml").write_text(yaml.safe_dump(kept | short, sort_keys=False))


def _snapshot(base: Path, kept: frozenset[Path]) -> dict[str, str]:
    """Return what stands below a folder, but for the paths that may change."""
    found: dict[str, str] = {}
    for folder, names, files in os.walk(base):
        names[:] = [name for name in names if Path(folder, name) not in kept]
        for path in (Path(folder, name) for name in (*names, *files)):
            if path not in kept:
                found[str(path.relative_to(base))] = _facts(path)
    return found


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    changed = sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
    if changed:
        yield f"changed outside the run folder: {', '.join(changed)}"


def _facts(path: Path) -> str:
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > 64 << 20:
        return f"{status.st_mode} {status.st_size if stat.S_ISREG(status.st_mode) else ''}"
    return f"{status.st_mode} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _holding(folder: Path, word: bytes) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")) if folder.exists() else ():
        if path.is_file() and word in path.read_bytes():
            yield path


def _left_by(pid: int) -> list[str]:
    """Return the containers, volumes and networks that a process labelled and left."""
    client = connect()
    try:
        mine: dict[str, str | list[str] | bool] = {"label": [RUN, f"procexec.owner.pid={pid}"]}
        found = [str(c.id) for c in client.containers.list(all=True, sparse=True, filters=mine)]
        found += [str(v.id) for v in client.volumes.list(filters={"label": RUN})]
        return [*found, *(str(n.id) for n in client.networks.list(filters={"label": RUN}))]
    finally:
        client.close()
