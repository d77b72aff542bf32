"""What each step of an answer turned out to be."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from procexec.model.alignment import Label, MoveKind
from procexec.model.evidence import Evidence
from procexec.model.result import (
    Code,
    Finding,
    StepResult,
)
from procexec.model.run import Ending
from procexec.model.state import Sign
from procexec.model.step import AnswerStep, Session


def step_results(evidence: Evidence, found: Sequence[Finding]) -> Iterator[StepResult]:
    """Yield what each step of an answer turned out to be; ``found`` are the findings on it."""
    results = list(_one_by_one(evidence, found))
    for k, result in enumerate(results):
        user = _user_of(k, results, evidence) if result.label == "benign" else None
        yield replace(result, label="equivalent", steps=user.steps) if user else result


def _user_of(index: int, results: Sequence[StepResult], evidence: Evidence) -> StepResult | None:
    """Return the first later step that does a documented one's work with a file that a step makes."""
    made = [
        re.escape(posixpath.basename(change.fact.subject))
        for change in evidence.effects.get(index, ())
        if change.sign is Sign.ADDED and change.fact.text == "is a file"
    ]
    later = (r for r in results[index + 1 :] if r.steps and r.label == "equivalent")
    return next(
        (r for r in later for name in made if re.search(rf"(?<![\w.-]){name}(?![\w-])", r.text)),
        None,
    )


def _one_by_one(evidence: Evidence, found: Sequence[Finding]) -> Iterator[StepResult]:
    planned = {p.index: k for k, p in enumerate(evidence.plan.steps)} if evidence.plan else {}
    labels = _labels(evidence)
    owners = (
        {r: p.index for p in evidence.plan.steps for r in p.reply_steps} if evidence.plan else {}
    )
    for k, step in enumerate(evidence.steps):
        at = planned.get(k)
        result = evidence.results[at] if at is not None and at < len(evidence.results) else None
        label, nodes = labels.get(k, ("", ()))
        if label == Label.EXTRA and k in owners:
            label, nodes = _of_the_one_before(k, owners, labels) or (label, nodes)
        if result is None or result.ending is not Ending.NOT_RUN:
            told = {f.code for f in found if (f.line, f.column) == (step.line, step.column)}
            nodes = _and_done(evidence, owners.get(k, k), nodes, found)
            label = _as_it_was(label, nodes, told)
        nodes = tuple(dict.fromkeys((*nodes, *_bounds(evidence, k))))
        label = label or (Label.MATCHED.value if nodes else "")
        yield StepResult(
            text=_text(evidence, at, step),
            line=step.line,
            column=step.column,
            label=label,
            steps=nodes,
            ending=result.ending if result else "",
            exit_code=result.exit_code if result else None,
            output=result.output[-4000:] if result else "",
            note=result.note if result else "",
        )


def _of_the_one_before(
    index: int, owners: dict[int, int], labels: dict[int, tuple[str, tuple[str, ...]]]
) -> tuple[str, tuple[str, ...]] | None:
    """Return what a reply does that is not documented: the same as the one before it, or its command."""
    command = owners[index]
    before = (k for k in range(index - 1, command - 1, -1) if owners.get(k, k) == command)
    return next((labels[k] for k in before if k in labels and labels[k][1]), None)


def _text(evidence: Evidence, at: int | None, step: AnswerStep) -> str:
    """Return what was run, and what was typed into it if that is part of the step."""
    if at is None or evidence.plan is None:
        return step.action.text
    planned = evidence.plan.steps[at]
    typed = planned.replies if isinstance(step.action, Session) else ()
    return "\n".join((planned.text, *(reply.text for reply in typed)))


def _labels(evidence: Evidence) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return for each answer step its label and the documented steps that it stands for."""
    alignment = evidence.alignment
    if alignment is None:
        return {}
    steps = {atom.id: atom.step for atom in evidence.documented}
    found: dict[int, tuple[str, tuple[str, ...]]] = {}
    for move in alignment.moves:
        if move.atom is None:
            continue
        index = alignment.atoms[move.atom].step
        label = "displaced" if move.kind is MoveKind.DISPLACED else move.label.value
        nodes = (steps[move.node],) if move.node is not None else ()
        before, names = found.get(index, (label, ()))
        worse = label if _RANK.get(label, 0) > _RANK.get(before, 0) else before
        found[index] = (worse, tuple(dict.fromkeys((*names, *nodes))))
    return found


def _bounds(evidence: Evidence, index: int) -> tuple[str, ...]:
    """Return the documented steps that open or leave the program that this step opens or leaves."""
    return evidence.alignment.bounds.get(index, ()) if evidence.alignment is not None else ()


def _and_done(
    evidence: Evidence, index: int, nodes: tuple[str, ...], found: Sequence[Finding]
) -> tuple[str, ...]:
    """Return what a step stands for by its text, and what it does by its effect, besides.

    That is what nothing in the answer stands for and still is not missing; else, if the text says
    nothing, what another step of the answer does in another way.
    """
    if evidence.alignment is None:
        return nodes
    steps = {atom.id: atom.step for atom in evidence.documented}
    moves = [m for m in evidence.alignment.moves if m.node is not None]
    missed = {finding.step for finding in found if finding.code is Code.MISSING_STEP}
    unused = {steps[m.node or ""] for m in moves if m.atom is None} - (missed if nodes else set())
    others = {steps[m.node or ""] for m in moves if m.label is Label.SUBSTITUTED}
    done = _done_by(evidence, index)
    besides = [step for step in done if step in unused]
    besides += _not_asked(evidence, nodes, unused)
    if nodes or besides:
        return tuple(dict.fromkeys((*nodes, *besides)))
    return tuple(step for step in done if step in others)


def _done_by(evidence: Evidence, index: int) -> tuple[str, ...]:
    """Return the documented steps that change what this step changes: here, or where they work."""
    effect = {change.fact.subject for change in evidence.effects.get(index, ())}
    controls = [c for c in (evidence.reference, evidence.elsewhere) if c is not None]
    return tuple(
        dict.fromkeys(
            step.id
            for control in controls
            for step in control.steps
            if effect & {change.fact.subject for change in step.changes}
            or evidence.sets_the_same(index, step)
        )
    )


def _not_asked(evidence: Evidence, nodes: Sequence[str], unused: set[str]) -> Iterator[str]:
    """Yield the documented replies that a step makes needless: its command does not ask."""
    command = ""
    for atom in evidence.documented:
        if not atom.is_input:
            command = atom.step
        elif command in nodes and atom.step in unused:
            yield atom.step


def _as_it_was(label: str, nodes: Sequence[str], told: set[Code]) -> str:
    """Return what a step turned out to be: by what was found, else by its text and effect."""
    for code, word in _LABELS.items():
        if code in told:
            return word
    if label in (Label.SUBSTITUTED, Label.OTHER_VERSION) or (label == Label.EXTRA and nodes):
        return "equivalent"
    return "benign" if label == Label.EXTRA else label


_LABELS = {
    Code.UNSAFE_STEP: "unsafe",
    Code.INVENTED_STEP: "invented",
    Code.OLD_VERSION_STEP: "old-version",
    Code.WRONG_VALUE: "wrong-value",
}
_RANK = {"matched": 0, "variant": 1, "check": 1, "substituted": 3, "displaced": 4, "extra": 2}
