"""The solver against worked examples, two oracles, and the laws of an alignment."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.align.solver import (
    BENIGN,
    EXTRA,
    MISS,
    OLD,
    SUBSTITUTED,
    MatchKind,
    Problem,
    Solution,
    solve,
)
from tests import oracles

# --- Worked examples --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Example:
    """A procedure and an answer, with what the alignment says of them (atoms count from 0)."""

    says: str
    problem: Problem
    cost: int
    missing: tuple[str, ...] = ()
    extra: tuple[int, ...] = ()
    displaced: tuple[str, ...] = ()
    repeated: tuple[int, ...] = ()
    branches: tuple[int, ...] = ()
    violations: tuple[tuple[str, str], ...] = ()


def aligned(
    procedure: str,
    answer: str,
    *,
    edges: str | None = None,
    groups: tuple[tuple[str, ...], ...] = (),
    optional: str = "",
    repeatable: str = "",
    costs: Mapping[int, int] | None = None,
    extra: Mapping[int, int] | None = None,
    also: Mapping[tuple[int, str], int] | None = None,
) -> Problem:
    """A chain unless edges ("A<B B<C") are given; the answer's words are nodes, or unknown."""
    nodes, atoms = tuple(procedure.split()), answer.split()
    pairs = {(at, word): (costs or {}).get(at, 0) for at, word in enumerate(atoms) if word in nodes}
    return Problem(
        nodes=nodes,
        edges=tuple(pairwise(nodes)) if edges is None else _edges(edges),
        groups=tuple(tuple(tuple(branch.split()) for branch in group) for group in groups),
        miss={node: 0 if node in optional.split() else MISS for node in nodes},
        extra=tuple((extra or {}).get(at, EXTRA) for at in range(len(atoms))),
        pairs={**pairs, **(also or {})},
        repeatable=frozenset(repeatable.split()),
    )


