"""Mutants and harmless changes of answers that pass, as they were written."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from benchmarks.mutation import rewrite
from benchmarks.mutation.data import extras, variants
from benchmarks.mutation.script import Base, Variant, Wanted
from procexec.align.alignment import align
from procexec.extract.extraction import extract
from procexec.model.alignment import Label, MoveKind
from procexec.model.document import Answer
from procexec.model.step import Command
from procexec.trial import document, hints_of

LATER = frozenset(["step-failed", "goal-not-reached"])
PASS = Wanted(verdict="pass", owner="none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A documented command in an answer: its line (from 0), the text there, the step's id."""

    line: int
    text: str
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A changed answer; ``spot`` is where the fault is, ``steps`` what it is about."""

    text: str
    change: str
    codes: frozenset[str] = frozenset()
    steps: frozenset[str] = frozenset()
    line: int | None = None


def spots(answer: Answer, base: Base) -> list[Spot]:
    """Return the commands of one line that are required steps, word for word."""
    steps = extract(answer.answer, hints_of(base.spec)).steps
    alignment = align([s.action for s in steps], document(base.procedure, base.version, base.spec))
    lines = answer.answer.split("\n")
    required = {s.id for s in base.procedure.steps if s.required}
    found = []
    for move in alignment.moves:
        if move.atom is None or move.node is None or move.kind is not MoveKind.SYNCHRONOUS:
            continue
        step = steps[alignment.atoms[move.atom].step]
        name = move.node.split("#")[0]
        text = step.action.text
        inside = step.line <= len(lines) and lines[step.line - 1].count(text) == 1
        alone = [a for a in alignment.atoms if a.step == alignment.atoms[move.atom].step]
        plain = isinstance(step.action, Command) and "\n" not in text and len(alone) == 1
        if move.label is Label.MATCHED and name in required and inside and plain:
            found.append(Spot(line=step.line - 1, text=text, step=name))
    return found


def _replaced(text: str, spot: Spot, new: str) -> str:
    lines = text.split("\n")
    lines[spot.line] = lines[spot.line].replace(spot.text, new)
    return "\n".join(lines)


def answer_mutants(answer: Answer, base: Base, seed: int) -> Iterator[Variant]:
    """Yield the mutants of an answer that passes on the base's version."""
    for name, operator in MUTANTS.items():
        rng = Random(f"{seed}/{name}/{answer.id}/{base.version}")
        for number, edit in enumerate(operator(answer, base, rng)):
            wanted = Wanted(
                verdict="fail",
                owner="assistant",
                codes=edit.codes,
                steps=edit.steps,
                or_waits=name == "cut off",
            )
            spans = ((edit.line + 1, edit.line + 1),) if edit.line is not None else ()
            yield _variant(name, answer, base, number, edit, wanted, spans)


def answer_changes(answer: Answer, base: Base, seed: int) -> Iterator[Variant]:
    """Yield the harmless changes of an answer that passes on the base's version."""
    for name, operator in CHANGES.items():
        rng = Random(f"{seed}/{name}/{answer.id}/{base.version}")
        for number, edit in enumerate(operator(answer, base, rng)):
            yield _variant(name, answer, base, number, edit, PASS, ())


def _variant(
    name: str,
    answer: Answer,
    base: Base,
    number: int,
    edit: Edit,
    wanted: Wanted,
    spans: tuple[tuple[int, int], ...],
) -> Variant:
    return Variant(
        operator=f"{name} (answer)",
        base=base,
        number=number,
        text=edit.text,
        wanted=wanted,
        change=f"{answer.id}: {edit.change}",
        spans=spans,
        source=answer.id,
    )


Rewriting = Callable[[str, Base, Random], Iterator[rewrite.Rewrite]]


def _each(codes: frozenset[str], of: Rewriting) -> "Operator":
    def operator(answer: Answer, base: Base, rng: Random) -> Iterator[Edit]:
        for spot in spots(answer, base):
            for new in of(spot.text, base, rng):
                yield Edit(
                    text=_replaced(answer.answer, spot, new.text),
                    change=new.change,
                    codes=codes,
                    steps=frozenset([spot.step]),
                    line=spot.line,
                )

    return operator


