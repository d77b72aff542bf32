"""Images of products: built once for each content, named by it, and cleared away."""

import hashlib
import io
import os
import re
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from docker import DockerClient
from docker.errors import APIError

from procexec.errors import SandboxError, UserError
from procexec.model.document import Packages
from procexec.sandbox.bases import base_tag, ensure_base, find_base
from procexec.sandbox.engine import sandbox_errors
from procexec.sandbox.locks import Tell, locked, silent
from procexec.sandbox.names import (
    BASE,
    BASE_ID,
    DIGEST,
    FIXTURE,
    IMAGE,
    PRODUCT,
    REPOSITORY,
    VERSION,
    ImageRef,
    find,
)
from procexec.sandbox.packages import Fetched, fetch

__all__ = [
    "ImageInfo",
    "ImageKind",
    "ImageRecipe",
    "ImageRef",
    "base_tag",
    "check",
    "digest",
    "ensure_base",
    "ensure_image",
    "find_base",
    "find_image",
    "image_tag",
    "list_images",
    "prune",
]

NOT_IN_THE_IMAGE: Final = frozenset({"sandbox.yaml"})
SHARED: Final = Path(__file__).parent / "image_files"
"""Files that any Dockerfile may copy, from ``procexec/`` in its context."""

SILENCE_TIMEOUT = 900
"""Seconds without a word from a build after which we give it up."""

LOG_SIZE: Final = 8000
LAST_LINES: Final = 25
TAG_CONFLICT: Final = frozenset({404, 409})
PROXIES: Final = ("http_proxy", "https_proxy", "no_proxy")
COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
STEP: Final = re.compile(r"Step (\d+)/(\d+) : (.*)")


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """A product at one version: the folder it is built from, and what that builds on."""

    product: str
    version: str
    folder: Path
    base: str
    packages: Packages | None = None

    def __str__(self) -> str:
        return f"{self.product} {self.version}"


class ImageKind(StrEnum):
    """What an image of ours is for."""

    FIXTURE = "fixture"
    PRODUCT = "product"
    BASE = "base"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageInfo:
    """An image of ours, as the engine lists it."""

    id: str
    tag: str
    kind: ImageKind
    product: str
    version: str
    base_id: str
    size_bytes: int
    created: datetime


def ensure_image(client: DockerClient, recipe: ImageRecipe, tell: Tell = silent) -> ImageRef:
    """Return the image of a recipe; build it if this content was never built here.

    Raises UserError if the folder is no recipe, SandboxError with the end of the build's log.
    """
    check(recipe)
    base = ensure_base(client, recipe.base, tell)
    content = digest(recipe, base.id)
    with locked(content[:12], tell), sandbox_errors(f"build {recipe}"):
        if known := _find(client, recipe, content):
            return known
        tell(f"building {recipe}")
        return _build(client, recipe, base, content, tell)


def find_image(client: DockerClient, recipe: ImageRecipe) -> ImageRef | None:
    """Return the image of a recipe, if it was built from exactly this content."""
    with sandbox_errors(f"look for the image of {recipe}"):
        base = find_base(client, recipe.base)
        return base and _find(client, recipe, digest(recipe, base.id))


def check(recipe: ImageRecipe) -> None:
    """Raise UserError if no image can be built from that folder."""
    dockerfile = recipe.folder / "Dockerfile"
    if not dockerfile.is_file():
        raise UserError(
            f'there is no "{dockerfile}" to build {recipe} from',
            hint=f"ls {recipe.folder}; a sandbox is a folder with Dockerfile and sandbox.yaml",
        )
    text = dockerfile.read_text(encoding="utf-8", errors="replace")
    if not re.search(r"^FROM\s+\$(BASE\b|\{BASE\})", text, re.MULTILINE):
        raise UserError(
            f'"{dockerfile}" does not build on the base that sandbox.yaml names',
            hint="begin it with the lines: ARG BASE, FROM ${BASE}",
        )


