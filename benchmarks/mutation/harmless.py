"""Answers that must pass: a documented procedure told or done otherwise."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from benchmarks.mutation import rewrite
from benchmarks.mutation.data import prose, variants
from benchmarks.mutation.script import Base, Line, Variant, Wanted, text_of
from benchmarks.mutation.write import LAYOUTS, Style, write
from procexec.model.step import Command, FileWrite, Input

PASS = Wanted(verdict="pass", owner="none")
PLAIN = Style()


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Lines and how they are written down."""

    lines: tuple[Line, ...]
    style: Style
    change: str


def harmless(base: Base, seed: int) -> Iterator[Variant]:
    """Yield the harmless variants of a base, operator by operator, all that there are."""
    if not base.works:
        return
    for name, operator in OPERATORS.items():
        rng = Random(f"{seed}/{name}/{base.id}")
        for number, told in enumerate(operator(base, rng)):
            page = write(told.lines, told.style, base.spec.sessions)
            yield Variant(
                operator=name,
                base=base,
                number=number,
                text=page.text,
                wanted=PASS,
                change=told.change,
            )


def as_documented(base: Base, rng: Random) -> Iterator[Telling]:
    """The documented procedure, plainly told."""
    yield Telling(lines=base.lines, style=PLAIN, change="as documented")


def layout(base: Base, rng: Random) -> Iterator[Telling]:
    """Numbers, bullets, headings, one fence for all, commands in sentences."""
    for name in LAYOUTS[1:]:
        yield Telling(lines=base.lines, style=Style(layout=name), change=name)


def words(base: Base, rng: Random) -> Iterator[Telling]:
    """Other prose around the steps."""
    for name in ("plain", "talkative"):
        style = Style(layout=rng.choice(LAYOUTS), prose=prose(name))
        yield Telling(lines=base.lines, style=style, change=f"{name}, {style.layout}")


def translated(base: Base, rng: Random) -> Iterator[Telling]:
    """Prose in another language; only where no reply or file is told in prose."""
    if any(line.is_reply or isinstance(line.action, FileWrite) for line in base.lines):
        return
    for name in ("italian", "german"):
        for shape in ("numbered", "inline"):
            style = Style(layout=shape, prose=prose(name))
            yield Telling(lines=base.lines, style=style, change=f"{name}, {shape}")


def fence(base: Base, rng: Random) -> Iterator[Telling]:
    """Other fences and tags."""
    for marks, tag in (("~~~", "bash"), ("```", ""), ("```", "shell"), ("````", "sh")):
        style = Style(fence=marks, tag=tag, layout=rng.choice(("plain", "numbered")))
        yield Telling(lines=base.lines, style=style, change=f"{marks}{tag}, {style.layout}")


def prompts(base: Base, rng: Random) -> Iterator[Telling]:
    """Prompts before the commands, and what they print."""
    shown = {s.id: s.output[:400] for s in base.reference.steps}
    for prompt in ("$ ", "user@host:~$ "):
        style = Style(tag="console", prompt=prompt)
        yield Telling(lines=base.lines, style=style, change=f"`{prompt}`")
        if not any(line.is_reply or "\n" in text_of(line.action) for line in base.lines):
            style = Style(tag="console", prompt=prompt, outputs=shown)
            yield Telling(lines=base.lines, style=style, change=f"`{prompt}` with outputs")


def chained(base: Base, rng: Random) -> Iterator[Telling]:
    """Commands joined by `&&`."""
    plain = [line for line in base.lines if isinstance(line.action, Command)]
    ends = {step.ending for step in base.reference.steps}
    if len(plain) > 1 and ends <= {"exited"}:  # what goes on in another shell cannot be joined
        style = Style(layout="one block", chained=True)
        yield Telling(lines=base.lines, style=style, change="joined by &&")


def _changed(base: Base, of: Callable[[str], Iterator[rewrite.Rewrite]]) -> Iterator[Telling]:
    for k, line in enumerate(base.lines):
        if not isinstance(line.action, Command):
            continue
        for new in of(line.action.text):
            action = Command(text=new.text)
            lines = (*base.lines[:k], replace(line, action=action), *base.lines[k + 1 :])
            yield Telling(lines=lines, style=PLAIN, change=f"`{line.step}`: {new.change}")


def option_spelling(base: Base, rng: Random) -> Iterator[Telling]:
    """Options by another name."""
    yield from _changed(base, lambda t: rewrite.option_spelling(t, base.spec.options, rng))


def option_order(base: Base, rng: Random) -> Iterator[Telling]:
    """Options in another order."""
    yield from _changed(base, lambda t: rewrite.option_order(t, base.spec.options, rng))


