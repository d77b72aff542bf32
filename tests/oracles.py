"""Slow and simple ways to the same alignment, and random problems to compare them on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from random import Random

import networkx as nx
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from procexec.align.solver import EXTRA, MISS, OLD, SUBSTITUTED, MatchKind, Problem, Solution

Use = tuple[int, str, MatchKind]
Key = tuple[int, int, int, int]


# --- Any set of uses, priced by the definition ------------------------------------------------


def key(problem: Problem, uses: Sequence[Use], branches: Sequence[int]) -> Key:
    """Cost, displaced atoms, their positions, and how far matches are from their nodes' places."""
    displaced = [atom for atom, _, kind in uses if kind is MatchKind.DISPLACED]
    return (
        cost(problem, uses, branches),
        len(displaced),
        sum(displaced),
        sum(_distance(problem, use) for use in uses),
    )


def cost(problem: Problem, uses: Sequence[Use], branches: Sequence[int]) -> int:
    """The labels added up: matches, displacements, extra atoms, missing steps."""
    atoms = {atom for atom, _, _ in uses}
    nodes = {node for _, node, _ in uses}
    return (
        sum(problem.pairs[atom, node] for atom, node, _ in uses)
        + sum(problem.omega for _, _, kind in uses if kind is MatchKind.DISPLACED)
        + sum(price for atom, price in enumerate(problem.extra) if atom not in atoms)
        + sum(problem.miss[node] for node in active(problem, branches) if node not in nodes)
    )


def uses_of(solution: Solution) -> list[Use]:
    return [(match.atom, match.node, match.kind) for match in solution.matches]


def active(problem: Problem, branches: Sequence[int]) -> list[str]:
    """The nodes that are in the chosen branch of each group they lie in."""
    closed = {
        node
        for group, chosen in zip(problem.groups, branches, strict=True)
        for branch in group
        for node in branch
        if node not in group[chosen]
    }
    return [node for node in problem.nodes if node not in closed]


def precedence(problem: Problem) -> set[tuple[str, str]]:
    """All pairs of the strict order."""
    return set(nx.transitive_closure(_graph(problem)).edges)


def places(problem: Problem) -> dict[str, int]:
    """The number of each node: by level, then by document order."""
    document = {node: at for at, node in enumerate(problem.nodes)}
    levels = nx.topological_generations(_graph(problem))
    ordered = [node for level in levels for node in sorted(level, key=document.__getitem__)]
    return {node: at for at, node in enumerate(ordered)}


def _distance(problem: Problem, use: Use) -> int:
    atom, node, kind = use
    square = (atom - places(problem)[node]) ** 2
    return square + (len(problem.extra) - atom if kind is MatchKind.REPEAT else 0)


def _graph(problem: Problem) -> "nx.DiGraph[str]":
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(problem.nodes)
    graph.add_edges_from(problem.edges)
    return graph


# --- Brute force ------------------------------------------------------------------------------


def cheapest(problem: Problem) -> Key:
    """The least key of all feasible sets of uses, over all choices of branches."""
    choices = product(*(range(len(group)) for group in problem.groups))
    return min(
        key(problem, uses, branches)
        for branches in choices
        for uses in _feasible(problem, set(active(problem, branches)))
    )


def _feasible(problem: Problem, allowed: set[str]) -> Iterator[list[Use]]:
    before = precedence(problem)
    candidates: list[list[str]] = [[] for _ in problem.extra]
    for atom, node in problem.pairs:
        if node in allowed:
            candidates[atom].append(node)

    def extend(atom: int, uses: list[Use]) -> Iterator[list[Use]]:
        if atom == len(candidates):
            if _well_founded(problem, uses):
                yield uses
            return
        yield from extend(atom + 1, uses)
        for node in candidates[atom]:
            for kind in MatchKind:
                if _may_follow(problem, before, uses, (atom, node, kind)):
                    yield from extend(atom + 1, [*uses, (atom, node, kind)])

    yield from extend(0, [])


