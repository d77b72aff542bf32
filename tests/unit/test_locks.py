"""Only one process at a time does what a lock is for."""

from pathlib import Path

import pytest

from procexec.errors import SandboxError
from procexec.sandbox.locks import cache_folder, locked


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_a_lock_is_free_again_afterwards(tmp_path: Path) -> None:
    with locked("one"):
        pass
    with locked("one", patience=0):
        assert (tmp_path / "procexec" / "locks" / "one.lock").exists()


def test_who_waits_too_long_is_told_who_holds_the_lock() -> None:
    told: list[str] = []

    with (
        locked("one"),
        pytest.raises(SandboxError, match=r"holds .*one\.lock") as raised,
        locked("one", told.append, patience=0),
    ):
        pass

    assert "fuser" in raised.value.hint
    assert told == ["waiting for another procexec: one"]


def test_a_relative_cache_folder_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert cache_folder() == tmp_path / ".cache" / "procexec"