def image_tag(recipe: ImageRecipe, base_id: str) -> str:
    """Return the name of a recipe's image: it changes whenever the content does."""
    return _tag(recipe, digest(recipe, base_id))


def digest(recipe: ImageRecipe, base_id: str) -> str:
    """Return the SHA-256 of all that goes into the image."""
    total = hashlib.sha256(f"{base_id}\n".encode())
    for name, path in (*_context_files(recipe.folder), *_shared_files(recipe.folder)):
        content = _content(path)
        total.update(f"{name}\0{_mode(path):o}\0{len(content)}\0".encode())
        total.update(content)
    if recipe.packages:  # their lists, which pin them by digest, are files of the folder
        total.update(f"python {recipe.packages.python}\n".encode())
    return total.hexdigest()


def _tag(recipe: ImageRecipe, content: str) -> str:
    version = recipe.version.replace("+", "-")  # a version may have it, a tag may not
    return f"{REPOSITORY}{recipe.product}:{version}-{content[:12]}"


def _find(client: DockerClient, recipe: ImageRecipe, content: str) -> ImageRef | None:
    image = find(client, _tag(recipe, content))
    if image and client.images.get(image.id).labels.get(DIGEST) == content:
        return image
    return None


# --- what goes in -------------------------------------------------------------------------------


def _context_files(folder: Path) -> list[tuple[str, Path]]:
    """Return the folder's files that the build sees, in an order that is the same everywhere."""
    files = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    named = ((path.relative_to(folder).as_posix(), path) for path in files)
    return sorted((name, path) for name, path in named if name not in NOT_IN_THE_IMAGE)


def _shared_files(folder: Path) -> list[tuple[str, Path]]:
    """Return the files of ours that the folder's Dockerfile copies."""
    text = (folder / "Dockerfile").read_text(encoding="utf-8", errors="replace")
    named = ((f"procexec/{path.name}", path) for path in sorted(SHARED.iterdir()))
    return [(name, path) for name, path in named if name in text]


def _content(path: Path) -> bytes:
    return str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()


def _mode(path: Path) -> int:
    """Return the mode as version control keeps it: a link, a program or a file."""
    if path.is_symlink():
        return 0o777
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def _write_context(folder: Path, fetched: Sequence[Fetched], file: IO[bytes]) -> None:
    """Write the build's context: the same bytes for the same content, so that layers are reused."""
    packages = ((package.name, package.path) for package in fetched)
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, path in (*_context_files(folder), *_shared_files(folder), *packages):
            entry = tarfile.TarInfo(name)
            entry.mode, content = _mode(path), _content(path)
            if path.is_symlink():
                entry.type, entry.linkname = tarfile.SYMTYPE, content.decode()
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    file.seek(0)


# --- building -----------------------------------------------------------------------------------


def _build(
    client: DockerClient, recipe: ImageRecipe, base: ImageRef, content: str, tell: Tell
) -> ImageRef:
    tag = _tag(recipe, content)
    fetched = fetch(recipe.packages, recipe.folder, tell) if recipe.packages else []
    with tempfile.TemporaryFile() as context:
        _write_context(recipe.folder, fetched, context)
        events = client.api.build(
            fileobj=context,
            custom_context=True,
            tag=tag,
            buildargs={"BASE": base.id, **_proxies()},
            labels=_labels(recipe, base, content),
            network_mode="host",  # packages come the way they come to the host, without a bridge
            rm=True,
            forcerm=True,
            decode=True,
            timeout=SILENCE_TIMEOUT,
            use_config_proxy=False,
        )
        _follow(events, recipe, tell)
    image = find(client, tag)
    if image is None:
        raise SandboxError(f"the build of {recipe} ended without an image", hint="docker info")
    return image


def _labels(recipe: ImageRecipe, base: ImageRef, content: str) -> dict[str, str]:
    return {
        IMAGE: "1",
        PRODUCT: recipe.product,
        VERSION: recipe.version,
        DIGEST: content,
        BASE_ID: base.id,
    }


