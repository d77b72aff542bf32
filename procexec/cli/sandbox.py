"""``procexec sandbox``: build and look after the sandboxes."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from procexec.cli.options import folders, stop_on, tell

if TYPE_CHECKING:
    from procexec.read.sandboxes import SandboxFolder
    from procexec.workload import Library


@click.group()
def sandbox() -> None:
    """Build and look after the sandboxes: a product at a version each.

    \b
      procexec sandbox new redis 7.0             begin with a product
      procexec sandbox build                     make all images that are missing
      procexec sandbox list                      which are there?
      procexec sandbox shell git 2.47            look around in one
      procexec sandbox doctor                    can this machine run them?
      procexec sandbox prune                     remove what no folder names any more
    """


def _library(procedures: Path, sandboxes: Path) -> "Library":
    from procexec.workload import read_library

    library, errors = read_library(procedures, sandboxes)
    stop_on(errors)
    return library


def _chosen(
    library: "Library", products: tuple[str, ...], versions: tuple[str, ...]
) -> "list[SandboxFolder]":
    from procexec.errors import UserError
    from procexec.read.decode import did_you_mean

    for name in products:
        known = sorted({p for p, _ in library.sandboxes})
        if name not in known:
            raise UserError(f"there is no product `{name}`", hint=did_you_mean(name, known))
    for name in versions:
        known = sorted({v for _, v in library.sandboxes})
        if name not in known:
            raise UserError(f"there is no version `{name}`", hint=did_you_mean(name, known))
    chosen = [
        folder
        for (product, version), folder in sorted(library.sandboxes.items())
        if (not products or product in products) and (not versions or version in versions)
    ]
    if library.sandboxes and not chosen:
        asked = f"`{', '.join(products)}` version `{', '.join(versions)}`"
        raise UserError(f"there is no sandbox of {asked}", hint="procexec sandbox list")
    return chosen


@sandbox.command(short_help="Write the first files of a new product or version.")
@click.argument("product")
@click.argument("version")
@click.option("--base", default="debian:12", show_default=True, help="What the image builds on.")
@click.option("--package", "packages", multiple=True, metavar="NAME", help="A package to install.")
@folders
def new(
    product: str,
    version: str,
    base: str,
    packages: tuple[str, ...],
    procedures: Path,
    sandboxes: Path,
) -> None:
    """Write the first files of PRODUCT at VERSION: Dockerfile, sandbox.yaml, a procedure.

    \b
      procexec sandbox new redis 7.0 --package redis-server
      procexec sandbox build redis && procexec verify --product redis
    """
    from procexec.errors import UserError
    from procexec.sandbox.scaffold import scaffold

    for name, word in (("PRODUCT", product), ("VERSION", version)):
        if not re.fullmatch(r"[a-z0-9][a-z0-9._+-]*", word):
            raise UserError(f"{name} `{word}` is no name", hint="lower-case letters, digits, . _ -")
    made = scaffold(
        product, version, base=base, packages=packages, sandboxes=sandboxes, procedures=procedures
    )
    for path in made:
        click.echo(f"wrote {path}")
    click.echo(f"next: look at them, then: procexec sandbox build {product}")
    click.echo(f"      and: procexec verify --product {product}    (docs/adding-a-product.md)")


@sandbox.command(short_help="Make the images that are missing.")
@click.argument("products", nargs=-1)
@click.option("--version", "versions", multiple=True, metavar="V", help="Only this version.")
@folders
def build(
    products: tuple[str, ...], versions: tuple[str, ...], procedures: Path, sandboxes: Path
) -> None:
    """Make the images of the PRODUCTS (default: all) that are not there yet.

    Uses an engine that answers; as root on Debian or Ubuntu it installs and starts one if there is
    none. A base is pulled where a registry answers, else made from Debian's packages.
    """
    from procexec.cli.engine import recipe_of
    from procexec.sandbox import engine
    from procexec.sandbox.images import ensure_image, find_image

    chosen = _chosen(_library(procedures, sandboxes), products, versions)
    client = engine.ensure(tell)
    for folder in chosen:
        recipe = recipe_of(folder)
        found = find_image(client, recipe)
        made = found or ensure_image(client, recipe, tell)
        click.echo(f"{'have' if found else 'made'} {made.tag}")


@sandbox.command("list", short_help="List the sandboxes: which images are there?")
@folders
def list_(procedures: Path, sandboxes: Path) -> None:
    """List the sandboxes, and whether their images are there."""
    from procexec.cli.engine import recipe_of
    from procexec.sandbox import engine
    from procexec.sandbox.images import find_image

    library = _library(procedures, sandboxes)
    client = engine.connect()
    for (product, version), folder in sorted(library.sandboxes.items()):
        recipe = recipe_of(folder)
        found = find_image(client, recipe)
        state = found.tag if found else f"not built: procexec sandbox build {product}"
        click.echo(f"{product:10} {version:8} {folder.spec.base:12} {state}")


@sandbox.command(short_help="Open a shell in a fresh sandbox.")
@click.argument("product")
@click.argument("version")
@click.option("--procedure", metavar="ID", help="Start from this procedure's fixture, as its user.")
@folders
def shell(
    product: str, version: str, procedure: str | None, procedures: Path, sandboxes: Path
) -> None:
    """Open a shell in a fresh sandbox of PRODUCT at VERSION; it is removed afterwards.

    Its services run, or with --procedure those that the fixture leaves running.

    \b
      procexec sandbox shell git 2.47 --procedure git/add-patch
    """
    from procexec.cli.engine import image_maker, workshop
    from procexec.errors import UserError
    from procexec.read.decode import did_you_mean
    from procexec.sandbox import SandboxRequest
    from procexec.sandbox.interactive import interact, need_terminal

    library = _library(procedures, sandboxes)
    folder = _chosen(library, (product,), (version,))
    if procedure is not None and procedure not in library.procedures:
        hint = did_you_mean(procedure, list(library.procedures))
        raise UserError(f"there is no procedure `{procedure}`", hint=hint)
    start = library.procedures[procedure] if procedure else None
    spec = folder[0].spec
    need_terminal()
    with workshop(tell=tell) as shop:
        request = SandboxRequest(
            image=image_maker(shop.client, tell)(folder[0]),
            user=start.user if start else spec.user,
            workdir=start.workdir if start else spec.workdir,
            label="shell",
            env=spec.env,
            services=spec.services,
            grants=spec.grants,
        )
        if start is not None:
            maker = replace(request, user=start.fixture_user or start.user)
            made = shop.provider.fixture(maker, start.fixture)
            left = tuple(s for s in spec.services if s.name in made.running)
            request = replace(request, image=made.id, services=left)
        with shop.provider.start(request) as started:
            tell(f"{product} {version}, user {request.user}; leave with exit or Ctrl-D")
            sys.exit(interact(started))


@sandbox.command(short_help="Check that this machine can run sandboxes.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@folders
def doctor(as_json: bool, procedures: Path, sandboxes: Path) -> None:
    """Check that this machine can run sandboxes: engine, images, limits, a real one. About 20 s.

    \b
    Exit code 0: it can; 4: something fails.
    """
    import json
    from dataclasses import asdict

    from procexec.cli.engine import recipe_of
    from procexec.sandbox.doctor import examine

    library = _library(procedures, sandboxes)
    recipes = [recipe_of(folder) for _, folder in sorted(library.sandboxes.items())]
    found = []
    for check in examine(recipes):
        found.append(check)
        if as_json:
            continue
        click.echo(f"{check.state:5} {check.name}: {check.found}")
        if check.hint and check.state != "ok":
            click.echo(f"      hint: {check.hint}")
    if as_json:
        click.echo(json.dumps([asdict(check) for check in found], indent=2))
    sys.exit(4 if any(check.state == "fail" for check in found) else 0)


@sandbox.command(short_help="Remove what dead runs and old sandbox folders left.")
@click.option(
    "--fixtures", is_flag=True, help="Remove the fixture images, too; runs make them anew."
)
@folders
def prune(
    fixtures: bool,
    procedures: Path,
    sandboxes: Path,
) -> None:
    """Remove containers of dead runs, and images that no sandbox folder names any more."""
    from procexec.cli.engine import recipe_of
    from procexec.sandbox import engine
    from procexec.sandbox.images import ImageKind, find_image, list_images
    from procexec.sandbox.images import prune as remove
    from procexec.sandbox.owner import reap

    library = _library(procedures, sandboxes)
    client = engine.connect()
    containers = reap(client)
    for name in containers:
        click.echo(f"removed container {name}")
    keep = set()
    for folder in library.sandboxes.values():
        found = find_image(client, recipe_of(folder))
        if found:
            keep.add(found.tag)
    if not fixtures:
        keep |= {i.tag for i in list_images(client) if i.kind is ImageKind.FIXTURE}
    images = remove(client, keep, tell)
    for name in images:
        click.echo(f"removed image {name}")
    if not containers and not images:
        click.echo("nothing to remove")
