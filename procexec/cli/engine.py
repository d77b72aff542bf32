"""The real engine and the real judge, made here and handed down."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from docker import DockerClient

from procexec.errors import UserError
from procexec.judge import JUDGES, Judge
from procexec.read.decode import did_you_mean
from procexec.read.sandboxes import SandboxFolder
from procexec.sandbox import engine
from procexec.sandbox.docker import DockerProvider
from procexec.sandbox.images import ImageRecipe, ensure_image
from procexec.sandbox.owner import reap, remove_run, this_process
from procexec.sandbox.size_watch import SizeWatch


@dataclass(slots=True)
class Workshop:
    """A connected engine with what is made on it during one command."""

    client: DockerClient
    provider: DockerProvider
    run: str

    def end_all(self) -> None:
        """Remove every container of this command, several at a time."""
        remove_run(self.client, self.run)


@contextmanager
def workshop(
    *, workers: int = 4, run: str = "", tell: Callable[[str], None] = lambda _line: None
) -> Iterator[Workshop]:
    """Give the engine; what dead runs left behind is removed first, this run's things at the end.

    Raises:
        SandboxError: no engine answers.
    """
    client = engine.connect(pool_size=4 * workers + 8)
    for name in reap(client):
        tell(f"removed {name}, left behind by a run that is dead")
    run = run or secrets.token_hex(4)
    shop = Workshop(client, DockerProvider(client, this_process(run)), run)
    try:
        with SizeWatch(client, run, shop.provider.too_big):
            yield shop
    finally:
        shop.end_all()
        client.close()


def recipe_of(folder: SandboxFolder) -> ImageRecipe:
    """Return what a sandbox's image is built from."""
    spec = folder.spec
    return ImageRecipe(spec.product, spec.version, folder.folder, spec.base, spec.packages)


def image_maker(
    client: DockerClient, tell: Callable[[str], None]
) -> Callable[[SandboxFolder], str]:
    """Return what gives a sandbox's image id, building it if there is none; once for each."""
    known: dict[tuple[str, str], str] = {}
    lock = threading.Lock()

    def image(folder: SandboxFolder) -> str:
        key = (folder.spec.product, folder.spec.version)
        with lock:
            if key not in known:
                known[key] = ensure_image(client, recipe_of(folder), tell).id
            return known[key]

    return image


def make_judge(text: str) -> Judge:
    """Return the judge that ``--judge NAME[:ARGUMENT]`` asks for.

    Raises:
        UserError: there is no such judge.
    """
    name, _, argument = text.partition(":")
    if name not in JUDGES:
        raise UserError(f"there is no judge `{name}`", hint=did_you_mean(name, list(JUDGES)))
    if name == "scripted" and not argument:
        raise UserError("the judge `scripted` needs a file", hint="--judge scripted:opinions.jsonl")
    return JUDGES[name](argument)
