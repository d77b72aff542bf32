"""Options that several commands share, and the reading of what they name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from procexec.errors import InputErrors, UserError

F = TypeVar("F", bound=Callable[..., Any])
MOST_ERRORS = 50


def folders(command: F) -> F:
    """Add --procedures and --sandboxes."""
    for name in ("sandboxes", "procedures"):
        command = click.option(
            f"--{name}",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path(name),
            show_default=True,
            help=f"Folder of the {name}.",
        )(command)
    return command


def reference_runs(command: F) -> F:
    """Add --reference-runs."""
    return click.option(
        "--reference-runs",
        type=click.IntRange(2, 12),
        default=2,
        show_default=True,
        metavar="N",
        help="How often the documented procedure is run to learn what differs from run to run.",
    )(command)


def selection(command: F) -> F:
    """Add --version, --product and --select."""
    command = click.option(
        "--select",
        multiple=True,
        metavar="WHAT",
        help="Only answers with this id, slice or procedure; a trailing * stands for the rest.",
    )(command)
    command = click.option(
        "--product", "products", multiple=True, metavar="NAME", help="Only this product."
    )(command)
    return click.option(
        "--version",
        "versions",
        multiple=True,
        metavar="V",
        help="Only this product version; may be repeated. Default: all that the procedure names.",
    )(command)


def stop_on(errors: Sequence[UserError]) -> None:
    """Show all errors of the input, and stop.

    Raises:
        InputErrors: if there are any.
    """
    if errors:
        shown = list(errors[:MOST_ERRORS])
        if len(errors) > MOST_ERRORS:
            shown.append(UserError(f"and {len(errors) - MOST_ERRORS} more"))
        raise InputErrors(shown)


def tell(line: str) -> None:
    """Say what is being done, on standard error."""
    click.echo(line, err=True)
