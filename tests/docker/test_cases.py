"""Procedures and answers whose outcome was found by running them by hand: does procexec agree?

The folder is named by the environment variable PROCEXEC_CASES, or stands beside the project as
``shared/cases``. All versions of all answers about the products named by PROCEXEC_CASE_PRODUCTS
(default: those that are shipped) are run once; the table of wanted and found verdicts is printed.
Of products with services or packages every third answer is run, on the newest version only, unless
they are named or with ``--nightly``.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks.mutation.bench import Runner, runner
from procexec.model.document import version_key
from procexec.model.result import AnswerResult, StepResult, Verdict
from procexec.pipeline import Evaluation, judged
from procexec.read.sandboxes import read_sandboxes
from procexec.trial import hints_of, uncovered
from procexec.workload import Library
from tests.cases import Case, Expected, cases_of, procedure_of
from tests.tables import leave

ROOT = Path(__file__).parent.parent.parent
CASES = Path(os.environ.get("PROCEXEC_CASES", ROOT.parent / "shared" / "cases"))
WORKERS = 4
LEAST = 0.95
_FENCE = 2  # lines from a sentence to the code of the block below it

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(not CASES.is_dir(), reason="no cases: name their folder in PROCEXEC_CASES"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An answer on a version: what was wanted and what was found."""

    case: Case
    wanted: Expected
    found: AnswerResult

    @property
    def right(self) -> bool:
        return self.found.verdict == self.wanted.verdict

    @property
    def right_owner(self) -> bool:
        return self.found.owner == self.wanted.owner

    @property
    def codes(self) -> frozenset[str]:
        """What was found, in the words of the cases: they have none for a question to a judge."""
        slugs = (f.slug for f in self.found.findings if not f.informational)
        return frozenset("not-runnable" if slug == "open-question" else slug for slug in slugs)

    @property
    def right_codes(self) -> int:
        """How many findings are both wanted and found."""
        return len(self.codes & set(self.wanted.findings))

    @property
    def labels(self) -> list[tuple[str, str, str]]:
        """The labelled steps: text, what it was called by hand, what it is called by us.

        What is typed into one program is one step for us: looks among it are not told apart.
        """
        lines = [_bare(line) for line in self.case.answer.answer.split("\n")]
        rest = list(self.found.steps)
        before = None
        found = []
        for text, label in self.case.labels:
            wanted = _wanted(label)
            is_look = wanted == "benign"
            step = _step_of(text, lines, self.found.steps, rest, by_place=wanted != "no step")
            if step is None and text.startswith("("):
                step = before if text.startswith("(same") else _doing(wanted, self.found.steps)
            before = step
            if step in rest:
                rest.remove(step)
            if not (is_look and step is not None and _is_part(text, step)):
                found.append((text, wanted, "no step" if step is None else _called(step)))
        return found

    def __str__(self) -> str:
        codes = sorted(self.codes)
        return (
            f"{self.case.answer.id} on {self.found.version}: wanted {self.wanted.verdict}"
            f" ({self.wanted.owner}), found {self.found.verdict} ({self.found.owner}) {codes}"
        )


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


def _wanted(label: str) -> str:
    """Return a label by hand in the words of ours: what it stands for, or what it is."""
    kind, _, steps = label.partition(":")
    if kind in ("matched", "equivalent"):
        return "does " + ",".join(sorted(steps.split(",")))
    return "no step" if kind.startswith("not-a-step") else kind


def _called(step: StepResult) -> str:
    if step.label in ("invented", "old-version", "unsafe"):
        return step.label
    return "does " + ",".join(sorted(step.steps)) if step.steps else "benign"


def _step_of(
    text: str,
    lines: Sequence[str],
    mine: Sequence[StepResult],
    rest: Sequence[StepResult],
    *,
    by_place: bool,
) -> StepResult | None:
    """Return the step of a text: the one with most of its words, or the nearest below its line.

    Of equal ones it is the first that is among the rest.
    """
    bare = _bare(re.sub(r"^\(same \w+\)", "", text))
    inside = [s for s in mine if _within(_bare(s.text), bare) or _within(bare, _bare(s.text))]
    if inside or not by_place:
        return min(inside, key=lambda s: (_apart(s, bare), s not in rest), default=None)
    at = [k for k, line in enumerate(lines, 1) if bare[:40] in line or _within(line, bare)]
    far = {
        k: min((s.line - line for line in at if line <= s.line), default=_FENCE + 1)
        for k, s in enumerate(mine)
    }
    near = [k for k in far if far[k] <= _FENCE]
    return mine[min(near, key=lambda k: (far[k], mine[k] not in rest))] if near else None


def _apart(step: StepResult, bare: str) -> int:
    return abs(len(_bare(step.text)) - len(bare))


def _within(part: str, whole: str) -> bool:
    return bool(part) and f" {part} " in f" {whole} "


def _doing(wanted: str, mine: Sequence[StepResult]) -> StepResult | None:
    """Return the step that does what is wanted: the text by hand is a remark, none of the answer."""
    return next(
        (s for s in mine if set(s.steps) & set(wanted.removeprefix("does ").split(","))), None
    )


def _is_part(text: str, step: StepResult) -> bool:
    """Tell whether a text is typed into a program that does other things, too."""
    return "\n" in step.text and len(_bare(step.text)) > len(_bare(text))


