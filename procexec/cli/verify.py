"""The documented procedures themselves: ``procexec verify``."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from procexec.cli.options import folders, selection, stop_on, tell

if TYPE_CHECKING:
    from procexec.model.document import Procedure
    from procexec.model.state import Reference
    from procexec.workload import Library, Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What running a documented procedure on one version showed."""

    procedure: str
    version: str
    state: str
    documented: bool
    step: str = ""
    evidence: str = ""


@click.command()
@selection
@folders
@click.option("-j", "--jobs", type=click.IntRange(1, 64), help="Procedures at a time.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of text.")
def verify(
    versions: tuple[str, ...],
    products: tuple[str, ...],
    select: tuple[str, ...],
    procedures: Path,
    sandboxes: Path,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Run the documented procedures on every version: which are stale, where, and why?

    Exit code 1 if a procedure does not work on a version that it is documented for.

    \b
      procexec verify
      procexec verify --product git --version 2.47
      procexec verify --select sqlite3/drop-column --json
    """
    from procexec.batch import default_workers
    from procexec.errors import UserError
    from procexec.read.check import check_versions
    from procexec.workload import Selection, read_library

    library, errors = read_library(procedures, sandboxes)
    stop_on([*errors, *check_versions(versions, library.known)])
    selection = Selection(versions=versions, products=products, select=select)
    wanted = list(_wanted(library, selection))
    if not wanted:
        hint = "look at --select, --product and --version"
        raise UserError("nothing is left to verify after the selection", hint=hint)
    found = _verified(wanted, library, jobs or default_workers())
    for item in found:
        click.echo(_json(item) if as_json else _line(item))
    stale = [item for item in found if item.state != "works"]
    if not as_json:
        click.echo(f"\n{len(found)} verified: {len(found) - len(stale)} work, {len(stale)} do not")
    sys.exit(1 if any(item.documented for item in stale) else 0)


def _wanted(library: "Library", selection: "Selection") -> "Iterator[tuple[Procedure, str]]":
    from procexec.model.document import Answer

    for procedure in library.procedures.values():
        as_written = Answer(id=procedure.id, answer="")
        if selection.takes(as_written, procedure):
            for version in procedure.versions:
                if not selection.versions or version in selection.versions:
                    yield procedure, version


def _verified(wanted, library, jobs: int) -> list[Verified]:  # type: ignore[no-untyped-def]
    from procexec.cli.engine import image_maker, workshop
    from procexec.reference import References
    from procexec.sandbox.locks import cache_folder
    from procexec.workload import Benches

    with workshop(workers=jobs, tell=tell) as shop:
        benches = Benches(
            library=library, provider=shop.provider, image=image_maker(shop.client, tell)
        )
        references = References(provider=shop.provider, folder=cache_folder() / "references")

        def one(item: "tuple[Procedure, str]") -> Verified:
            procedure, version = item
            bench = benches.get(procedure, version)
            return _told(procedure, version, references.get(bench, {}))

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, wanted))


def _told(procedure: "Procedure", version: str, reference: "Reference") -> Verified:
    failed = reference.failed_steps
    missed = [check for check in reference.checks if not check.held]
    state = "works" if reference.works else "vacuous" if reference.goal_held_before else "stale"
    evidence = failed[0].output.strip()[-400:] if failed else ""
    evidence = evidence or "; ".join(f"wanted {c.wanted}, found {c.found}" for c in missed)
    return Verified(
        procedure=procedure.id,
        version=version,
        state=state,
        documented=not procedure.documented_for or version in procedure.documented_for,
        step=failed[0].text if failed and state == "stale" else "",
        evidence=evidence if state != "works" else "",
    )


def _line(item: Verified) -> str:
    from procexec.report.safe import quoted_block, shown

    note = "" if item.documented or item.state == "works" else " (not documented for it)"
    line = f"{item.state:8} {item.procedure} on {item.version}{note}"
    if item.step:
        line += f"\n         {shown(item.step)}"
    if item.evidence:
        line += "\n" + quoted_block(item.evidence[-300:], "         | ")
    return line


def _json(item: Verified) -> str:
    import msgspec

    return msgspec.json.encode(item, order="sorted").decode()
