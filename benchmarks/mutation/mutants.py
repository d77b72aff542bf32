"""Answers that must fail: a documented procedure with one fault, and where the fault is."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from benchmarks.mutation import rewrite
from benchmarks.mutation.data import extras, variants
from benchmarks.mutation.script import Base, Line, Variant, Wanted, text_of
from benchmarks.mutation.write import Style, write
from procexec.model.document import version_matches
from procexec.model.step import Action, Command, FileWrite, Input

STYLES = (
    Style(layout="numbered"),
    Style(layout="plain"),
    Style(layout="headings", tag="sh"),
    Style(layout="plain", tag="console", prompt="$ "),
)
LATER = frozenset(["step-failed", "goal-not-reached"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A faulty script with what must be found."""

    lines: tuple[Line, ...]
    change: str
    codes: frozenset[str]
    steps: frozenset[str] = frozenset()
    places: frozenset[int] = frozenset()
    verdict: str = "fail"
    owner: str = "assistant"
    or_waits: bool = False
    cut: int | None = None


def mutants(base: Base, seed: int) -> Iterator[Variant]:
    """Yield the mutants of a base, operator by operator, all that there are."""
    for name, operator in OPERATORS.items():
        rng = Random(f"{seed}/{name}/{base.id}")
        for number, fault in enumerate(operator(base, rng)):
            if _is_equivalent(name, base, fault):
                continue
            yield _variant(name, base, number, fault, rng.choice(STYLES))


def _is_equivalent(name: str, base: Base, fault: Fault) -> bool:
    """Tell whether a mutant is known to do the same as the documented procedure."""
    return any(
        entry["operator"] == name
        and entry["procedure"] == base.procedure.id
        and re.search(entry["change"], fault.change)
        for entry in variants()["equivalent_mutants"]
    )


def _variant(name: str, base: Base, number: int, fault: Fault, style: Style) -> Variant:
    page = write(fault.lines, style, base.spec.sessions)
    text = page.text
    if fault.cut is not None:
        text = "\n".join(text.split("\n")[: page.spans[fault.cut][1]]) + "\n"
    return Variant(
        operator=name,
        base=base,
        number=number,
        text=text,
        wanted=Wanted(
            verdict=fault.verdict,
            owner=fault.owner,
            codes=fault.codes,
            steps=fault.steps,
            places=fault.places,
            or_waits=fault.or_waits,
        ),
        change=fault.change,
        spans=tuple(page.spans[k] for k in sorted(fault.places)),
    )


def _without(lines: Sequence[Line], *steps: str) -> tuple[Line, ...]:
    return tuple(line for line in lines if line.step not in steps)


def _with(lines: Sequence[Line], at: int, *more: Line) -> tuple[Line, ...]:
    return (*lines[:at], *more, *lines[at:])


def _command(text: str) -> Line:
    return Line(action=Command(text=text))


def _asks(base: Base, step: str) -> bool:
    """Tell whether a step is a reply to a question, not a statement typed into a program."""
    prompts = [p for s in base.spec.sessions for p in s.prompts]
    return any(
        line.step == step
        and line.is_reply
        and not any(re.fullmatch(p, getattr(line.action, "prompt", "")) for p in prompts)
        for line in base.lines
    )


def _required(base: Base) -> list[str]:
    return list(dict.fromkeys(line.step for line in base.lines if line.required))


def _replies_to(base: Base, step: str) -> set[str]:
    """Return the steps that answer what a step asks or are typed into what it opens."""
    steps = [line.step for line in base.lines]
    last = len(steps) - 1 - steps[::-1].index(step)
    found = set()
    for line in base.lines[last + 1 :]:
        if not line.is_reply:
            break
        found.add(line.step)
    return found


def drop_step(base: Base, rng: Random) -> Iterator[Fault]:
    """A required step is left out, with the replies to what it asks."""
    for step in _required(base):
        if _asks(base, step):
            continue
        opens = [line for line in base.lines if line.step == step and not line.is_reply]
        gone = {step, *(_replies_to(base, step) if opens else ())}
        lines = _without(base.lines, *gone)
        if any(line.required for line in lines):
            yield Fault(
                lines=lines,
                change=f"without `{step}`",
                codes=frozenset(["missing-step"]),
                steps=frozenset([step, *_instead_of(base, step)]),
            )