def _same_label(wanted: str, found: str) -> bool:
    """Tell whether two labels agree; of a step that does several, one is enough."""
    if wanted.startswith("does ") and found.startswith("does "):
        return bool(set(wanted[5:].split(",")) & set(found[5:].split(",")))
    return wanted == found


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> list[Outcome]:
    sandboxes, errors = read_sandboxes(ROOT / "sandboxes")
    assert not errors
    products = {product for product, _ in sandboxes}
    chosen = os.environ.get("PROCEXEC_CASE_PRODUCTS")
    wanted = set(chosen.split(",")) if chosen else products
    folders = sorted(p.parent for p in CASES.glob("*/*/procedure.yaml") if p.parts[-3] in wanted)
    procedures = {p.id: p for p in map(procedure_of, folders)}
    with runner(Library(procedures=procedures, sandboxes=sandboxes), WORKERS) as bench:
        every = bool(chosen) or request.config.getoption("--nightly")
        found = list(_run(folders, bench, every=every))
    leave(request.config, "cases: wanted and found verdicts", _table(found))
    return found


def _is_slow(folder: Path, library: Library) -> bool:
    """Tell whether a case's product has services or packages: all of its cases take too long."""
    product = folder.parent.name
    specs = (f.spec for (name, _), f in library.sandboxes.items() if name == product)
    return any(spec.services or spec.packages for spec in specs)


def _on_newest(case: Case) -> Case:
    newest = max(case.expect, key=version_key)
    return replace(case, expect={newest: case.expect[newest]})


def _run(folders: list[Path], bench: Runner, *, every: bool) -> Iterator[Outcome]:
    library = bench.library

    def one(job: tuple[Path, Case]) -> list[Outcome]:
        folder, case = job
        return list(_outcomes(case, f"{folder.parent.name}/{folder.name}", bench))

    jobs = [
        (folder, case)
        for folder in folders
        for k, case in enumerate(cases_of(folder, folder.parent.name))
        if every or not _is_slow(folder, library) or k % 3 == 0
    ]
    if not every:
        jobs = [(f, _on_newest(case) if _is_slow(f, library) else case) for f, case in jobs]
    with ThreadPoolExecutor(WORKERS) as pool:
        for outcomes in pool.map(one, jobs):
            yield from outcomes


def _outcomes(case: Case, procedure: str, bench: Runner) -> Iterator[Outcome]:
    library, tools = bench.library, bench.tools
    if case.answer.procedure is None:
        for version, wanted in case.expect.items():
            spec = library.sandboxes[case.answer.product or "", version].spec
            trial = uncovered(case.answer, 1, version, hints_of(spec))
            yield Outcome(case=case, wanted=wanted, found=judged(trial, tools.judge))
        return
    benches = bench.benches.of(library.procedures[procedure])
    evaluation = Evaluation(answer=case.answer, line=1, benches=benches, tools=tools)
    for result in evaluation.results(list(case.expect)):
        yield Outcome(case=case, wanted=case.expect[result.answer.version], found=result.answer)


def _table(found: list[Outcome]) -> str:
    verdicts = [v.value for v in Verdict]
    cells = Counter((o.wanted.verdict, o.found.verdict.value) for o in found)
    right, owners = sum(o.right for o in found), sum(o.right_owner for o in found)
    lines = [f"{'wanted / found':14}" + "".join(f"{v:>14}" for v in verdicts)]
    lines += [
        f"{wanted:14}" + "".join(f"{cells[wanted, v]:14}" for v in verdicts)
        for wanted in verdicts[:3]
    ]
    lines.append(
        f"{len(found)} answers x versions: verdict right {right / len(found):.1%}, "
        f"owner right {owners / len(found):.1%}"
    )
    lines.append(
        f"findings: exactly the wanted ones {_exact(found):.1%}, F1 {_f1(found):.1%}; "
        f"steps called as by hand {_labelled(found):.1%}"
    )
    lines += [f"miss: {o}" for o in found if not (o.right and o.right_owner)]
    return "\n".join(lines)


def _exact(found: Sequence[Outcome]) -> float:
    return sum(o.codes == set(o.wanted.findings) for o in found) / len(found)


def _f1(found: Sequence[Outcome]) -> float:
    right = sum(o.right_codes for o in found)
    return 2 * right / sum(len(o.codes) + len(o.wanted.findings) for o in found)


def _labelled(found: Sequence[Outcome]) -> float:
    every = [_same_label(w, f) for o in found if o.case.answer.procedure for _, w, f in o.labels]
    return sum(every) / len(every)


def test_no_answer_passes_that_must_not(outcomes: list[Outcome]) -> None:
    false = [str(o) for o in outcomes if o.found.verdict is Verdict.PASS and not o.right]

    assert not false


def test_at_least_95_percent_of_the_verdicts_are_right(outcomes: list[Outcome]) -> None:
    wrong = [str(o) for o in outcomes if not o.right]

    assert 1 - len(wrong) / len(outcomes) >= LEAST, wrong


def test_at_least_95_percent_of_the_owners_are_right(outcomes: list[Outcome]) -> None:
    wrong = [str(o) for o in outcomes if not o.right_owner]

    assert 1 - len(wrong) / len(outcomes) >= LEAST, wrong


def test_whether_the_goal_is_reached_is_found_as_by_hand(outcomes: list[Outcome]) -> None:
    told = [o for o in outcomes if o.found.works is not None and o.case.answer.procedure]
    wrong = [str(o) for o in told if _reached(o.found) != o.wanted.goal_reached]

    assert 1 - len(wrong) / len(told) >= LEAST, wrong


def _reached(found: AnswerResult) -> bool:
    return not any(f.slug == "goal-not-reached" for f in found.findings) and bool(
        found.works or any(f.slug == "collateral-change" for f in found.findings)
    )
