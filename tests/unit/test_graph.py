"""A documented procedure as a graph of atoms."""

from typing import Any

import msgspec
import pytest

from procexec.align.graph import actions, atom_edges, branches, dot, nodes_and_bounds, step_graph
from procexec.model.document import FileContent, Procedure, Realisation, Reply, SessionLines, Step
from procexec.model.step import Command, FileWrite, Input, Manual, Session, WriteMode
from procexec.shell.atoms import ShellKnowledge

KNOWLEDGE = ShellKnowledge(options={})


def procedure(*steps: dict[str, Any]) -> Procedure:
    raw = {
        "id": "tool/make",
        "title": "Make a thing",
        "product": "tool",
        "doc": {"title": "Manual", "url": "https://example.test/manual"},
        "versions": ["1", "2"],
        "steps": steps,
    }
    return msgspec.convert(raw, Procedure)


def edges(made: Procedure) -> set[tuple[str, str]]:
    return set(atom_edges(made, nodes_and_bounds(made, "1", KNOWLEDGE)[0]))


def test_a_step_of_one_command_is_one_node() -> None:
    made = procedure({"id": "a", "run": "mkdir x"})

    assert [n.id for n in nodes_and_bounds(made, "1", KNOWLEDGE)[0]] == ["a"]


def test_a_step_of_several_commands_is_cut_into_numbered_parts() -> None:
    made = procedure({"id": "a", "run": "mkdir x && touch x/f"})

    assert [n.id for n in nodes_and_bounds(made, "1", KNOWLEDGE)[0]] == ["a#1", "a#2"]
    assert edges(made) == {("a#1", "a#2")}


def test_only_real_dependencies_are_edges() -> None:
    made = procedure(
        {"id": "a", "run": "a"}, {"id": "b", "run": "b"}, {"id": "c", "run": "c", "after": ["a"]}
    )

    assert edges(made) == {("a", "c")}


def test_an_edge_goes_through_a_step_that_gives_no_atom() -> None:
    made = procedure(
        {"id": "a", "run": "a"},
        {"id": "b", "run": "# nothing", "after": ["a"]},
        {"id": "c", "run": "c", "after": ["b"]},
    )

    assert edges(made) == {("a", "c")}


def test_an_edge_joins_the_last_part_to_the_first() -> None:
    made = procedure({"id": "a", "run": "a1; a2"}, {"id": "b", "run": "b1; b2", "after": ["a"]})

    assert edges(made) == {("a#1", "a#2"), ("b#1", "b#2"), ("a#2", "b#1")}


def test_a_directory_is_known_over_steps() -> None:
    made = procedure({"id": "a", "run": "cd x"}, {"id": "b", "run": "cd y"})

    assert nodes_and_bounds(made, "1", KNOWLEDGE)[0][1].atom.stages[0].operands == ("/root/x/y",)


VERSIONED = (
    Realisation(run="old a", versions="<2"),
    Realisation(run="new a", versions=">=2"),
)


@pytest.mark.parametrize(
    ("version", "now", "other"), [("1", "old a", "new a"), ("2", "new a", "old a")]
)
def test_a_step_is_run_as_its_version_wants(version: str, now: str, other: str) -> None:
    made = procedure({"id": "a", "run": msgspec.to_builtins(VERSIONED)})

    (node,) = nodes_and_bounds(made, version, KNOWLEDGE)[0]

    assert (node.atom.text, [atom.text for atom in node.others]) == (now, [other])


def test_a_step_that_no_version_fits_gives_no_node() -> None:
    made = procedure({"id": "a", "run": [{"run": "old a", "versions": "<1"}]})

    assert nodes_and_bounds(made, "1", KNOWLEDGE)[0] == ()


def test_every_kind_of_step_becomes_its_action() -> None:
    reply = Step(id="i", input=Reply(prompt="Sure?", reply="y\nn"))

    assert actions(Step(id="r", run="a"), "1") == (Command(text="a"),)
    assert actions(Step(id="m", manual="Look"), "1") == (Manual(text="Look"),)
    assert actions(Step(id="f", file=FileContent(path="p", content="c", append=True)), "1") == (
        FileWrite(path="p", content="c", mode=WriteMode.APPEND),
    )
    assert actions(Step(id="s", session=SessionLines(program="p", lines=("l",))), "1") == (
        Session(program="p", lines=("l",)),
    )
    assert actions(reply, "1") == (
        Input(keys=("y\r",), prompt="Sure?"),
        Input(keys=("n\r",), prompt="Sure?"),
    )


def test_alternatives_are_grouped_in_document_order() -> None:
    made = procedure(
        {"id": "z", "run": "z1; z2", "any_of": "way", "branch": "x"},
        {"id": "y", "run": "y", "any_of": "way", "branch": "a"},
        {"id": "w", "run": "w"},
    )

    assert branches(nodes_and_bounds(made, "1", KNOWLEDGE)[0]) == {
        "way": {"x": ("z#1", "z#2"), "a": ("y",)}
    }


def test_the_drawing_shows_direct_edges_optional_steps_and_branches() -> None:
    made = procedure(
        {"id": "a", "run": "a"},
        {"id": 'b"', "run": "b", "after": ["a"], "required": False},
        {"id": "c", "run": "c", "after": ["a", 'b"'], "any_of": "way", "branch": "x"},
    )

    drawn = dot(made)

    assert '"a" -> "b\\"";' in drawn
    assert '"a" -> "c";' not in drawn
    assert "style=dashed" in drawn
    assert "(way: x)" in drawn


def test_the_documented_order_has_every_step() -> None:
    made = procedure({"id": "a", "run": "a"}, {"id": "b", "manual": "b", "after": ["a"]})

    assert list(step_graph(made).edges) == [("a", "b")]
