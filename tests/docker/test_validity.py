"""The rates of mutants killed and harmless changes kept are those that were committed."""

import json
import sys

import pytest

from benchmarks import validity
from tests.tables import leave

pytestmark = pytest.mark.docker
LEAST = 0.95


def test_the_committed_rates_are_reached_again(
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["validity", "--check"])

    status = validity.main()

    told = capsys.readouterr()
    leave(request.config, "mutants and harmless changes", told.out)
    assert status == 0, told.err


def test_no_committed_rate_is_low() -> None:
    rates = json.loads(validity.RATES.read_text())
    total = sum(counts["total"] for counts in rates.values())

    assert total >= 150
    for part in ("right", "owner", "step", "finding"):
        assert sum(counts[part] for counts in rates.values()) / total >= LEAST, part