def _proxies() -> dict[str, str]:
    """Return the proxies of our environment: the engine keeps these arguments out of the image."""
    return {
        name: value
        for proxy in PROXIES
        for name in (proxy, proxy.upper())
        if (value := os.environ.get(name))
    }


def _follow(events: Iterable[object], recipe: ImageRecipe, tell: Tell) -> None:
    """Tell the steps of a build; raise SandboxError with the end of its log if it fails."""
    log, failure = "", ""
    for event in events:  # to its end, so that the connection is given back
        if not isinstance(event, dict):
            continue
        text = COLOURS.sub("", str(event.get("stream", "")))
        log = (log + text)[-LOG_SIZE:]
        failure = str(event.get("error", failure))
        if (step := STEP.match(text)) and "LABEL procexec." not in text:
            tell(f"{recipe}: {step[1]}/{step[2]} {' '.join(step[3].split())[:60]}")
    if failure:
        lines = "\n".join(f"  | {line}" for line in log.splitlines()[-LAST_LINES:] if line)
        raise SandboxError(
            f"building {recipe} failed: {failure}\n{lines}",
            hint=f"see {recipe.folder / 'Dockerfile'}; do the package mirrors answer?",
        )


# --- looking after them -------------------------------------------------------------------------


def list_images(client: DockerClient) -> list[ImageInfo]:
    """Return procexec's images on this engine, by name."""
    with sandbox_errors("list the images"):
        listed = client.api.images()
    return sorted((info for image in listed for info in _infos(image)), key=lambda info: info.tag)


def prune(client: DockerClient, keep: set[str], tell: Tell = silent) -> list[str]:
    """Remove procexec's images whose name or id is not in ``keep``; return their names.

    A base stays as long as an image built on it does. What a container uses stays, too.
    """
    images = list_images(client)
    removed: list[str] = []
    for kind in ImageKind:  # what was made last goes first
        for image in images:
            if image.kind is kind and not _is_wanted(image, keep, images, removed):
                removed += _remove(client, image.tag, tell)
    return removed


def _infos(image: dict[str, object]) -> Iterator[ImageInfo]:
    """Yield a row for each of our names; other people's images inherit labels, not our names."""
    labels, tags = image.get("Labels") or {}, image.get("RepoTags") or []
    assert isinstance(labels, dict)
    assert isinstance(tags, list)
    if (kind := _kind(labels)) is None:
        return
    for tag in tags:
        if tag.removeprefix("localhost/").startswith(REPOSITORY):  # Podman's prefix
            yield ImageInfo(
                id=str(image["Id"]),
                tag=tag,
                kind=kind,
                product=labels.get(PRODUCT, ""),
                version=labels.get(VERSION, ""),
                base_id=labels.get(BASE_ID, ""),
                size_bytes=int(str(image.get("Size", 0))),
                created=datetime.fromtimestamp(int(str(image.get("Created", 0))), UTC),
            )


def _kind(labels: dict[str, str]) -> ImageKind | None:
    """Return what an image is; each kind inherits the labels of what it was made from."""
    for label, kind in (
        (FIXTURE, ImageKind.FIXTURE),
        (IMAGE, ImageKind.PRODUCT),
        (BASE, ImageKind.BASE),
    ):
        if label in labels:
            return kind
    return None


def _is_wanted(
    image: ImageInfo, keep: set[str], images: list[ImageInfo], removed: list[str]
) -> bool:
    if image.tag in keep or image.id in keep:
        return True
    return image.kind is ImageKind.BASE and any(
        other.base_id == image.id and other.tag not in removed for other in images
    )


def _remove(client: DockerClient, tag: str, tell: Tell) -> list[str]:
    try:
        client.api.remove_image(tag)
    except APIError as error:
        if error.status_code not in TAG_CONFLICT:
            raise SandboxError(f"could not remove {tag}: {error.explanation}") from error
        tell(f"{tag} stays: {error.explanation}")
        return []
    return [tag]
