"""Images are named by what goes into them, and only procexec's own are ever removed."""

import os
from pathlib import Path
from typing import cast

import pytest
from docker import DockerClient
from docker.errors import APIError
from requests import Response

from procexec.errors import SandboxError, UserError
from procexec.sandbox.bases import ensure_base
from procexec.sandbox.images import (
    ImageRecipe,
    _follow,
    check,
    digest,
    image_tag,
    list_images,
    prune,
)

BASE_ID = "sha256:" + "b" * 64


@pytest.fixture
def recipe(tmp_path: Path) -> ImageRecipe:
    folder = tmp_path / "tool" / "1.0"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\n")
    (folder / "sandbox.yaml").write_text("product: tool\n")
    (folder / "wheels").mkdir()
    (folder / "wheels" / "one.whl").write_bytes(b"one")
    return ImageRecipe("tool", "1.0", folder, "debian:12")


class FakeApi:
    """The few calls of an engine that clearing away needs."""

    def __init__(self, images: list[dict[str, object]], in_use: set[str]) -> None:
        self._images = images
        self._in_use = in_use
        self.removed: list[str] = []

    def images(self) -> list[dict[str, object]]:
        return self._images

    def remove_image(self, tag: str) -> None:
        if tag in self._in_use:
            response = Response()
            response.status_code = 409
            raise APIError("conflict", response, "a container uses it")
        self.removed.append(tag)


class FakeClient:
    def __init__(self, *images: dict[str, object], in_use: set[str] | None = None) -> None:
        self.api = FakeApi(list(images), in_use or set())


def engine_with(*images: dict[str, object], in_use: set[str] | None = None) -> DockerClient:
    return cast("DockerClient", FakeClient(*images, in_use=in_use))


def image(tag: str, **labels: str) -> dict[str, object]:
    return {
        "Id": f"sha256:{tag}",
        "RepoTags": [tag],
        "Labels": {f"procexec.{key.replace('_', '-')}": value for key, value in labels.items()},
        "Size": 1,
        "Created": 1_700_000_000,
    }


# --- names ---


def test_the_same_content_has_the_same_digest_at_any_time(recipe: ImageRecipe) -> None:
    before = digest(recipe, BASE_ID)

    os.utime(recipe.folder / "Dockerfile", (1, 1))

    assert digest(recipe, BASE_ID) == before


@pytest.mark.parametrize("name", ["Dockerfile", "wheels/one.whl", "wheels/new.whl", "a"])
def test_the_digest_changes_with_every_file_of_the_folder(recipe: ImageRecipe, name: str) -> None:
    before = digest(recipe, BASE_ID)

    (recipe.folder / name).write_text("something else")

    assert digest(recipe, BASE_ID) != before


def test_the_digest_changes_with_the_base_and_with_a_program_bit(recipe: ImageRecipe) -> None:
    before = digest(recipe, BASE_ID)

    assert digest(recipe, "sha256:other") != before

    (recipe.folder / "wheels" / "one.whl").chmod(0o755)

    assert digest(recipe, BASE_ID) != before


def test_what_procexec_knows_about_a_sandbox_is_no_part_of_its_image(recipe: ImageRecipe) -> None:
    before = digest(recipe, BASE_ID)

    (recipe.folder / "sandbox.yaml").write_text("product: tool\nuser: dev\n")

    assert digest(recipe, BASE_ID) == before


def test_moving_bytes_from_one_file_to_the_next_changes_the_digest(recipe: ImageRecipe) -> None:
    (recipe.folder / "a").write_text("xy")
    (recipe.folder / "b").write_text("z")
    before = digest(recipe, BASE_ID)

    (recipe.folder / "a").write_text("x")
    (recipe.folder / "b").write_text("yz")

    assert digest(recipe, BASE_ID) != before


def test_an_image_is_named_for_product_version_and_content(recipe: ImageRecipe) -> None:
    content = digest(recipe, BASE_ID)

    assert image_tag(recipe, BASE_ID) == f"procexec/tool:1.0-{content[:12]}"


