"""The doctor tries what it promises, and says so in an exit code that a machine can read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from procexec.sandbox.doctor import known_bad
from procexec.sandbox.engine import ensure

ROOT = Path(__file__).parent.parent.parent


def _doctor(engine: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "procexec", "sandbox", "doctor", "--json"],
        cwd=ROOT,
        env={**os.environ, **({"DOCKER_HOST": engine} if engine else {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.docker
def test_on_this_machine_every_trial_goes_well() -> None:
    ensure().close()

    done = _doctor()

    states = {check["name"]: check["state"] for check in json.loads(done.stdout)}
    tried = ("hardening", "ways out", "round trip", "output", "time-outs", "memory", "disk limit")
    assert {name: states[name] for name in tried} == dict.fromkeys(tried, "ok")
    assert (done.returncode, states["reaper"]) == (0, "ok")


def test_without_an_engine_it_fails_with_a_hint() -> None:
    done = _doctor("unix:///nowhere/at-all.sock")

    (check,) = json.loads(done.stdout)
    assert (done.returncode, check["name"], check["state"]) == (4, "engine", "fail")
    assert check["hint"]


def test_versions_with_known_ways_out_are_named() -> None:
    assert list(known_bad({"runc": "1.1.5+ds1", "Engine": "29.5.1"})) == [
        "runc 1.1.5+ds1 is older than 1.1.12 (CVE-2024-21626)",
        "runc 1.1.5+ds1 is older than 1.2.8 (CVE-2025-31133, -52565, -52881)",
    ]
    assert list(known_bad({"runc": "1.3.4", "Engine": "29.6.0"})) == []
