"""A new product's files: a sandbox folder and a first procedure, to be filled in."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from string import Template

from procexec.errors import UserError


def scaffold(
    product: str,
    version: str,
    *,
    base: str,
    packages: tuple[str, ...],
    sandboxes: Path,
    procedures: Path,
) -> Iterator[Path]:
    """Write the files of a product at a version; yield those that are new.

    A procedure is written only with the product's first version.

    Raises:
        UserError: the sandbox exists already.
    """
    folder = sandboxes / product / version
    if folder.exists():
        raise UserError(f"there is a sandbox already: {folder}", hint=f"ls {folder}")
    first = not (procedures / product).exists()
    words = {
        "product": product,
        "version": version,
        "base": base,
        "packages": "".join(f"      {name} \\\n" for name in packages),
        "program": packages[0] if packages else product,
    }
    targets = [("Dockerfile", folder / "Dockerfile"), ("sandbox.yaml", folder / "sandbox.yaml")]
    if first:
        targets.append(("procedure.yaml", procedures / product / "first-steps.yaml"))
    for name, target in targets:
        text = (
            files("procexec.sandbox").joinpath("scaffold_files", name).read_text(encoding="utf-8")
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Template(text).substitute(words), encoding="utf-8")
        yield target
