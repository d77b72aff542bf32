"""The documented procedure, run again and again: what it is sure of, and when its goal says nothing."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from procexec.model.document import Check, Procedure, SandboxSpec, Source, Step
from procexec.model.run import CommandResult
from procexec.model.state import GoalFault
from procexec.reference import Bench, References, make
from procexec.sandbox import ScriptResult
from tests.fakes import FakeProvider, FakeSandbox, printed


def bench(*goal: Check) -> Bench:
    procedure = Procedure(
        id="tool/make",
        title="Make",
        product="tool",
        doc=Source(title="Tool", url="https://tool.example"),
        versions=("1",),
        steps=(Step(id="make", run="make it"),),
        goal=goal,
    )
    return Bench(
        procedure=procedure,
        version="1",
        spec=SandboxSpec(product="tool", version="1", base="debian:12"),
        image="image",
    )


def in_runs(*numbers: int, path: str = "/root/noise") -> Callable[[FakeSandbox], CommandResult]:
    """Return a step that writes a file in these runs only, and another one always."""
    runs = count(1)

    def step(sandbox: FakeSandbox) -> CommandResult:
        sandbox.write("/root/made", "made")
        return sandbox.write(path, "noise") if next(runs) in numbers else printed("")

    return step


def test_a_file_that_only_the_third_run_makes_is_learnt_by_three_runs_and_missed_by_two() -> None:
    two = make(bench(), {}, FakeProvider(commands={"make it": in_runs(3)}), runs=2)
    three = make(bench(), {}, FakeProvider(commands={"make it": in_runs(3)}), runs=3)

    assert two.mask.subjects == frozenset()
    assert three.mask.subjects == {"/root/noise"}
    assert (two.runs, three.runs) == (2, 3)


def test_how_much_is_masked_is_told_in_all_and_by_step() -> None:
    found = make(bench(), {}, FakeProvider(commands={"make it": in_runs(1)}))

    assert found.coverage.facts == 8
    assert found.coverage.dropped == 4
    assert found.steps[0].coverage == found.coverage
    assert found.goal_fault is None


def test_a_procedure_without_checks_whose_every_change_is_masked_has_no_goal() -> None:
    def noise(sandbox: FakeSandbox) -> CommandResult:
        return sandbox.write(f"/root/{next(names)}", "x")

    names = count()

    found = make(bench(), {}, FakeProvider(commands={"make it": noise}))

    assert found.goal_fault is GoalFault.MASKED
    assert not found.works
    assert "every change that the procedure makes is masked (4 facts)" in found.goal_told
    assert "add a check to `goal`" in found.goal_hint


def test_a_check_tells_enough_where_every_change_is_masked() -> None:
    scripts = dict[str, ScriptResult]()
    names = count()

    def step(sandbox: FakeSandbox) -> CommandResult:
        scripts["look"] = ScriptResult(exit_code=0, output="")
        return sandbox.write(f"/root/{next(names)}", "x")

    check = Check(id="g", run="look", exit=0)
    found = make(bench(check), {}, FakeProvider(commands={"make it": step}, scripts=scripts))

    assert found.coverage.is_total
    assert found.works


@pytest.mark.parametrize("outputs", [["yes", "no"], ["1:01", "1:02"]])
def test_a_check_that_comes_out_otherwise_in_another_run_is_no_goal(outputs: list[str]) -> None:
    scripts = dict[str, ScriptResult]()
    runs = iter(outputs)

    def step(_: FakeSandbox) -> CommandResult:
        scripts["look"] = ScriptResult(exit_code=0, output=next(runs))
        return printed("")

    check = Check(id="g", run="look", stdout="yes")
    found = make(bench(check), {}, FakeProvider(commands={"make it": step}, scripts=scripts))

    assert found.unstable == ("g",)
    assert found.goal_fault is GoalFault.UNSTABLE
    assert "the goal (g) comes out otherwise" in found.goal_told


def test_a_check_that_misses_in_every_run_is_the_documentation_s_not_unstable() -> None:
    scripts = {"look": ScriptResult(exit_code=0, output="no")}
    check = Check(id="g", run="look", stdout="yes")
    commands = {"make it": printed("")}

    found = make(bench(check), {}, FakeProvider(commands=commands, scripts=scripts))

    assert found.goal_fault is None
    assert not found.works


def test_a_reference_of_two_runs_does_not_stand_for_one_of_three(tmp_path: Path) -> None:
    provider = FakeProvider(commands={"make it": in_runs(3)})
    two = References(provider=provider, folder=tmp_path, runs=2).get(bench(), {})

    provider = FakeProvider(commands={"make it": in_runs(3)})
    three = References(provider=provider, folder=tmp_path, runs=3).get(bench(), {})

    assert (two.runs, three.runs) == (2, 3)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_kept_reference_is_the_same_as_a_new_one(tmp_path: Path) -> None:
    provider = FakeProvider(commands={"make it": in_runs(1)})
    made = References(provider=provider, folder=tmp_path).get(bench(), {})

    kept = References(provider=FakeProvider(), folder=tmp_path).get(bench(), {})

    assert kept == made
