"""What a sandbox asks for it gets, and everybody can see it; a procedure can ask for nothing."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from docker import DockerClient

from procexec.errors import SandboxError
from procexec.model.document import Grant
from procexec.model.result import Verdict
from procexec.sandbox import Dialog, SandboxRequest
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.engine import ensure
from procexec.sandbox.grants import GRANTABLE, Grade, differences, grade, refusal
from procexec.sandbox.owner import this_process
from tests.hostile.bench import PRODUCT, RIGHT, VERSION, WRONG, Bench, image_tag, make_bench

CHROOT = Grant(knob="capability", value="SYS_CHROOT", reason="its server locks itself in")
PTRACE = Grant(knob="capability", value="SYS_PTRACE", reason="its service looks at its process")
SUDO = Grant(knob="new-privileges", value="yes", reason="its procedures use sudo")


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    client = ensure()
    yield client
    client.close()


@pytest.fixture
def provider(client: DockerClient) -> DockerProvider:
    return DockerProvider(client, this_process("grants"))


@pytest.fixture
def request_(client: DockerClient) -> SandboxRequest:
    return SandboxRequest(image=str(client.images.get(image_tag(client)).id))


def _asks(bench: Bench, grants: Sequence[Grant]) -> None:
    path = bench.folder / "sandboxes" / PRODUCT / VERSION / "sandbox.yaml"
    spec = yaml.safe_load(path.read_text())
    spec["grants"] = [{"knob": g.knob, "value": g.value, "reason": g.reason} for g in grants]
    path.write_text(yaml.safe_dump(spec))


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("capability", "SYS_ADMIN"),
        ("capability", "NET_ADMIN"),
        ("capability", "MKNOD"),
        ("capability", "ALL"),
        ("privileged", "yes"),
        ("device", "/dev/kvm"),
        ("mount", "/:/host"),
        ("network", "host"),
        ("new-privileges", "maybe"),
    ],
)
def test_what_would_open_the_host_is_never_granted(knob: str, value: str) -> None:
    assert refusal(Grant(knob=knob, value=value, reason="please"))


@pytest.mark.parametrize("name", GRANTABLE)
def test_what_services_need_can_be_granted_for_grade_c(name: str) -> None:
    grant = Grant(knob="capability", value=name, reason="a service needs it")

    assert not refusal(grant)
    assert (grade([]), grade([grant])) == (Grade.A, Grade.C)


def test_a_refused_grant_is_an_error_at_its_place(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench")
    bench.write({"right": RIGHT})
    _asks(bench, [replace_(CHROOT, "SYS_ADMIN")])

    done = bench.run()

    assert done.code == 2
    assert "sandbox.yaml:" in done.told
    assert "SYS_ADMIN is never granted" in done.told


def replace_(grant: Grant, value: str) -> Grant:
    return Grant(knob=grant.knob, value=value, reason=grant.reason)


def test_a_procedure_can_grant_nothing(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench", grants=[{"knob": "capability", "value": "SYS_PTRACE"}])
    bench.write({"right": RIGHT})

    done = bench.run()

    assert done.code == 2
    assert "unknown field `grants`" in done.told


@pytest.mark.docker
@pytest.mark.parametrize("grants", [(), (CHROOT,), (PTRACE, SUDO)], ids=["none", "one", "two"])
def test_what_holds_is_read_back_and_is_what_was_asked_for(
    provider: DockerProvider, request_: SandboxRequest, grants: tuple[Grant, ...]
) -> None:
    with provider.start(replace(request_, grants=grants)) as sandbox:
        assert sandbox.run("true", timeout=10, dialog=Dialog()).exit_code == 0

    found = provider.effective[grants]
    assert list(differences(grants, found)) == []
    assert found.no_new_privileges == (SUDO not in grants)
    assert ("SYS_PTRACE" in found.capabilities) == (PTRACE in grants)


@pytest.mark.docker
def test_a_container_that_is_weaker_than_asked_for_is_not_used(
    provider: DockerProvider, request_: SandboxRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    weaker = replace(request_, grants=(CHROOT,))
    monkeypatch.setattr(DockerSandbox, "checked", lambda sandbox: _checked_as(sandbox, request_))

    with pytest.raises(SandboxError, match="SYS_CHROOT"):
        provider.start(weaker).__enter__()


def _checked_as(sandbox: DockerSandbox, asked: SandboxRequest) -> None:
    if wrong := list(differences(asked.grants, sandbox._effective())):
        raise SandboxError("; ".join(wrong))


@pytest.mark.docker
def test_a_granted_capability_does_what_it_is_for(
    provider: DockerProvider, request_: SandboxRequest
) -> None:
    def code(grants: tuple[Grant, ...]) -> int | None:
        with provider.start(replace(request_, grants=grants)) as sandbox:
            return sandbox.run("chroot / /bin/true", timeout=10, dialog=Dialog()).exit_code

    assert code(()) != 0
    assert code((CHROOT,)) == 0


@pytest.mark.docker
def test_r12_a_weakened_sandbox_shows_in_every_report(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench")
    bench.write({"right": RIGHT, "wrong": WRONG})
    _asks(bench, [PTRACE])

    done = bench.run()

    assert done.code == 1
    assert f"sandbox {PRODUCT} {VERSION} has grade C: capability SYS_PTRACE" in done.said
    assert "[sandbox grade C]" in done.said
    junit = (bench.out / "junit.xml").read_text()
    assert junit.count('name="procexec.sandbox.grade" value="C"') == 2
    told = json.loads((bench.out / "manifest.json").read_text())["sandbox"]
    assert told["grade"] == "C"
    assert [w["value"] for w in told["weakened"]] == ["SYS_PTRACE"]
    assert "SYS_PTRACE" in told["effective"][0]["capabilities"]
    assert {result.grade for result in bench.results.values()} == {"C"}
    assert bench.results["right"].verdict is Verdict.PASS


@pytest.mark.docker
def test_r12_a_grade_that_is_too_weak_stops_the_run_before_it_begins(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench")
    bench.write({"right": RIGHT})
    _asks(bench, [PTRACE])

    done = bench.run("--max-grade", "B")

    assert done.code == 2
    assert "grade C" in done.told
    assert bench.rows == []