def _instead_of(base: Base, step: str) -> set[str]:
    """Return the steps of other branches, which are as good as a step of this one."""
    group = _group_of(base, step)
    return {s.id for s in base.procedure.steps if group is not None and s.any_of == group}


def no_replies(base: Base, rng: Random) -> Iterator[Fault]:
    """A command asks something, and the answer does not say what to type."""
    for step in _required(base):
        replies = {r for r in _replies_to(base, step) if _asks(base, r)}
        if replies and not _asks(base, step):
            place = next(k for k, line in enumerate(base.lines) if line.step == step)
            yield Fault(
                lines=_without(base.lines, *replies),
                change=f"without the replies to `{step}`",
                codes=frozenset(["needs-input"]),
                places=frozenset([place]),
                verdict="inconclusive",
                owner="judge",
            )


def swap_steps(base: Base, rng: Random) -> Iterator[Fault]:
    """A step stands before one that must come before it."""
    required = set(_required(base))
    for line in base.lines:
        for before in line.after:
            at = next((j for j, other in enumerate(base.lines) if other.step == before), None)
            if at is None or {line.step, before} - required or line.is_reply:
                continue
            block = {line.step, *_replies_to(base, line.step)}
            moved = [other for other in base.lines if other.step in block]
            rest = [other for other in base.lines if other.step not in block]
            at = next(j for j, other in enumerate(rest) if other.step == before)
            if rest[at].is_reply:
                continue
            yield Fault(
                lines=_with(rest, at, *moved),
                change=f"`{line.step}` before `{before}`",
                codes=frozenset(["wrong-order"]),
                steps=frozenset([line.step, before]),
            )


Rewriting = Callable[[str], Iterator[rewrite.Rewrite]]


def _rewritten(
    base: Base, codes: frozenset[str], of: Rewriting, kind: type[Command] | type[FileWrite]
) -> Iterator[Fault]:
    for k, line in enumerate(base.lines):
        if not line.required or not isinstance(line.action, kind):
            continue
        for new in of(text_of(line.action)):
            action = (
                replace(line.action, content=new.text)
                if isinstance(line.action, FileWrite)
                else Command(text=new.text)
            )
            yield Fault(
                lines=(*base.lines[:k], replace(line, action=action), *base.lines[k + 1 :]),
                change=f"`{line.step}`: {new.change}",
                codes=codes,
                steps=frozenset([line.step, *_instead_of(base, line.step)]),
                places=frozenset([k]),
            )


def typo(base: Base, rng: Random) -> Iterator[Fault]:
    """Two letters of a program or sub-command are swapped."""
    yield from _rewritten(
        base,
        frozenset(["step-failed"]),
        lambda t: rewrite.typo(t, base.spec.options, rng),
        Command,
    )


def invented_option(base: Base, rng: Random) -> Iterator[Fault]:
    """A step has an option that does not exist."""
    yield from _rewritten(
        base,
        frozenset(["step-failed", "wrong-value", "invented-step"]),
        lambda t: rewrite.invented_option(t, base.spec.options, rng),
        Command,
    )


def dropped_option(base: Base, rng: Random) -> Iterator[Fault]:
    """A step lacks an option."""
    found = _rewritten(
        base,
        frozenset(["wrong-value", "missing-step", *LATER]),
        lambda t: rewrite.dropped_option(t, base.spec.options, rng),
        Command,
    )
    yield from (replace(fault, or_waits=True) for fault in found)


def wrong_value(base: Base, rng: Random) -> Iterator[Fault]:
    """A value that the question fixes is another one in a step."""
    codes = frozenset(["wrong-value", "missing-step", *LATER])
    yield from _rewritten(base, codes, lambda t: rewrite.wrong_value(t, base.fixed, rng), Command)
    yield from _rewritten(base, codes, lambda t: rewrite.wrong_value(t, base.fixed, rng), FileWrite)


def wrong_path(base: Base, rng: Random) -> Iterator[Fault]:
    """A path is another one in a step."""
    codes = frozenset(["wrong-value", "missing-step", *LATER])
    yield from _rewritten(
        base, codes, lambda t: rewrite.wrong_path(t, base.spec.options, rng), Command
    )


def wrong_content(base: Base, rng: Random) -> Iterator[Fault]:
    """A line of a file's content is left out."""
    codes = frozenset(["wrong-value", "missing-step", "collateral-change", *LATER])
    yield from _rewritten(base, codes, lambda t: rewrite.wrong_content(t, rng), FileWrite)


