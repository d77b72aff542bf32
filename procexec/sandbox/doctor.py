"""Can this machine run sandboxes? Looked at, and tried."""

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import docker

from procexec.errors import SandboxError
from procexec.model.document import version_key
from procexec.model.run import Ending
from procexec.sandbox import Dialog, SandboxRequest, engine
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.grants import Effective
from procexec.sandbox.images import ImageRecipe, find_image
from procexec.sandbox.owner import reap, this_process
from procexec.sandbox.size_watch import SizeWatch

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


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBad:
    """Versions of a part of the engine that let a container out, or worse; ``fixed`` is the first
    that does not."""

    part: str
    fixed: str
    name: str


KNOWN_BAD = (
    KnownBad(part="runc", fixed="1.1.12", name="CVE-2024-21626"),
    KnownBad(part="runc", fixed="1.2.8", name="CVE-2025-31133, -52565, -52881"),
    KnownBad(part="Engine", fixed="23.0.11", name="CVE-2024-29018"),
    KnownBad(part="Engine", fixed="29.5.1", name="CVE-2026-41567, -41568"),
)


def known_bad(parts: Mapping[str, str]) -> Iterator[str]:
    """Yield what is known to be wrong with the versions of the engine's parts."""
    for bad in KNOWN_BAD:
        version = parts.get(bad.part, "")
        if version and version_key(version.split("+")[0])[:3] < version_key(bad.fixed):
            yield f"{bad.part} {version} is older than {bad.fixed} ({bad.name})"


def _engine(client: docker.DockerClient) -> Iterator[Examined]:
    info, version = client.info(), client.version()
    found = f"{version.get('Version')} API {version.get('ApiVersion')}"
    yield Examined(name="engine", state="ok", found=found)
    parts = {str(c["Name"]): str(c["Version"]) for c in version.get("Components") or []}
    old = list(known_bad(parts))
    told = "; ".join(old) or ", ".join(f"{name} {v}" for name, v in sorted(parts.items()))
    hint = "upgrade; a distribution may have put the fixes into an older version"
    yield _examined("versions", not old, told, hint, bad="warn")
    driver = str(info.get("Driver"))
    hint = "with overlay2, end states are read in milliseconds; elsewhere by the engine's diff"
    yield _examined("storage", driver.startswith("overlay"), driver, hint, bad="warn")
    security = ", ".join(map(str, info.get("SecurityOptions") or [])) or "none"
    hint = "the engine must support seccomp profiles"
    yield _examined("security", "seccomp" in security, security, hint)
    runtimes = ", ".join(sorted(info.get("Runtimes") or {})) or "not told"
    yield Examined(name="runtimes", state="ok", found=runtimes)
    cgroups = f"version {info.get('CgroupVersion')}, {info.get('CgroupDriver')}"
    limits = bool(info.get("MemoryLimit")) and bool(info.get("PidsLimit", True))
    hint = "the kernel must let the engine limit memory and processes"
    yield _examined("cgroups", limits, cgroups, hint)


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
    """Start sandboxes, do in them what is to be stopped, and look whether it was."""
    provider = DockerProvider(client, this_process("doctor"))
    request = SandboxRequest(image=image, label="doctor")
    began = time.monotonic()
    try:
        with provider.start(request) as sandbox:
            result = sandbox.run("echo it works", timeout=10, dialog=Dialog())
            took = time.monotonic() - began
            works = result.output == "it works" and result.exit_code == 0
            found = f"started and ran a step in {took:.2f} s" if works else repr(result.output)
            yield _examined("sandbox", works, found)
            yield _examined("hardening", True, _hardening(sandbox.checked()))
            yield from _probed(sandbox)
            yield _prompted(sandbox)
            yield _fed(sandbox)
            yield _talkative(sandbox)
            yield _bombed(sandbox)
        with provider.start(replace(request, memory="64m")) as sandbox:
            hog = sandbox.run("tail /dev/zero", timeout=20, dialog=Dialog())
        told = hog.ending is Ending.OUT_OF_MEMORY
        yield _examined("memory", told, "a step that takes all is killed" if told else hog.ending)
        yield _filled(client, provider, request)
    except SandboxError as e:
        yield Examined(name="sandbox", state="fail", found=e.message, hint=e.hint)
    yield _reaped(client, image)


def _examined(name: str, good: bool, found: str, hint: str = "", bad: str = "fail") -> Examined:
    return Examined(name=name, state="ok" if good else bad, found=found, hint=hint)


