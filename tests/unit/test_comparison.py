"""The answer's end state beside the reference's."""

from collections.abc import Sequence

import pytest

from procexec.compare.comparison import Comparison, Ground, compare, deviations
from procexec.compare.mask import Normaliser
from procexec.model.state import (
    Change,
    CheckResult,
    Fact,
    Mask,
    ObservedState,
    Reference,
    ReferenceStep,
    Sign,
)


def added(subject: str, text: str) -> Change:
    return Change(Sign.ADDED, Fact(subject, text))


def removed(subject: str, text: str) -> Change:
    return Change(Sign.REMOVED, Fact(subject, text))


def control(name: str, *effect: Change) -> ReferenceStep:
    return ReferenceStep(
        id=name, text=name, ending="exited", exit_code=0, output="", changes=effect
    )


MADE = added("/home/dev/a", "line one")
MODE = added("/home/dev/a", "mode 644")
LOG = added("/home/dev/log", "line made")


def reference(
    *changes: Change, works: bool = True, steps: Sequence[ReferenceStep] = ()
) -> Reference:
    return Reference(
        procedure="tool/make",
        version="1",
        steps=tuple(steps),
        changes=changes,
        checks=(CheckResult(id="g", held=works),),
        goal_held_before=False,
        mask=Mask(),
        fixture=ObservedState(),
    )


def compared(
    answer: Sequence[Change],
    control: Reference,
    *existing: str,
    free: tuple[str, ...] = (),
    optional: frozenset[str] = frozenset(),
    **ground: frozenset[str] | tuple[str, ...],
) -> Comparison:
    return compare(
        answer,
        control,
        dict.fromkeys(existing, True),
        Normaliser(mask=Mask(), renamed={}, free=free),
        Ground(own=("/home/dev",), **ground),  # type: ignore[arg-type]
        optional=optional,
    )


def test_the_same_changes_are_equal() -> None:
    found = compared([MODE, MADE], reference(MADE, MODE))

    assert found.equal
    assert deviations(found) == ()


def test_missing_wrong_and_extra_are_told_apart() -> None:
    answer = [added("/home/dev/a", "line two"), MODE, LOG]

    found = deviations(compared(answer, reference(MADE, MODE, added("/etc/x", "is a file"))))

    assert [str(d) for d in found] == [
        "/etc/x: missing is a file",
        "/home/dev/a: line two instead of line one",
        "/home/dev/log: unexpected line made",
    ]


def test_a_removed_fact_says_so() -> None:
    found = deviations(compared([removed("/etc/x", "mode 600")], reference()))

    assert [str(d) for d in found] == ["/etc/x: unexpected no longer mode 600"]


def test_a_change_made_twice_is_one_too_many() -> None:
    assert compared([MADE, MADE], reference(MADE)).extra == (MADE,)


# --- collateral -------------------------------------------------------------------------------


def test_a_new_file_of_its_own_is_put_aside() -> None:
    found = compared([MADE, LOG], reference(MADE))

    assert (found.collateral, found.aside) == ((), (LOG,))


def test_a_change_of_what_was_there_is_collateral() -> None:
    assert compared([MADE, LOG], reference(MADE), "/home/dev/log").collateral == (LOG,)


def test_a_new_file_outside_its_own_ground_is_collateral() -> None:
    outside = added("/etc/x", "is a file")

    assert compared([outside], reference()).collateral == (outside,)


@pytest.mark.parametrize("subject", ["/home/developer/x", "/home/de"])
def test_a_path_that_only_begins_like_its_own_is_not_its_own(subject: str) -> None:
    change = added(subject, "is a file")

    assert compared([change], reference()).collateral == (change,)


def test_other_text_in_a_file_that_the_documentation_writes_is_no_collateral() -> None:
    other = added("/etc/x", "line other")

    found = compared([other], reference(added("/etc/x", "line one")), "/etc/x")

    assert (found.collateral, found.aside) == ((), (other,))


def test_a_line_lost_from_a_file_that_the_documentation_writes_is_collateral() -> None:
    lost = removed("/etc/x", "line kept")

    found = compared(
        [added("/etc/x", "line one"), lost], reference(added("/etc/x", "line one")), "/etc/x"
    )

    assert found.collateral == (lost,)


def test_what_the_procedure_tolerates_is_no_collateral() -> None:
    change = added("/var/log/x", "line made")

    assert compared([change], reference(), "/var/log/x", tolerate=("/var/log/*",)).collateral == ()


def test_where_the_reference_fails_its_changes_elsewhere_are_allowed() -> None:
    change = added("/etc/x", "line new")
    control = reference(works=False)

    assert compared([change], control, "/etc/x").collateral == ()
    assert compared([change], control, "/etc/x", allowed=frozenset(["/etc/x"])).collateral == ()
    assert compared([change], control, "/etc/x", allowed=frozenset()).collateral == (change,)


# --- what may differ --------------------------------------------------------------------------


def test_the_effect_of_an_optional_step_may_be_missing() -> None:
    step = ReferenceStep(
        id="log", text="x", ending="exited", exit_code=0, output="", changes=(LOG,)
    )
    control = reference(MADE, LOG, steps=[step])

    assert compared([MADE], control, optional=frozenset(["log"])).equal
    assert compared([MADE], control).missing == (LOG,)


