"""Lists of packages: read strictly, fetched once."""

import base64
import os
from pathlib import Path

import pytest

from procexec.errors import SandboxError, UserError
from procexec.model.document import Packages
from procexec.sandbox import packages

HASH = "0" * 64


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_line_that_names_no_release_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "wheels.txt").write_text(f"a==1 --hash=sha256:{HASH}\nrequests\n")

    with pytest.raises(UserError, match="names no release") as e:
        packages.fetch(Packages(wheels="wheels.txt"), tmp_path)

    assert e.value.at is not None
    assert e.value.at.line == 2


def test_a_project_with_two_releases_takes_two_passes() -> None:
    lines = [("a", "a==1"), ("b", "b==1"), ("a", "a==2")]

    assert packages._passes(lines) == [["a==1", "b==1"], ["a==2"]]


def _fake_npm(folder: Path, content: bytes, digest: bytes) -> None:
    hexed = digest.hex()
    script = f"""#!/bin/sh
case $3 in --cache=*) cache=${{3#--cache=}} ;; esac
mkdir -p "$cache/_cacache/content-v2/sha512/{hexed[:2]}/{hexed[2:4]}"
printf {content.decode()} > "$cache/_cacache/content-v2/sha512/{hexed[:2]}/{hexed[2:4]}/{hexed[4:]}"
"""
    (folder / "npm").write_text(script)
    (folder / "npm").chmod(0o755)


def test_tarballs_come_from_npm_by_their_digest_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = bytes(64)
    _fake_npm(tmp_path, b"content", digest)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    told = base64.b64encode(digest).decode()
    (tmp_path / "tarballs.txt").write_text(f"@x/y@1.0.0 sha512-{told}\n")
    wanted = Packages(tarballs="tarballs.txt")

    (first,) = packages.fetch(wanted, tmp_path)
    (tmp_path / "npm").write_text("#!/bin/sh\nexit 1\n")

    assert first.name == "tarballs/@x__y@1.0.0.tgz"
    assert first.path.read_bytes() == b"content"
    assert packages.fetch(wanted, tmp_path) == [first]


def test_npm_that_fails_is_the_test_beds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "npm").write_text("#!/bin/sh\necho no way out\nexit 1\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    told = base64.b64encode(bytes(64)).decode()
    (tmp_path / "tarballs.txt").write_text(f"x@1.0.0 sha512-{told}\n")

    with pytest.raises(SandboxError, match="no way out"):
        packages.fetch(Packages(tarballs="tarballs.txt"), tmp_path)
