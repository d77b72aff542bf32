"""An answer beside its documented procedure: the cheapest list of moves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from procexec.align import solver
from procexec.align.graph import Node, atom_edges, branches, nodes_and_bounds
from procexec.align.similarity import Values, candidate
from procexec.model.alignment import Alignment, Candidate, Label, Move, MoveKind
from procexec.model.document import Procedure
from procexec.model.step import Action, Atom, AtomKind
from procexec.shell.atoms import Bound, ShellKnowledge, atoms_and_bounds

_LOOK_ALIKE = solver.BENIGN - 10
_KINDS = {
    solver.MatchKind.SYNCHRONOUS: MoveKind.SYNCHRONOUS,
    solver.MatchKind.DISPLACED: MoveKind.DISPLACED,
    solver.MatchKind.REPEAT: MoveKind.REPEAT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """A procedure on one version, ready for any number of answers."""

    procedure: Procedure
    version: str
    knowledge: ShellKnowledge
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    groups: dict[str, dict[str, tuple[str, ...]]]
    bounds: tuple[tuple[str, Bound], ...]
    values: Values


def documented(procedure: Procedure, version: str, knowledge: ShellKnowledge) -> Documented:
    """Return a procedure as it is aligned with answers."""
    every, bounds = nodes_and_bounds(procedure, version, knowledge)
    return Documented(
        procedure=procedure,
        version=version,
        knowledge=knowledge,
        nodes=every,
        edges=atom_edges(procedure, every),
        groups=branches(every),
        bounds=bounds,
        values=Values(
            given={name: str(value) for name, value in procedure.given.items()},
            free={name: str(value) for name, value in procedure.free.items()},
        ),
    )


def align(actions: Sequence[Action], doc: Documented) -> Alignment:
    """Return an optimal alignment of an answer's actions to a documented procedure."""
    answer, bounds = atoms_and_bounds(actions, doc.knowledge)
    found = candidates(answer, doc)
    problem = problem_of(answer, doc, likely(answer, doc, found))
    solution = solver.solve(problem)
    chosen = {
        group: list(doc.groups[group])[k]
        for group, k in zip(doc.groups, solution.branches, strict=True)
    }
    return Alignment(
        atoms=answer,
        moves=tuple(_moves(answer, doc, found, solution)),
        cost=solution.cost,
        fitness=_fitness(solution.cost, problem),
        branches=chosen,
        bindings=_bindings(found, solution),
        violations=solution.violations,
        optimal=solution.optimal,
        gap=solution.gap,
        bounds=_bounds(bounds, doc),
    )


def _bounds(found: Sequence[Bound], doc: Documented) -> dict[int, tuple[str, ...]]:
    """Return the documented steps that open or leave the same program, by the answer's step."""
    rest = list(doc.bounds)
    named: dict[int, tuple[str, ...]] = {}
    for bound in found:
        same = [b for b in rest if (b[1].program, b[1].opens) == (bound.program, bound.opens)]
        if same:
            rest.remove(same[0])
            named[bound.step] = (*named.get(bound.step, ()), same[0][0])
    return named


def candidates(answer: Sequence[Atom], doc: Documented) -> dict[tuple[int, str], Candidate]:
    """Return the pairs of an answer's atoms and documented ones that could be matched."""
    found = {}
    for k, atom in enumerate(answer):
        for node in doc.nodes:
            pair = candidate(node.atom, node.others, atom, doc.values)
            if pair is not None and not (atom.looks and node.step.required):
                found[k, node.id] = _look_alike(pair, node, atom)
    return found


def _look_alike(pair: Candidate, node: Node, atom: Atom) -> Candidate:
    """Return a pair of two looks at the same thing, with other options, as a variant.

    Only where the documentation leaves it to the reader whether to look.
    """
    if atom.looks:
        return replace(pair, cost=min(pair.cost, _LOOK_ALIKE))
    optional = not node.step.required and node.atom.read_only and atom.read_only
    other = pair.reshaped or pair.against or pair.label is not Label.SUBSTITUTED
    if not optional or other:
        return pair
    return replace(pair, cost=_LOOK_ALIKE, label=Label.VARIANT)


