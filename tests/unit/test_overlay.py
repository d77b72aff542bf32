"""A container's own layer is read without trust: no link is followed, nothing blocks."""

import hashlib
import os
from pathlib import Path

import pytest

from procexec.model.state import FileFacts
from procexec.sandbox import SCRATCH
from procexec.sandbox.overlay import (
    DIGEST_BYTES,
    TEXT_BYTES,
    OverlayDirs,
    before,
    changed,
    is_left_out,
    text_of,
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes device nodes: needs root")
PASSWD = f"root:x:0:0::/root:/bin/bash\nme:x:{os.getuid() or 4711}:1::/home/me:/bin/bash\n"


@pytest.fixture
def dirs(tmp_path: Path) -> OverlayDirs:
    """An upper directory and two layers below it, the topmost first."""
    names = ("upper", "top", "bottom")
    upper, top, bottom = (tmp_path / name for name in names)
    for folder in (upper, top, bottom):
        folder.mkdir()
    _write(bottom, "etc/passwd", PASSWD)
    return OverlayDirs(upper=upper, lower=(top, bottom))


def _write(layer: Path, path: str, text: str = "", mode: int = 0o644) -> Path:
    file = layer / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def _whiteout(layer: Path, path: str) -> None:
    (layer / path).parent.mkdir(parents=True, exist_ok=True)
    os.mknod(layer / path, 0o020000, os.makedev(0, 0))


def _types(dirs: OverlayDirs) -> dict[str, str | None]:
    return {path: facts.type if facts else None for path, facts in changed(dirs).items()}


def test_an_empty_layer_tells_nothing(dirs: OverlayDirs) -> None:
    assert dirs.readable
    assert changed(dirs) == {}


def test_a_new_file_is_told_with_all_its_facts(dirs: OverlayDirs) -> None:
    _write(dirs.upper, "note", "hello\n", 0o600)

    owner = PASSWD.split("\n")[0 if os.getuid() == 0 else 1].split(":")[0]
    assert changed(dirs) == {
        "/note": FileFacts(
            type="file",
            mode="600",
            owner=owner,
            size=6,
            digest=hashlib.sha256(b"hello\n").hexdigest(),
            text="hello\n",
        )
    }
    assert before(dirs, ["/note"]) == {"/note": None}


def test_what_a_file_was_stands_in_the_topmost_layer_that_has_it(dirs: OverlayDirs) -> None:
    _write(dirs.upper, "d/f", "now")
    _write(dirs.lower[0], "d/f", "then")
    _write(dirs.lower[1], "d/f", "long ago")

    was = before(dirs, ["/d/f"])["/d/f"]

    assert was is not None
    assert was.text == "then"


def test_a_folder_that_only_holds_changes_is_none(dirs: OverlayDirs) -> None:
    _write(dirs.upper, "srv/f")
    (dirs.lower[1] / "srv").mkdir()

    assert _types(dirs) == {"/srv/f": "file"}


def test_a_folder_with_another_mode_is_a_change(dirs: OverlayDirs) -> None:
    (dirs.upper / "srv").mkdir(mode=0o700)
    (dirs.lower[1] / "srv").mkdir(mode=0o755)

    assert _types(dirs) == {"/srv": "directory"}


def test_a_folder_instead_of_a_file_is_a_change(dirs: OverlayDirs) -> None:
    (dirs.upper / "srv").mkdir(mode=0o755)
    _write(dirs.lower[1], "srv", mode=0o755)

    assert _types(dirs) == {"/srv": "directory"}


def test_a_link_is_told_and_not_followed(dirs: OverlayDirs, tmp_path: Path) -> None:
    secret = _write(tmp_path, "secret", "the host's")
    (dirs.upper / "link").symlink_to(secret)
    (dirs.upper / "folder").symlink_to(tmp_path)

    facts = changed(dirs)

    assert {path: f and (f.type, f.target, f.text) for path, f in facts.items()} == {
        "/link": ("link", str(secret), None),
        "/folder": ("link", str(tmp_path), None),
    }


def test_a_linked_folder_below_is_not_followed(dirs: OverlayDirs, tmp_path: Path) -> None:
    _write(tmp_path, "outside/f", "the host's")
    (dirs.lower[0] / "d").symlink_to(tmp_path / "outside")
    _write(dirs.upper, "d/f", "now")

    assert before(dirs, ["/d/f"]) == {"/d/f": None}


def test_the_hosts_users_are_not_told_by_a_linked_user_database(
    dirs: OverlayDirs, tmp_path: Path
) -> None:
    host = _write(tmp_path, "passwd", f"thehost:x:{os.getuid()}:0::/:/bin/sh\n")
    (dirs.upper / "etc").mkdir()
    (dirs.upper / "etc/passwd").symlink_to(host)
    _write(dirs.upper, "note")

    assert "thehost" not in str(changed(dirs))


def test_a_linked_etc_is_not_followed(dirs: OverlayDirs, tmp_path: Path) -> None:
    _write(tmp_path, "etc/passwd", f"thehost:x:{os.getuid()}:0::/:/bin/sh\n")
    (dirs.upper / "etc").symlink_to(tmp_path / "etc")
    _write(dirs.upper, "note")

    assert "thehost" not in str(changed(dirs))


def test_a_pipe_does_not_block(dirs: OverlayDirs) -> None:
    os.mkfifo(dirs.upper / "pipe")
    (dirs.upper / "etc").mkdir()
    os.mkfifo(dirs.upper / "etc/passwd")

    types = _types(dirs)

    assert (types["/etc/passwd"], types["/pipe"]) == ("other", "other")


@as_root
def test_a_whiteout_is_a_deleted_file(dirs: OverlayDirs) -> None:
    _whiteout(dirs.upper, "gone")
    _write(dirs.lower[1], "gone", "was here")

    assert changed(dirs) == {"/gone": None}
    was = before(dirs, ["/gone"])["/gone"]
    assert was is not None
    assert was.text == "was here"


@as_root
def test_a_whiteout_below_hides_what_is_further_below(dirs: OverlayDirs) -> None:
    _write(dirs.upper, "d/f", "again")
    _whiteout(dirs.lower[0], "d")
    _write(dirs.lower[1], "d/f", "long ago")

    assert before(dirs, ["/d/f"]) == {"/d/f": None}


@as_root
def test_a_folder_that_was_made_anew_hides_what_was_in_it(dirs: OverlayDirs) -> None:
    _write(dirs.lower[0], "d/one")
    _write(dirs.lower[1], "d/two")
    _write(dirs.lower[1], "d/deep/three")
    _whiteout(dirs.lower[0], "d/two")
    _write(dirs.upper, "d/deep/four")
    os.setxattr(dirs.upper / "d", "trusted.overlay.opaque", b"y")

    assert _types(dirs) == {"/d/one": None, "/d/deep/three": None, "/d/deep/four": "file"}


@as_root
def test_an_opaque_folder_below_hides_what_is_further_below(dirs: OverlayDirs) -> None:
    (dirs.lower[0] / "d").mkdir()
    os.setxattr(dirs.lower[0] / "d", "trusted.overlay.opaque", b"y")
    _write(dirs.lower[1], "d/f", "long ago")
    _write(dirs.upper, "d/f", "now")

    assert before(dirs, ["/d/f"]) == {"/d/f": None}


@pytest.mark.parametrize(
    "path", [f"{SCRATCH}/steps/1", "/dev/x", "/run/x", "/etc/hosts", "/etc/resolv.conf"]
)
def test_what_is_ours_or_the_engines_is_left_out(dirs: OverlayDirs, path: str) -> None:
    _write(dirs.upper, path.lstrip("/"))

    assert is_left_out(path)
    assert set(changed(dirs)) <= {"/etc"}


def test_what_only_begins_like_it_is_not_left_out(dirs: OverlayDirs) -> None:
    _write(dirs.upper, "runner")
    _write(dirs.upper, f"{SCRATCH}2".lstrip("/"))

    assert set(changed(dirs)) == {"/runner", f"{SCRATCH}2"}
    assert not any(map(is_left_out, ("/runner", f"{SCRATCH}2", "/", "/home/dev/dev")))


def test_a_name_that_is_no_text_can_be_written_to_a_report(dirs: OverlayDirs) -> None:
    (dirs.upper / os.fsdecode(b"\xff")).touch()

    (path,) = changed(dirs)

    assert path == "/�"
    assert path.encode()


def test_only_small_text_is_text() -> None:
    assert text_of(b"hello\n") == "hello\n"
    assert text_of(b"") == ""
    assert text_of(b"a\0b") is None
    assert text_of(b"\xff\xfe") is None
    assert text_of(b"x" * (TEXT_BYTES + 1)) is None


def test_a_huge_file_is_told_by_its_size(dirs: OverlayDirs) -> None:
    with (dirs.upper / "huge").open("wb") as file:
        file.truncate(DIGEST_BYTES + 1)

    facts = changed(dirs)["/huge"]

    assert facts is not None
    assert (facts.digest, facts.text) == (f"size:{DIGEST_BYTES + 1}", None)
