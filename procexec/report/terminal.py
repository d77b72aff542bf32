"""What people see: live progress while a run lasts, then each failure and the table of verdicts."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from procexec.model.result import (
    AnswerResult,
    Code,
    Counts,
    Finding,
    StepResult,
    Summary,
    Verdict,
)
from procexec.report.findings import informational, must_do, place, ranked, suite_name
from procexec.report.safe import one_line, quoted_block

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn, TaskID

_WIDTH = 120
_LINES = 8
_COMMAND_LINES = 4
_BESIDE_NAMES = 76  # what the other columns of the bar take, with all four counts
_COLOURS = {
    Verdict.PASS: "green",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.FAIL: "bold red",
    Verdict.ERROR: "bold magenta",
}


def print_report(
    summary: Summary,
    results: Iterable[AnswerResult],
    *,
    source: str,
    file: TextIO,
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Print a block for each answer that did not pass, then the table; colour on a terminal."""
    from rich.text import Text

    console = _console(file, environment)
    for result, versions in _alike(results):
        text = Text(f"{block(result, source, versions=versions)}\n")
        text.stylize(_COLOURS[result.verdict], 0, len(result.verdict.value))
        console.print(text, soft_wrap=True)
    width = console.width if console.is_terminal else _WIDTH
    console.print(Text(table(summary, width=width)), soft_wrap=True)


# --- one answer --------------------------------------------------------------------------------


def blocks(results: Iterable[AnswerResult], source: str) -> Iterator[str]:
    """Yield a block for each answer that did not pass: one for all versions that say the same."""
    for result, versions in _alike(results):
        yield block(result, source, versions=versions)


def block(result: AnswerResult, source: str, *, versions: Sequence[str] = ()) -> str:
    """Return all that a developer needs to understand why an answer did not pass.

    ``versions`` are those on which the same was found; what was printed is this result's.
    """
    found = ranked(result)
    main = found[0] if found else None
    head = f"{_header(result, main, versions)}\n  {one_line(place(result, main, source))}"
    rows = [*_what(result, main), *_besides(result, found), *_then(result, main)]
    return "\n".join([head, *(_row(label, text) for label, text in rows if text)])


def _header(result: AnswerResult, main: Finding | None, versions: Sequence[str]) -> str:
    on = f"{result.product} {', '.join(versions)}".strip() if versions else suite_name(result)
    told = main.message if main is not None else "nothing was found"
    word = result.verdict.value.upper()
    badge = f" [sandbox grade {result.grade}]" if result.grade not in ("", "A") else ""
    return (
        f"{word} {one_line(result.id)} on {one_line(on)}{badge}: {result.owner} - {one_line(told)}"
    )


