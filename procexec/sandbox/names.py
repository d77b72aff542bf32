"""How procexec's images are named and labelled on an engine."""

from dataclasses import dataclass
from typing import Final

from docker import DockerClient
from docker.errors import ImageNotFound

REPOSITORY: Final = "procexec/"
IMAGE: Final = "procexec.image"
BASE: Final = "procexec.base"
BASE_ID: Final = "procexec.base-id"
FIXTURE: Final = "procexec.fixture"
RUNNING: Final = "procexec.running"
PRODUCT: Final = "procexec.product"
VERSION: Final = "procexec.version"
DIGEST: Final = "procexec.digest"


@dataclass(frozen=True, slots=True)
class ImageRef:
    """An image on an engine: what it is (``sha256:...``), and how it is called."""

    id: str
    tag: str


def find(client: DockerClient, tag: str) -> ImageRef | None:
    """Return the image of that name, if the engine has it."""
    try:
        return ImageRef(id=str(client.images.get(tag).id), tag=tag)
    except ImageNotFound:
        return None