def test_a_free_value_may_be_chosen() -> None:
    mine, theirs = added("/a", "[log] Mend it"), added("/a", "[log] Fix it")

    assert compared([mine], reference(theirs), free=("Fix it",)).equal


def test_a_free_value_does_not_excuse_another_subject() -> None:
    mine, theirs = added("/b", "[log] Mend it"), added("/a", "[log] Fix it")

    assert not compared([mine], reference(theirs), free=("Fix it",)).equal


def test_each_free_value_excuses_one_fact() -> None:
    mine = [added("/a", "[log] Mend it"), added("/a", "[log] More")]

    found = compared(mine, reference(added("/a", "[log] Fix it")), free=("Fix it",))

    assert len(found.extra) == 1
    assert found.missing == ()


# --- effects ----------------------------------------------------------------------------------


def test_an_effect_is_done_when_nothing_of_it_is_missing() -> None:
    found = compared([MADE], reference(MADE, LOG))

    assert found.has_done([MADE])
    assert not found.has_done([MADE, LOG])


def test_an_effect_is_not_done_when_things_are_as_the_steps_before_it_left_them() -> None:
    loaded, unloaded = Fact("configuration", "loaded"), Fact("configuration", "not loaded")
    edit = (Change(Sign.REMOVED, loaded), Change(Sign.ADDED, unloaded))
    reload = (Change(Sign.ADDED, loaded), Change(Sign.REMOVED, unloaded))
    steps = (control("edit", *edit, MADE), control("reload", *reload))

    found = compared([MADE, *edit], reference(MADE, steps=steps))

    assert found.has_done([MADE])
    assert not found.has_done(reload)
    assert (found.collateral, found.unfinished) == ((), tuple(sorted(edit)))


def test_an_effect_is_touched_when_the_answer_changed_the_same_things() -> None:
    found = compared([added("/home/dev/a", "line two")], reference(MADE, LOG))

    assert found.has_touched([MADE])
    assert not found.has_touched([LOG])


# --- what may be put in another way -----------------------------------------------------------

REPOSITORY = "/home/dev/x/.git"


def test_other_content_of_a_file_that_is_to_be_changed_is_no_collateral() -> None:
    mine = added(REPOSITORY, f"[git] index 100644 {'a' * 40} 0 .gitignore")
    theirs = added(REPOSITORY, f"[git] index 100644 {'b' * 40} 0 .gitignore")

    assert not compared([mine], reference(theirs), REPOSITORY).collateral


def test_a_file_more_is_collateral_whatever_its_content() -> None:
    mine = [added(REPOSITORY, f"[git] index 100644 {'a' * 40} 0 {name}") for name in ("x", "y")]
    theirs = added(REPOSITORY, f"[git] index 100644 {'b' * 40} 0 x")

    assert compared(mine, reference(theirs), REPOSITORY).collateral == (mine[1],)


def test_each_documented_content_excuses_one_other() -> None:
    mine = [added(REPOSITORY, f"[git] commit tree {c * 40}") for c in "ac"]
    theirs = added(REPOSITORY, f"[git] commit tree {'b' * 40}")

    assert len(compared(mine, reference(theirs), REPOSITORY).collateral) == 1


def test_a_message_may_be_put_in_other_words() -> None:
    mine, theirs = added("/r", "[git] message Undo it"), added("/r", "[git] message Revert it")

    assert compared([mine], reference(theirs), "/r").collateral == (mine,)
    found = compared([mine], reference(theirs), "/r", wordings=("(?<= message ).*",))
    assert not found.collateral


def test_a_harmless_fact_may_be_added_but_not_removed() -> None:
    fact = Fact("/r", "[git] config branch.x.remote=origin")
    harmless = (r"\[git\] config branch\..+\.remote=.*",)

    for sign, count in ((Sign.ADDED, 0), (Sign.REMOVED, 1)):
        found = compared([Change(sign, fact)], reference(MADE), "/r", harmless=harmless)
        assert len(found.collateral) == count


def test_another_value_of_a_documented_setting_is_wrong_and_no_collateral() -> None:
    wanted, found = added("conf", "[x] rebase=true"), added("conf", "[x] rebase=false")
    more = added("conf", "[x] other=1")

    comparison = compared([found, more], reference(wanted))

    assert (comparison.missing, comparison.collateral) == ((wanted,), (more,))
    assert comparison.unfinished == (found,)


@pytest.mark.parametrize(
    ("mine", "same"),
    [
        ('    auth_basic    "Admins only";', True),
        ('    auth_basic\t"Admins only";  ', True),
        ('    auth_basic "Admins  only";', False),
        ('  auth_basic "Admins only";', False),
        ('    auth_basic "Admins only" ;', False),
    ],
)
def test_the_width_of_gaps_between_words_does_not_count(mine: str, same: bool) -> None:
    theirs = added("/etc/a.conf", 'line     auth_basic "Admins only";')

    found = compared([added("/etc/a.conf", f"line {mine}")], reference(theirs))

    assert found.equal is same
