"""The main job: ``procexec run``."""

import json
import secrets
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from procexec.cli.options import folders, reference_runs, selection, stop_on, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from procexec.batch import Batch, Done
    from procexec.cli.engine import Workshop
    from procexec.judge import Judge
    from procexec.model.result import AnswerResult
    from procexec.read.answers import AnswerFile
    from procexec.report.journal import Journal
    from procexec.workload import Benches, Job, Library, Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What was asked for on the command line."""

    answers: str
    jobs: int
    out: Path
    judge: str
    reference_runs: int
    junit: Path | None
    allow_inconclusive: bool
    quiet: bool


@click.command()
@click.argument("answers")
@selection
@folders
@reference_runs
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 64),
    help="Answers at a time. Default: twice the processors.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Run folder; results in it that still hold are kept. Default: runs/<time>.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Go on with this run folder: only what has no durable result for the same inputs.",
)
@click.option(
    "--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML here, too."
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(["inconclusive"]),
    help="Not a reason for exit code 1.",
)
@click.option(
    "--judge",
    default="none",
    show_default=True,
    metavar="NAME[:FILE]",
    help="Who is asked about steps that cannot run: none, scripted:FILE.",
)
@click.option(
    "--max-grade",
    type=click.Choice(["A", "B", "C"]),
    default="C",
    show_default=True,
    help="Refuse sandboxes whose hardening is weaker than this grade.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress, only the report.")
def run(
    answers: str,
    versions: tuple[str, ...],
    products: tuple[str, ...],
    select: tuple[str, ...],
    procedures: Path,
    sandboxes: Path,
    reference_runs: int,
    jobs: int | None,
    out: Path | None,
    resume: Path | None,
    junit: Path | None,
    allow: tuple[str, ...],
    judge: str,
    max_grade: str,
    quiet: bool,
) -> None:
    """Judge the ANSWERS (.jsonl, .jsonl.gz, or - for standard input) by running them.

    Every answer is run in a fresh container of every product version that its procedure names,
    beside the documented procedure. Results are kept in the run folder as they come.

    \b
      procexec run answers.jsonl
      procexec run answers.jsonl --version 2.39 --version 2.47 --select smoke
      procexec run answers.jsonl --select git/add-patch --junit junit.xml
      procexec run answers.jsonl --resume runs/20261130-101500-3f2a
    """
    from procexec.batch import default_workers
    from procexec.read.answers import open_answers
    from procexec.sandbox.grants import Grade
    from procexec.workload import Selection, check, read_library, too_weak
    from procexec.workload import jobs as work

    wanted = Selection(versions=versions, products=products, select=select)
    settings = Settings(
        answers=answers,
        jobs=jobs or default_workers(),
        out=resume or out or _new_folder(),
        judge=judge,
        reference_runs=reference_runs,
        junit=junit,
        allow_inconclusive="inconclusive" in allow,
        quiet=quiet,
    )
    library, errors = read_library(procedures, sandboxes)
    if not library.procedures or not library.sandboxes:
        stop_on(errors)
    with open_answers(answers) as file:
        stop_on([*errors, *check(file, library, wanted)])
        stop_on(list(too_weak(library, work(file, library, wanted), Grade(max_grade))))
        sys.exit(_run(settings, file, library, wanted))


def _new_folder() -> Path:
    name = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{name}-{secrets.token_hex(2)}"


def _make_folder(out: Path) -> None:
    from procexec.errors import UserError

    if out.is_symlink():
        raise UserError(f"the run folder {out} is a symbolic link", hint="name the folder itself")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        hint = "give a folder that you may write to with --out"
        raise UserError(f"cannot make the run folder {out}: {e.strerror}", hint=hint) from e


def _run(settings: Settings, file: "AnswerFile", library: "Library", wanted: "Selection") -> int:
    from procexec.aggregate import exit_code, summarise
    from procexec.cli.engine import make_judge, workshop
    from procexec.report.journal import Journal, results_of
    from procexec.report.terminal import Progress, print_report
    from procexec.stopping import stopping
    from procexec.workload import jobs

    chosen_judge = make_judge(settings.judge)
    digest = file.sha256()
    total = sum(len(job.versions) for job in jobs(file, library, wanted))
    with workshop(workers=settings.jobs, tell=tell) as shop:
        _make_folder(settings.out)
        with Journal.open(settings.out / "results.jsonl") as journal:
            batch = _batch(settings, library, shop, chosen_judge)
            known = _Known(journal, batch)
            _write_manifest(settings, file, digest, library, shop, total)
            if journal.torn is not None:
                tell(f"the last row of an earlier run was cut off; it is kept in {journal.torn}")
            with (
                stopping(batch.stop, shop.end_all, tell) as told,
                Progress(total=total, quiet=settings.quiet, file=sys.stderr) as progress,
            ):
                batch.begun = progress.started
                for done in batch.results(jobs(file, library, wanted), known.is_known):
                    _keep(settings.out, journal, done)
                    progress.finished(done.result.answer)
            _check_unchanged(file, digest, settings)
            _tell_sandboxes(settings, library, shop)
            asked = {(j.answer.id, v) for j in jobs(file, library, wanted) for v in j.versions}
        rows = results_of(_rows(settings.out))
    results = [r for r in rows if (r.id, r.version) in asked]
    summary = summarise(results)
    _write_reports(settings, results)
    print_report(summary, results, source=settings.answers, file=sys.stdout)
    for line in _weakened(library, results):
        click.echo(line)
    if told:
        missing = len(asked) - len(results)
        tell(f"stopped with {missing} results missing; go on with: {_resume_command(settings)}")
        return 128 + told["signal"]
    if batch.given_up:
        tell(
            f"stopped with {len(asked) - len(results)} results missing: the engine fails again and "
            f"again; when it is well, go on with: {_resume_command(settings)}"
        )
    click.echo(f"Results: {settings.out}", err=True)
    if batch.bugs:
        raise batch.bugs[0]
    return exit_code(summary, allow_inconclusive=settings.allow_inconclusive)


def _check_unchanged(file: "AnswerFile", digest: str, settings: Settings) -> None:
    from procexec.errors import UserError

    if file.sha256() != digest:
        hint = f"nobody can tell which answers were run; go on with: {_resume_command(settings)}"
        raise UserError(f"{file.name} was changed while the run went", hint=hint)


def _weakened(library: "Library", results: "list[AnswerResult]") -> "Iterator[str]":
    """Yield a line for each sandbox that was used with less than the default hardening."""
    from procexec.report.safe import one_line
    from procexec.sandbox.grants import grade

    for product, version in sorted({(r.product, r.version) for r in results if r.grade > "A"}):
        grants = library.sandboxes[product, version].spec.grants
        told = "; ".join(f"{g.knob} {g.value}: {g.reason}" for g in grants)
        yield one_line(f"sandbox {product} {version} has grade {grade(grants)}: {told}", 500)


def _tell_sandboxes(settings: Settings, library: "Library", shop: "Workshop") -> None:
    """Put into the manifest what was read back of the sandboxes that were used."""
    from procexec.report.files import write_atomically

    path = settings.out / "manifest.json"
    document = json.loads(path.read_bytes()) | {"sandbox": _sandboxes_told(library, shop)}
    write_atomically(path, json.dumps(document, indent=2, sort_keys=True).encode() + b"\n")


def _sandboxes_told(library: "Library", shop: "Workshop") -> dict[str, object]:
    """Return the grade of all sandboxes, what weakens them, and what was read back so far."""
    import msgspec

    from procexec.sandbox.grants import grade

    weakened = [
        {
            "sandbox": f"{product}/{version}",
            "knob": grant.knob,
            "value": grant.value,
            "granted_by": "sandbox.yaml",
            "reason": grant.reason,
        }
        for (product, version), folder in sorted(library.sandboxes.items())
        for grant in folder.spec.grants
    ]
    effective = [
        {"grants": [f"{g.knob} {g.value}" for g in asked], **msgspec.to_builtins(found)}
        for asked, found in sorted(shop.provider.effective.items(), key=repr)
    ]
    worst = max((grade(f.spec.grants) for f in library.sandboxes.values()), default="")
    return {"grade": worst, "weakened": weakened, "effective": effective}


def _resume_command(settings: Settings) -> str:
    return f"procexec run {settings.answers} --resume {settings.out}"


def _rows(out: Path) -> list[dict[str, object]]:
    from procexec.report.journal import read_rows

    return read_rows(out / "results.jsonl")


def _batch(settings: Settings, library: "Library", shop: "Workshop", judge: "Judge") -> "Batch":
    from threading import Event

    from procexec.batch import Batch
    from procexec.cli.engine import image_maker
    from procexec.pipeline import Tools
    from procexec.read.unsafe import shipped_unsafe
    from procexec.reference import References
    from procexec.sandbox.locks import cache_folder
    from procexec.stopping import StoppableProvider
    from procexec.workload import Benches

    stop = Event()
    provider = StoppableProvider(shop.provider, stop)
    benches = Benches(library=library, provider=provider, image=image_maker(shop.client, tell))
    tools = Tools(
        provider=provider,
        references=References(
            provider=provider, folder=cache_folder() / "references", runs=settings.reference_runs
        ),
        judge=judge,
        unsafe=shipped_unsafe(),
    )
    return Batch(
        library=library,
        benches=benches,
        tools=tools,
        workers=settings.jobs,
        key_of=lambda job, version: _key(job, version, library, benches, settings),
        stop=stop,
    )


def _key(
    job: "Job", version: str, library: "Library", benches: "Benches", settings: Settings
) -> str:
    from procexec.cli import program_version
    from procexec.errors import ProcexecError
    from procexec.workload import reuse_key

    image = ""
    if job.procedure is not None:
        try:
            image = benches.get(job.procedure, version).image
        except ProcexecError:
            image = "none"
    return reuse_key(
        job,
        version,
        library,
        image,
        judge=settings.judge,
        procexec=program_version(),
        reference_runs=str(settings.reference_runs),
    )


class _Known:
    """The durable results of a run folder that still hold: same inputs, and no error."""

    def __init__(self, journal: "Journal", batch: "Batch") -> None:
        from procexec.model.result import Verdict
        from procexec.report.journal import results_of

        self.keys = {
            r.reuse_key for r in results_of(journal.rows) if r.verdict is not Verdict.ERROR
        }
        self.batch = batch

    def is_known(self, job: "Job", version: str) -> bool:
        return bool(self.keys) and self.batch.key_of(job, version) in self.keys


def _keep(out: Path, journal: "Journal", done: "Done") -> None:
    """Make a result durable: first its transcript, then the row that tells of it."""
    from procexec.report.asciicast import cast
    from procexec.report.files import write_atomically
    from procexec.report.journal import row_of

    answer = done.result.answer
    if done.result.events:
        folder = out / "transcripts"
        folder.mkdir(exist_ok=True)
        title = f"{answer.id} on {answer.product} {answer.version}"
        text = cast(done.result.events, title=title)
        write_atomically(folder / f"{_file_name(answer)}.cast", text.encode())
    journal.append(row_of(answer, seconds=round(done.seconds, 3)))


def _file_name(answer: "AnswerResult") -> str:
    import hashlib
    import re

    slug = re.sub(r"[^A-Za-z0-9]+", "-", answer.id)[:48].strip("-").lower() or "answer"
    return f"{slug}-{answer.version}-{hashlib.sha256(answer.key.encode()).hexdigest()[:10]}"


def _write_manifest(
    settings: Settings,
    file: "AnswerFile",
    digest: str,
    library: "Library",
    shop: "Workshop",
    total: int,
) -> None:
    import hashlib

    import msgspec

    from procexec.cli import program_version
    from procexec.report.files import write_atomically

    info = shop.client.info()
    document = {
        "procexec": program_version(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "answers": {"file": file.name, "sha256": digest},
        "expected_results": total,
        "procedures": {
            name: hashlib.sha256(msgspec.json.encode(p)).hexdigest()
            for name, p in sorted(library.procedures.items())
        },
        "sandboxes": {
            f"{product}/{version}": hashlib.sha256(msgspec.json.encode(f.spec)).hexdigest()
            for (product, version), f in sorted(library.sandboxes.items())
        },
        "engine": {
            "version": info.get("ServerVersion"),
            "driver": info.get("Driver"),
            "kernel": info.get("KernelVersion"),
            "architecture": info.get("Architecture"),
            "security": info.get("SecurityOptions"),
            "cgroups": info.get("CgroupVersion"),
        },
        "sandbox": _sandboxes_told(library, shop),
        "jobs": settings.jobs,
        "judge": settings.judge,
        "reference_runs": settings.reference_runs,
    }
    path = settings.out / "manifest.json"
    write_atomically(path, json.dumps(document, indent=2, sort_keys=True).encode() + b"\n")


def _write_reports(settings: Settings, results: "list[AnswerResult]") -> None:
    from procexec.aggregate import summarise
    from procexec.report.files import write_atomically
    from procexec.report.junit import junit_xml
    from procexec.report.summary import summary_json

    write_atomically(settings.out / "summary.json", summary_json(summarise(results)))
    xml = junit_xml(results)
    write_atomically(settings.out / "junit.xml", xml)
    if settings.junit is not None:
        write_atomically(settings.junit, xml)
