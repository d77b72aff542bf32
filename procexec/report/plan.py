"""What would be run, for people and for programs: extractions and alignments as text and JSON."""

from collections.abc import Iterator, Mapping

import msgspec

from procexec.model.alignment import Alignment, Move, MoveKind
from procexec.model.step import AnswerStep, Extraction
from procexec.report.safe import shown


def extraction_json(answer: str, found: Extraction) -> str:
    """Return an extraction as one line of JSON."""
    steps = [{**_builtins(s), "kind": type(s.action).__name__.lower()} for s in found.steps]
    row = {
        "id": answer,
        "steps": steps,
        "skipped": [_builtins(s) for s in found.skipped],
        "declines": found.declines,
    }
    return msgspec.json.encode(row, order="sorted").decode()


def _builtins(value: object) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(value)
    return plain


def extraction_text(answer: str, place: str, found: Extraction) -> str:
    """Return an extraction for the terminal: a line a step, what is odd about it below."""
    lines = [f"{shown(answer)} ({place})"]
    for number, step in enumerate(found.steps, 1):
        lines += _step_lines(number, step)
    for piece in found.skipped:
        first = shown(piece.text.split("\n")[0])[:70]
        lines.append(f"   -  {piece.line}:{piece.column}  no step ({piece.reason}): {first}")
    if found.declines:
        lines.append(f"      the answer declines: {shown(found.declines)}")
    if not found.steps:
        lines.append("      no steps")
    return "\n".join(lines) + "\n"


def _step_lines(number: int, step: AnswerStep) -> Iterator[str]:
    kind = type(step.action).__name__.lower()
    first, *rest = shown(step.action.text).split("\n")
    yield f"  {number:2}  {step.line}:{step.column}  {kind:9} {first}"
    for line in rest:
        yield f"{'':22}{line}"
    remarks = [f"{step.confidence:.0%} sure: {step.reason}"]
    remarks += [f"repaired: {r}" for r in step.repairs]
    remarks += [f"doubt: {d}" for d in step.doubts]
    remarks += [f"placeholder: {shown(p)}" for p in step.placeholders]
    remarks += ["optional"] * step.optional + ["meant to fail"] * step.expects_failure
    yield f"{'':12}{'; '.join(remarks)}"


def alignment_json(answer: str, version: str, alignment: Alignment) -> str:
    """Return an alignment as one line of JSON."""
    row = {
        "id": answer,
        "version": version,
        "cost": alignment.cost,
        "fitness": alignment.fitness,
        "optimal": alignment.optimal,
        "gap": alignment.gap,
        "branches": alignment.branches,
        "bindings": alignment.bindings,
        "violations": alignment.violations,
        "atoms": [atom.text for atom in alignment.atoms],
        "moves": [_builtins(move) for move in alignment.moves],
    }
    return msgspec.json.encode(row, order="sorted").decode()


_SIGNS = {
    MoveKind.SYNCHRONOUS: "=",
    MoveKind.REPEAT: "=",
    MoveKind.DISPLACED: "~",
    MoveKind.ANSWER_ONLY: "+",
    MoveKind.PROCEDURE_ONLY: "-",
}


def alignment_text(
    answer: str, version: str, alignment: Alignment, texts: Mapping[str, str]
) -> str:
    """Return an alignment for the terminal: the answer's atoms, and what is documented for each."""
    exact = "" if alignment.optimal else f", not proven optimal (gap {alignment.gap})"
    beside = f"{shown(answer)} beside the documentation of {version}"
    lines = [f"{beside}: cost {alignment.cost}, fitness {alignment.fitness:.2f}{exact}"]
    for move in alignment.moves:
        lines += _move_lines(move, alignment, texts)
    for name, branch in sorted(alignment.branches.items()):
        lines.append(f"      branch of {name}: {branch}")
    for name, value in sorted(alignment.bindings.items()):
        lines.append(f"      {shown(name)} is {shown(value)}")
    for before, after in alignment.violations:
        lines.append(f"      {after} comes before {before}, documented the other way round")
    return "\n".join(lines) + "\n"


def _move_lines(move: Move, alignment: Alignment, texts: Mapping[str, str]) -> Iterator[str]:
    atom = alignment.atoms[move.atom] if move.atom is not None else None
    text = shown(atom.text).split("\n")[0] if atom else ""
    node = f"{move.node}: {shown(texts[move.node])}".split("\n")[0] if move.node else ""
    yield f"  {_SIGNS[move.kind]} {move.label:13} {move.cost:5}  {text}"
    if node:
        yield f"{'':25}{node}"
    if move.detail:
        yield f"{'':25}({shown(move.detail)})"