def wrong_reply(base: Base, rng: Random) -> Iterator[Fault]:
    """A question is answered with another value than the one that the question fixes."""
    for k, line in enumerate(base.lines):
        if not isinstance(line.action, Input) or not line.required:
            continue
        for new in rewrite.wrong_value(line.action.text, base.fixed, rng):
            action = replace(line.action, keys=(new.text + "\r",))
            yield Fault(
                lines=(*base.lines[:k], replace(line, action=action), *base.lines[k + 1 :]),
                change=f"`{line.step}`: {new.change}",
                codes=frozenset(["wrong-value", "missing-step", *LATER]),
                steps=frozenset([line.step]),
                places=frozenset([k]),
            )


def _places_between(base: Base, *, first: int = 1) -> list[int]:
    return [
        k
        for k in range(first, len(base.lines) + 1)
        if k == len(base.lines) or not base.lines[k].is_reply
    ]


def _inserted(base: Base, kind: str, rng: Random) -> Iterator[Fault]:
    for extra in extras(kind, _program(base)):
        at = rng.choice(_places_between(base))
        yield Fault(
            lines=_with(base.lines, at, _command(extra.run)),
            change=f"with `{extra.run}`",
            codes=extra.codes,
            places=frozenset([at]),
        )


def _program(base: Base) -> str:
    return next(iter(base.spec.options), base.spec.product)


def invented_step(base: Base, rng: Random) -> Iterator[Fault]:
    """A step that changes something is made up."""
    yield from _inserted(base, "invented", rng)


def destructive_step(base: Base, rng: Random) -> Iterator[Fault]:
    """A step deletes or opens to all what it should leave alone."""
    yield from _inserted(base, "destructive", rng)


def wrong_directory(base: Base, rng: Random) -> Iterator[Fault]:
    """The steps from some place on are done in another directory."""
    for k, line in enumerate(base.lines):
        if not line.required or line.is_reply or not _depends_on_directory(line):
            continue
        yield Fault(
            lines=_with(base.lines, k, _command("cd /tmp")),
            change=f"`{line.step}` in /tmp",
            codes=frozenset(["invented-step", "wrong-value", "missing-step", *LATER]),
            steps=frozenset([line.step]),
            places=frozenset([k, k + 1]),
        )


def _depends_on_directory(line: Line) -> bool:
    if isinstance(line.action, FileWrite):
        return not line.action.path.startswith(("/", "~"))
    words = [t.bare for t in rewrite.tokens(text_of(line.action))]
    named = [w for w in words[1:] if re.fullmatch(r"[\w./~-]*(?:/[\w./-]+|\.\w{1,4})", w)]
    absolute = [w for w in named if w.startswith(("/", "~"))]
    return bool(named) and not absolute


def goal_undone(base: Base, rng: Random) -> Iterator[Fault]:
    """What the procedure is for is taken back at the end."""
    undo = variants()["undo"].get(base.procedure.id)
    if undo:
        at = len(base.lines)
        yield Fault(
            lines=_with(base.lines, at, _command(undo)),
            change=f"with `{undo}` at the end",
            codes=frozenset(["goal-not-reached"]),
        )


def truncated(base: Base, rng: Random) -> Iterator[Fault]:
    """The answer ends in the middle."""
    ends = [k for k in _places_between(base) if k < len(base.lines)]
    for k in ends:
        gone = frozenset(line.step for line in base.lines[k:] if line.required)
        gone |= {other for step in gone for other in _instead_of(base, step)}
        if gone - {line.step for line in base.lines[:k]} and not base.lines[k].is_reply:
            yield Fault(
                lines=base.lines,
                change=f"ends behind line {k}",
                codes=frozenset(["missing-step"]),
                steps=gone,
                cut=k - 1,
            )


