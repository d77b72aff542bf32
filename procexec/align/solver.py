"""The cheapest alignment of an answer's atoms to a partially ordered procedure, exactly.

Best-first branching over an assignment relaxation: an assignment of atoms to nodes that ignores
the order and the choice of branches is a lower bound; where it breaks either, two or more children
part the solutions between them, and the first state popped without a conflict is optimal. Parts of
the problem that share no atom, node, choice or possible conflict are solved one by one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from itertools import accumulate, count

from procexec.align import fallback

MISS = 1000  # a required step that the answer does not have
EXTRA = 500  # an atom that no step asks for
BENIGN = 50  # an extra atom that only looks
OLD = 400  # the command of another version of the product
SUBSTITUTED = 600  # another command, value or target in the step's place
OMEGA = 400  # a step at the wrong place in the order

assert OMEGA + OLD < MISS + EXTRA, "a displaced step would never be worth its match"
assert SUBSTITUTED < MISS + EXTRA, "a substituted step would be missing and extra instead"
assert OLD < EXTRA, "an outdated optional step would be extra instead"
assert SUBSTITUTED > EXTRA, "a vague hit on an optional step would not stay extra"
assert BENIGN < OMEGA, "a look at another place would be a violation"

EXACT_FLOAT = 1 << 53  # scipy assigns in float64, exact for integers below this
LOOSE_SIZE = 128  # atoms or nodes up to which the loose weights keep ties below one unit
ROWS_WORTH = 24  # candidates up to which a look at each row pays before a matrix is made
STATES_BY_CANDIDATES = 2_000_000  # what a search may hold: about 200 MB
NEVER = -1  # the penalty of what may not be displaced

_Priced = tuple[int, int, int]  # atom, node, cost of their match


class MatchKind(StrEnum):
    """How a matched atom stands to the order of the procedure."""

    SYNCHRONOUS = "synchronous"
    DISPLACED = "displaced"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What may be aligned to what, in integer costs.

    A group is a choice between branches; a branch lists its nodes, and none means that the block
    may be skipped. A group whose nodes all lie in one branch of another is nested in it. A node
    without an entry in `miss` costs `MISS`. A match dearer than `displaced_max` may not stand
    outside the order; a negative `displaced_max` gives the classical alignment.
    """

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...] = ()
    groups: tuple[tuple[tuple[str, ...], ...], ...] = ()
    miss: Mapping[str, int] = field(default_factory=dict)
    extra: tuple[int, ...]
    pairs: Mapping[tuple[int, str], int]
    repeatable: frozenset[str] = frozenset()
    omega: int = OMEGA
    displaced_max: int = OLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """An atom that stands for a node; the cost is without OMEGA."""

    atom: int
    node: str
    cost: int
    kind: MatchKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The cheapest explanation of the answer, or the best found and how far it may be off."""

    cost: int
    matches: tuple[Match, ...]
    extra: tuple[int, ...]
    missing: tuple[str, ...]
    branches: tuple[int, ...]
    violations: tuple[tuple[str, str], ...]
    optimal: bool
    gap: int
    states: int


def solve(problem: Problem, *, max_states: int = 2000) -> Solution:
    """Align at least cost; ties go to fewer, then earlier displaced atoms, then equal positions.

    A part that is not settled within `max_states` goes to an integer programme, whose ties are
    any; if that is too large or fails, the best found comes back with its gap, not optimal.

    Raises:
        ValueError: the edges have a cycle.
    """
    order = _order(problem)
    choice = _choice(problem, order)
    table = _table(problem, order, choice)
    found = _searched(table, order, choice, max_states)
    return _solution(problem, order, choice, table, found)


# --- The order: nodes become numbers, lower levels first --------------------------------------


@dataclass(frozen=True, slots=True)
class _Order:
    names: list[str]
    number: dict[str, int]
    parents: list[list[int]]

    def ancestors(self) -> list[int]:
        """For each node the set, as bits, of all that must come before it."""
        masks: list[int] = []
        for parents in self.parents:
            mask = 0
            for parent in parents:
                mask |= masks[parent] | 1 << parent
            masks.append(mask)
        return masks


def _order(problem: Problem) -> _Order:
    levels = _levels(problem)
    names = sorted(problem.nodes, key=levels.__getitem__)
    number = {name: at for at, name in enumerate(names)}
    parents: list[list[int]] = [[] for _ in names]
    for before, after in problem.edges:
        parents[number[after]].append(number[before])
    return _Order(names, number, parents)


def _levels(problem: Problem) -> dict[str, int]:
    """Give each node the length of the longest path to it."""
    waiting = dict.fromkeys(problem.nodes, 0)
    children: dict[str, list[str]] = {}
    for before, after in problem.edges:
        waiting[after] += 1
        children.setdefault(before, []).append(after)
    levels = {name: 0 for name, parents in waiting.items() if not parents}
    ready = list(levels)
    for name in ready:
        for child in children.get(name, ()):
            waiting[child] -= 1
            if not waiting[child]:
                levels[child] = levels[name] + 1
                ready.append(child)
    if len(ready) < len(problem.nodes):
        raise ValueError(f"the edges have a cycle through {_named(waiting)}")
    return levels


def _named(waiting: Mapping[str, int]) -> str:
    return ", ".join(name for name, parents in waiting.items() if parents)


# --- The choice: what each branch costs above the cheapest of its group -----------------------


@dataclass(frozen=True, slots=True)
class _Choice:
    branches: list[list[int]]  # for each group its branches, each a set of nodes as bits
    nodes: list[int]  # for each group all its nodes as bits
    surcharges: list[list[int]]
    base: int  # misses when nothing is matched and every group takes its cheapest branch


def _choice(problem: Problem, order: _Order) -> _Choice:
    miss = [problem.miss.get(name, MISS) for name in order.names]
    if not problem.groups:
        return _Choice([], [], [], sum(miss))
    branches = [
        [_bits([order.number[name] for name in branch]) for branch in group]
        for group in problem.groups
    ]
    nodes = [_union(group) for group in branches]
    return _priced(branches, nodes, miss)


def _priced(branches: list[list[int]], nodes: list[int], miss: list[int]) -> _Choice:
    """Price the innermost groups first; each then stands in its branch as one lump."""
    prices: list[list[int]] = [[] for _ in nodes]
    outer: list[int] = []  # priced, and not yet seen to lie in a branch
    for group in sorted(range(len(nodes)), key=lambda g: (nodes[g].bit_count(), g)):
        for branch in branches[group]:
            inner = [g for g in outer if not nodes[g] & ~branch]
            prices[group].append(_price(branch, inner, nodes, prices, miss))
            outer = [g for g in outer if g not in inner]
        outer.append(group)
    everything = (1 << len(miss)) - 1
    return _Choice(
        branches,
        nodes,
        [[price - min(group) for price in group] for group in prices],
        _price(everything, outer, nodes, prices, miss),
    )


def _price(
    branch: int, inner: list[int], nodes: list[int], prices: list[list[int]], miss: list[int]
) -> int:
    if not inner:
        return sum([miss[v] for v in _members(branch)])
    own = branch & ~_union([nodes[g] for g in inner])
    return sum([miss[v] for v in _members(own)]) + sum([min(prices[g]) for g in inner])


# --- The table: every match that is worth more than a miss and an extra -----------------------


@dataclass(frozen=True, slots=True)
class _Weights:
    """What one unit of cost weighs, and the ties below it."""

    unit: int
    displaced: int
    position: int
    square: int


@dataclass(frozen=True, slots=True)
class _Contest:
    """A group whose choice of branch matters to the matches; sets of candidates are bits."""

    members: int
    branches: list[int]
    surcharges: list[int]


@dataclass(frozen=True, slots=True)
class _Table:
    """The candidate matches by number, in the order of the answer; then the repeats.

    Gains and penalties are packed with their ties; sets of candidates are bits. A candidate
    without a gain is here only because a use in order makes the repeats of its node possible.
    """

    weights: _Weights
    atoms: list[int]
    nodes: list[int]
    costs: list[int]
    gains: list[int]
    penalties: list[int]  # for standing outside the order, or NEVER
    conflicts: list[int]  # those that cannot be in order together with this one
    firsts: int  # how many are not repeats
    rows: dict[int, int]  # of each atom
    uses: dict[int, int]  # of each node, without the repeats
    repeats: dict[int, int]  # further uses of each repeatable node
    contests: list[_Contest]


def _table(problem: Problem, order: _Order, choice: _Choice) -> _Table:
    miss = [problem.miss.get(name, MISS) for name in order.names]
    extra = problem.extra
    weights = _weights(len(extra), len(miss), max(miss, default=0) + max(extra, default=0))
    priced = sorted(
        (atom, order.number[name], cost) for (atom, name), cost in problem.pairs.items()
    )
    repeatable = {order.number[name] for name in problem.repeatable}
    repeats = [row for row in priced if row[1] in repeatable and extra[row[0]] > row[2]]
    repeated = {node for _, node, _ in repeats}
    firsts = [row for row in priced if miss[row[1]] + extra[row[0]] > row[2] or row[1] in repeated]
    rows = [*firsts, *repeats]
    uses = _grouped((node, k) for k, (_, node, _) in enumerate(firsts))
    return _Table(
        weights=weights,
        atoms=[atom for atom, _, _ in rows],
        nodes=[node for _, node, _ in rows],
        costs=[cost for _, _, cost in rows],
        gains=[
            *(_first_gain(weights, miss[v] + extra[i] - c, i - v) for i, v, c in firsts),
            *(_repeat_gain(weights, extra[i] - c, i - v, len(extra) - i) for i, v, c in repeats),
        ],
        penalties=[_penalty(problem, weights, atom, cost) for atom, _, cost in rows],
        conflicts=_conflicts(firsts, order, uses) + [0] * len(repeats),
        firsts=len(firsts),
        rows=_grouped((atom, k) for k, (atom, _, _) in enumerate(rows)),
        uses=uses,
        repeats=_grouped((node, k) for k, (_, node, _) in enumerate(repeats, len(firsts))),
        contests=list(_contests(choice, rows, weights.unit)),
    )


def _weights(atoms: int, nodes: int, dearest: int) -> _Weights:
    """Pack each tie below the sum of all before it, as far as float64 has the room."""
    squares = atoms * max(atoms, nodes) ** 2 + atoms * (atoms + 1)
    positions = atoms * (atoms - 1) // 2
    displaced = (positions + 1) * (squares + 1)
    strict = _Weights(displaced * (atoms + 1), displaced, squares + 1, 1)
    loose = _Weights(1 << 28, 1 << 19, 1 << 8, 1)
    if strict.unit * dearest * atoms < EXACT_FLOAT:
        return strict
    if max(atoms, nodes) <= LOOSE_SIZE and loose.unit * dearest * atoms < EXACT_FLOAT:
        return loose
    return _Weights(1, 0, 0, 0)


def _first_gain(weights: _Weights, saved: int, distance: int) -> int:
    return saved * weights.unit - distance * distance * weights.square


def _repeat_gain(weights: _Weights, saved: int, distance: int, from_end: int) -> int:
    """Repeats are dearer the earlier they stand, so that the first use is the earliest."""
    return _first_gain(weights, saved, distance) - from_end * weights.square


def _penalty(problem: Problem, weights: _Weights, atom: int, cost: int) -> int:
    if cost > problem.displaced_max:
        return NEVER
    return problem.omega * weights.unit + weights.displaced + atom * weights.position


def _grouped(numbered: Iterable[tuple[int, int]]) -> dict[int, int]:
    groups: dict[int, int] = {}
    for key, k in numbered:
        groups[key] = groups.get(key, 0) | 1 << k
    return groups


def _conflicts(firsts: Sequence[_Priced], order: _Order, uses: Mapping[int, int]) -> list[int]:
    """For each candidate those of its ancestors that come later, of its descendants earlier."""
    above, below = _relatives(order, uses)
    starts = {atom: k for k, (atom, _, _) in reversed(list(enumerate(firsts)))}
    conflicts = []
    for atom, node, _ in firsts:
        earlier = (1 << starts[atom]) - 1
        conflicts.append((above[node] & ~earlier) | (below[node] & earlier))
    return conflicts


def _relatives(order: _Order, uses: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """For each node the candidates of its ancestors and of its descendants."""
    above = [0] * len(order.names)
    below = [0] * len(order.names)
    for node, parents in enumerate(order.parents):
        for parent in parents:
            above[node] |= above[parent] | uses.get(parent, 0)
    for node in range(len(below) - 1, -1, -1):
        for parent in order.parents[node]:
            below[parent] |= below[node] | uses.get(node, 0)
    return above, below


def _contests(choice: _Choice, rows: Sequence[_Priced], unit: int) -> Iterator[_Contest]:
    """The groups that more than one branch could win, or one at a price; outer ones first."""
    outer_first = sorted(range(len(choice.nodes)), key=lambda g: (-choice.nodes[g].bit_count(), -g))
    for group in outer_first:
        branches = [
            _bits([k for k, (_, node, _) in enumerate(rows) if branch >> node & 1])
            for branch in choice.branches[group]
        ]
        hit = [
            surcharge for surcharge, b in zip(choice.surcharges[group], branches, strict=True) if b
        ]
        if len(hit) > 1 or any(hit):
            surcharges = [surcharge * unit for surcharge in choice.surcharges[group]]
            yield _Contest(_union(branches), branches, surcharges)


# --- The search: one component after the other ------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """The matches taken, as bits; loss and bound in packed units, below zero for a saving."""

    taken: int
    displaced: int
    loss: int
    bound: int
    states: int


@dataclass(frozen=True, slots=True)
class _Limits:
    """What has been decided on the way to a state; sets are bits."""

    gains: dict[int, int]  # of each candidate of the component; 0 if none or out
    out: int = 0  # candidates
    displaced: int = 0  # candidates that may be taken only outside the order
    decided: int = 0  # contests
    surcharge: int = 0


@dataclass(frozen=True, slots=True)
class _State:
    """A part of the solutions, and the best assignment when what is undecided is ignored."""

    limits: _Limits
    taken: int
    loss: int


def _searched(table: _Table, order: _Order, choice: _Choice, max_states: int) -> _Found:
    taken, displaced, loss, bound, states = 0, 0, 0, 0, 0
    for component in _components(table):
        if not component & (component - 1) and not _contested(table, component):
            found = _single(table, component)
        else:
            affordable = STATES_BY_CANDIDATES // component.bit_count()
            found = _Search(table, component).best(min(max_states - states, affordable))
            if found.bound < found.loss:
                found = _better(found, _programmed(table, order, choice, component))
        taken |= found.taken
        displaced |= found.displaced
        loss += found.loss
        bound += found.bound
        states += found.states
    return _Found(taken, displaced, loss, bound, states)


def _components(table: _Table) -> Iterator[int]:
    """Sets of candidates that have nothing to do with one another."""
    unseen = (1 << len(table.atoms)) - 1
    while unseen:
        component = reached = unseen & -unseen
        while reached:
            k = reached.bit_length() - 1
            new = _neighbours(table, k) & ~component
            component |= new
            reached = (reached ^ 1 << k) | new
        unseen &= ~component
        yield component


def _neighbours(table: _Table, k: int) -> int:
    node = table.nodes[k]
    near = table.conflicts[k] | table.rows[table.atoms[k]] | table.uses[node]
    near |= table.repeats.get(node, 0)
    for contest in table.contests:
        if contest.members >> k & 1:
            near |= contest.members
    return near


def _contested(table: _Table, component: int) -> bool:
    return any(contest.members & component for contest in table.contests)


def _single(table: _Table, component: int) -> _Found:
    loss = -table.gains[component.bit_length() - 1]
    return _Found(component, 0, loss, loss, 0)


class _Search:
    """Best-first conflict branching over one component."""

    def __init__(self, table: _Table, component: int) -> None:
        self._table = table
        self._members = _members(component)
        self._contests = [c for c in table.contests if c.members & component]
        self._repeats = _union(table.repeats.values()) & component
        self._assign = _Assignment(table, self._members)

    def best(self, max_states: int) -> _Found:
        pushed = count()
        gains = {k: max(0, self._table.gains[k]) for k in self._members}
        state = self._state(_Limits(gains))
        heap = [(state.loss, next(pushed), state)]
        for popped in range(1, max_states + 1):
            bound, _, state = heappop(heap)
            children = self._children(state)
            if not children:
                return _found(state, bound, popped)
            for child in children:
                heappush(heap, (child.loss, next(pushed), child))
        bound, _, state = heap[0]
        return _found(self._dive(state), bound, max(0, max_states))

    def _dive(self, state: _State) -> _State:
        """Follow the best child down to some solution."""
        while children := self._children(state):
            state = min(children, key=lambda child: child.loss)
        return state

    def _state(self, limits: _Limits) -> _State:
        gains = limits.gains
        taken = self._assign(gains)
        loss = limits.surcharge - sum([gains[k] for k in taken])
        return _State(limits, _bits(taken), loss)

    def _children(self, state: _State) -> list[_State]:
        """Part the solutions of a state with a conflict; none means that it has no conflict."""
        return [self._state(limits) for limits in self._parts(state.limits, state.taken)]

    def _parts(self, limits: _Limits, taken: int) -> list[_Limits]:
        for at, contest in enumerate(self._contests):
            if not limits.decided >> at & 1 and _open(contest, taken):
                return self._by_branch(limits, at)
        ordered = taken & ~limits.displaced
        culprit = self._most_conflicted(ordered)
        if culprit is not None:
            return [self._out_of_order(limits, 1 << culprit), self._in_order(limits, culprit)]
        node = self._unfounded_repeat(ordered)
        return [] if node is None else self._by_first_use(limits, node)

    def _by_branch(self, limits: _Limits, at: int) -> list[_Limits]:
        contest = self._contests[at]
        parts = []
        for branch, surcharge in zip(contest.branches, contest.surcharges, strict=True):
            closed = contest.members & ~branch
            parts.append(
                _Limits(
                    {**limits.gains, **dict.fromkeys(_members(closed), 0)},
                    limits.out | closed,
                    limits.displaced,
                    limits.decided | 1 << at,
                    limits.surcharge + surcharge,
                )
            )
        return parts

    def _most_conflicted(self, ordered: int) -> int | None:
        conflicts = self._table.conflicts
        culprit, most = None, 0
        for k in _members(ordered):
            degree = (conflicts[k] & ordered).bit_count()
            if degree > most:
                culprit, most = k, degree
        return culprit

    def _unfounded_repeat(self, ordered: int) -> int | None:
        """A node that is used again without a use in order."""
        for k in _members(ordered & self._repeats):
            node = self._table.nodes[k]
            if not self._table.uses[node] & ordered:
                return node
        return None

    def _by_first_use(self, limits: _Limits, node: int) -> list[_Limits]:
        """One part for each use that may be the one in order, one for none in order."""
        free = ~limits.displaced & ~limits.out
        uses = self._table.uses[node] & free
        return [
            self._out_of_order(limits, uses | self._table.repeats[node] & free),
            *(self._in_order(limits, k) for k in _members(uses)),
        ]

    def _out_of_order(self, limits: _Limits, candidates: int) -> _Limits:
        gains = limits.gains.copy()
        self._demote(gains, candidates)
        return _Limits(
            gains, limits.out, limits.displaced | candidates, limits.decided, limits.surcharge
        )

    def _in_order(self, limits: _Limits, k: int) -> _Limits:
        """Take k in order: alone in its row and column, and nothing in order against it."""
        table = self._table
        gains = limits.gains.copy()
        rivals = (table.rows[table.atoms[k]] | table.uses[table.nodes[k]]) & ~(1 << k)
        gains.update(dict.fromkeys(_members(rivals), 0))
        against = table.conflicts[k] & ~rivals & ~limits.displaced
        self._demote(gains, against)
        surcharge = limits.surcharge
        if not gains[k]:  # at a loss: lend it a gain, so that it is taken
            gains[k] = table.weights.unit
            surcharge += gains[k] - table.gains[k]
        return _Limits(
            gains, limits.out | rivals, limits.displaced | against, limits.decided, surcharge
        )

    def _demote(self, gains: dict[int, int], candidates: int) -> None:
        """Charge the candidates for standing outside the order, or drop them."""
        penalties = self._table.penalties
        for k in _members(candidates):
            penalty = penalties[k]
            gains[k] = 0 if penalty == NEVER else max(0, gains[k] - penalty)


def _found(state: _State, bound: int, states: int) -> _Found:
    return _Found(state.taken, state.taken & state.limits.displaced, state.loss, bound, states)


def _open(contest: _Contest, taken: int) -> bool:
    """Whether the matches taken are of two branches, or of one that costs more than another."""
    hit = [
        surcharge
        for branch, surcharge in zip(contest.branches, contest.surcharges, strict=True)
        if branch & taken
    ]
    return len(hit) > 1 or any(hit)


class _Assignment:
    """The assignment of greatest gain in one component, one node to an atom and back."""

    def __init__(self, table: _Table, members: Sequence[int]) -> None:
        self._atoms = table.atoms
        self._members = members
        repeats = _union(table.repeats.values())
        self._columns = {
            k: -1 - k if repeats >> k & 1 else table.nodes[k] for k in members
        }  # a repeat has a column of its own: a node takes any number of them
        self._matrix: _Matrix | None = None

    def __call__(self, gains: Mapping[int, int]) -> list[int]:
        if len(gains) <= ROWS_WORTH:
            best = self._best_of_rows(gains)
            if len({self._columns[k] for k in best}) == len(best):
                return best
        return [k for k in self._assigned(list(gains.values())) if gains[k]]

    def _assigned(self, gains: list[int]) -> Iterator[int]:
        if self._matrix is None:
            atoms = [self._atoms[k] for k in self._members]
            self._matrix = _Matrix(atoms, list(self._columns.values()))
        return map(self._members.__getitem__, self._matrix.assign(gains))

    def _best_of_rows(self, gains: Mapping[int, int]) -> list[int]:
        """The best of each row: an upper bound, and optimal where no column is taken twice."""
        best: dict[int, int] = {}
        atoms = self._atoms
        for k, gain in gains.items():
            if gain and gain > gains.get(best.get(atoms[k], -1), 0):
                best[atoms[k]] = k
        return list(best.values())


class _Matrix:
    """A dense matrix for scipy, with the place of each candidate in it."""

    def __init__(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        import numpy as np
        from scipy.optimize import linear_sum_assignment

        row = {key: at for at, key in enumerate(dict.fromkeys(rows))}
        column = {key: at for at, key in enumerate(dict.fromkeys(columns))}
        self._width = len(column)
        cells = [row[r] * self._width + column[c] for r, c in zip(rows, columns, strict=True)]
        self._cells = np.array(cells)
        self._at = {cell: at for at, cell in enumerate(cells)}
        self._blank = np.zeros((len(row), self._width))
        self._solve = linear_sum_assignment

    def assign(self, gains: list[int]) -> list[int]:
        """Places, in the sequences given at first, of the candidates assigned."""
        matrix = self._blank.copy()
        matrix.ravel()[self._cells] = gains
        rows, columns = self._solve(matrix, maximize=True)
        at = self._at
        return [at[cell] for cell in (rows * self._width + columns).tolist() if cell in at]


# --- Past the limit ---------------------------------------------------------------------------


def _programmed(table: _Table, order: _Order, choice: _Choice, component: int) -> _Found | None:
    """The component as an integer programme, in whole units of cost."""
    members = _members(component)
    offsets = _offsets(choice)
    selection = fallback.select(
        [_programme_candidate(table, choice, offsets, k) for k in members],
        fallback.Choice(
            surcharges=tuple(s for group in choice.surcharges for s in group),
            groups=tuple(
                tuple(range(first, first + len(group)))
                for first, group in zip(offsets, choice.surcharges, strict=True)
            ),
        ),
        _pairs(order),
    )
    return None if selection is None else _from_selection(table, choice, members, selection)


def _offsets(choice: _Choice) -> list[int]:
    return [0, *accumulate(len(group) for group in choice.branches)][:-1]


def _programme_candidate(
    table: _Table, choice: _Choice, offsets: list[int], k: int
) -> fallback.Candidate:
    unit, node = table.weights.unit, table.nodes[k]
    penalty = table.penalties[k]
    gain = -(-table.gains[k] // unit)
    return fallback.Candidate(
        atom=table.atoms[k],
        node=node,
        gain=gain,
        displaced_gain=0 if penalty == NEVER else gain - penalty // unit,
        repeat=not table.uses[node] >> k & 1,
        branches=tuple(
            first + at
            for first, group in zip(offsets, choice.branches, strict=True)
            for at, branch in enumerate(group)
            if branch >> node & 1
        ),
    )


def _pairs(order: _Order) -> list[tuple[int, int]]:
    return [
        (ancestor, node)
        for node, ancestors in enumerate(order.ancestors())
        for ancestor in _members(ancestors)
    ]


def _from_selection(
    table: _Table, choice: _Choice, members: Sequence[int], selection: fallback.Selection
) -> _Found:
    in_order = [members[at] for at in selection.in_order]
    displaced = [members[at] for at in selection.displaced]
    unit = table.weights.unit
    hit = _bits(table.nodes[k] for k in (*in_order, *displaced))
    loss = (
        sum(_surcharge(choice, group, hit) for group in range(len(choice.nodes))) * unit
        - sum(table.gains[k] for k in in_order)
        - sum(table.gains[k] - table.penalties[k] for k in displaced)
    )
    return _Found(
        _bits(in_order) | _bits(displaced), _bits(displaced), loss, selection.bound * unit, 0
    )


def _surcharge(choice: _Choice, group: int, nodes: int) -> int:
    """What the branch that the nodes lie in costs more; nothing if they lie in none."""
    for branch, surcharge in zip(choice.branches[group], choice.surcharges[group], strict=True):
        if branch & nodes:
            return surcharge
    return 0


def _better(searched: _Found, programmed: _Found | None) -> _Found:
    if programmed is None:
        return searched
    best = min(searched, programmed, key=lambda found: found.loss)
    bound = max(searched.bound, programmed.bound)
    return _Found(best.taken, best.displaced, best.loss, bound, searched.states)


# --- The solution: back to names --------------------------------------------------------------


def _solution(
    problem: Problem, order: _Order, choice: _Choice, table: _Table, found: _Found
) -> Solution:
    taken = sorted(_members(found.taken), key=table.atoms.__getitem__)
    atoms = {table.atoms[k] for k in taken}
    nodes = _bits([table.nodes[k] for k in taken])
    branches = [_chosen(choice, group, nodes) for group in range(len(choice.nodes))]
    unit = table.weights.unit
    base = (choice.base + sum(problem.extra)) * unit
    cost = (base + found.loss) // unit
    gap = cost - (base + found.bound) // unit
    return Solution(
        cost=cost,
        matches=tuple([_match(order, table, found.displaced, k) for k in taken]),
        extra=tuple([atom for atom in range(len(problem.extra)) if atom not in atoms]),
        missing=_missing(problem, order, nodes | _closed(choice, branches)),
        branches=tuple(branches),
        violations=tuple(_violations(order, table, found.taken)),
        optimal=gap == 0,
        gap=gap,
        states=found.states,
    )


def _match(order: _Order, table: _Table, displaced: int, k: int) -> Match:
    kind = MatchKind.SYNCHRONOUS
    if displaced >> k & 1:
        kind = MatchKind.DISPLACED
    elif k >= table.firsts:
        kind = MatchKind.REPEAT
    return Match(
        atom=table.atoms[k], node=order.names[table.nodes[k]], cost=table.costs[k], kind=kind
    )


def _chosen(choice: _Choice, group: int, nodes: int) -> int:
    """The branch that has matches, or else the first of the cheapest."""
    for at, branch in enumerate(choice.branches[group]):
        if branch & nodes:
            return at
    return choice.surcharges[group].index(0)


def _closed(choice: _Choice, branches: Sequence[int]) -> int:
    """The nodes of all branches that were not chosen."""
    return _union(
        nodes & ~group[chosen]
        for nodes, group, chosen in zip(choice.nodes, choice.branches, branches, strict=True)
    )


def _missing(problem: Problem, order: _Order, excused: int) -> tuple[str, ...]:
    return tuple(
        [
            name
            for name in problem.nodes
            if not excused >> order.number[name] & 1 and problem.miss.get(name, MISS) > 0
        ]
    )


def _violations(order: _Order, table: _Table, taken: int) -> Iterator[tuple[str, str]]:
    """Pairs of matched nodes in the wrong order, with no matched node between the two."""
    firsts = _members(taken & ((1 << table.firsts) - 1))
    if not any(table.conflicts[k] & taken for k in firsts):
        return
    position = {table.nodes[k]: table.atoms[k] for k in firsts}
    matched = _bits(position)
    ancestors = [mask & matched for mask in order.ancestors()]
    for node in sorted(position):
        direct = ancestors[node] & ~_union(ancestors[a] for a in _members(ancestors[node]))
        for before in _members(direct):
            if position[before] > position[node]:
                yield order.names[before], order.names[node]


# --- Sets of small numbers as bits ------------------------------------------------------------


def _bits(numbers: Iterable[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _members(mask: int) -> list[int]:
    members = []
    while mask:
        low = mask & -mask
        members.append(low.bit_length() - 1)
        mask ^= low
    return members
