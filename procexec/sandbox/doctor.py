"""Can this machine run sandboxes? Looked at, and tried."""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import docker

from procexec.errors import SandboxError
from procexec.model.run import Ending
from procexec.sandbox import Dialog, SandboxRequest, engine
from procexec.sandbox.docker import CAPABILITIES, DockerProvider
from procexec.sandbox.images import ImageRecipe, find_image
from procexec.sandbox.owner import reap, this_process

FREE_BYTES = 5 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """One thing that was looked at; state is ok, warn or fail."""

    name: str
    state: str
    found: str
    hint: str = ""


def examine(recipes: Sequence[ImageRecipe]) -> Iterator[Examined]:
    """Yield what was found, the cheap things first; stops where the next makes no sense."""
    try:
        client = engine.connect()
    except SandboxError as e:
        yield Examined(name="engine", state="fail", found=e.message, hint=e.hint)
        return
    yield from _engine(client)
    yield from _disk(client)
    yield _leftovers(client)
    images = list(_images(client, recipes))
    yield from (told for told, _ in images)
    first = next((image for _, image in images if image), None)
    if first is None:
        hint = "procexec sandbox build"
        yield Examined(
            name="sandbox", state="warn", found="not tried: no image is there", hint=hint
        )
        return
    yield from _tried(client, first)


def _engine(client: docker.DockerClient) -> Iterator[Examined]:
    info, version = client.info(), client.version()
    yield Examined(
        name="engine", state="ok", found=f"{version.get('Version')} API {version.get('ApiVersion')}"
    )
    driver = str(info.get("Driver"))
    state = "ok" if driver.startswith("overlay") else "warn"
    hint = "with overlay2, end states are read in milliseconds; elsewhere by the engine's diff"
    yield Examined(name="storage", state=state, found=driver, hint=hint)
    security = ", ".join(map(str, info.get("SecurityOptions") or [])) or "none"
    has_seccomp = "seccomp" in security
    yield Examined(
        name="security",
        state="ok" if has_seccomp else "fail",
        found=security,
        hint="the engine must support seccomp profiles",
    )
    yield Examined(name="cgroups", state="ok", found=f"version {info.get('CgroupVersion')}")


def _disk(client: docker.DockerClient) -> Iterator[Examined]:
    root = Path(str(client.info().get("DockerRootDir", "/")))
    at = root if root.exists() else Path("/")
    free = shutil.disk_usage(at).free
    yield Examined(
        name="disk",
        state="ok" if free > FREE_BYTES else "warn",
        found=f"{free / (1 << 30):.1f} GiB free at {at}",
        hint="images and containers want 5 GiB; remove old images with `procexec sandbox prune`",
    )
    readable = os.access(root / "overlay2", os.R_OK | os.X_OK)
    yield Examined(
        name="end states",
        state="ok" if readable else "warn",
        found="read from the engine's storage" if readable else "by the engine's diff (slower)",
        hint="run as a user who may read the engine's storage",
    )


def _leftovers(client: docker.DockerClient) -> Examined:
    removed = reap(client)
    found = f"removed {len(removed)} containers of dead runs" if removed else "none"
    return Examined(name="leftovers", state="ok", found=found)


def _images(
    client: docker.DockerClient, recipes: Sequence[ImageRecipe]
) -> Iterator[tuple[Examined, str]]:
    for recipe in recipes:
        found = find_image(client, recipe)
        name = f"image {recipe}"
        if found:
            yield Examined(name=name, state="ok", found=found.tag), found.id
        else:
            hint = f"procexec sandbox build {recipe.product}"
            yield Examined(name=name, state="warn", found="not built", hint=hint), ""


def _tried(client: docker.DockerClient, image: str) -> Iterator[Examined]:
    """Start a sandbox, run steps in it, and compare what holds in it with what was asked for."""
    provider = DockerProvider(client, this_process("doctor"))
    began = time.monotonic()
    with provider.start(SandboxRequest(image=image, label="doctor")) as sandbox:
        result = sandbox.run("echo it works", timeout=10, dialog=Dialog())
        took = time.monotonic() - began
        works = result.output == "it works" and result.exit_code == 0
        yield Examined(
            name="sandbox",
            state="ok" if works else "fail",
            found=f"started and ran a step in {took:.2f} s" if works else repr(result.output),
        )
        yield _hardening(sandbox.execute(_STATUS, user="0", cwd="/", timeout=10).output)
        hung = sandbox.run("sleep 1000", timeout=0.5, dialog=Dialog())
        left = sandbox.execute(_SLEEPERS, user="0", cwd="/", timeout=10).output.strip()
        ended = hung.ending is Ending.TIMED_OUT and left == "0"
        yield Examined(
            name="time-outs",
            state="ok" if ended else "fail",
            found="a step is stopped with all its processes" if ended else f"{left} processes left",
        )
        asked = sandbox.run("read -p 'Name? ' x", timeout=10, dialog=Dialog())
        seen = asked.ending is Ending.WAITS_FOR_INPUT and asked.duration < 2
        yield Examined(
            name="prompts",
            state="ok" if seen else "warn",
            found=f"seen after {asked.duration:.1f} s" if seen else f"not seen: {asked.ending}",
            hint="unknown prompts are told by /proc; a step that asks may end as a time-out",
        )


_STATUS = "grep -E '^(CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; ls /sys/class/net"
_SLEEPERS = "n=0; for f in /proc/[0-9]*/cmdline; do case $(tr '\\0' ' ' <$f) in sleep*) n=$((n+1));; esac; done; echo $n"
_BITS = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "FSETID": 4,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
}


def _hardening(text: str) -> Examined:
    """Compare capabilities, privileges, system call filter and network with what was asked for."""
    told = dict(line.split(":", 1) for line in text.split("\n") if ":" in line)
    wanted = sum(1 << _BITS[name] for name in CAPABILITIES)
    wrong = []
    if int(told.get("CapBnd", "0").strip() or "0", 16) != wanted:
        wrong.append(f"capabilities {told.get('CapBnd', '?').strip()}")
    if told.get("NoNewPrivs", "").strip() != "1":
        wrong.append("new privileges are possible")
    if told.get("Seccomp", "").strip() != "2":
        wrong.append("no system call filter")
    networks = [line for line in text.split("\n") if line and ":" not in line]
    if networks != ["lo"]:
        wrong.append(f"networks {networks}")
    return Examined(
        name="hardening",
        state="fail" if wrong else "ok",
        found="; ".join(wrong)
        or "as asked for: 7 capabilities, no new privileges, seccomp, no network",
    )