def _row(label: str, text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([f"  {label:<10}  {first}", *(f"{'':14}{line}" for line in rest)])


def _what(result: AnswerResult, main: Finding | None) -> Iterator[tuple[str, str]]:
    """Yield documented step, command, what it printed and what differs."""
    if main is not None:
        yield "documented", _documented(main)
        yield "command", _head(_answers_command(main), _COMMAND_LINES, "$ ")
        step = _step(result, main)
        yield "ended", _ending(step)
        yield "printed", _tail(_printed(main, step), _LINES)
    yield "differs", _head(_differences(result), _LINES, "| ")


def _besides(result: AnswerResult, found: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    also = [f"{f.slug} ({f.code.value}): {one_line(f.message)}" for f in found[1:]]
    yield "also", _head("\n".join(also), _LINES, "- ")
    noted = [f"{f.slug} ({f.code.value}): {one_line(f.message)}" for f in informational(result)]
    yield "note", "; ".join([*noted, *map(one_line, result.notes)])


def _then(result: AnswerResult, main: Finding | None) -> Iterator[tuple[str, str]]:
    if main is not None and main.fix and not main.fix.startswith("documented: "):
        yield "fix", one_line(main.fix)
    yield "acts", must_do(result.owner, result.verdict)
    if main is not None:
        yield "explain", f"procexec explain {main.code.value}"


_OF_THE_DOCUMENTATION = (Code.MISSING_STEP, Code.STALE_DOCS)
_PRINTING = (Code.STEP_FAILED, Code.NEEDS_INPUT, Code.STALE_DOCS)
_DIFFERING = (Code.GOAL_NOT_REACHED, Code.COLLATERAL_CHANGE, Code.MISSING_STEP)


def _documented(main: Finding) -> str:
    """Return the documented step's name and, where the finding tells it, its text."""
    told = main.command if main.code in _OF_THE_DOCUMENTATION else ""
    if main.fix.startswith("documented: "):
        told = main.fix.removeprefix("documented: ")
    return one_line(": ".join(part for part in (main.step, told) if part))


def _answers_command(main: Finding) -> str:
    return "" if main.code in _OF_THE_DOCUMENTATION else main.command


def _step(result: AnswerResult, main: Finding) -> StepResult | None:
    """Return the answer's step that the finding is about."""
    at = [s for s in result.steps if main.line and (s.line, s.column) == (main.line, main.column)]
    return at[0] if at else None


def _ending(step: StepResult | None) -> str:
    if step is None or not step.ending or step.exit_code == 0:
        return ""
    return step.ending if step.exit_code is None else f"exit code {step.exit_code}"


def _printed(main: Finding, step: StepResult | None) -> str:
    if main.code in _PRINTING and main.evidence:
        return main.evidence
    return step.output if step is not None else ""


def _differences(result: AnswerResult) -> str:
    """Return what is not as it should be; where nothing was decided, differences mean nothing."""
    if result.verdict is not Verdict.FAIL:
        return ""
    told = [f.evidence for f in ranked(result) if f.code in _DIFFERING and f.evidence]
    return "\n".join(told or result.deviations)


def _head(text: str, lines: int, prefix: str) -> str:
    """Return the first lines, quoted, and how many more there are."""
    if not text.strip():
        return ""
    quoted = quoted_block(text.strip("\n"), prefix, 160).split("\n")
    more = len(quoted) - lines
    return "\n".join([*quoted[:lines], f"… {more} more"] if more > 1 else quoted)


def _tail(text: str, lines: int) -> str:
    """Return the last lines, quoted, and how many came before."""
    if not text.strip():
        return ""
    quoted = quoted_block(text.strip("\r\n"), "| ", 160).split("\n")
    before = len(quoted) - lines + 1
    return "\n".join([f"… {before} before", *quoted[before:]] if before > 1 else quoted)


def _alike(results: Iterable[AnswerResult]) -> Iterator[tuple[AnswerResult, list[str]]]:
    """Yield each answer that did not pass with the versions on which the same was found."""
    groups: dict[tuple[object, ...], list[AnswerResult]] = {}
    for result in results:
        if result.verdict is not Verdict.PASS:
            groups.setdefault(_likeness(result), []).append(result)
    ordered = sorted(groups.values(), key=lambda own: (own[0].product, own[0].id, own[0].version))
    for own in ordered:
        own.sort(key=lambda result: _natural(result.version))
        yield own[-1], [result.version for result in own]


def _likeness(result: AnswerResult) -> tuple[object, ...]:
    """Return what two versions' results must share to be told as one; output may differ."""
    findings = tuple(
        (f.code, f.owner, f.line, f.column, f.step, f.command, f.informational, _said(f, result))
        for f in result.findings
    )
    return (result.id, result.product, result.procedure, result.verdict, result.owner, findings)


def _said(finding: Finding, result: AnswerResult) -> str:
    return finding.message.replace(result.version, "") if result.version else finding.message


def _natural(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that puts 2.9 before 2.10."""
    parts = re.findall(r"[0-9]+|[^0-9.]+", version)
    return tuple((1, int(p), "") if p.isdecimal() else (0, 0, p) for p in parts)


# --- the run -----------------------------------------------------------------------------------


def table(summary: Summary, *, width: int = _WIDTH) -> str:
    """Return the verdicts by procedure and version, the totals, and who must act."""
    if not summary.counts.total:
        return "no results: nothing was judged"
    grid = [*_grid(summary)]
    lines = _aligned(grid)
    if max(map(len, lines)) > width:
        lines = _aligned([*_list(summary)])
    return "\n".join([*lines, "", *_totals(summary)])


def _grid(summary: Summary) -> Iterator[list[str]]:
    found = {version for own in summary.by_procedure.values() for version in own}
    versions = sorted(found, key=_natural)
    yield ["procedure", *map(one_line, versions)]
    for name, own in summary.by_procedure.items():
        yield [one_line(name), *(_cell(own[v]) if v in own else "-" for v in versions)]


def _list(summary: Summary) -> Iterator[list[str]]:
    yield ["procedure", "version", "verdicts"]
    for name, own in summary.by_procedure.items():
        for version in sorted(own, key=_natural):
            yield [one_line(name), one_line(version), _cell(own[version])]


def _cell(counts: Counts) -> str:
    numbers = {
        "pass": counts.passed,
        "inconclusive": counts.inconclusive,
        "fail": counts.failed,
        "error": counts.errors,
    }
    return " ".join(f"{number} {word}" for word, number in numbers.items() if number)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _totals(summary: Summary) -> Iterator[str]:
    counts = summary.counts
    noun = "result" if counts.total == 1 else "results"
    yield f"{counts.total} {noun}: {_cell(counts)}"
    if summary.by_owner:
        yield "to act: " + ", ".join(f"{owner} {n}" for owner, n in summary.by_owner.items())
    if summary.stale:
        yield "stale documentation: " + ", ".join(map(one_line, summary.stale))


# --- while it lasts ----------------------------------------------------------------------------


class _View(Protocol):
    """Where progress goes; calls come one at a time."""

    def begin(self, key: str) -> None: ...
    def end(self, key: str, line: str, verdict: Verdict) -> None: ...
    def say(self, line: str) -> None: ...
    def close(self) -> None: ...


class Progress:
    """Progress of a run: live on a terminal, a line for each result elsewhere; threads may call.

    ``environment`` is asked for CI, TERM and NO_COLOR; ``quiet`` shows nothing at all.
    """

    def __init__(
        self,
        total: int,
        *,
        file: TextIO,
        quiet: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._total = total
        self._done = 0
        self._noted: set[int] = set()
        self._lock = Lock()
        self._view: _View = _Silent()
        self._make = partial(_view, total, file, quiet=quiet, environment=environment)

    def started(self, key: str) -> None:
        """Tell that an answer is being tried; the key is ``id@version``."""
        with self._lock:
            self._view.begin(key)

    def finished(self, result: AnswerResult) -> None:
        with self._lock:
            self._done += 1
            self._view.end(result.key, self._line(result), result.verdict)
            for note in self._new_notes(result):
                self._view.say(note)

    def say(self, text: str) -> None:
        """Tell something that is no result, such as that an image is being built."""
        with self._lock:
            self._view.say(one_line(text))

    def __enter__(self) -> Self:
        self._view = self._make()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._view.close()

    def _new_notes(self, result: AnswerResult) -> list[str]:
        """Return what is to be known of an answer, such as how its procedure was found, once."""
        notes = [one_line(f"{result.id}: {note}") for note in result.notes]
        new = [note for note in notes if hash(note) not in self._noted]
        self._noted.update(map(hash, new))
        return new

    def _line(self, result: AnswerResult) -> str:
        width = max(3, len(str(self._total)))
        words = f"{result.verdict.value.upper()} {one_line(result.id)} @ {one_line(result.version)}"
        codes = ", ".join(dict.fromkeys(finding.slug for finding in ranked(result)))
        return f"[{self._done:>{width}}/{self._total}] {words}  {codes}".rstrip()


def _view(total: int, file: TextIO, *, quiet: bool, environment: Mapping[str, str]) -> _View:
    if quiet:
        return _Silent()
    if _is_live(file, environment):
        return _Live(total, file, environment)
    return _Plain(file)


def _is_live(file: TextIO, environment: Mapping[str, str]) -> bool:
    wanted = not environment.get("CI") and environment.get("TERM", "") not in ("dumb", "unknown")
    return wanted and file.isatty()


@dataclass(frozen=True, slots=True)
class _Silent:
    """No progress."""

    def begin(self, key: str) -> None:
        pass

    def end(self, key: str, line: str, verdict: Verdict) -> None:
        pass

    def say(self, line: str) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Plain:
    """A line for each result, as soon as it is there."""

    file: TextIO

    def begin(self, key: str) -> None:
        pass

    def end(self, key: str, line: str, verdict: Verdict) -> None:
        self.say(line)

    def say(self, line: str) -> None:
        print(line, file=self.file, flush=True)

    def close(self) -> None:
        pass


class _Live:
    """A bar that goes away at the end; results that are no pass stay above it."""

    def __init__(self, total: int, file: TextIO, environment: Mapping[str, str]) -> None:
        from rich.progress import Progress as Bar

        self._console = _console(file, environment)
        self._running: dict[str, None] = {}
        self._counts: Counter[Verdict] = Counter()
        columns = _columns(self._console.width)
        self._bar = Bar(
            *columns,
            console=self._console,
            transient=True,
            redirect_stdout=False,  # what goes to a pipe stays there
            redirect_stderr=False,
        )
        self._task: TaskID = self._bar.add_task("", total=total, counts="", running="")
        self._bar.start()

    def begin(self, key: str) -> None:
        self._running[key] = None
        self._show()

    def end(self, key: str, line: str, verdict: Verdict) -> None:
        self._running.pop(key, None)
        self._counts[verdict] += 1
        self._bar.advance(self._task)
        self._show()
        if verdict is not Verdict.PASS:
            self.say(line)

    def say(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text(line), soft_wrap=True)

    def close(self) -> None:
        self._bar.stop()

    def _show(self) -> None:
        counts = " ".join(f"{self._counts[v]} {v}" for v in Verdict if self._counts[v])
        shown = [one_line(key, 24) for key in list(self._running)[:3]]
        more = len(self._running) - len(shown)
        names = ", ".join([*shown, f"+{more}"] if more else shown)
        running = one_line(names, max(1, self._console.width - _BESIDE_NAMES))
        self._bar.update(self._task, counts=counts, running=running)


def _columns(width: int) -> list["ProgressColumn"]:
    """Return what fits: the numbers always, the bar and the names of answers when there is room."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[ProgressColumn] = [MofNCompleteColumn()]
    if width >= 70:
        columns.append(BarColumn(bar_width=20))
    columns.append(TextColumn("{task.fields[counts]}", markup=False))
    if width >= 50:
        columns += [TimeElapsedColumn(), TimeRemainingColumn()]
    if width >= 100:
        columns.append(TextColumn("{task.fields[running]}", markup=False, style="dim"))
    return columns


def _console(file: TextIO, environment: Mapping[str, str]) -> "Console":
    from rich.console import Console

    return Console(
        file=file,
        no_color=bool(environment.get("NO_COLOR")),
        highlight=False,
        markup=False,
        emoji=False,
        _environ=environment,
    )