def likely(
    answer: Sequence[Atom], doc: Documented, found: dict[tuple[int, str], Candidate]
) -> dict[tuple[int, str], Candidate]:
    """Return the pairs without substitutions by what only looks, and by what is another documented step.

    A command that is documented word for word is no wrong version of another one, and what changes
    nothing stands for nothing that does.
    """
    exact = {k for (k, _), pair in found.items() if pair.label is not Label.SUBSTITUTED}
    looks = {node.id for node in doc.nodes if node.atom.read_only}
    return {
        (k, node): pair
        for (k, node), pair in found.items()
        if pair.label is not Label.SUBSTITUTED
        or (k not in exact and (node in looks or not answer[k].read_only))
    }


def problem_of(
    answer: Sequence[Atom], doc: Documented, found: dict[tuple[int, str], Candidate]
) -> solver.Problem:
    """Return what the solver is asked: which of the pairs to take."""
    return solver.Problem(
        nodes=tuple(node.id for node in doc.nodes),
        edges=doc.edges,
        groups=tuple(tuple(members.values()) for members in doc.groups.values()),
        miss={node.id: solver.MISS if node.step.required else 0 for node in doc.nodes},
        extra=tuple(_extra_cost(atom) for atom in answer),
        pairs={pair: c.cost for pair, c in found.items()},
        repeatable=frozenset(node.id for node in doc.nodes if node.step.repeatable),
    )


def _extra_cost(atom: Atom) -> int:
    """Return what an atom costs that no step asks for: checks and replies cost little."""
    return solver.BENIGN if atom.read_only or atom.kind is AtomKind.INPUT else solver.EXTRA


def _moves(
    answer: Sequence[Atom],
    doc: Documented,
    found: dict[tuple[int, str], Candidate],
    solution: solver.Solution,
) -> list[Move]:
    matched = {match.atom: match for match in solution.matches}
    moves = []
    for k, atom in enumerate(answer):
        if match := matched.get(k):
            pair = found[k, match.node]
            move = Move(
                kind=_KINDS[match.kind],
                label=pair.label,
                cost=match.cost,
                atom=k,
                node=match.node,
                detail=pair.detail,
                against=pair.against,
                reshaped=pair.reshaped,
                added=pair.added,
                foreign=pair.foreign,
            )
        else:
            label = Label.CHECK if atom.read_only else Label.EXTRA
            move = Move(kind=MoveKind.ANSWER_ONLY, label=label, cost=_extra_cost(atom), atom=k)
        moves.append(move)
    return [*moves, *_unmatched_nodes(doc, solution)]


def _unmatched_nodes(doc: Documented, solution: solver.Solution) -> list[Move]:
    used = {match.node for match in solution.matches}
    missing = set(solution.missing)
    return [
        Move(
            kind=MoveKind.PROCEDURE_ONLY,
            label=Label.MISSING if node.id in missing else Label.SKIPPED,
            cost=solver.MISS if node.id in missing else 0,
            node=node.id,
        )
        for node in doc.nodes
        if node.id not in used
    ]


def _bindings(found: dict[tuple[int, str], Candidate], solution: solver.Solution) -> dict[str, str]:
    """Return the values of the matched pairs; the first in the answer wins."""
    bound: dict[str, str] = {}
    for match in sorted(solution.matches, key=lambda m: m.atom):
        for name, value in found[match.atom, match.node].bindings:
            bound.setdefault(name, value)
    return bound


def _fitness(cost: int, problem: solver.Problem) -> float:
    """Return 1 - cost / worst cost: 1 is the documented procedure, 0 has nothing of it."""
    in_groups = {v for group in problem.groups for branch in group for v in branch}
    missing = sum(c for v, c in problem.miss.items() if v not in in_groups)
    cheapest = sum(
        min(sum(problem.miss.get(v, solver.MISS) for v in b) for b in g) for g in problem.groups
    )
    worst = missing + cheapest + sum(problem.extra)
    return round(1 - cost / worst, 4) if worst else 1.0