def _may_follow(
    problem: Problem, before: set[tuple[str, str]], uses: Sequence[Use], use: Use
) -> bool:
    atom, node, kind = use
    others = [other for _, used, other in uses if used == node]
    if kind is MatchKind.REPEAT:
        return node in problem.repeatable
    if kind is MatchKind.DISPLACED:
        used_up = bool(others) and node not in problem.repeatable
        return not used_up and problem.pairs[atom, node] <= problem.displaced_max
    return all(other is MatchKind.REPEAT for other in others) and not any(
        (node, used) in before for _, used, other in uses if other is MatchKind.SYNCHRONOUS
    )


def _well_founded(problem: Problem, uses: Sequence[Use]) -> bool:
    """A repeat needs a use in order; beside one, a displaced use would be a repeat."""
    ordered = {node for _, node, kind in uses if kind is MatchKind.SYNCHRONOUS}
    return all(
        (kind is MatchKind.REPEAT) <= (node in ordered)
        and not (kind is MatchKind.DISPLACED and node in ordered)
        for _, node, kind in uses
    )


# --- Integer programme, one row for each pair in conflict -------------------------------------


@dataclass
class _Programme:
    """Minimise a linear cost over binary variables, rows being sums between two bounds."""

    prices: list[int] = field(default_factory=list)
    rows: list[tuple[dict[int, int], float, float]] = field(default_factory=list)
    constant: int = 0

    def variable(self, price: int) -> int:
        self.prices.append(price)
        return len(self.prices) - 1

    def at_most(self, coefficients: dict[int, int], upper: float, lower: float = -np.inf) -> None:
        self.rows.append((coefficients, lower, upper))

    def minimum(self) -> int:
        matrix = np.zeros((len(self.rows), len(self.prices)))
        for at, (coefficients, _, _) in enumerate(self.rows):
            for variable, coefficient in coefficients.items():
                matrix[at, variable] = coefficient
        result = milp(
            np.array(self.prices, dtype=np.float64),
            constraints=LinearConstraint(
                matrix,
                np.array([row[1] for row in self.rows]),
                np.array([row[2] for row in self.rows]),
            ),
            integrality=np.ones(len(self.prices), dtype=np.int64),
            bounds=Bounds(0, 1),
            options={"mip_rel_gap": 0},
        )
        assert result.fun is not None
        return round(result.fun) + self.constant


def cheapest_by_programme(problem: Problem) -> int:
    programme = _Programme(constant=sum(problem.extra))
    chosen = _branch_variables(problem, programme)
    uses = _use_variables(problem, programme)
    for at in range(len(problem.extra)):
        row = {x: 1 for (atom, _, _), x in uses.items() if atom == at}
        programme.at_most(row, 1)
    for node in problem.nodes:
        _node_rows(problem, programme, uses, chosen, node)
    before = precedence(problem)
    ordered = [(use, x) for use, x in uses.items() if use[2] is MatchKind.SYNCHRONOUS]
    for ((atom, node, _), x), ((other, late, _), y) in product(ordered, repeat=2):
        if atom < other and (late, node) in before:
            programme.at_most({x: 1, y: 1}, 1)
    return programme.minimum()


def _branch_variables(problem: Problem, programme: _Programme) -> list[tuple[set[str], int]]:
    """For each branch the nodes that it closes when it is not chosen, and its variable."""
    chosen = []
    for group in problem.groups:
        variables = {programme.variable(0): 1 for _ in group}
        programme.at_most(variables, 1, 1)
        chosen += [(set(branch), x) for branch, x in zip(group, variables, strict=True)]
    return chosen


def _use_variables(problem: Problem, programme: _Programme) -> dict[Use, int]:
    uses: dict[Use, int] = {}
    for (atom, node), price in problem.pairs.items():
        saved = price - problem.extra[atom]
        uses[atom, node, MatchKind.SYNCHRONOUS] = programme.variable(saved)
        if price <= problem.displaced_max:
            uses[atom, node, MatchKind.DISPLACED] = programme.variable(saved + problem.omega)
        if node in problem.repeatable:
            uses[atom, node, MatchKind.REPEAT] = programme.variable(saved)
    return uses