def quoting(base: Base, rng: Random) -> Iterator[Telling]:
    """Other quotes."""
    yield from _changed(base, lambda t: rewrite.quoting(t, base.spec.options, rng))


def split_line(base: Base, rng: Random) -> Iterator[Telling]:
    """Lines continued by a backslash."""
    yield from _changed(base, lambda t: rewrite.split_line(t, base.spec.options, rng))


def equivalent(base: Base, rng: Random) -> Iterator[Telling]:
    """Other commands that do the same."""
    pairs = variants()["equivalents"]
    yield from _changed(base, lambda t: rewrite.equivalent(t, pairs, rng))


def free_values(base: Base, rng: Random) -> Iterator[Telling]:
    """Other values where an answer may choose."""
    for name, value in base.procedure.free.items():
        for other in variants()["free"].get(name, ()):
            lines = tuple(_renamed(line, str(value), other) for line in base.lines)
            if lines != base.lines:
                yield Telling(lines=lines, style=PLAIN, change=f"{name}: `{other}`")


def _renamed(line: Line, old: str, new: str) -> Line:
    match line.action:
        case Command(text=text):
            return replace(line, action=Command(text=text.replace(old, new)))
        case FileWrite(content=content):
            return replace(line, action=replace(line.action, content=content.replace(old, new)))
        case Input(keys=keys):
            keys = tuple(key.replace(old, new) for key in keys)
            return replace(line, action=replace(line.action, keys=keys))
        case _:
            return line


def reordered(base: Base, rng: Random) -> Iterator[Telling]:
    """Independent steps in another order."""
    seen = {base.lines}
    for _ in range(6):
        lines = _shuffled(base.lines, rng)
        if lines not in seen:
            seen.add(lines)
            order = ", ".join(dict.fromkeys(line.step for line in lines))
            yield Telling(lines=lines, style=PLAIN, change=order)


def _shuffled(lines: Sequence[Line], rng: Random) -> tuple[Line, ...]:
    """Return the lines in a random order that keeps what must come before what."""
    groups: list[list[Line]] = []
    for line in lines:
        if line.is_reply and groups:
            groups[-1].append(line)
        else:
            groups.append([line])
    names = {line.step for line in lines}
    done: set[str] = set()
    order: list[Line] = []
    while groups:
        inside = [{line.step for line in group} for group in groups]
        ready = [
            k
            for k, group in enumerate(groups)
            if all(
                before in done or before in inside[k] or before not in names
                for line in group
                for before in line.after
            )
        ]
        group = groups.pop(rng.choice(ready))
        order += group
        done |= {line.step for line in group}
    return tuple(order)


def checks(base: Base, rng: Random) -> Iterator[Telling]:
    """Read-only checks in between."""
    known = variants()["checks"]
    for check in (*known[""], *known.get(base.spec.product, ())):
        at = rng.choice(
            [
                k
                for k in range(len(base.lines) + 1)
                if k == len(base.lines) or not base.lines[k].is_reply
            ]
        )
        line = Line(action=Command(text=check))
        lines = (*base.lines[:at], line, *base.lines[at:])
        yield Telling(lines=lines, style=PLAIN, change=f"`{check}` at {at}")


def optional_steps(base: Base, rng: Random) -> Iterator[Telling]:
    """Optional steps left out, one by one and all of them."""
    names = list(dict.fromkeys(line.step for line in base.lines if not line.required))
    for gone in [[name] for name in names] + ([names] if len(names) > 1 else []):
        lines = tuple(line for line in base.lines if line.step not in gone)
        yield Telling(lines=lines, style=PLAIN, change=f"without {', '.join(gone)}")


def platforms(base: Base, rng: Random) -> Iterator[Telling]:
    """What other systems need, beside it."""
    for text in variants()["platforms"]:
        yield Telling(lines=base.lines, style=Style(extra=(text,)), change=text.split("\n")[0])


def heredocs(base: Base, rng: Random) -> Iterator[Telling]:
    """Files written by a command instead of prose."""
    if any(isinstance(line.action, FileWrite) for line in base.lines):
        for shape in ("plain", "numbered"):
            style = Style(layout=shape, heredocs=True)
            yield Telling(lines=base.lines, style=style, change=shape)


Operator = Callable[[Base, Random], Iterator[Telling]]

OPERATORS: dict[str, Operator] = {
    "as-documented": as_documented,
    "layout": layout,
    "words": words,
    "translated": translated,
    "fence": fence,
    "prompts": prompts,
    "chained": chained,
    "option-spelling": option_spelling,
    "option-order": option_order,
    "quoting": quoting,
    "split-line": split_line,
    "equivalent": equivalent,
    "free-values": free_values,
    "reordered": reordered,
    "checks": checks,
    "optional-steps": optional_steps,
    "platforms": platforms,
    "heredocs": heredocs,
}
