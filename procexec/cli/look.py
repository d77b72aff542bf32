"""Commands that look and run nothing: steps, align, explain, schema, graph, completion."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from procexec.cli.options import folders, selection, stop_on

if TYPE_CHECKING:
    from procexec.model.document import SandboxSpec
    from procexec.workload import Job, Selection


@click.command()
@click.argument("answers")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of text.")
@selection
@folders
def steps(
    answers: str,
    as_json: bool,
    versions: tuple[str, ...],
    products: tuple[str, ...],
    select: tuple[str, ...],
    procedures: Path,
    sandboxes: Path,
) -> None:
    """Show the steps of the ANSWERS (.jsonl, .jsonl.gz or -), without running them.

    Each step with its place in the Markdown, how sure the extractor is, why, what was repaired;
    and what looks like a step and is none.

    \b
      procexec steps answers.jsonl --select smoke
      procexec steps answers.jsonl --json | jq .steps
    """
    from procexec.extract.extraction import extract
    from procexec.report.plan import extraction_json, extraction_text
    from procexec.trial import hints_of
    from procexec.workload import Selection

    wanted = Selection(versions=versions, products=products, select=select)
    for job, spec in _jobs(answers, procedures, sandboxes, wanted):
        found = extract(job.answer.answer, hints_of(spec))
        if as_json:
            click.echo(extraction_json(job.answer.id, found))
        else:
            click.echo(extraction_text(job.answer.id, f"{answers}:{job.line}", found))


@click.command()
@click.argument("answers")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of text.")
@selection
@folders
def align(
    answers: str,
    as_json: bool,
    versions: tuple[str, ...],
    products: tuple[str, ...],
    select: tuple[str, ...],
    procedures: Path,
    sandboxes: Path,
) -> None:
    """Show the ANSWERS beside their documented procedures: moves, labels, costs, bindings.

    \b
      procexec align answers.jsonl --select git/add-patch --version 2.47
    """
    from procexec.align.alignment import align as aligned
    from procexec.align.why import considered
    from procexec.extract.extraction import extract
    from procexec.report.plan import alignment_json, alignment_text
    from procexec.report.safe import shown
    from procexec.trial import document, hints_of
    from procexec.workload import Selection

    wanted = Selection(versions=versions, products=products, select=select)
    for job, spec in _jobs(answers, procedures, sandboxes, wanted):
        if job.procedure is None:
            silent = "the documentation does not cover its question"
            click.echo(f"{shown(job.answer.id)}: {job.unmatched or silent}")
            continue
        version = job.versions[-1]
        found = extract(job.answer.answer, hints_of(spec))
        doc = document(job.procedure, version, spec)
        alignment = aligned([step.action for step in found.steps], doc)
        items = considered(alignment, doc)
        if as_json:
            click.echo(alignment_json(job.answer.id, version, alignment, items))
        else:
            texts = {node.id: node.atom.text for node in doc.nodes}
            click.echo(alignment_text(job.answer.id, version, alignment, texts, items), nl=False)
            click.echo("".join(f"      {shown(note)}\n" for note in job.notes))


def _jobs(
    answers: str, procedures: Path, sandboxes: Path, wanted: "Selection"
) -> "Iterator[tuple[Job, SandboxSpec]]":
    from procexec.read.answers import open_answers
    from procexec.workload import check, jobs, read_library

    library, errors = read_library(procedures, sandboxes)
    if not library.procedures or not library.sandboxes:
        stop_on(errors)
    with open_answers(answers) as file:
        stop_on([*errors, *check(file, library, wanted)])
        for job in jobs(file, library, wanted):
            product = job.procedure.product if job.procedure else job.answer.product
            have = library.versions(product) if product else []
            version = job.versions[-1] if job.versions[-1] in have else (have or [""])[-1]
            folder = library.sandboxes.get((product or "", version))
            spec = folder.spec if folder else next(iter(library.sandboxes.values())).spec
            yield job, spec


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Tell what a finding's CODE means, how it is decided, who acts; without one, list them all.

    \b
      procexec explain PX104
      procexec explain missing-step
    """
    from procexec.report.explain import all_codes
    from procexec.report.explain import explain as page

    click.echo(page(code) if code else all_codes(), nl=False)


@click.command()
@click.argument("name", type=click.Choice(["answer", "procedure", "sandbox", "result"]))
def schema(name: str) -> None:
    """Print the JSON Schema of a line of answers, a procedure, a sandbox.yaml or a result.

    \b
      procexec schema procedure > procedure.schema.json
    """
    import msgspec

    from procexec.model.document import Answer, Procedure, SandboxSpec
    from procexec.model.result import AnswerResult

    kinds = {
        "answer": Answer,
        "procedure": Procedure,
        "sandbox": SandboxSpec,
        "result": AnswerResult,
    }
    document = msgspec.json.schema(kinds[name], schema_hook=lambda _: {"description": "any JSON"})
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


@click.command()
@click.argument("procedure")
@folders
def graph(procedure: str, procedures: Path, sandboxes: Path) -> None:
    """Draw the PROCEDURE (its id) in Graphviz's language.

    \b
      procexec graph git/add-patch | dot -Tsvg > add-patch.svg
    """
    from procexec.align.graph import dot
    from procexec.errors import UserError
    from procexec.read.decode import did_you_mean
    from procexec.workload import read_library

    library, errors = read_library(procedures, sandboxes)
    stop_on(errors)
    if procedure not in library.procedures:
        hint = did_you_mean(procedure, list(library.procedures))
        raise UserError(f"there is no procedure `{procedure}`", hint=hint)
    click.echo(dot(library.procedures[procedure]), nl=False)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a SHELL.

    \b
      procexec completion bash > ~/.local/share/bash-completion/completions/procexec
    """
    from click.shell_completion import get_completion_class

    from procexec.cli import cli

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "procexec", "_PROCEXEC_COMPLETE").source())