def _node_rows(
    problem: Problem,
    programme: _Programme,
    uses: dict[Use, int],
    chosen: list[tuple[set[str], int]],
    node: str,
) -> None:
    miss = problem.miss[node]
    needed, matched = programme.variable(miss), programme.variable(-miss)
    around = [y for branch, y in chosen if node in branch]
    programme.at_most({**dict.fromkeys(around, 1), needed: -1}, len(around) - 1)
    mine = {kind: [x for use, x in uses.items() if use[1:] == (node, kind)] for kind in MatchKind}
    ordered = dict.fromkeys(mine[MatchKind.SYNCHRONOUS], 1)
    displaced = dict.fromkeys(mine[MatchKind.DISPLACED], 1)
    programme.at_most({matched: 1, **_negative(ordered), **_negative(displaced)}, 0)
    programme.at_most(ordered if node in problem.repeatable else ordered | displaced, 1)
    for x in displaced:
        programme.at_most(ordered | {x: 1}, 1)
    for x in mine[MatchKind.REPEAT]:
        programme.at_most({x: 1, **_negative(ordered)}, 0)
    for x, y in product((x for kind in MatchKind for x in mine[kind]), around):
        programme.at_most({x: 1, y: -1}, 0)


def _negative(row: dict[int, int]) -> dict[int, int]:
    return {variable: -coefficient for variable, coefficient in row.items()}


# --- Random problems --------------------------------------------------------------------------


@dataclass
class Shape:
    """A procedure being drawn: blocks in a row, side by side, or as alternatives."""

    random: Random
    nodes: list[str] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(default_factory=list)
    groups: list[tuple[tuple[str, ...], ...]] = field(default_factory=list)

    def block(self, size: int, depth: int) -> list[str]:
        """Add a block of so many nodes; return them."""
        if size <= 1 or depth == 0:
            return self._chain(size)
        first = self.random.randrange(1, size + 1)
        kind = self.random.choice(["row", "side by side", "choice", "option"])
        one = self.block(first, depth - 1)
        other = self.block(size - first, depth - 1)
        if kind == "row":
            self.edges += list(product(one, other))
        elif kind == "choice" and other:
            self.groups.append((tuple(one), tuple(other)))
        elif kind == "option":
            self.groups.append((tuple(one), ()))
        return one + other

    def _chain(self, size: int) -> list[str]:
        names = [f"v{len(self.nodes) + at}" for at in range(size)]
        self.nodes += names
        self.edges += list(pairwise(names))
        return names


def random_problem(random: Random, *, atoms: int, nodes: int, candidates: int) -> Problem:
    """A procedure with nested choices, and atoms that resemble up to so many nodes each."""
    shape = Shape(random)
    shape.block(nodes, 3)
    names = tuple(shape.nodes)
    near = [
        (atom, node)
        for atom in range(atoms)
        for node in random.sample(names, random.randint(0, min(candidates, len(names))))
    ]
    return Problem(
        nodes=names,
        edges=tuple(shape.edges),
        groups=tuple(shape.groups),
        miss={node: random.choice([MISS, MISS, MISS, 2 * MISS, 0]) for node in names},
        extra=tuple(random.choice([EXTRA, EXTRA, 50, 1000]) for _ in range(atoms)),
        pairs={pair: random.choice([0, 0, 100, 300, OLD, SUBSTITUTED]) for pair in near},
        repeatable=frozenset(random.sample(names, len(names) // 3)),
        displaced_max=random.choice([OLD, OLD, -1]),
    )


def conforming(random: Random, *, nodes: int) -> Problem:
    """A procedure and an answer that follows it: one choice of branches, one order."""
    shape = Shape(random)
    shape.block(nodes, 3)
    empty = Problem(
        nodes=tuple(shape.nodes),
        edges=tuple(shape.edges),
        groups=tuple(shape.groups),
        miss=dict.fromkeys(shape.nodes, MISS),
        extra=(),
        pairs={},
    )
    branches = [random.randrange(len(group)) for group in shape.groups]
    answer = _shuffled(random, empty, active(empty, branches))
    return Problem(
        nodes=empty.nodes,
        edges=empty.edges,
        groups=empty.groups,
        miss=empty.miss,
        extra=(EXTRA,) * len(answer),
        pairs=dict.fromkeys(enumerate(answer), 0),
    )


def _shuffled(random: Random, problem: Problem, nodes: list[str]) -> list[str]:
    before = precedence(problem)
    left, answer = list(nodes), []
    while left:
        ready = [node for node in left if not any((other, node) in before for other in left)]
        answer.append(random.choice(ready))
        left.remove(answer[-1])
    return answer
