"""How often procexec is right about answers whose verdict is known: mutants and harmless changes.

From every documented procedure come mutants that must fail, with the right finding, step and owner,
and harmless changes that must pass. Same seed, same variants, same numbers.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

from benchmarks.mutation.bench import Outcome, products_of, runner
from benchmarks.mutation.harmless import harmless
from benchmarks.mutation.mutants import mutants
from benchmarks.mutation.script import Base, Variant
from procexec.workload import read_library

ROOT = Path(__file__).resolve().parent.parent
RATES = Path(__file__).resolve().parent / "validity.json"


def main() -> int:
    options = _parser().parse_args()
    library, errors = read_library(ROOT / "procedures", ROOT / "sandboxes")
    assert not errors, errors
    began = perf_counter()
    outcomes: list[Outcome] = []
    with runner(library, options.jobs) as bench:
        for procedure in products_of(library, options.products):
            bases = bench.bases_of(procedure, every=options.all_versions)
            chosen = [v for base in bases for v in _chosen(base, options)]
            done = [*bench.run(chosen)]
            outcomes += done
            wrong = [o for o in done if not o.right]
            print(f"{procedure.id}: {len(done)} variants, {len(wrong)} wrong", file=sys.stderr)
            if options.survivors:
                _write_survivors(done, options.survivors)
    print(_report(outcomes))
    print(f"{len(outcomes)} variants in {perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("products", nargs="*", help="products or procedures; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--each", type=int, default=2, help="variants of an operator and base; 0: all"
    )
    parser.add_argument("--only", default="", help="operators, with commas between")
    parser.add_argument("--all-versions", action="store_true")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument(
        "--survivors", type=Path, help="folder for the variants that came out wrong"
    )
    return parser


def _chosen(base: Base, options: argparse.Namespace) -> list[Variant]:
    """Return at most ``--each`` variants of each operator, the same for the same seed."""
    found: dict[str, list[Variant]] = {}
    for variant in (*mutants(base, options.seed), *harmless(base, options.seed)):
        if not options.only or variant.operator in options.only.split(","):
            found.setdefault(variant.operator, []).append(variant)
    chosen = []
    for name, group in found.items():
        if options.each and len(group) > options.each:
            rng = Random(f"{options.seed}/{name}/{base.id}/choice")
            group = sorted(rng.sample(group, options.each), key=lambda v: v.number)
        chosen += group
    return chosen


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


def _rows(outcomes: Sequence[Outcome], key: Any, *, full: bool) -> list[str]:
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
