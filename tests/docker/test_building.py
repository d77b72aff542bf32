"""Images on a real engine: built once for each content, explained when they fail, cleared away."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from docker import DockerClient

from procexec.errors import SandboxError
from procexec.sandbox.engine import ensure
from procexec.sandbox.images import ImageRecipe, ensure_image, find_image, list_images, prune

pytestmark = pytest.mark.docker


@pytest.fixture
def client() -> Iterator[DockerClient]:
    client = ensure()
    yield client
    client.close()


@pytest.fixture
def recipe(client: DockerClient, tmp_path: Path) -> Iterator[ImageRecipe]:
    """A small product that only this test knows; nothing of it stays."""
    recipe = ImageRecipe(f"test-{secrets.token_hex(4)}", "1.0+b", tmp_path, "debian:12")
    (tmp_path / "Dockerfile").write_text(
        "ARG BASE\nFROM ${BASE}\nCOPY tool /opt/tool\nRUN /opt/tool\n"
    )
    (tmp_path / "tool").write_text("#!/bin/sh\necho works\n")
    (tmp_path / "tool").chmod(0o755)
    yield recipe
    prune(client, {image.tag for image in list_images(client) if image.product != recipe.product})


def test_an_image_is_built_once_for_each_content(client: DockerClient, recipe: ImageRecipe) -> None:
    told: list[str] = []
    assert find_image(client, recipe) is None

    first = ensure_image(client, recipe, told.append)
    again = ensure_image(client, recipe, told.append)

    assert again == first == find_image(client, recipe)
    assert told.count(f"building {recipe}") == 1

    (recipe.folder / "tool").write_text("#!/bin/sh\necho works differently\n")

    assert find_image(client, recipe) is None
    assert ensure_image(client, recipe).tag != first.tag


def test_who_comes_second_waits_for_the_build_and_shares_it(
    client: DockerClient, recipe: ImageRecipe
) -> None:
    told: list[str] = []

    with ThreadPoolExecutor() as pool:
        images = list(pool.map(lambda _: ensure_image(client, recipe, told.append), range(3)))

    assert len(set(images)) == 1
    assert told.count(f"building {recipe}") == 1


def test_a_failed_build_ends_with_the_words_of_what_failed(
    client: DockerClient, recipe: ImageRecipe
) -> None:
    (recipe.folder / "tool").write_text("#!/bin/sh\necho no luck; exit 3\n")

    with pytest.raises(SandboxError) as raised:
        ensure_image(client, recipe)

    assert "returned a non-zero code: 3" in raised.value.message
    assert "  | no luck" in raised.value.message
    assert find_image(client, recipe) is None


def test_an_unknown_base_says_what_can_be_used(client: DockerClient, recipe: ImageRecipe) -> None:
    unknown = ImageRecipe(recipe.product, "1", recipe.folder, "test.invalid/none:1")

    with pytest.raises(SandboxError, match="cannot be pulled") as raised:
        ensure_image(client, unknown)

    assert "debian:12" in raised.value.hint


def test_pruning_removes_the_image_that_nobody_names(
    client: DockerClient, recipe: ImageRecipe
) -> None:
    image = ensure_image(client, recipe)
    keep = {other.tag for other in list_images(client) if other.tag != image.tag}

    assert prune(client, keep) == [image.tag]
    assert find_image(client, recipe) is None
