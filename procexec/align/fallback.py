"""The alignment as an integer programme, for what conflict branching cannot settle in time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

# Counts, not time-outs: the same problem gives the same answer on any machine.
NODE_LIMIT = 500
ENTRY_LIMIT = 100_000  # coefficients; past it one relaxation alone takes many seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One atom that may stand for one node: what it saves, in order and displaced."""

    atom: int
    node: int
    gain: int
    displaced_gain: int  # 0 or less: may not be displaced
    repeat: bool  # a further use of its node, allowed beside one use in order
    branches: tuple[int, ...]  # all branches that the node lies in


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The alternative branches and what each costs above the cheapest of its group."""

    surcharges: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Positions of the candidates taken, and a bound that no selection can beat."""

    in_order: tuple[int, ...]
    displaced: tuple[int, ...]
    bound: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """Sum of coefficient times variable, at most `upper`."""

    plus: tuple[int, ...]
    minus: tuple[int, ...] = ()
    upper: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variables:
    """Positions in the programme: candidates in order, then displaced, then branches."""

    displaced: dict[int, int]
    first_branch: int
    count: int

    def uses(self, candidates: Sequence[int]) -> tuple[int, ...]:
        return (*candidates, *(self.displaced[k] for k in candidates if k in self.displaced))


def select(
    candidates: Sequence[Candidate], choice: Choice, before: Sequence[tuple[int, int]]
) -> Selection | None:
    """Take the candidates of least loss; `before` holds all node pairs of the strict order.

    Returns None if that is too large, or nothing was found within the limit.
    """
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    variables = _variables(candidates, choice)
    rows = _affordable(_rows(candidates, choice, before, variables))
    if rows is None:
        return None
    result = milp(
        np.array(_objective(candidates, choice, variables), dtype=np.float64),
        constraints=LinearConstraint(
            _matrix(rows, variables.count), -np.inf, np.array([row.upper for row in rows])
        ),
        integrality=np.ones(variables.count, dtype=np.int64),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0, "node_limit": NODE_LIMIT},
    )
    if result.x is None:
        return None
    taken = [x > 0.5 for x in result.x]
    return Selection(
        in_order=tuple(k for k in range(len(candidates)) if taken[k]),
        displaced=tuple(k for k, at in variables.displaced.items() if taken[at]),
        bound=ceil(result.mip_dual_bound - 1e-6),
    )


def _affordable(rows: Iterator[_Row]) -> list[_Row] | None:
    entries, kept = 0, []
    for row in rows:
        entries += len(row.plus) + len(row.minus)
        if entries > ENTRY_LIMIT:
            return None
        kept.append(row)
    return kept


def _variables(candidates: Sequence[Candidate], choice: Choice) -> _Variables:
    displaceable = [k for k, candidate in enumerate(candidates) if candidate.displaced_gain > 0]
    first_branch = len(candidates) + len(displaceable)
    return _Variables(
        displaced={k: len(candidates) + at for at, k in enumerate(displaceable)},
        first_branch=first_branch,
        count=first_branch + len(choice.surcharges),
    )


def _objective(candidates: Sequence[Candidate], choice: Choice, variables: _Variables) -> list[int]:
    return [
        *(-candidate.gain for candidate in candidates),
        *(-candidates[k].displaced_gain for k in variables.displaced),
        *choice.surcharges,
    ]


def _matrix(rows: Sequence[_Row], width: int) -> "csr_array[np.float64, tuple[int, int]]":
    from scipy.sparse import csr_array

    entries = [
        (sign, at, variable)
        for at, row in enumerate(rows)
        for sign, variables in ((1.0, row.plus), (-1.0, row.minus))
        for variable in variables
    ]
    signs, at, variables = zip(*entries, strict=True)
    return csr_array((signs, (at, variables)), shape=(len(rows), width))


def _rows(
    candidates: Sequence[Candidate],
    choice: Choice,
    before: Sequence[tuple[int, int]],
    variables: _Variables,
) -> Iterator[_Row]:
    uses = _first_uses(candidates)
    yield from _one_node_an_atom(candidates, variables)
    for column in uses.values():
        yield _Row(plus=variables.uses(column), upper=1)
    for earlier, later in before:
        if earlier in uses and later in uses:
            yield from _order_rows(candidates, uses[earlier], uses[later])
    yield from _branch_rows(candidates, choice, variables)
    for k, candidate in enumerate(candidates):
        if candidate.repeat:
            yield _Row(plus=(k,), minus=uses.get(candidate.node, ()), upper=0)


def _first_uses(candidates: Sequence[Candidate]) -> dict[int, tuple[int, ...]]:
    """For each node its candidates but for the repeats, in the order of the answer."""
    firsts = [k for k, candidate in enumerate(candidates) if not candidate.repeat]
    firsts.sort(key=lambda k: (candidates[k].node, candidates[k].atom))
    return {
        node: tuple(column) for node, column in groupby(firsts, key=lambda k: candidates[k].node)
    }


def _one_node_an_atom(candidates: Sequence[Candidate], variables: _Variables) -> Iterator[_Row]:
    by_atom = sorted(range(len(candidates)), key=lambda k: candidates[k].atom)
    for _, row in groupby(by_atom, key=lambda k: candidates[k].atom):
        yield _Row(plus=variables.uses(tuple(row)), upper=1)


def _order_rows(
    candidates: Sequence[Candidate], earlier: tuple[int, ...], later: tuple[int, ...]
) -> Iterator[_Row]:
    """Not both: the later node up to some atom, and the earlier node after that atom.

    One row is a whole clique of conflicts, which bounds far better than a row for each pair.
    """
    for end in range(1, len(later) + 1):
        limit = candidates[later[end - 1]].atom
        late = tuple(k for k in earlier if candidates[k].atom > limit)
        if late:
            yield _Row(plus=(*later[:end], *late), upper=1)


def _branch_rows(
    candidates: Sequence[Candidate], choice: Choice, variables: _Variables
) -> Iterator[_Row]:
    for group in choice.groups:
        yield _Row(plus=tuple(variables.first_branch + b for b in group), upper=1)
    for k, candidate in enumerate(candidates):
        for b in candidate.branches:
            yield _Row(plus=variables.uses((k,)), minus=(variables.first_branch + b,), upper=0)
