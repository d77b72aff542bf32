"""How often procexec is right about answers whose verdict is known: mutants and harmless changes.

From every documented procedure come mutants that must fail, with the right finding, step and owner,
and harmless changes that must pass. Same seed, same variants, same numbers.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import perf_counter

from benchmarks.mutation.answers import answer_changes, answer_mutants
from benchmarks.mutation.bench import Outcome, Runner, procedures_of, runner
from benchmarks.mutation.harmless import harmless
from benchmarks.mutation.mutants import mutants
from benchmarks.mutation.script import Base, Variant
from procexec.model.document import Answer, Procedure
from procexec.model.result import Verdict
from procexec.read.answers import NumberedAnswer, open_answers
from procexec.workload import Library, read_library

ROOT = Path(__file__).resolve().parent.parent
RATES = Path(__file__).resolve().parent / "validity.json"
GATED = (
    "git/config-set",
    "git/publish-new-repo",
    "git/squash-rebase-i",
    "openssl/read-legacy-p12",
    "sqlite3/drop-column",
)
"""The procedures whose rates are committed: they are quick, and of each kind."""


def main() -> int:
    options = _parser().parse_args()
    if options.write or options.check:
        options.products, options.each, options.seed = GATED, 1, 1
    library, errors = read_library(ROOT / "procedures", ROOT / "sandboxes")
    assert not errors, errors
    began = perf_counter()
    outcomes = [*_outcomes(library, options)]
    print(_report(outcomes))
    print(f"{len(outcomes)} variants in {perf_counter() - began:.0f} s", file=sys.stderr)
    return _gate(outcomes, options)


def _outcomes(library: Library, options: argparse.Namespace) -> Iterator[Outcome]:
    answers = [*_answers(options.answers)]
    with runner(library, options.jobs) as bench:
        for procedure in procedures_of(library, options.products):
            bases = bench.bases_of(procedure, every=options.all_versions)
            mine = [a for a in answers if a.procedure == procedure.id]
            chosen = [v for b in bases for v in _chosen(_from_documents(b, options), b.id, options)]
            chosen += [
                v
                for base in _one_way(bases)
                for answer in _passing(bench, base, mine)
                for v in _chosen(_from_answer(answer, base, options), answer.id, options)
            ]
            done = [*bench.run(chosen)]
            yield from done
            _tell(procedure, done, options)


def _tell(procedure: Procedure, done: Sequence[Outcome], options: argparse.Namespace) -> None:
    wrong = sum(not o.right for o in done)
    print(f"{procedure.id}: {len(done)} variants, {wrong} wrong", file=sys.stderr)
    if options.survivors:
        _write_survivors(done, options.survivors)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("products", nargs="*", help="products or procedures; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=2, help="variants an operator and base; 0: all")
    parser.add_argument("--only", default="", help="operators, with commas between")
    parser.add_argument("--all-versions", action="store_true")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument(
        "--answers",
        type=Path,
        default=ROOT / "examples" / "answers.jsonl",
        help="answers of which those that pass are changed, too",
    )
    parser.add_argument(
        "--survivors", type=Path, help="folder for the variants that came out wrong"
    )
    gate = parser.add_mutually_exclusive_group()
    gate.add_argument(
        "--write", action="store_true", help=f"measure {', '.join(GATED)}; keep the rates"
    )
    gate.add_argument(
        "--check", action="store_true", help="the same, and compare with the kept rates"
    )
    return parser


def _answers(path: Path) -> Iterator[Answer]:
    with open_answers(str(path)) as file:
        yield from (item.answer for item in file if isinstance(item, NumberedAnswer))


def _one_way(bases: Sequence[Base]) -> list[Base]:
    """Return one base of each version where the documentation works."""
    return [*{base.version: base for base in reversed(bases) if base.works}.values()]


def _passing(bench: Runner, base: Base, answers: Sequence[Answer]) -> Iterator[Answer]:
    wanted = [a for a in answers if not a.versions or base.version in a.versions]
    for answer, verdict in zip(wanted, bench.verdicts(base, wanted), strict=True):
        if verdict is Verdict.PASS:
            yield answer


def _from_documents(base: Base, options: argparse.Namespace) -> list[Variant]:
    return [*mutants(base, options.seed), *harmless(base, options.seed)]


def _from_answer(answer: Answer, base: Base, options: argparse.Namespace) -> list[Variant]:
    return [
        *answer_mutants(answer, base, options.seed),
        *answer_changes(answer, base, options.seed),
    ]


def _chosen(variants: Iterable[Variant], name: str, options: argparse.Namespace) -> list[Variant]:
    """Return at most ``--each`` variants of each operator, the same for the same seed."""
    found: dict[str, list[Variant]] = {}
    for variant in variants:
        if not options.only or variant.operator in options.only.split(","):
            found.setdefault(variant.operator, []).append(variant)
    chosen = []
    for operator, group in found.items():
        if options.each and len(group) > options.each:
            rng = Random(f"{options.seed}/{operator}/{name}/choice")
            group = sorted(rng.sample(group, options.each), key=lambda v: v.number)
        chosen += group
    return chosen


def _gate(outcomes: Sequence[Outcome], options: argparse.Namespace) -> int:
    """Keep the rates, or tell whether they are those that were kept."""
    rates = json.dumps(_rates(outcomes), indent=1, sort_keys=True) + "\n"
    if options.write:
        RATES.write_text(rates)
    if not options.check or rates == RATES.read_text():
        return 0
    kept, now = json.loads(RATES.read_text()), json.loads(rates)
    for name in sorted(kept.keys() | now.keys()):
        if kept.get(name) != now.get(name):
            print(f"{name}: kept {kept.get(name)}, now {now.get(name)}", file=sys.stderr)
    print("the rates have changed: look at --survivors FOLDER, then --write", file=sys.stderr)
    return 1


def _rates(outcomes: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    """Return for each operator how many variants there are, and how many came out right."""
    found: dict[str, Counter[str]] = {}
    for o in outcomes:
        counts = found.setdefault(o.variant.operator, Counter())
        counts.update(
            total=1, right=o.right, owner=o.right_owner, step=o.right_step, finding=o.right_code
        )
    return {name: dict(counts) for name, counts in found.items()}


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many."""

    good: int
    total: int

    def __str__(self) -> str:
        if not self.total:
            return f"{'-':>24}"
        low, high = _wilson(self.good, self.total)
        return f"{self.good:4}/{self.total:<4} {self.good / self.total:6.1%} [{low:.2f} {high:.2f}]"