def _edges(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (pair.split("<") for pair in text.split())
    return tuple((before, after) for before, after in pairs)


def two_by_two(answer: str) -> Problem:
    return aligned(
        "A P1 P2 Q1 Q2 Z",
        answer,
        edges="A<P1 P1<P2 A<Q1 Q1<Q2 P2<Z Q2<Z",
        groups=(("P1 P2", "Q1 Q2"),),
    )


EXAMPLES = [
    Example(says="01 an exact chain", problem=aligned("A B C", "A B C"), cost=0),
    Example(
        says="02 independent steps may change places",
        problem=aligned("A B C D", "A C B D", edges="A<B A<C B<D C<D"),
        cost=0,
    ),
    Example(
        says="03 a look between the steps is a benign extra",
        problem=aligned("A B C", "A look B C", extra={1: BENIGN}),
        cost=50,
        extra=(1,),
    ),
    Example(
        says="04 a required step is missing",
        problem=aligned("A B C", "A C"),
        cost=1000,
        missing=("B",),
    ),
    Example(
        says="05 the other branch is as good",
        problem=aligned(
            "A P1 P2 Q1 Z", "A Q1 Z", edges="A<P1 P1<P2 A<Q1 P2<Z Q1<Z", groups=(("P1 P2", "Q1"),)
        ),
        cost=0,
        branches=(1,),
    ),
    Example(
        says="06 of mixed branches the first wins a tie",
        problem=two_by_two("A P1 Q2 Z"),
        cost=1500,
        missing=("P2",),
        extra=(2,),
        branches=(0,),
    ),
    Example(
        says="07 of both branches in full the first wins a tie",
        problem=two_by_two("A P1 P2 Q1 Q2 Z"),
        cost=1000,
        extra=(3, 4),
        branches=(0,),
    ),
    Example(
        says="08 one line with two commands is two atoms",
        problem=aligned("cd make install", "cd make install"),
        cost=0,
    ),
    Example(
        says="09 a compound command is expanded to the atoms of two steps",
        problem=aligned("enable start C", "enable start C"),
        cost=0,
    ),
    Example(
        says="10 a step with two operands is expanded to two nodes",
        problem=aligned("a b B C", "a b B C", edges="a<B b<B B<C"),
        cost=0,
    ),
    Example(
        says="11 a repeatable step may be repeated",
        problem=aligned("A B C", "A B B C", repeatable="B"),
        cost=0,
        repeated=(2,),
    ),
    Example(
        says="12 a second use of another step is extra",
        problem=aligned("A B C", "A B B C"),
        cost=500,
        extra=(2,),
    ),
    Example(
        says="13 an optional step may be skipped",
        problem=aligned("A B C", "A C", optional="B"),
        cost=0,
    ),
    Example(
        says="14 of two swapped steps the early one is displaced",
        problem=aligned("A B C", "A C B"),
        cost=400,
        displaced=("C",),
        violations=(("B", "C"),),
    ),
    Example(
        says="15 one late step is blamed, not the three before it",
        problem=aligned("A B C D", "B C D A"),
        cost=400,
        displaced=("A",),
        violations=(("A", "B"),),
    ),
    Example(
        says="16 of two swapped blocks the early one is displaced",
        problem=aligned("A B C D", "C D A B"),
        cost=800,
        displaced=("C", "D"),
        violations=(("B", "C"),),
    ),
    Example(
        says="17 the command of another version costs less than an extra",
        problem=aligned("A B C", "A B C", costs={1: OLD}),
        cost=400,
    ),
    Example(
        says="18 a paraphrase is matched at the price of its distance",
        problem=aligned("A B C", "A B C", costs={1: 135}),
        cost=135,
    ),
    Example(
        says="19 another value is a substitution",
        problem=aligned("A B C", "A B C", costs={1: SUBSTITUTED}),
        cost=600,
    ),
    Example(
        says="20 a substitution may not be displaced as well",
        problem=aligned("A B C", "A C B", costs={1: SUBSTITUTED, 2: SUBSTITUTED}),
        cost=2100,
        missing=("C",),
        extra=(1,),
    ),
    Example(
        says="21 of two equal steps the one in order is matched",
        problem=aligned("A V B W", "A B V", also={(2, "W"): 0}),
        cost=1000,
        missing=("V",),
    ),
    Example(
        says="22 half an optional block is cheaper as an extra",
        problem=aligned(
            "A O1 O2 Z", "A O1 Z", edges="A<O1 O1<O2 O2<Z A<Z", groups=(("O1 O2", ""),)
        ),
        cost=500,
        extra=(1,),
        branches=(1,),
    ),
    Example(
        says="23 an optional look at another place is a benign extra",
        problem=aligned("A B C", "A C B", optional="C", extra={1: BENIGN}),
        cost=50,
        extra=(1,),
    ),
    Example(
        says="24 a destructive extra costs as much as a missing step",
        problem=aligned("A B C", "A rm B C", extra={1: 1000}),
        cost=1000,
        extra=(1,),
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.says)
def test_a_worked_example_has_its_cost_and_labels(example: Example) -> None:
    solution = solve(example.problem)

    assert solution.cost == example.cost
    assert solution.missing == example.missing
    assert solution.extra == example.extra
    assert _nodes(solution, MatchKind.DISPLACED) == example.displaced
    assert _atoms(solution, MatchKind.REPEAT) == example.repeated
    assert solution.branches == example.branches
    assert solution.violations == example.violations
    assert solution.optimal


def test_all_24_worked_examples_are_here() -> None:
    assert [int(example.says[:2]) for example in EXAMPLES] == list(range(1, 25))


# --- Oracles ----------------------------------------------------------------------------------


def _small(seed: int) -> Problem:
    random = Random(seed)
    return oracles.random_problem(
        random, atoms=random.randint(0, 5), nodes=random.randint(1, 7), candidates=2
    )


def _larger(seed: int) -> Problem:
    random = Random(seed)
    return oracles.random_problem(
        random, atoms=random.randint(6, 14), nodes=random.randint(6, 14), candidates=3
    )


@pytest.mark.parametrize("seed", range(10))
def test_brute_force_finds_nothing_cheaper_and_no_better_tie(seed: int) -> None:
    for problem in (_small(30 * seed + at) for at in range(30)):
        solution = solve(problem)

        assert _key(problem, solution) == oracles.cheapest(problem)
        assert solution.optimal


@pytest.mark.parametrize("seed", range(5))
def test_an_integer_programme_finds_the_same_cost(seed: int) -> None:
    for problem in (_larger(10 * seed + at) for at in range(10)):
        assert solve(problem).cost == oracles.cheapest_by_programme(problem)


@pytest.mark.parametrize("seed", range(5))
def test_the_two_oracles_agree(seed: int) -> None:
    problem = _small(seed)

    assert oracles.cheapest(problem)[0] == oracles.cheapest_by_programme(problem)


# --- Past the limit ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_past_the_limit_the_cost_is_the_same(seed: int) -> None:
    for problem in (_larger(10 * seed + at) for at in range(10)):
        solution = solve(problem, max_states=0)

        assert solution.cost == solve(problem).cost
        assert _cost(problem, solution) == solution.cost
        assert solution.optimal


def test_where_the_programme_is_too_large_the_best_found_comes_with_its_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("procexec.align.fallback.ENTRY_LIMIT", 0)

    gaps = []
    for problem in map(_larger, range(40)):
        optimum, solution = solve(problem, max_states=10**6), solve(problem, max_states=0)
        gaps.append(solution.gap)

        assert _cost(problem, solution) == solution.cost
        assert solution.cost - solution.gap <= optimum.cost <= solution.cost
        assert solution.optimal == (solution.gap == 0)

    assert any(gaps)


# --- Nesting, repeats, size -------------------------------------------------------------------


def test_a_choice_inside_an_option_is_priced_in_its_branch() -> None:
    problem = aligned("A P Q Z", "A Q Z", edges="A<P A<Q P<Z Q<Z", groups=(("P", "Q"), ("P Q", "")))

    solution = solve(problem)

    assert (solution.cost, solution.branches, solution.missing) == (0, (1, 0), ())


def test_an_option_with_a_choice_inside_may_be_skipped() -> None:
    problem = aligned("A P Q Z", "A Z", edges="A<P A<Q P<Z Q<Z", groups=(("P", "Q"), ("P Q", "")))

    solution = solve(problem)

    assert (solution.cost, solution.branches, solution.missing) == (0, (0, 1), ())


def test_an_order_through_a_skipped_step_still_holds() -> None:
    solution = solve(aligned("A B C", "C A", optional="B"))

    assert _nodes(solution, MatchKind.DISPLACED) == ("C",)
    assert solution.violations == (("A", "C"),)


def test_an_early_repeat_is_free_once_a_use_is_in_order() -> None:
    solution = solve(aligned("A B C", "B A B C", repeatable="B"))

    assert solution.cost == 0
    assert _atoms(solution, MatchKind.REPEAT) == (0,)


def test_no_repeat_is_free_without_a_use_in_order() -> None:
    solution = solve(aligned("A B C", "B B A C", edges="A<B C<B", repeatable="B"))

    assert solution.cost == 800
    assert _atoms(solution, MatchKind.REPEAT) == ()


def test_a_use_at_a_loss_may_be_the_one_in_order_that_frees_a_repeat() -> None:
    problem = aligned(
        "A B", "A B A", repeatable="A", optional="A", costs={0: 100}, extra={0: BENIGN}
    )

    solution = solve(problem)

    assert (solution.cost, solution.extra) == (100, ())
    assert _atoms(solution, MatchKind.REPEAT) == (2,)


def test_a_step_is_not_crowded_out_by_its_own_repeat() -> None:
    problem = aligned(
        "a b c d e V", "V V", edges="", repeatable="V", costs={0: 600}, extra={1: BENIGN}
    )

    solution = solve(problem)

    assert (solution.cost, solution.extra) == (5500, (0,))


def test_an_empty_answer_misses_all_required_steps() -> None:
    solution = solve(aligned("A B C", "", optional="B"))

    assert (solution.cost, solution.missing) == (2000, ("A", "C"))


def test_an_empty_procedure_makes_every_atom_extra() -> None:
    solution = solve(Problem(nodes=(), extra=(EXTRA, BENIGN), pairs={}))

    assert (solution.cost, solution.extra) == (550, (0, 1))


def test_a_cycle_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="cycle through B, C"):
        solve(aligned("A B C", "A", edges="A<B B<C C<B"))


@pytest.mark.parametrize("size", [80, 128, 200])
def test_a_long_chain_with_swaps_is_solved_at_any_size(size: int) -> None:
    names = [f"n{at}" for at in range(size)]
    answer = names.copy()
    for at in range(0, size, 20):
        answer[at], answer[at + 1] = answer[at + 1], answer[at]

    solution = solve(aligned(" ".join(names), " ".join(answer)))

    assert solution.cost == 400 * len(range(0, size, 20))
    assert solution.optimal


def test_equal_steps_are_matched_in_order() -> None:
    nodes = " ".join(f"n{at}" for at in range(12))
    everything = {(atom, node): 0 for atom in range(12) for node in nodes.split()}

    solution = solve(aligned(nodes, "x " * 12, also=everything))

    assert [match.node for match in solution.matches] == nodes.split()


# --- Determinism ------------------------------------------------------------------------------

DIGEST = """
from tests.unit import test_solver
for seed in range(40):
    print(test_solver.solve(test_solver._larger(seed)))
"""


def test_the_solution_is_the_same_on_any_hash_seed() -> None:
    digests = {_run(DIGEST, hash_seed) for hash_seed in ("0", "1", "2")}

    assert len(digests) == 1


def _run(script: str, hash_seed: str) -> str:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_the_candidates_does_not_matter(seed: int) -> None:
    problem = _larger(seed)
    backwards = replace(problem, pairs=dict(reversed(list(problem.pairs.items()))))

    assert solve(backwards) == solve(problem)


# --- Laws -------------------------------------------------------------------------------------


def problems() -> st.SearchStrategy[Problem]:
    return st.builds(_larger, st.integers(0, 10**6))


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), nodes=st.integers(1, 25))
def test_aligning_a_procedure_with_itself_costs_nothing(seed: int, nodes: int) -> None:
    solution = solve(oracles.conforming(Random(seed), nodes=nodes))

    assert (solution.cost, solution.missing, solution.extra) == (0, (), ())
    assert all(match.kind is MatchKind.SYNCHRONOUS for match in solution.matches)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_labels_add_up_to_the_cost(problem: Problem) -> None:
    solution = solve(problem)

    assert _cost(problem, solution) == solution.cost