# --- recipes ---


def test_a_folder_without_a_dockerfile_is_a_users_error(recipe: ImageRecipe) -> None:
    (recipe.folder / "Dockerfile").unlink()

    with pytest.raises(UserError, match=r"no .*Dockerfile.* to build tool 1\.0 from"):
        check(recipe)


def test_a_dockerfile_that_ignores_the_base_is_a_users_error(recipe: ImageRecipe) -> None:
    (recipe.folder / "Dockerfile").write_text("FROM debian:12\n")

    with pytest.raises(UserError, match=r"does not build on the base") as raised:
        check(recipe)

    assert "FROM ${BASE}" in raised.value.hint


@pytest.mark.parametrize("base", ["", "../etc", "debian:12/../../x?y", "debian 12", "-x"])
def test_a_base_that_is_no_image_name_never_reaches_the_engine(base: str) -> None:
    with pytest.raises(UserError, match="is no image name"):
        ensure_base(engine_with(), base)


def test_a_failed_build_shows_the_end_of_its_log(recipe: ImageRecipe) -> None:
    told: list[str] = []
    log = [
        {"stream": "Step 1/2 : FROM ${BASE}\n"},
        {"stream": "\x1b[91mE\x1b[0m"},
        {"stream": "\x1b[91m: Unable to locate package gti\n\x1b[0m"},
        {"error": "The command returned a non-zero code: 100"},
    ]

    with pytest.raises(SandboxError, match=r"building tool 1\.0 failed: .* 100") as raised:
        _follow(log, recipe, told.append)

    assert "  | E: Unable to locate package gti" in raised.value.message
    assert told == ["tool 1.0: 1/2 FROM ${BASE}"]


# --- clearing away ---


def test_pruning_removes_our_images_that_nobody_names() -> None:
    client = engine_with(
        image("procexec/git:2.47-new", image="1"),
        image("procexec/git:2.47-old", image="1"),
        image("procexec/fixture:abc", image="1", fixture="1"),
    )

    removed = prune(client, {"procexec/git:2.47-new"})

    assert removed == ["procexec/fixture:abc", "procexec/git:2.47-old"]


def test_pruning_never_touches_what_is_not_ours() -> None:
    client = engine_with(
        image("debian:12"),
        image("procexec/by-hand:1"),  # our name, but we did not make it
        image("shop/tool:3", image="1", fixture="1"),  # built on ours: inherits the labels
        {"Id": "sha256:x", "RepoTags": None, "Labels": None, "Size": 1, "Created": 1},
        {"Id": "sha256:y", "RepoTags": [], "Labels": {"procexec.image": "1"}, "Created": 1},
    )

    assert prune(client, set()) == []


def test_an_image_can_be_kept_by_its_id() -> None:
    client = engine_with(image("procexec/git:1", image="1"))

    assert prune(client, {"sha256:procexec/git:1"}) == []


def test_a_base_stays_as_long_as_an_image_built_on_it() -> None:
    base = image("procexec/base:debian-12-x", base="debian:12")
    built = image("procexec/git:1", image="1", base="debian:12", base_id=str(base["Id"]))

    assert prune(engine_with(base, built), {"procexec/git:1"}) == []
    assert prune(engine_with(base, built), set()) == [
        "procexec/git:1",
        "procexec/base:debian-12-x",
    ]


def test_an_image_in_use_stays_and_is_said_so() -> None:
    told: list[str] = []
    client = engine_with(image("procexec/git:1", image="1"), in_use={"procexec/git:1"})

    assert prune(client, set(), told.append) == []
    assert told == ["procexec/git:1 stays: a container uses it"]


def test_our_images_are_listed_with_product_and_version() -> None:
    client = engine_with(image("procexec/git:1", image="1", product="git", version="1"))

    [listed] = list_images(client)

    assert (listed.kind, listed.product, listed.version) == ("product", "git", "1")
