"""Procedures and answers whose outcome was found by running them by hand: does procexec agree?

The folder is named by the environment variable PROCEXEC_CASES, or stands beside the project as
``shared/cases``. All versions of all answers about the products named by PROCEXEC_CASE_PRODUCTS
(default: those that are shipped) are run once; the table of wanted and found verdicts is printed.
Of products with services or packages every second answer is run, on the newest version only, unless
they are named or with ``--nightly``.
"""

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from procexec.cli.engine import Workshop, image_maker, workshop
from procexec.judge.silent import Silent
from procexec.model.document import version_key
from procexec.model.result import AnswerResult, Verdict
from procexec.pipeline import Evaluation, Tools, judged
from procexec.read.sandboxes import read_sandboxes
from procexec.read.unsafe import shipped_unsafe
from procexec.reference import References
from procexec.trial import hints_of, uncovered
from procexec.workload import Benches, Library
from tests.cases import Case, Expected, cases_of, procedure_of
from tests.tables import leave

ROOT = Path(__file__).parent.parent.parent
CASES = Path(os.environ.get("PROCEXEC_CASES", ROOT.parent / "shared" / "cases"))
WORKERS = 4
LEAST = 0.95

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

    def __str__(self) -> str:
        codes = sorted({f.slug for f in self.found.findings if not f.informational})
        return (
            f"{self.case.answer.id} on {self.found.version}: wanted {self.wanted.verdict}"
            f" ({self.wanted.owner}), found {self.found.verdict} ({self.found.owner}) {codes}"
        )


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> list[Outcome]:
    sandboxes, errors = read_sandboxes(ROOT / "sandboxes")
    assert not errors
    products = {product for product, _ in sandboxes}
    chosen = os.environ.get("PROCEXEC_CASE_PRODUCTS")
    wanted = set(chosen.split(",")) if chosen else products
    folders = sorted(p.parent for p in CASES.glob("*/*/procedure.yaml") if p.parts[-3] in wanted)
    with workshop(workers=WORKERS) as shop:
        library = Library(
            procedures={p.id: p for p in map(procedure_of, folders)}, sandboxes=sandboxes
        )
        every = bool(chosen) or request.config.getoption("--nightly")
        found = list(_run(folders, library, shop, every=every))
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


def _run(
    folders: list[Path], library: Library, shop: Workshop, *, every: bool
) -> Iterator[Outcome]:
    tools = Tools(
        provider=shop.provider,
        references=References(provider=shop.provider),
        judge=Silent(),
        unsafe=shipped_unsafe(),
    )
    benches = Benches(
        library=library,
        provider=shop.provider,
        image=image_maker(shop.client, lambda _line: None),
    )

    def one(job: tuple[Path, Case]) -> list[Outcome]:
        folder, case = job
        return list(_outcomes(case, library, f"{folder.parent.name}/{folder.name}", benches, tools))

    jobs = [
        (folder, case)
        for folder in folders
        for k, case in enumerate(cases_of(folder, folder.parent.name))
        if every or not _is_slow(folder, library) or k % 2 == 0
    ]
    if not every:
        jobs = [(f, _on_newest(case) if _is_slow(f, library) else case) for f, case in jobs]
    with ThreadPoolExecutor(WORKERS) as pool:
        for outcomes in pool.map(one, jobs):
            yield from outcomes


def _outcomes(
    case: Case, library: Library, procedure: str, benches: Benches, tools: Tools
) -> Iterator[Outcome]:
    if case.answer.procedure is None:
        for version, wanted in case.expect.items():
            spec = library.sandboxes[case.answer.product or "", version].spec
            trial = uncovered(case.answer, 1, version, hints_of(spec))
            yield Outcome(case=case, wanted=wanted, found=judged(trial, tools.judge))
        return
    evaluation = Evaluation(
        answer=case.answer, line=1, benches=benches.of(library.procedures[procedure]), tools=tools
    )
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
    lines += [f"miss: {o}" for o in found if not (o.right and o.right_owner)]
    return "\n".join(lines)


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
