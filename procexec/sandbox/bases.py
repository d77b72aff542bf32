"""Base images: pulled where a registry answers, else made from Debian's packages."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from docker import DockerClient
from docker.errors import DockerException
from requests.exceptions import RequestException

from procexec.errors import SandboxError, UserError
from procexec.sandbox.engine import can_install, install, sandbox_errors
from procexec.sandbox.locks import Tell, locked, silent
from procexec.sandbox.names import BASE, DIGEST, ImageRef, find

SUITES: Final = {"11": "bullseye", "12": "bookworm", "13": "trixie"}
MIRROR: Final = "PROCEXEC_DEBIAN_MIRROR"
REGISTRY_TIMEOUT = 8
BOOTSTRAP_TIMEOUT = 1800.0
OPTIONS: Final = (
    "--variant=minbase",
    "--format=tar",
    # mmdebstrap copies these two from the host: no sandbox should know its name or resolver
    '--customize-hook=rm -f "$1/etc/hostname" "$1/etc/resolv.conf"',
)
REFERENCE: Final = re.compile(r"[a-z0-9][a-z0-9._/:@-]*", re.IGNORECASE)


def find_base(client: DockerClient, base: str) -> ImageRef | None:
    """Return the image that stands for a base on this engine, if there is one already."""
    return find(client, base_tag(base)) or find(client, base)


def ensure_base(client: DockerClient, base: str, tell: Tell = silent) -> ImageRef:
    """Return the image for a base such as ``debian:12``; fetch or make it if there is none.

    Raises UserError for what is no image name, SandboxError if it can neither be pulled nor made.
    """
    if not REFERENCE.fullmatch(base):
        raise UserError(f'"{base}" is no image name', hint="write, for example, base: debian:12")
    tag = base_tag(base)
    with locked(tag.rpartition("-")[2], tell), sandbox_errors(f"provide the base {base}"):
        if known := find(client, tag):
            return known
        if not (find(client, base) or _pull(client, base, tell)):
            return _bootstrap(client, base, tag, tell)
        return _named(client, base, tag)


def base_tag(base: str) -> str:
    """Return our name for a base: once obtained, it stays the same until it is pruned."""
    return f"procexec/base:{re.sub(r'[^a-z0-9.]+', '-', base.lower())}-{_digest(base)[:12]}"


def _digest(base: str) -> str:
    recipe = json.dumps([base, *OPTIONS, *_mirrors()])
    return hashlib.sha256(recipe.encode()).hexdigest()


def _mirrors() -> list[str]:
    """Return the user's mirror; without one mmdebstrap takes Debian's, with security updates."""
    mirror = os.environ.get(MIRROR, "")
    return [mirror] if mirror else []


def _named(client: DockerClient, base: str, tag: str) -> ImageRef:
    image = client.images.get(base)
    repository, _, name = tag.partition(":")
    image.tag(repository, name)
    return ImageRef(id=str(image.id), tag=tag)


# --- from a registry ---------------------------------------------------------------------------


def _pull(client: DockerClient, base: str, tell: Tell) -> bool:
    """Pull the base, unless no registry answers at once."""
    if not _registry_has(client, base):
        tell(f"no registry offers {base}")
        return False
    tell(f"pulling {base}")
    try:
        client.images.pull(*_repository_and_tag(base))
    except (DockerException, RequestException) as error:
        tell(f"pulling {base} failed: {error}")
        return False
    return True


def _registry_has(client: DockerClient, base: str) -> bool:
    url = f"{client.api.base_url}/v{client.api.api_version}/distribution/{base}/json"
    try:
        return client.api.get(url, timeout=REGISTRY_TIMEOUT).status_code == 200
    except RequestException:
        return False


def _repository_and_tag(base: str) -> tuple[str, str | None]:
    name, colon, tag = base.rpartition(":")
    return (name, tag) if colon and "/" not in tag and "@" not in name else (base, None)


# --- from packages -----------------------------------------------------------------------------


def _bootstrap(client: DockerClient, base: str, tag: str, tell: Tell) -> ImageRef:
    suite = _suite(base)
    _need_mmdebstrap(base, tell)
    with tempfile.TemporaryDirectory(prefix="procexec-base-") as folder:
        archive = Path(folder) / "base.tar"
        tell(f"making {base} from Debian's packages ({suite}); this takes a minute or so")
        _mmdebstrap(suite, archive)
        _import(client, archive, base, tag)
    image = find(client, tag)
    assert image is not None, "the engine accepted the import"
    return image


def _suite(base: str) -> str:
    distribution, _, release = base.partition(":")
    if distribution != "debian" or release not in SUITES:
        raise SandboxError(
            f'the base "{base}" cannot be pulled, and only Debian\'s can be made without a registry',
            hint=f"docker load <the image>, or use one of: {', '.join(f'debian:{r}' for r in SUITES)}",
        )
    return SUITES[release]


def _need_mmdebstrap(base: str, tell: Tell) -> None:
    if shutil.which("mmdebstrap"):
        return
    if not can_install():
        raise SandboxError(
            f"the base {base} cannot be pulled, and mmdebstrap, which would make it, is missing",
            hint=f"docker pull {base}, or: sudo apt-get install mmdebstrap debian-archive-keyring",
        )
    install(("mmdebstrap", "debian-archive-keyring"), tell)


def _mmdebstrap(suite: str, archive: Path) -> None:
    command = ["mmdebstrap", *OPTIONS, suite, str(archive), *_mirrors()]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=BOOTSTRAP_TIMEOUT,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired as error:
        raise SandboxError(
            f"mmdebstrap took longer than {BOOTSTRAP_TIMEOUT:.0f} s",
            hint=f"is the mirror slow? export {MIRROR}=<address of a near one>",
        ) from error
    if done.returncode != 0:
        lines = "\n".join(f"  | {line}" for line in done.stderr.splitlines()[-12:])
        raise SandboxError(f"mmdebstrap {suite} failed\n{lines}", hint=_bootstrap_hint())


def _bootstrap_hint() -> str:
    if os.geteuid() != 0:
        return (
            "run this once as root; or let users make containers: "
            "sudo apt-get install uidmap debian-archive-keyring"
        )
    return f"does `apt-get update` work? For another mirror: export {MIRROR}=<its address>"


def _import(client: DockerClient, archive: Path, base: str, tag: str) -> None:
    repository, _, name = tag.partition(":")
    labels = {BASE: base, DIGEST: _digest(base)}
    client.api.import_image_from_file(
        str(archive),
        repository=repository,
        tag=name,
        changes=[
            'CMD ["/bin/bash"]',
            "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            *(f'LABEL {key}="{value}"' for key, value in labels.items()),
        ],
    )
