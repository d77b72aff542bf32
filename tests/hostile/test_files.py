"""Files that a sandbox holds out to be read, and places where procexec puts its own."""

import hashlib
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import procexec
from procexec.compare import observe as observation
from procexec.compare.observe import Look, observe
from procexec.errors import WreckedError
from procexec.model.document import Check
from procexec.model.run import CommandResult, Ending
from procexec.model.state import FileFacts
from procexec.sandbox import SCRATCH, Dialog, Sandbox, SandboxRequest
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.overlay import DIGEST_BYTES, MAX_PATHS, MORE, TEXT_BYTES
from tests.hostile.world import SECRET

pytestmark = pytest.mark.docker


def _run(sandbox: Sandbox, text: str, timeout: float = 30) -> CommandResult:
    return sandbox.run(text, timeout=timeout, dialog=Dialog())


@pytest.fixture(scope="module")
def hostile(provider: DockerProvider, git_request: SandboxRequest) -> Iterator[DockerSandbox]:
    with provider.start(SandboxRequest(image=git_request.image)) as sandbox:
        yield sandbox


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file of the host that no sandbox may show."""
    path = tmp_path / "canary"
    path.write_text(SECRET)
    return path


def _files(sandbox: Sandbox) -> dict[str, FileFacts | None]:
    return sandbox.changes().files


def test_f01_a_link_is_told_as_a_link_and_nothing_of_the_host_is_read(
    hostile: DockerSandbox, canary: Path
) -> None:
    targets = (str(canary), f"../../../../..{canary}", "itself", "/proc/1/environ", "/etc/shadow")
    for number, target in enumerate(targets):
        name = "itself" if target == "itself" else f"link-{number}"
        _run(hostile, f"mkdir -p /root/f01; ln -sfn '{target}' /root/f01/{name}")
    _run(hostile, f"mkdir -p /root/f01; ln -sfn '{canary.parent}' /root/f01/folder")

    files = {p: f for p, f in _files(hostile).items() if p.startswith("/root/f01/")}

    assert {f.type for f in files.values() if f} == {"link"}
    assert {f.target for f in files.values() if f} == {*targets, str(canary.parent)}
    assert SECRET not in repr(files)


def test_f01_a_folder_that_turns_into_a_link_is_not_followed(
    hostile: DockerSandbox, canary: Path
) -> None:
    at = canary.parent
    _run(
        hostile, f"mkdir -p {at}; ln -sfn /elsewhere {canary}; rm -rf /etc/apt; ln -s {at} /etc/apt"
    )

    found = _files(hostile)

    assert found[str(canary)] == FileFacts(type="link", owner="root", target="/elsewhere")
    assert SECRET not in repr(found)


KINDS = {
    "pipe": "mkfifo {0}",
    "socket": "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => \"{0}\", Listen => 1)'",
    "folder": "mkdir {0}",
}


@pytest.mark.parametrize("kind", KINDS)
def test_f02_what_is_no_file_is_told_in_no_time(hostile: DockerSandbox, kind: str) -> None:
    path = f"/root/f02-{kind}"
    _run(hostile, KINDS[kind].format(path))

    began = time.monotonic()
    found = _files(hostile)[path]

    assert time.monotonic() - began < 5
    assert found is not None
    assert found.type == ("directory" if kind == "folder" else "other")
    assert (found.text, found.digest) == (None, "")


def test_f03_a_large_file_is_not_read_and_a_growing_one_is_bounded(hostile: DockerSandbox) -> None:
    large = DIGEST_BYTES + 40_000_000
    _run(hostile, f"head -c {large} /dev/zero > /root/large")
    _run(hostile, "(while :; do head -c 100000 /dev/zero >> /root/grows; done) &")

    began = time.monotonic()
    files = _files(hostile)
    spent = time.monotonic() - began
    hostile.kill_processes()

    found, grows = files["/root/large"], files["/root/grows"]
    assert found is not None
    assert grows is not None
    assert (found.size, found.digest, found.text) == (large, f"size:{large}", None)
    assert grows.text is None or len(grows.text) <= TEXT_BYTES
    assert spent < 5


def test_f03_beyond_a_number_of_paths_it_is_told_that_more_have_changed(
    provider: DockerProvider, git_request: SandboxRequest
) -> None:
    """Whoever makes many files cannot hide others behind them."""
    flood = f"mkdir /a; cd /a; perl -e 'open F, \">$_\" for 1..{MAX_PATHS + 500}'"
    with provider.start(SandboxRequest(image=git_request.image)) as sandbox:
        few = _files(sandbox)
        _run(sandbox, flood, timeout=60)
        changes = sandbox.changes()

    assert MORE not in few
    assert len(changes.files) == MAX_PATHS + 1
    assert changes.files[MORE] is not None
    assert changes.before[MORE] is None


NAMES = r"""
mkdir /root/f04; cd /root/f04
touch $'a\nb' $'\e]0;x\a' $'\xff\xfe' $'\u202e' "$(printf 'n%.0s' {1..255})"
for i in {1..200}; do mkdir d; cd d; done; echo deep > file
"""


def test_f04_hostile_names_are_text(hostile: DockerSandbox) -> None:
    _run(hostile, NAMES)

    files = {p: f for p, f in _files(hostile).items() if p.startswith("/root/f04/")}

    names = {path.removeprefix("/root/f04/") for path in files}
    assert {"a\nb", "\x1b]0;x\x07", "\ufffd\ufffd", "\u202e", "n" * 255} <= names
    assert "d/" * 200 + "file" in names
    assert json.loads(json.dumps(sorted(names))) == sorted(names)


def test_f05_a_file_that_turns_into_a_link_shows_nothing_of_the_host(
    hostile: DockerSandbox, canary: Path
) -> None:
    at = f"/root/f05{canary.parent}"
    swap = (
        f"mkdir -p {at}; cd /root; (while :; do"
        f" ln -sfn {canary} /root/f05/x; rm -f /root/f05/x; echo mine > /root/f05/x;"
        f" mv /root/f05 /root/f05-; ln -s / /root/f05; rm /root/f05; mv /root/f05- /root/f05; done) &"
    )
    _run(hostile, swap)

    seen = "".join(repr(_files(hostile)) for _ in range(150))
    hostile.kill_processes()

    assert "mine" in seen
    assert "points to" in seen or str(canary) in seen
    assert SECRET not in seen


def test_f06_no_archive_is_taken_out_of_a_sandbox_or_unpacked() -> None:
    sources = Path(procexec.__file__).parent.rglob("*.py")
    opened = r"get_archive|extractall|\.extract\(|TarFile\.open|shutil\.unpack"
    reads = r"tarfile\.open\((?![^)]*mode=\"w\")"

    hits = [path.name for path in sources if re.search(f"{opened}|{reads}", path.read_text())]

    assert hits == []


TRAPS = {
    "a link to a folder": f"rm -rf {SCRATCH}; ln -s /etc {SCRATCH}; exit 0",
    "a link within": f"rm -rf {SCRATCH}/steps; ln -s /etc {SCRATCH}/steps; exit 0",
    "a link to nothing": f"rm -rf {SCRATCH}; ln -s /nowhere {SCRATCH}; exit 0",
    "a file": f"rm -rf {SCRATCH}; echo mine > {SCRATCH}; exit 0",
    "links for the files": f"ln -sf /etc/passwd {SCRATCH}/begin; ln -sf /etc/passwd {SCRATCH}/end; exit 0",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_f07_what_is_delivered_goes_nowhere_else(root: DockerSandbox, trap: str) -> None:
    before = root.execute("sha256sum /etc/passwd; ls /etc", user="root", cwd="/", timeout=10).output
    _run(root, TRAPS[trap])

    result = _run(root, "echo arrived; (exit 6)")

    after = root.execute("sha256sum /etc/passwd; ls /etc", user="root", cwd="/", timeout=10).output
    assert (result.ending, result.exit_code, result.output) == (Ending.EXITED, 6, "arrived")
    assert after == before


HANGS = Check(id="hangs", run="sleep 600", exit=0)
HOLDS = Check(id="holds", run="true", exit=0)


def test_p28_a_check_that_an_answer_makes_hang_does_not_hold_and_the_others_do(
    root: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "EACH", 1)
    look = Look(user="root", workdir="/root", checks=(HANGS, HOLDS, HANGS, HOLDS))

    held = [check.held for check in observe(root, look).checks]

    assert held == [False, True, False, True]


def test_p28_looks_that_never_end_are_blamed_on_who_changed_what_they_are_made_with(
    root: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "EACH", 1)
    monkeypatch.setattr(observation, "MORE", 2)
    _run(
        root,
        "printf '#!/bin/sh\\nsleep 600\\n' > /tmp/t; chmod +x /tmp/t; mv /tmp/t /usr/bin/timeout",
    )

    with pytest.raises(WreckedError, match="what looks are made with was changed"):
        observe(root, Look(user="root", workdir="/root", checks=(HOLDS,)))


def test_f08_bits_attributes_and_times_do_not_matter_to_content(hostile: DockerSandbox) -> None:
    _run(hostile, "echo content > /root/f08; chmod 6755 /root/f08; touch -d 2400-01-01 /root/f08")

    found = _files(hostile)["/root/f08"]

    assert found is not None
    assert (found.text, found.mode, found.size) == ("content\n", "6755", 8)
    assert found.digest == hashlib.sha256(b"content\n").hexdigest()


@pytest.mark.parametrize("start", ["BZh91AY&SY", "\x1f\x8b\x08", "\xfd7zXZ", "PK\x03\x04"])
def test_f09_a_step_that_begins_like_a_packed_file_arrives(
    hostile: DockerSandbox, start: str
) -> None:
    text = f"{start}; (exit 8)"

    result = _run(hostile, text)

    number = hostile.delivered[text]
    told = hostile.execute(
        f"sha256sum < {SCRATCH}/steps/{number}", user="root", cwd="/", timeout=10
    )
    assert (result.ending, result.exit_code) == (Ending.EXITED, 8)
    assert told.output.split()[0] == hashlib.sha256(text.encode()).hexdigest()
