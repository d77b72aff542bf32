"""What differs between runs of the same procedure means nothing."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.compare.mask import Normaliser, coverage, learn
from procexec.model.state import Change, Coverage, Fact, Mask, Sign


def change(text: str, subject: str = "/a") -> Change:
    return Change(Sign.ADDED, Fact(subject, text))


def normal(mask: Mask, *texts: str, **renamed: str) -> list[Change]:
    return Normaliser(mask=mask, renamed=renamed).changes([change(text) for text in texts])


def test_equal_runs_give_no_mask() -> None:
    run = [change("line x"), change("mode 644")]

    assert learn(run, run) == Mask()


def test_the_words_that_differ_may_be_any() -> None:
    mask = learn([change("line made at 10:01 ok")], [change("line made at 10:02 ok")])

    assert normal(mask, "line made at 10:59 ok") == normal(mask, "line made at 10:01 ok")


def test_the_words_that_do_not_differ_still_count() -> None:
    mask = learn([change("line made at 10:01 ok")], [change("line made at 10:02 ok")])

    assert normal(mask, "line made at 10:01 bad") == [change("line made at 10:01 bad")]


def test_a_mask_is_about_its_subject_only() -> None:
    mask = learn([change("line 1")], [change("line 2")])

    other = change("line 3", "/b")

    assert Normaliser(mask=mask, renamed={}).changes([other]) == [other]


def test_a_subject_whose_facts_differ_in_number_is_masked_whole() -> None:
    mask = learn([change("line 1"), change("line 2")], [change("line 3")])

    assert mask.subjects == {"/a"}
    assert normal(mask, "line 9") == []


def test_a_masked_fact_is_not_the_same_sign_turned() -> None:
    mask = learn([change("line 1")], [change("line 2")])

    gone = Change(Sign.REMOVED, Fact("/a", "line 1"))

    assert Normaliser(mask=mask, renamed={}).changes([gone]) == [gone]


def test_text_that_looks_like_a_pattern_is_text() -> None:
    mask = learn([change("line (a+) 1")], [change("line (a+) 2")])

    assert normal(mask, "line aaa 3") == [change("line aaa 3")]


def test_the_answer_s_own_value_is_written_as_the_documented_one() -> None:
    found = normal(Mask(), "line message Mend it", **{"Mend it": "Fix it"})

    assert found == [change("line message Fix it")]


def test_values_that_swap_places_do_not_mix() -> None:
    renamed = {"alpha": "beta", "beta": "alpha"}

    assert normal(Mask(), "line alpha beta", **renamed) == [change("line beta alpha")]


def test_a_longer_value_goes_before_a_shorter_one_in_it() -> None:
    renamed = {"web": "app", "website": "shop"}

    assert normal(Mask(), "line website", **renamed) == [change("line shop")]


def test_a_free_value_of_the_reference_may_be_anything() -> None:
    normaliser = Normaliser(mask=Mask(), renamed={}, free=("Fix it",))

    ((subject, pattern),) = normaliser.wildcards([change("line message Fix it")])

    assert subject == "/a"
    assert pattern.fullmatch("added line message whatever")
    assert not pattern.fullmatch("added line massage whatever")


TEXTS = st.lists(st.text("ab1 .:(", min_size=1, max_size=8).map(change), max_size=4)


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS)
def test_the_learned_mask_makes_both_runs_equal(one: list[Change], other: list[Change]) -> None:
    normaliser = Normaliser(mask=learn(one, other), renamed={})

    assert sorted(normaliser.changes(one)) == sorted(normaliser.changes(other))


def test_a_fact_that_comes_once_more_in_one_run_masks_its_subject() -> None:
    mask = learn([change("line x"), change("line x")], [change("line x")])

    assert mask.subjects == {"/a"}


# --- more than two runs -------------------------------------------------------------------------

RUNS = st.lists(TEXTS, min_size=2, max_size=5)


@settings(max_examples=200, deadline=None)
@given(RUNS)
def test_the_learned_mask_makes_all_runs_equal(runs: list[list[Change]]) -> None:
    normaliser = Normaliser(mask=learn(*runs), renamed={})

    first, *others = (sorted(normaliser.changes(run)) for run in runs)

    assert all(other == first for other in others)


def is_masked(change: Change, mask: Mask) -> bool:
    return Normaliser(mask=mask, renamed={}).changes([change]) != [change]


@settings(max_examples=200, deadline=None)
@given(RUNS, TEXTS)
def test_masking_by_more_runs_never_unmasks(runs: list[list[Change]], others: list[Change]) -> None:
    fewer, more = learn(*runs[:-1]), learn(*runs)

    unmasked = [
        c
        for c in (*others, *(c for run in runs for c in run))
        if is_masked(c, fewer) and not is_masked(c, more)
    ]

    assert unmasked == []


@settings(max_examples=200, deadline=None)
@given(RUNS)
def test_a_difference_between_any_two_runs_is_masked(runs: list[list[Change]]) -> None:
    mask = learn(*runs)
    differing = {c for run in runs for c in run if any(c not in other for other in runs)}

    assert [c for c in differing if not is_masked(c, mask)] == []


def test_words_that_differ_between_later_runs_only_are_one_field() -> None:
    runs = [[change(f"line made at {time} ok")] for time in ("10:01", "10:02", "11:02")]

    mask = learn(*runs)

    assert normal(mask, "line made at 12:59 ok") == normal(mask, "line made at 10:01 ok")
    assert normal(mask, "line made at 12:59 bad") == [change("line made at 12:59 bad")]
    assert mask.subjects == frozenset()


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_noise_of_every_second_run_is_missed_in_one_of_two_to_the_runs_less_one(runs: int) -> None:
    noise = change("is a file", "/noise")
    outcomes = list(product([[], [noise]], repeat=runs))

    missed = [outcome for outcome in outcomes if not is_masked(noise, learn(*outcome))]

    assert len(missed) / len(outcomes) == 1 / 2 ** (runs - 1)


# --- how much is masked -------------------------------------------------------------------------


def test_coverage_counts_what_is_gone_and_what_is_only_open_in_part() -> None:
    run = [change("line 1"), change("mode 644"), change("is a file", "/noise")]
    mask = learn(run, [change("line 2"), change("mode 644")])

    found = coverage(run, mask)

    assert found == Coverage(facts=3, dropped=1, varied=1)
    assert str(found) == "2 of 3 facts masked (1 only in part)"
    assert not found.is_total


def test_coverage_is_total_where_nothing_is_left_to_compare() -> None:
    run = [change("is a file", "/noise")]

    assert coverage(run, learn(run, [])).is_total
    assert not coverage([], Mask()).is_total


@settings(max_examples=100, deadline=None)
@given(RUNS)
def test_coverage_never_falls_with_more_runs(runs: list[list[Change]]) -> None:
    fewer, more = (coverage(runs[0], learn(*runs[:n])) for n in (len(runs) - 1, len(runs)))

    assert fewer.masked <= more.masked
    assert fewer.dropped <= more.dropped
