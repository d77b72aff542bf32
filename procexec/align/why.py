"""Why an alignment is as it is: what each atom could have stood for, and what that would cost."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from procexec.align import solver
from procexec.align.alignment import Documented, candidates, likely, problem_of
from procexec.model.alignment import Alignment, Candidate, Considered

SHOWN = 3
_FORCED = 100_000  # for leaving an atom out: more than any alignment costs


def considered(alignment: Alignment, doc: Documented) -> tuple[Considered, ...]:
    """Return for each atom what it could stand for, the chosen first, then the cheapest."""
    found = candidates(alignment.atoms, doc)
    problem = problem_of(alignment.atoms, doc, likely(alignment.atoms, doc, found))
    chosen = {(m.atom, m.node) for m in alignment.moves if m.atom is not None and m.node}
    return tuple(
        item
        for atom in range(len(alignment.atoms))
        for item in _of_atom(atom, found, problem, chosen, alignment.cost)
    )


def _of_atom(
    atom: int,
    found: Mapping[tuple[int, str], Candidate],
    problem: solver.Problem,
    chosen: set[tuple[int, str]],
    cost: int,
) -> Iterator[Considered]:
    mine = sorted(
        (pair for pair in found if pair[0] == atom),
        key=lambda pair: (pair not in chosen, found[pair].cost, pair[1]),
    )
    for pair in mine[:SHOWN]:
        is_chosen = pair in chosen
        yield Considered(
            atom=atom,
            node=pair[1],
            candidate=found[pair],
            chosen=is_chosen,
            dearer=None if is_chosen else _dearer(pair, found[pair].cost, problem, cost),
        )


def _dearer(pair: tuple[int, str], price: int, problem: solver.Problem, cost: int) -> int | None:
    """Return how much more the whole costs with a pair forced into it; None if it cannot be."""
    atom = pair[0]
    pairs = {p: c for p, c in problem.pairs.items() if p[0] != atom} | {pair: price}
    extra = tuple(_FORCED if k == atom else c for k, c in enumerate(problem.extra))
    solution = solver.solve(replace(problem, pairs=pairs, extra=extra))
    taken = any((match.atom, match.node) == pair for match in solution.matches)
    return solution.cost - cost if taken else None
