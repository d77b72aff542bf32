"""The catalogue and the tests fit together, so that what is counted is what was promised."""

import subprocess
import sys

import pytest

from tests.hostile.catalogue import FOLDER, catalogue, ids_in
from tests.hostile.world import ROOT


@pytest.fixture(scope="module")
def tested() -> frozenset[str]:
    """Collect all tests of this folder, whichever of them run in this session."""
    command = ["-m", "pytest", "--collect-only", "-q", "--no-header", str(FOLDER)]
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return frozenset(i for line in done.stdout.split("\n") for i in ids_in(line))


def test_the_catalogue_has_164_cases() -> None:
    assert len(catalogue()) == 164


def test_every_case_that_can_be_run_has_a_test(tested: frozenset[str]) -> None:
    without = {case.id for case in catalogue().values() if not case.not_here} - tested

    assert sorted(without) == []


def test_every_id_in_a_test_is_in_the_catalogue(tested: frozenset[str]) -> None:
    assert sorted(tested - catalogue().keys()) == []


def test_what_cannot_be_run_has_no_test(tested: frozenset[str]) -> None:
    assert [case.id for case in catalogue().values() if case.not_here and case.id in tested] == []
