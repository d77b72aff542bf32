"""Time the aligner beside pm4py's, and check that both find the same least cost.

pm4py lives in an environment of its own, made at the first run; this file runs there as the worker.
Both sides are timed alike: the best of five runs of a trace, or the only one if it is slow.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from procexec.align.solver import Problem

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(__file__).resolve().parent / "data" / "alignment_cases.json"
ENVIRONMENT = ROOT / ".cache" / "bench-pm4py"
VERSION = "2.7.23.11"
VARIANTS = ("state_equation_a_star", "dijkstra_less_memory", "dijkstra_no_heuristics")
PM4PY_MOVE = 10_000  # its price of a move on one side only; a silent move costs 1
SLOW = 0.05  # seconds from which one run is enough
RUNS = 5
BUDGET = 8.0  # seconds for one model and variant; then the traces after the third are left out
SEED = 20240607

Tree = str | list[Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model, as a tree and as a graph, and noisy traces of it."""

    name: str
    tree: Tree
    nodes: list[str]
    edges: list[list[str]]
    groups: list[list[list[str]]]
    traces: list[list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One trace: seconds, and the least cost in moves (None: not finished)."""

    seconds: float
    cost: int | None


def main() -> int:
    options = _parser().parse_args()
    if options.worker:
        return _work(options.cases, options.limit)
    cases = _cases(options.cases)
    disagreements = 0
    if not options.without_pm4py:
        _make_environment()
        disagreements = _compare(cases, _pm4py_timings(options.cases, options.limit))
    _large_instances(options.instances)
    return 1 if disagreements else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=Path, default=CASES, help="models and traces (JSON)")
    parser.add_argument(
        "--limit", type=float, default=4.0, help="seconds that pm4py may spend on a trace"
    )
    parser.add_argument(
        "--instances", type=int, default=50, help="instances of 30 steps by 30 for each row"
    )
    parser.add_argument(
        "--without-pm4py", action="store_true", help="only the instances of 30 steps by 30"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser


def _cases(path: Path) -> list[Case]:
    return [Case(**case) for case in json.loads(path.read_text(encoding="utf-8"))]


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    start = perf_counter()
    result = call()
    best = perf_counter() - start
    if best < SLOW:
        for _ in range(RUNS - 1):
            start = perf_counter()
            call()
            best = min(best, perf_counter() - start)
    return best, result


# --- Our side ---------------------------------------------------------------------------------


def classical(case: Case, trace: Sequence[str]) -> "Problem":
    """Every move on one side only costs 1; nothing may stand outside the order."""
    from procexec.align.solver import Problem

    nodes = frozenset(case.nodes)
    return Problem(
        nodes=tuple(case.nodes),
        edges=tuple((before, after) for before, after in case.edges),
        groups=tuple(tuple(tuple(branch) for branch in group) for group in case.groups),
        miss=dict.fromkeys(case.nodes, 1),
        extra=(1,) * len(trace),
        pairs={(atom, label): 0 for atom, label in enumerate(trace) if label in nodes},
        displaced_max=-1,
    )


def _our_timings(case: Case) -> tuple[list[Timing], list[Timing]]:
    """Without and with the building of the problem."""
    from procexec.align.solver import solve

    alone, whole = [], []
    for trace in case.traces:
        problem = classical(case, trace)
        seconds, solution = _timed(lambda problem=problem: solve(problem))  # type: ignore[misc]
        alone.append(Timing(seconds=seconds, cost=solution.cost))
        seconds, solution = _timed(lambda trace=trace: solve(classical(case, trace)))  # type: ignore[misc]
        whole.append(Timing(seconds=seconds, cost=solution.cost))
    return alone, whole


# --- pm4py's side, in its own environment -----------------------------------------------------


def _make_environment() -> None:
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    ask = "from importlib.metadata import version; print(version('pm4py'))"
    installed = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    if installed.stdout.strip() != VERSION:
        requirement = f"pm4py=={VERSION}"
        subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True)


def _pm4py_timings(cases: Path, limit: float) -> Iterator[dict[str, list[Timing]]]:
    """One model after the other: for each variant its timings."""
    python = str(ENVIRONMENT / "bin" / "python")
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [python, __file__, "--worker", "--cases", str(cases), "--limit", str(limit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a banner
        text=True,
        env={**os.environ, **one_thread},
    ) as worker:
        assert worker.stdout is not None
        for line in worker.stdout:
            if line.startswith("{"):  # pm4py prints its licence as well
                yield {
                    variant: [Timing(**timing) for timing in timings]
                    for variant, timings in json.loads(line).items()
                }
    if worker.returncode:
        raise SystemExit(f"the pm4py worker ended with exit code {worker.returncode}")


def _work(cases: Path, limit: float) -> int:
    for case in _cases(cases):
        timings = {variant: _variant_timings(case, variant, limit) for variant in VARIANTS}
        encoded = {variant: [asdict(t) for t in some] for variant, some in timings.items()}
        print(json.dumps(encoded), flush=True)
    return 0


def _variant_timings(case: Case, variant: str, limit: float) -> list[Timing]:
    from importlib import import_module

    module = import_module(f"pm4py.algo.conformance.alignments.petri_net.variants.{variant}")
    net = _net(case.tree)
    parameters = {"max_align_time_trace": limit}
    module.apply(_trace(case.traces[0]), *net, dict(parameters))  # not counted: first use
    timings: list[Timing] = []
    start = perf_counter()
    for labels in case.traces:
        if perf_counter() - start > BUDGET and len(timings) >= 3:
            break
        trace = _trace(labels)
        seconds, aligned = _timed(lambda trace=trace: module.apply(trace, *net, dict(parameters)))  # type: ignore[misc]
        cost = None if aligned is None else int(aligned["cost"] // PM4PY_MOVE)
        timings.append(Timing(seconds=limit if cost is None else seconds, cost=cost))
    return timings


def _trace(labels: Sequence[str]) -> Any:
    from pm4py.objects.log.obj import Event, Trace  # type: ignore[import-not-found]

    trace = Trace()
    for label in labels:
        trace.append(Event({"concept:name": label}))
    return trace


def _net(tree: Tree) -> tuple[Any, Any, Any]:
    """The Petri net of a tree, with its initial and final marking."""
    from pm4py.objects.petri_net.obj import Marking, PetriNet  # type: ignore[import-not-found]

    net = PetriNet("model")
    source, sink = _place(net), _place(net)
    _add(net, tree, source, sink)
    return net, Marking({source: 1}), Marking({sink: 1})


def _add(net: Any, tree: Tree, source: Any, sink: Any) -> None:
    if isinstance(tree, str):
        _transition(net, tree, [source], [sink])
    elif tree[0] == "seq":
        _add_sequence(net, tree[1:], source, sink)
    elif tree[0] == "xor":
        for branch in tree[1:]:
            _add(net, branch, source, sink)
    else:
        _add_parallel(net, tree[1:], source, sink)


def _add_sequence(net: Any, parts: list[Tree], source: Any, sink: Any) -> None:
    if not parts:
        _transition(net, None, [source], [sink])
    for part in parts[:-1]:
        between = _place(net)
        _add(net, part, source, between)
        source = between
    for part in parts[-1:]:
        _add(net, part, source, sink)


def _add_parallel(net: Any, lanes: list[Tree], source: Any, sink: Any) -> None:
    ends = [(_place(net), _place(net)) for _ in lanes]
    _transition(net, None, [source], [first for first, _ in ends])
    _transition(net, None, [last for _, last in ends], [sink])
    for lane, (first, last) in zip(lanes, ends, strict=True):
        _add(net, lane, first, last)


def _place(net: Any) -> Any:
    from pm4py.objects.petri_net.obj import PetriNet

    place = PetriNet.Place(f"p{len(net.places)}")
    net.places.add(place)
    return place


def _transition(net: Any, label: str | None, before: list[Any], after: list[Any]) -> None:
    from pm4py.objects.petri_net.obj import PetriNet
    from pm4py.objects.petri_net.utils.petri_utils import (  # type: ignore[import-not-found]
        add_arc_from_to,
    )

    transition = PetriNet.Transition(f"t{len(net.transitions)}", label)
    net.transitions.add(transition)
    for place in before:
        add_arc_from_to(place, transition, net)
    for place in after:
        add_arc_from_to(transition, place, net)


# --- Side by side -----------------------------------------------------------------------------


def _compare(cases: Sequence[Case], theirs: Iterator[dict[str, list[Timing]]]) -> int:
    """Print the table; return on how many traces the costs differ."""
    print("median milliseconds a trace; 'whole' includes the building of the problem;")
    print("ratios to pm4py's fastest variant on that model\n")
    titles = [*(variant.replace("_", " ") for variant in VARIANTS)]
    print(f"{'model':10} {'ours':>7} {'whole':>7}  " + "  ".join(titles) + "   ratio  whole")
    disagreements, finished = 0, 0
    ratios: list[tuple[float, float]] = []
    for case, timings in zip(cases, theirs, strict=True):
        alone, whole = _our_timings(case)
        fastest = min(map(_median, timings.values()))
        ratios.append((_median(alone) / fastest, _median(whole) / fastest))
        print(_table_row(case, [_median(alone), _median(whole)], timings, ratios[-1]), flush=True)
        for variant, some in timings.items():
            finished += sum(timing.cost is not None for timing in some)
            disagreements += _differing(case, variant, alone, some)
    for what, column in (("solving", 0), ("building and solving", 1)):
        print(_verdict(what, [ratio[column] for ratio in ratios]))
    print(f"costs differ on {disagreements} of {finished} finished alignments\n")
    return disagreements


def _median(timings: Sequence[Timing]) -> float:
    return 1000 * statistics.median(timing.seconds for timing in timings)


def _table_row(
    case: Case,
    ours: Sequence[float],
    theirs: dict[str, list[Timing]],
    ratios: tuple[float, float],
) -> str:
    cells = [f"{case.name:10}", *(f"{median:7.3f}" for median in ours), ""]
    for variant in VARIANTS:
        late = sum(timing.cost is None for timing in theirs[variant])
        mark = f" ({late} late)" if late else ""
        cells.append(f"{f'{_median(theirs[variant]):.3f}{mark}':>{len(variant) + 1}}")
    return " ".join(cells) + f"   {ratios[0]:5.2f}  {ratios[1]:5.2f}"


def _differing(case: Case, variant: str, ours: Sequence[Timing], theirs: Sequence[Timing]) -> int:
    differing = 0
    for at, (our, their) in enumerate(zip(ours, theirs, strict=False)):
        if their.cost is not None and our.cost != their.cost:
            differing += 1
            print(f"{case.name} trace {at}: we say {our.cost}, {variant} says {their.cost}")
    return differing


def _verdict(what: str, ratios: Sequence[float]) -> str:
    below = sum(ratio <= 1 for ratio in ratios)
    return (
        f"{what}: at or below pm4py's fastest on {below} of {len(ratios)}, "
        f"worst ratio {max(ratios):.2f}, median ratio {statistics.median(ratios):.2f}"
    )


# --- 30 steps by 30 ---------------------------------------------------------------------------


def _large_instances(instances: int) -> None:
    from procexec.align.solver import solve

    print("30 steps by about 30 atoms, five lanes, a fifth of the answer disturbed (milliseconds)")
    for spurious in (1, 2, 4):
        random = Random(SEED)
        problems = [lanes(random, steps=30, width=5, spurious=spurious) for _ in range(instances)]
        solve(problems[0])  # not counted: first use
        timed = [_timed(lambda problem=problem: solve(problem)) for problem in problems]  # type: ignore[misc]
        milliseconds = [1000 * seconds for seconds, _ in timed]
        states = [solution.states for _, solution in timed]
        print(
            f"{spurious} spurious candidates: median {statistics.median(milliseconds):6.2f}, "
            f"max {max(milliseconds):6.2f}; states median {statistics.median(states):.0f}, "
            f"max {max(states)}; all optimal: {all(solution.optimal for _, solution in timed)}"
        )


def lanes(random: Random, *, steps: int, width: int, spurious: int) -> "Problem":
    """Lanes with some edges across and two choices; the answer follows it but for some noise."""
    from procexec.align.solver import EXTRA, MISS, Problem

    nodes = [f"v{at}" for at in range(steps)]
    edges = [(nodes[at - width], nodes[at]) for at in range(width, steps)]
    edges += [
        (nodes[at - random.randrange(1, width)], nodes[at])
        for at in range(width, steps)
        if random.random() < 0.25
    ]
    optional = random.sample(nodes, 4)
    answer = list(_disturbed(random, _in_some_order(random, nodes, edges)))
    return Problem(
        nodes=tuple(nodes),
        edges=tuple(edges),
        groups=(((nodes[10],), (nodes[11],)), ((nodes[20], nodes[20 + width]), (nodes[21],))),
        miss={node: 0 if node in optional else MISS for node in nodes},
        extra=(EXTRA,) * len(answer),
        pairs=_candidates(random, nodes, answer, spurious),
    )


def _in_some_order(
    random: Random, nodes: Sequence[str], edges: Sequence[tuple[str, str]]
) -> list[str]:
    left, order = list(nodes), list[str]()
    while left:
        held = {after for before, after in edges if before in left}
        order.append(random.choice([node for node in left if node not in held]))
        left.remove(order[-1])
    return order


def _disturbed(random: Random, order: Sequence[str]) -> Iterator[tuple[str | None, int]]:
    """Each step with the cost of its match, or nothing that is known."""
    left = list(order)
    while left:
        node = left.pop(0)
        kind = random.choice(["left out", "put in", "swapped", "substituted"])
        if random.random() >= 0.2:
            yield node, 0
        elif kind == "put in":
            yield from ((None, 0), (node, 0))
        elif kind == "substituted":
            yield node, 600
        elif kind == "swapped" and left:
            yield from ((left.pop(0), 0), (node, 0))


def _candidates(
    random: Random,
    nodes: Sequence[str],
    answer: Sequence[tuple[str | None, int]],
    spurious: int,
) -> dict[tuple[int, str], int]:
    pairs = {}
    for atom, (node, cost) in enumerate(answer):
        for other in random.sample(nodes, spurious):
            pairs[atom, other] = random.choice([100, 300, 400, 600])
        if node is not None:
            pairs[atom, node] = cost
    return pairs


if __name__ == "__main__":
    sys.exit(main())