@settings(max_examples=100, deadline=None)
@given(problems())
def test_matches_in_order_break_no_precedence(problem: Problem) -> None:
    solution = solve(problem)

    before = oracles.precedence(problem)
    ordered = [m for m in solution.matches if m.kind is MatchKind.SYNCHRONOUS]
    assert not any((late.node, early.node) in before for early, late in combinations(ordered, 2))


@settings(max_examples=100, deadline=None)
@given(problems())
def test_every_atom_is_matched_once_or_extra(problem: Problem) -> None:
    solution = solve(problem)

    atoms = [match.atom for match in solution.matches]
    assert sorted([*atoms, *solution.extra]) == list(range(len(problem.extra)))


@settings(max_examples=100, deadline=None)
@given(problems())
def test_a_displaced_step_comes_with_a_violation(problem: Problem) -> None:
    solution = solve(problem)

    assert bool(solution.violations) >= bool(_nodes(solution, MatchKind.DISPLACED))


# --- Reading a solution -----------------------------------------------------------------------


def _nodes(solution: Solution, kind: MatchKind) -> tuple[str, ...]:
    return tuple(match.node for match in solution.matches if match.kind is kind)


def _atoms(solution: Solution, kind: MatchKind) -> tuple[int, ...]:
    return tuple(match.atom for match in solution.matches if match.kind is kind)


def _key(problem: Problem, solution: Solution) -> oracles.Key:
    return oracles.key(problem, oracles.uses_of(solution), solution.branches)


def _cost(problem: Problem, solution: Solution) -> int:
    """The cost of the labels alone: what is said to be matched, displaced, extra and missing."""
    return (
        sum(match.cost for match in solution.matches)
        + problem.omega * len(_nodes(solution, MatchKind.DISPLACED))
        + sum(problem.extra[atom] for atom in solution.extra)
        + sum(problem.miss[node] for node in solution.missing)
    )
