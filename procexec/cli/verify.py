"""The documented procedures themselves: ``procexec verify``."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from procexec.cli.options import folders, reference_runs, selection, stop_on, tell

if TYPE_CHECKING:
    from procexec.model.document import Procedure
    from procexec.model.state import Coverage, Reference
    from procexec.reference import Bench
    from procexec.shell.unsafe import Risk
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
    place: str = ""
    hint: str = ""
    runs: int = 0
    coverage: "Coverage"
    steps: "dict[str, Coverage]"
    risks: "tuple[Risk, ...]" = ()

    @property
    def is_wrong(self) -> bool:
        """Whether somebody must act: it is documented for the version, or nothing can be said."""
        return self.state in ("vacuous", "blocked") or (self.state == "stale" and self.documented)


@click.command()
@selection
@folders
@reference_runs
@click.option("-j", "--jobs", type=click.IntRange(1, 64), help="Procedures at a time.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of text.")
def verify(
    versions: tuple[str, ...],
    products: tuple[str, ...],
    select: tuple[str, ...],
    procedures: Path,
    sandboxes: Path,
    reference_runs: int,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Run the documented procedures on every version: which are stale, where, and why?

    Exit code 1 if a procedure does not work on a version that it is documented for, if the sandbox
    cannot do a step of it (blocked), or if its goal says nothing (vacuous). How many of the facts that a procedure changes are masked stands beside it.

    \b
      procexec verify
      procexec verify --product git --version 2.47
      procexec verify --select sqlite3/drop-column --reference-runs 5 --json
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
    found = _verified(wanted, library, procedures, jobs or default_workers(), reference_runs)
    for item in found:
        click.echo(_json(item) if as_json else _line(item))
    stale = [item for item in found if item.state != "works"]
    if not as_json:
        click.echo(f"\n{len(found)} verified: {len(found) - len(stale)} work, {len(stale)} do not")
    sys.exit(1 if any(item.is_wrong for item in stale) else 0)


def _wanted(library: "Library", selection: "Selection") -> "Iterator[tuple[Procedure, str]]":
    from procexec.model.document import Answer

    for procedure in library.procedures.values():
        as_written = Answer(id=procedure.id, answer="")
        if selection.takes(as_written, procedure):
            for version in procedure.versions:
                if not selection.versions or version in selection.versions:
                    yield procedure, version


def _verified(
    wanted: "list[tuple[Procedure, str]]", library: "Library", folder: Path, jobs: int, runs: int
) -> list[Verified]:
    from procexec.cli.engine import image_maker, workshop
    from procexec.reference import References
    from procexec.sandbox.locks import cache_folder
    from procexec.workload import Benches

    with workshop(workers=jobs, tell=tell) as shop:
        benches = Benches(
            library=library, provider=shop.provider, image=image_maker(shop.client, tell)
        )
        references = References(
            provider=shop.provider, folder=cache_folder() / "references", runs=runs
        )

        def one(item: "tuple[Procedure, str]") -> Verified:
            procedure, version = item
            bench = benches.get(procedure, version)
            place = f"{folder / procedure.id}.yaml"
            return _told(bench, references.get(bench, {}), place)

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, wanted))


def _told(bench: "Bench", reference: "Reference", place: str) -> Verified:
    from procexec.read.unsafe import shipped_unsafe
    from procexec.shell.unsafe import documented_risks
    from procexec.trial import document, documented_atoms

    procedure, version = bench.procedure, bench.version
    atoms = documented_atoms(document(procedure, version, bench.spec))
    failed = reference.failed_steps
    missed = [check for check in reference.checks if not check.held]
    state = _state(reference, bench)
    evidence = failed[0].output.strip()[-400:] if failed else ""
    evidence = evidence or "; ".join(f"wanted {c.wanted}, found {c.found}" for c in missed)
    if state == "blocked":
        evidence = f"the sandbox cannot do it{': ' if evidence else ''}{evidence}"
    evidence = reference.goal_told or evidence
    return Verified(
        procedure=procedure.id,
        version=version,
        state=state,
        documented=not procedure.documented_for or version in procedure.documented_for,
        step=failed[0].text if failed and state in ("stale", "blocked") else "",
        evidence=evidence if state != "works" else "",
        place=place if state == "vacuous" else "",
        hint=reference.goal_hint,
        runs=reference.runs,
        coverage=reference.coverage,
        steps={step.id: step.coverage for step in reference.steps if step.coverage.facts},
        risks=documented_risks(atoms, (*shipped_unsafe(), *bench.spec.unsafe)),
    )


def _state(reference: "Reference", bench: "Bench") -> str:
    from procexec.verdict.limits import is_stopped

    if reference.works:
        return "works"
    if reference.goal_fault:
        return "vacuous"
    return "blocked" if is_stopped(reference, bench.spec.limits) else "stale"


def _line(item: Verified) -> str:
    from procexec.report.safe import quoted_block, shown

    note = "" if item.documented or item.state == "works" else " (not documented for it)"
    line = f"{item.state:8} {item.procedure} on {item.version}{note}"
    line += f"\n         {item.coverage}, {item.runs} reference runs{_by_step(item.steps)}"
    for risk in item.risks:
        line += (
            f"\n         unsafe, but documented so: {shown(risk.step)} ({risk.kind}): {risk.reason}"
        )
    if item.place:
        line += f"\n{shown(item.place)}: error: {shown(item.evidence)}\n  hint: {item.hint}"
        return line
    if item.step:
        line += f"\n         {shown(item.step)}"
    if item.evidence:
        line += "\n" + quoted_block(item.evidence[-300:], "         | ")
    return line


def _by_step(steps: "dict[str, Coverage]") -> str:
    told = [f"{name} {found.masked}/{found.facts}" for name, found in steps.items() if found.masked]
    return f"; by step: {', '.join(told)}" if told else ""


def _json(item: Verified) -> str:
    import msgspec

    return msgspec.json.encode(item, order="sorted").decode()