def _left_out(answer: Answer, base: Base, rng: Random) -> Iterator[Edit]:
    """A command is taken out of its fence."""
    lines = answer.answer.split("\n")
    for spot in spots(answer, base):
        if lines[spot.line].strip().removeprefix("$ ") == spot.text:
            rest = [*lines[: spot.line], *lines[spot.line + 1 :]]
            yield Edit(
                text="\n".join(rest),
                change=f"without `{spot.text}`",
                codes=frozenset(["missing-step"]),
                steps=frozenset([spot.step]),
            )


def _cut_off(answer: Answer, base: Base, rng: Random) -> Iterator[Edit]:
    """The answer ends before a command."""
    found = spots(answer, base)
    lines = answer.answer.split("\n")
    for k, spot in enumerate(found[1:], 1):
        yield Edit(
            text="\n".join(lines[: spot.line]) + "\n",
            change=f"ends before `{spot.text}`",
            codes=frozenset(["missing-step"]),
            steps=frozenset(s.step for s in found[k:]),
        )


def _ended_by(kind: str) -> "Operator":
    def operator(answer: Answer, base: Base, rng: Random) -> Iterator[Edit]:
        program = next(iter(base.spec.options), base.spec.product)
        for extra in extras(kind, program):
            text = f"{answer.answer.rstrip()}\n\nFinally, run:\n\n```bash\n{extra.run}\n```\n"
            at = len(answer.answer.rstrip().split("\n")) + 4
            yield Edit(text=text, change=f"with `{extra.run}`", codes=extra.codes, line=at)

    return operator


Operator = Callable[[Answer, Base, Random], Iterator[Edit]]
_WRONG = frozenset(["wrong-value", "missing-step", *LATER])

MUTANTS: dict[str, Operator] = {
    "left out": _left_out,
    "cut off": _cut_off,
    "typo": _each(frozenset(["step-failed"]), lambda t, b, r: rewrite.typo(t, b.spec.options, r)),
    "wrong value": _each(_WRONG, lambda t, b, r: rewrite.wrong_value(t, b.fixed, r)),
    "wrong path": _each(_WRONG, lambda t, b, r: rewrite.wrong_path(t, b.spec.options, r)),
    "invented step": _ended_by("invented"),
    "destructive step": _ended_by("destructive"),
}


def _other_words(answer: Answer, base: Base, rng: Random) -> Iterator[Edit]:
    for name, told in variants()["prose"].items():
        text = f"{told['before']}\n\n{answer.answer.rstrip()}\n\n{told['after']}\n"
        yield Edit(text=text, change=f"{name} words around it")


def _other_marks(answer: Answer, base: Base, rng: Random) -> Iterator[Edit]:
    text = answer.answer
    changes = {
        "tildes": re.sub(r"(?m)^(\s*)```", r"\1~~~", text),
        "sh for bash": text.replace("```bash", "```sh"),
        "carriage returns": text.replace("\n", "\r\n"),
        "numbers with brackets": re.sub(r"(?m)^(\d+)\. ", r"\1) ", text),
        "stars for dashes": re.sub(r"(?m)^(\s*)- ", r"\1* ", text),
    }
    for change, new in changes.items():
        if new != text and ("~~~" not in text or change != "tildes"):
            yield Edit(text=new, change=change)


def _a_look(answer: Answer, base: Base, rng: Random) -> Iterator[Edit]:
    known = variants()["checks"]
    for check in (*known[""], *known.get(base.spec.product, ())):
        text = f"{answer.answer.rstrip()}\n\nTo look at it:\n\n```bash\n{check}\n```\n"
        yield Edit(text=text, change=f"`{check}` at the end")


def _other_platform(answer: Answer, base: Base, rng: Random) -> Iterator[Edit]:
    for told in variants()["platforms"]:
        text = f"{answer.answer.rstrip()}\n\n{told}\n"
        yield Edit(text=text, change=told.split("\n")[0])


CHANGES: dict[str, Operator] = {
    "other words": _other_words,
    "other marks": _other_marks,
    "a look": _a_look,
    "other platform": _other_platform,
}
