"""What would be run, for people and for programs: extractions and alignments as text and JSON."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from procexec.model.alignment import Alignment, Considered, Move, MoveKind, contradictions
from procexec.model.step import AnswerStep, Extraction
from procexec.report.safe import shown


def extraction_json(answer: str, found: Extraction) -> str:
    """Return an extraction as one line of JSON."""
    steps = [
        {**_builtins(s), "kind": type(s.action).__name__.lower(), "reason": s.rule.meaning}
        for s in found.steps
    ]
    row = {
        "id": answer,
        "steps": steps,
        "skipped": [{**_builtins(s), "meaning": s.reason.meaning} for s in found.skipped],
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
        because = f": {_short(piece.because)}" if piece.because else ""
        lines.append(f"{'':12}{piece.reason.meaning}{because}")
    if found.declines:
        but = ", but gives steps all the same" if found.steps else ""
        lines.append(f"      the answer declines{but}: {_short(found.declines)}")
    if not found.steps:
        lines.append("      no steps")
    return "\n".join(lines) + "\n"


def _step_lines(number: int, step: AnswerStep) -> Iterator[str]:
    kind = type(step.action).__name__.lower()
    first, *rest = shown(step.action.text).split("\n")
    yield f"  {number:2}  {step.line}:{step.column}  {kind:9} {first}"
    for line in rest:
        yield f"{'':22}{line}"
    says_more = step.prose.strip(" `.:") != step.action.text
    lead = f', told by "{_short(step.prose)}"' if step.prose and says_more else ""
    remarks = [f"{step.confidence:.0%} sure: {step.rule.meaning} ({step.rule}){lead}"]
    remarks += [f"repaired: {r}" for r in step.repairs]
    remarks += [f"doubt: {d}" for d in step.doubts]
    remarks += [f"placeholder: {shown(p)}" for p in step.placeholders]
    remarks += ["optional"] * step.optional + ["meant to fail"] * step.expects_failure
    yield f"{'':12}{'; '.join(remarks)}"


def _short(text: str) -> str:
    """Return the beginning of words of the answer, on one line."""
    line = " ".join(shown(text).split())
    return line if len(line) <= 70 else line[:67] + "..."


def alignment_json(
    answer: str, version: str, alignment: Alignment, items: Sequence[Considered]
) -> str:
    """Return an alignment as one line of JSON, with what else each atom could stand for."""
    row = {
        "id": answer,
        "version": version,
        "cost": alignment.cost,
        "fitness": alignment.fitness,
        "optimal": alignment.optimal,
        "gap": alignment.gap,
        "branches": alignment.branches,
        "bindings": alignment.bindings,
        "contradictions": contradictions(items),
        "violations": alignment.violations,
        "atoms": [atom.text for atom in alignment.atoms],
        "moves": [{**_builtins(move), "rule": move.label.meaning} for move in alignment.moves],
        "considered": [{**_builtins(item), "rule": item.candidate.label.meaning} for item in items],
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
    answer: str,
    version: str,
    alignment: Alignment,
    texts: Mapping[str, str],
    items: Sequence[Considered],
) -> str:
    """Return an alignment for the terminal: the answer's atoms, and what is documented for each.

    What an atom could stand for as well stands below it, with what the whole would cost then.
    """
    exact = "" if alignment.optimal else f", not proven optimal (gap {alignment.gap})"
    beside = f"{shown(answer)} beside the documentation of {version}"
    lines = [f"{beside}: cost {alignment.cost}, fitness {alignment.fitness:.2f}{exact}"]
    for move in alignment.moves:
        mine = [item for item in items if item.atom == move.atom and move.atom is not None]
        lines += _move_lines(move, alignment, texts, mine)
    for name, branch in sorted(alignment.branches.items()):
        lines.append(f"      branch of {name}: {branch}")
    for name, value in sorted(alignment.bindings.items()):
        lines.append(f"      {shown(name)} is {shown(value)}")
    for name, values in sorted(contradictions(items).items()):
        told = ", then ".join(map(shown, values))
        lines.append(f"      {shown(name)} is not the same everywhere: {told}")
    for before, after in alignment.violations:
        lines.append(f"      {after} comes before {before}, documented the other way round")
    return "\n".join(lines) + "\n"


def _move_lines(
    move: Move, alignment: Alignment, texts: Mapping[str, str], items: Sequence[Considered]
) -> Iterator[str]:
    atom = alignment.atoms[move.atom] if move.atom is not None else None
    text = shown(atom.text).split("\n")[0] if atom else ""
    node = f"{move.node}: {shown(texts[move.node])}".split("\n")[0] if move.node else ""
    yield f"  {_SIGNS[move.kind]} {move.label:13} {move.cost:5}  {text}".rstrip()
    if node:
        yield f"{'':25}{node}"
    if move.detail:
        yield f"{'':25}({shown(move.detail)})"
    if move.kind is MoveKind.DISPLACED:
        yield f"{'':25}(out of order, which costs more than the match itself)"
    yield from _others(move, alignment, items)


def _others(move: Move, alignment: Alignment, items: Sequence[Considered]) -> Iterator[str]:
    """Yield a line for each step that an atom was not taken for."""
    if move.kind is MoveKind.ANSWER_ONLY and not items:
        yield f"{'':25}no documented step is comparable"
    takers = {m.node: m.atom for m in alignment.moves if m.atom is not None and m.node}
    for item in items:
        if item.chosen:
            continue
        found = item.candidate
        why = "cannot be" if item.dearer is None else f"the whole would cost {item.dearer} more"
        taker = takers.get(item.node)
        held = f", as atom {taker + 1} stands for it" if taker is not None else ""
        detail = f" ({shown(found.detail)})" if found.detail else ""
        yield f"{'':25}not {item.node}, {found.label} for {found.cost}{detail}: {why}{held}"
