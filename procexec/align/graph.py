"""A documented procedure as a graph of atoms."""

from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

from procexec.model.document import Procedure, Step, version_matches
from procexec.model.step import (
    Action,
    Atom,
    Command,
    FileWrite,
    Input,
    Manual,
    Session,
    WriteMode,
)
from procexec.shell.atoms import Bound, ShellKnowledge, atoms, atoms_and_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An atom of a documented step; ``others`` are the same step on other versions."""

    id: str
    step: Step
    atom: Atom
    others: tuple[Atom, ...] = ()


def actions(step: Step, version: str) -> tuple[Action, ...]:
    """Return what a documented step tells to do on a version, in the same words as an answer."""
    if step.file is not None:
        mode = WriteMode.APPEND if step.file.append else WriteMode.CREATE
        return (FileWrite(path=step.file.path, content=step.file.content, mode=mode),)
    if step.input is not None:
        lines = step.input.reply.split("\n")
        return tuple(Input(keys=(line + "\r",), prompt=step.input.prompt) for line in lines)
    if step.session is not None:
        return (Session(program=step.session.program, lines=step.session.lines),)
    if step.manual is not None:
        return (Manual(text=step.manual),)
    return tuple(Command(text=text) for text in _runs(step, version))


def _runs(step: Step, version: str) -> list[str]:
    if isinstance(step.run, str):
        return [step.run]
    fitting = [r.run for r in step.run or () if version_matches(version, r.versions)]
    return fitting[:1]


def _other_runs(step: Step, version: str) -> list[Action]:
    if step.run is None or isinstance(step.run, str):
        return []
    return [Command(text=r.run) for r in step.run if not version_matches(version, r.versions)]


def nodes_and_bounds(
    procedure: Procedure, version: str, knowledge: ShellKnowledge
) -> tuple[tuple[Node, ...], tuple[tuple[str, Bound], ...]]:
    """Return the atoms of all steps, and the steps that open or leave a program, in document order.

    A step with several atoms is cut into parts.
    """
    found: list[Node] = []
    every = [(step, actions(step, version)) for step in procedure.steps]
    flat = [action for _, steps in every for action in steps]
    owners = [step for step, steps in every for _ in steps]
    grouped: dict[str, list[Atom]] = {step.id: [] for step in procedure.steps}
    every_atom, bounds = atoms_and_bounds(flat, knowledge)
    for atom in every_atom:
        grouped[owners[atom.step].id].append(atom)
    for step in procedure.steps:
        parts = grouped[step.id]
        others = atoms(_other_runs(step, version), knowledge)
        for k, atom in enumerate(parts, 1):
            name = step.id if len(parts) == 1 else f"{step.id}#{k}"
            found.append(Node(id=name, step=step, atom=atom, others=others))
    return tuple(found), tuple((owners[bound.step].id, bound) for bound in bounds)


def step_graph(procedure: Procedure) -> "nx.DiGraph[str]":
    """Return the documented order: an edge from each step to those that must come after it."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for step in procedure.steps:
        graph.add_node(step.id)
    for step in procedure.steps:
        graph.add_edges_from((before, step.id) for before in step.after)
    return graph


def atom_edges(procedure: Procedure, every: tuple[Node, ...]) -> tuple[tuple[str, str], ...]:
    """Return the hard edges between atoms: within a step in order, between steps by ``after``."""
    parts: dict[str, list[str]] = {step.id: [] for step in procedure.steps}
    for node in every:
        parts[node.step.id].append(node.id)
    within = [pair for names in parts.values() for pair in pairwise(names)]
    closure = nx.transitive_closure(step_graph(procedure))
    between = [
        (parts[before][-1], parts[after][0])
        for before, after in sorted(closure.edges)
        if parts[before] and parts[after]
    ]
    return (*within, *between)


def branches(every: tuple[Node, ...]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the alternatives: group, branch, the branch's nodes, all in document order."""
    found: dict[str, dict[str, list[str]]] = {}
    for node in every:
        if node.step.any_of is not None and node.step.branch is not None:
            group = found.setdefault(node.step.any_of, {})
            group.setdefault(node.step.branch, []).append(node.id)
    return {
        group: {branch: tuple(names) for branch, names in members.items()}
        for group, members in found.items()
    }


def dot(procedure: Procedure) -> str:
    """Return the procedure's graph in Graphviz's language, reduced to its direct edges."""
    graph = nx.transitive_reduction(step_graph(procedure))
    lines = ["digraph procedure {", "  rankdir=TB; node [shape=box, fontname=monospace];"]
    for step in procedure.steps:
        style = "" if step.required else ", style=dashed"
        group = f"\\n({step.any_of}: {step.branch})" if step.any_of else ""
        lines.append(f"  {_quoted(step.id)} [label={_quoted(step.id + group)}{style}];")
    lines += [f"  {_quoted(u)} -> {_quoted(v)};" for u, v in sorted(graph.edges)]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', r"\"") + '"'
