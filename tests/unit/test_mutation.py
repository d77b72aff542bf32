"""The answers that the benchmark of verdicts derives are what they are said to be."""

from pathlib import Path
from random import Random

import pytest

from benchmarks.mutation import rewrite
from benchmarks.mutation.harmless import harmless
from benchmarks.mutation.mutants import OPERATORS, mutants
from benchmarks.mutation.script import Base, Variant, script, ways
from procexec.extract.extraction import extract
from procexec.model.document import version_key
from procexec.model.state import Mask, ObservedState, Reference
from procexec.shell.canonical import canonical
from procexec.shell.parse import parse
from procexec.trial import hints_of
from procexec.workload import read_library

ROOT = Path(__file__).parent.parent.parent
LIBRARY, _ = read_library(ROOT / "procedures", ROOT / "sandboxes")


def bases() -> list[Base]:
    found = []
    for procedure in LIBRARY.procedures.values():
        version = max(procedure.versions, key=version_key)
        reference = Reference(
            procedure=procedure.id,
            version=version,
            steps=(),
            changes=(),
            checks=(),
            goal_held_before=False,
            mask=Mask(),
            fixture=ObservedState(),
        )
        spec = LIBRARY.sandboxes[procedure.product, version].spec
        found += [
            Base(
                procedure=procedure,
                version=version,
                spec=spec,
                reference=reference,
                way=way,
                lines=script(procedure, version, way),
            )
            for way in ways(procedure)
        ]
    return found


BASES = bases()


@pytest.fixture(scope="module")
def variants() -> list[Variant]:
    return [v for base in BASES for v in (*mutants(base, 1), *harmless(base, 1))]


def test_the_same_seed_gives_the_same_variants(variants: list[Variant]) -> None:
    again = [v for base in BASES for v in (*mutants(base, 1), *harmless(base, 1))]

    assert [(v.id, v.text, v.wanted) for v in again] == [(v.id, v.text, v.wanted) for v in variants]


def test_no_two_variants_have_the_same_name(variants: list[Variant]) -> None:
    assert len({v.id for v in variants}) == len(variants)


def test_every_operator_that_needs_no_stale_docs_makes_something(variants: list[Variant]) -> None:
    made = {v.operator for v in variants}

    assert set(OPERATORS) - made <= {"stale-docs", "mixed-branches"}


def test_no_mutant_is_the_documented_procedure(variants: list[Variant]) -> None:
    documented = {v.base.id: v.text for v in variants if v.operator == "as-documented"}

    assert not [
        v.id for v in variants if v.operator in OPERATORS and v.text == documented[v.base.id]
    ]


def test_a_fault_is_told_to_stand_on_lines_of_the_answer(variants: list[Variant]) -> None:
    for variant in variants:
        lines = variant.text.split("\n")
        for first, last in variant.spans:
            assert 1 <= first <= last <= len(lines), variant.id
            assert any(lines[first - 1 : last]), variant.id


def test_the_documented_procedures_are_read_as_they_are_written(variants: list[Variant]) -> None:
    for variant in variants:
        if variant.operator == "as-documented":
            steps = extract(variant.text, hints_of(variant.base.spec)).steps
            commands = [line for line in variant.base.lines if not line.is_reply]

            assert len(steps) >= len(commands), variant.id


SPELLINGS = [rewrite.option_spelling, rewrite.option_order, rewrite.quoting, rewrite.split_line]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_command_spelt_otherwise_has_the_same_form(spelling: rewrite.Rewriter) -> None:
    tried = 0
    for base in BASES:
        tables = base.spec.options
        for line in base.lines:
            text = line.action.text
            if "$(" in text:  # what is in it is one word for us
                continue
            for new in spelling(text, tables, Random(1)):
                tried += 1
                assert _forms(new.text, tables) == _forms(text, tables), new.text
    assert tried > 3


def _forms(text: str, tables: rewrite.Tables) -> list[object]:
    return [canonical(command, tables) for command in parse(text).commands]