def _hardening(found: Effective) -> str:
    count = len(found.capabilities)
    return f"as asked for: {count} capabilities, no new privileges, seccomp, no network"


PROBES = {
    "mount": "mount -t tmpfs none /mnt",
    "user namespace": "unshare -r true",
    "device": "mknod /tmp/device b 1 1",
    "root change": "chroot / true",
    "network": "echo > /dev/tcp/169.254.169.254/80",
    "engine's socket": "test -S /var/run/docker.sock || test -S /run/podman/podman.sock",
    "kernel settings": "test -w /proc/sys/kernel/core_pattern && mount -o remount,rw /proc/sys",
}
"""What no sandbox can do, as scripts that change nothing where it can."""


def _probed(sandbox: DockerSandbox) -> Iterator[Examined]:
    lines = (f'({probe}) 2>/dev/null && echo "{name}"' for name, probe in PROBES.items())
    script = "\n".join(lines) + "\ntrue"
    open_ = sandbox.execute(script, user="0", cwd="/", timeout=20).output.split("\n")
    found = ", ".join(filter(None, open_))
    told = f"possible: {found}" if found else f"{len(PROBES)} ways out are closed"
    yield _examined("ways out", not found, told)


def _prompted(sandbox: DockerSandbox) -> Examined:
    asked = sandbox.run("read -p 'Name? ' x", timeout=10, dialog=Dialog())
    seen = asked.ending is Ending.WAITS_FOR_INPUT and asked.duration < 2
    found = f"seen after {asked.duration:.1f} s" if seen else f"not seen: {asked.ending}"
    hint = "unknown prompts are told by /proc; a step that asks may end as a time-out"
    return _examined("prompts", seen, found, hint, bad="warn")


def _fed(sandbox: DockerSandbox) -> Examined:
    """Put a long step in, and read the file that it makes from outside."""
    text = "a line that is no short one\n" * 8000
    step = f"cat > /root/fed <<'EOF'\n{text}EOF"
    sandbox.run(step, timeout=20, dialog=Dialog())
    facts = sandbox.changes().files.get("/root/fed")
    whole = facts is not None and facts.digest == hashlib.sha256(text.encode()).hexdigest()
    found = "a step of 200 kB went in and its file came out" if whole else f"came out as {facts}"
    return _examined("round trip", whole, found)


def _talkative(sandbox: DockerSandbox) -> Examined:
    said = sandbox.run("yes | head -c 16000000", timeout=30, dialog=Dialog())
    kept = said.truncated and len(said.output) < 1 << 20 and said.size_bytes >= 16_000_000
    found = f"{said.size_bytes} bytes were counted, {len(said.output)} characters kept"
    return _examined("output", kept, found)


def _bombed(sandbox: DockerSandbox) -> Examined:
    """Set off a fork bomb: it must hit the limit, and the ladder must end it."""
    bomb = "b() { b | b & }; b; sleep 30"
    sandbox.run(bomb, timeout=2, dialog=Dialog())
    left = sandbox.execute("set -- /proc/[0-9]*; echo $#", user="0", cwd="/", timeout=10).output
    alive = sandbox.run("echo alive", timeout=20, dialog=Dialog()).output == "alive"
    good = alive and int(left.strip() or 999) < 10
    told = "a fork bomb is ended with all its processes" if good else f"{left.strip()} are left"
    return _examined("time-outs", good, told)


def _filled(
    client: docker.DockerClient, provider: DockerProvider, request: SandboxRequest
) -> Examined:
    fill = "while :; do i=$((i+1)); head -c 8000000 /dev/zero > /root/f$i; sleep 0.1; done"
    run = provider.owner.run
    with (
        SizeWatch(client, run, provider.too_big, limit=64 << 20),
        provider.start(request) as sandbox,
    ):
        ending = sandbox.run(fill, timeout=20, dialog=Dialog()).ending
    good = ending is Ending.DISK_LIMIT
    return _examined("disk limit", good, "a step that fills the disk is ended" if good else ending)


def _reaped(client: docker.DockerClient, image: str) -> Examined:
    gone = replace(this_process("doctor-reaper"), pid=1 << 22, start="1")
    container = client.containers.create(image, ["true"], labels=gone.labels("doctor"))
    removed = str(container.name) in reap(client)
    if not removed:
        container.remove(force=True)
    found = "what a dead run leaves is removed" if removed else "a container was left"
    return _examined("reaper", removed, found)
