"""Stage 8: results in, a summary out. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from procexec.model.result import AnswerResult, Code, Counts, Owner, Summary, Verdict

NOT_COVERED = "(not covered)"


def summarise(results: Iterable[AnswerResult]) -> Summary:
    """Return a run in numbers: equal for equal results, in whatever order they came.

    A finding counts once for each result that has it.
    """
    known = list(results)
    procedures = _grouped((procedure_of(r), r) for r in known)
    return Summary(
        counts=_counts(known),
        by_procedure={name: _by_version(own) for name, own in procedures.items()},
        by_owner=_tally(r.owner.value for r in known if r.owner is not Owner.NONE),
        by_code=_tally(code for r in known for code in _codes(r)),
        by_slice=_slices(known),
        stale=tuple(sorted({f"{procedure_of(r)}@{r.version}" for r in known if _is_stale(r)})),
        results=tuple(sorted(map(_row, known), key=_row_order)),
    )


def exit_code(summary: Summary, *, allow_inconclusive: bool) -> int:
    """Return 0 all pass, 1 some fail or are inconclusive, 4 some errors, 2 nothing was judged."""
    counts = summary.counts
    if not counts.total:
        return 2
    if counts.errors:
        return 4
    if counts.failed or (counts.inconclusive and not allow_inconclusive):
        return 1
    return 0


def procedure_of(result: AnswerResult) -> str:
    """Return the procedure's id, or what stands for a question that no procedure covers."""
    return result.procedure or NOT_COVERED


def _counts(results: Iterable[AnswerResult]) -> Counts:
    of = Counter(result.verdict for result in results)
    return Counts(
        passed=of[Verdict.PASS],
        inconclusive=of[Verdict.INCONCLUSIVE],
        failed=of[Verdict.FAIL],
        errors=of[Verdict.ERROR],
    )


def _grouped(named: Iterable[tuple[str, AnswerResult]]) -> dict[str, list[AnswerResult]]:
    groups: defaultdict[str, list[AnswerResult]] = defaultdict(list)
    for name, result in named:
        groups[name].append(result)
    return dict(sorted(groups.items()))


def _by_version(results: Sequence[AnswerResult]) -> dict[str, Counts]:
    versions = _grouped((r.version, r) for r in results)
    return {version: _counts(own) for version, own in versions.items()}


def _slices(results: Sequence[AnswerResult]) -> dict[str, Counts]:
    slices = _grouped((name, r) for r in results for name in dict.fromkeys(r.slices))
    return {name: _counts(own) for name, own in slices.items()}


def _tally(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))


def _codes(result: AnswerResult) -> list[str]:
    return sorted({finding.code.value for finding in result.findings})


def _is_stale(result: AnswerResult) -> bool:
    return any(finding.code is Code.STALE_DOCS for finding in result.findings)


def _row(result: AnswerResult) -> dict[str, object]:
    return {
        "id": result.id,
        "version": result.version,
        "procedure": result.procedure,
        "verdict": result.verdict.value,
        "owner": result.owner.value,
        "faithful": result.faithful,
        "works": result.works,
        "codes": _codes(result),
    }


def _row_order(row: dict[str, object]) -> tuple[str, ...]:
    """Return id and version first; the rest only tells apart what should not be there twice."""
    return (str(row["id"]), str(row["version"]), repr(row))
