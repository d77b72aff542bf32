"""Placeholders to values that somebody told."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.execute.values import KnownValues, resolve

KNOWN = KnownValues(
    named={"branch": "topic", "api_key": "k3y", "repo-name": "shop"},
    bound={"<file>": "a.txt", "<secret>": "guess"},
    question="How do I add a.txt?",
)


@pytest.mark.parametrize(
    ("placeholder", "value"),
    [
        ("<branch>", "topic"),
        ("<your branch>", "topic"),
        ("<the-branch>", "topic"),
        ("{{ branch }}", "topic"),
        ("YOUR_API_KEY", "k3y"),
        ("<API-KEY>", "k3y"),
        ("your-repo-name", "shop"),
        ("<repo_name>", "shop"),
        ("$BRANCH", "topic"),
        ("<file>", "a.txt"),
    ],
)
def test_a_placeholder_is_known_by_its_name_or_by_what_it_stood_for(
    placeholder: str, value: str
) -> None:
    assert KNOWN.of(placeholder) == value


@pytest.mark.parametrize("placeholder", ["<secret>", "<other>", "<>", "{{}}"])
def test_a_value_that_nobody_told_is_not_made_up(placeholder: str) -> None:
    assert KNOWN.of(placeholder) is None


def test_known_values_are_filled_in_and_the_others_told() -> None:
    text = "git push <remote> <branch> # <branch>"

    assert resolve(text, ("<remote>", "<branch>"), KNOWN) == (
        "git push <remote> topic # topic",
        ("<remote>",),
    )


def test_a_placeholder_within_a_longer_one_leaves_it_alone() -> None:
    known = KnownValues(named={"app": "a", "app-name": "b"})

    assert resolve("x your-app your-app-name", ("your-app", "your-app-name"), known) == (
        "x a b",
        (),
    )


def test_a_value_that_looks_like_a_placeholder_is_not_filled_in_again() -> None:
    known = KnownValues(named={"a": "<b>", "b": "c"})

    assert resolve("<a> <b>", ("<a>", "<b>"), known) == ("<b> c", ())


def test_a_value_is_no_pattern() -> None:
    assert resolve("x <a>", ("<a>",), KnownValues(named={"a": r"\1\g<0>"})) == (r"x \1\g<0>", ())


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_text_without_placeholders_stays_as_it_is(text: str) -> None:
    assert resolve(text, (), KNOWN) == (text, ())


def test_a_digest_is_not_filled_in_by_a_name() -> None:
    known = KnownValues(bound={"<commit-hash>": "main", "<commit>": "main"}, question="on main?")

    assert known.of("<commit-hash>") is None
    assert known.of("<commit>") == "main"


def test_a_word_called_a_stand_in_stays_where_it_is_right_already() -> None:
    known = KnownValues(bound={"message": "Initial"}, question="the tag v1.2.0")

    assert known.of("v1.2.0") == "v1.2.0"
    assert known.of("Initial") == "Initial"
    assert known.of("vX.Y") is None


@pytest.mark.parametrize("placeholder", ["<branch-name>", "YOUR_BRANCH_NAME"])
def test_a_branch_name_is_a_branch(placeholder: str) -> None:
    assert KnownValues(named={"branch": "x"}).of(placeholder) == "x"