def _wilson(good: int, total: int) -> tuple[float, float]:
    from scipy.stats import binomtest

    interval = binomtest(good, total).proportion_ci(method="wilson")
    return interval.low, interval.high


def _report(outcomes: Sequence[Outcome]) -> str:
    kills = [o for o in outcomes if o.variant.wanted.verdict != "pass"]
    keeps = [o for o in outcomes if o.variant.wanted.verdict == "pass"]
    head = f"{'mutants':24} {'killed':>24} {'owner':>24} {'step':>24} {'finding':>24}"
    lines = [head, *_rows(kills, lambda o: o.variant.operator, full=True)]
    lines += ["", f"{'harmless changes':24} {'kept':>24}"]
    lines += _rows(keeps, lambda o: o.variant.operator, full=False)
    lines += ["", head.replace("mutants", "product", 1)]
    lines += _rows(kills, lambda o: o.variant.base.procedure.product, full=True)
    lines += ["", f"{'product':24} {'kept':>24}"]
    lines += _rows(keeps, lambda o: o.variant.base.procedure.product, full=False)
    lines += ["", "findings by operator:", *_confusion(kills)]
    return "\n".join(lines)


def _rows(outcomes: Sequence[Outcome], key: Callable[[Outcome], str], *, full: bool) -> list[str]:
    names = dict.fromkeys(key(o) for o in outcomes)
    groups = [(name, [o for o in outcomes if key(o) == name]) for name in names]
    return [_row(name, group, full=full) for name, group in [*groups, ("all", outcomes)]]


def _row(name: str, group: Sequence[Outcome], *, full: bool) -> str:
    shares = [Share(sum(o.right for o in group), len(group))]
    if full:
        shares += [
            Share(sum(o.right_owner for o in group), len(group)),
            Share(sum(o.right_step for o in group), len(group)),
            Share(sum(o.right_code for o in group), len(group)),
        ]
    return f"{name:24} " + " ".join(f"{s!s:>24}" for s in shares)


def _confusion(outcomes: Iterable[Outcome]) -> list[str]:
    found: dict[str, Counter[str]] = {}
    for o in outcomes:
        counts = found.setdefault(o.variant.operator, Counter())
        counts.update({f.slug for f in o.findings} or {"none"})
    return [
        f"  {name:22} " + ", ".join(f"{slug} {n}" for slug, n in sorted(counts.items()))
        for name, counts in found.items()
    ]


def _write_survivors(outcomes: Iterable[Outcome], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for o in outcomes:
        if o.right and o.right_owner and o.right_step and o.right_code:
            continue
        name = re.sub(r"[^\w.@+-]", "_", o.variant.id)
        (folder / f"{name}.md").write_text(_survivor(o))


def _survivor(o: Outcome) -> str:
    wanted = o.variant.wanted
    told = [
        f"{f.slug} step={f.step} {f.line}:{f.column} {'(info) ' if f.informational else ''}{f.message}"
        + (f"\n    {f.evidence[-300:]}" if f.evidence else "")
        for f in o.found.findings
    ]
    head = {
        "change": o.variant.change,
        "wanted": f"{wanted.verdict} {wanted.owner} {sorted(wanted.codes)} {sorted(wanted.steps)}"
        f" {o.variant.spans}",
        "found": f"{o.found.verdict} {o.found.owner}",
    }
    lines = [f"{k}: {v}" for k, v in head.items()]
    steps = [f"- {s.label} {s.steps} {s.ending} {s.exit_code} {s.text!r}" for s in o.found.steps]
    return "\n".join([*lines, "", *told, "", *steps, "", "-----", o.variant.text])


if __name__ == "__main__":
    sys.exit(main())