def mixed_branches(base: Base, rng: Random) -> Iterator[Fault]:
    """Half of one alternative and the rest of another."""
    for line in base.others:
        step = next((s for s in base.procedure.steps if s.id == line.step), None)
        if step is None or step.any_of is None or line.is_reply or not line.required:
            continue
        mine = [s.step for s in base.lines if _group_of(base, s.step) == step.any_of]
        mine = [s for s in dict.fromkeys(mine) if not _asks(base, s)]
        if len(mine) < 2:
            continue
        at = next(k for k, other in enumerate(base.lines) if other.step == mine[-1])
        kept = list(base.lines)
        kept[at] = line
        if _replies_to(base, mine[-1]):
            continue
        yield Fault(
            lines=tuple(kept),
            change=f"`{line.step}` of another branch instead of `{mine[-1]}`",
            codes=frozenset(["missing-step", "invented-step", "wrong-value", *LATER]),
            steps=frozenset([*mine, line.step]),
            places=frozenset(k for k, other in enumerate(base.lines) if other.step in mine),
        )
        return


def _group_of(base: Base, step: str) -> str | None:
    return next((s.any_of for s in base.procedure.steps if s.id == step), None)


def other_version(base: Base, rng: Random) -> Iterator[Fault]:
    """A step is told as it is on another version of the product."""
    for entry in variants()["other_version"]:
        fits = version_matches(base.version, entry["versions"])
        if entry["procedure"] != base.procedure.id or not fits:
            continue
        at = [k for k, line in enumerate(base.lines) if line.step == entry["step"]]
        if not at:
            continue
        line = base.lines[at[0]]
        action: Action = Command(text=entry["run"])
        if isinstance(line.action, Input):
            action = replace(line.action, keys=(entry["run"] + "\r",))
        yield Fault(
            lines=(
                *base.lines[: at[0]],
                replace(line, action=action),
                *base.lines[at[-1] + 1 :],
            ),
            change=f"`{entry['step']}` of another version",
            codes=frozenset(["old-version-step", "wrong-value", "missing-step", *LATER]),
            steps=frozenset([entry["step"]]),
            places=frozenset([at[0]]),
        )


def wrong_user(base: Base, rng: Random) -> Iterator[Fault]:
    """A step is done by a user who may not, or who should not."""
    if base.procedure.user not in ("root", "0"):
        return
    for k, line in enumerate(base.lines):
        text = text_of(line.action)
        if not line.required or not isinstance(line.action, Command) or "\n" in text:
            continue
        if _replies_to(base, line.step):
            continue
        bare = text.removeprefix("sudo -u postgres ").removeprefix("sudo ")
        wrong = bare if "-u postgres" in text else f"sudo -u nobody {bare}"
        yield Fault(
            lines=(
                *base.lines[:k],
                replace(line, action=Command(text=wrong)),
                *base.lines[k + 1 :],
            ),
            change=f"`{line.step}` as another user: `{wrong}`",
            codes=frozenset(["wrong-value", "missing-step", *LATER]),
            steps=frozenset([line.step]),
            places=frozenset([k]),
        )


def stale_docs(base: Base, rng: Random) -> Iterator[Fault]:
    """The documented procedure, told faithfully, on a version where it does not work."""
    yield Fault(
        lines=base.lines,
        change="as documented",
        codes=frozenset(["stale-docs"]),
        owner="documentation",
    )


Operator = Callable[[Base, Random], Iterator[Fault]]


def _where_it_works(operator: Operator) -> Operator:
    def only(base: Base, rng: Random) -> Iterator[Fault]:
        if base.works:
            yield from operator(base, rng)

    return only


def _where_it_fails(operator: Operator) -> Operator:
    def only(base: Base, rng: Random) -> Iterator[Fault]:
        if not base.works:
            yield from operator(base, rng)

    return only


OPERATORS: dict[str, Operator] = {
    "drop-step": _where_it_works(drop_step),
    "no-replies": _where_it_works(no_replies),
    "swap-steps": _where_it_works(swap_steps),
    "typo": _where_it_works(typo),
    "invented-option": _where_it_works(invented_option),
    "dropped-option": _where_it_works(dropped_option),
    "wrong-value": _where_it_works(wrong_value),
    "wrong-path": _where_it_works(wrong_path),
    "wrong-content": _where_it_works(wrong_content),
    "wrong-reply": _where_it_works(wrong_reply),
    "invented-step": _where_it_works(invented_step),
    "destructive-step": _where_it_works(destructive_step),
    "wrong-directory": _where_it_works(wrong_directory),
    "goal-undone": _where_it_works(goal_undone),
    "truncated": _where_it_works(truncated),
    "mixed-branches": _where_it_works(mixed_branches),
    "other-version": _where_it_works(other_version),
    "wrong-user": _where_it_works(wrong_user),
    "stale-docs": _where_it_fails(stale_docs),
}
