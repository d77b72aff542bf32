"""Observed states as facts, and what changed between two of them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.compare.facts import Scope, changes, subjects
from procexec.model.document import View
from procexec.model.state import Change, Fact, FileFacts, ObservedState, Sign

ALL = Scope()


def file(text: str = "") -> FileFacts:
    return FileFacts(type="file", mode="644", owner="dev", digest=text, text=text)


def told(found: tuple[Change, ...]) -> list[str]:
    signs = {Sign.ADDED: "+", Sign.REMOVED: "-"}
    return [f"{signs[c.sign]} {c.fact.subject} {c.fact.text}" for c in found]


def test_a_new_file_is_told_field_by_field() -> None:
    later = ObservedState(files={"/a": file("one\ntwo\n")}, before={"/a": None})

    assert told(changes(ObservedState(), later, ALL)) == [
        "+ /a is a file",
        "+ /a line one",
        "+ /a line two",
        "+ /a mode 644",
        "+ /a owner dev",
    ]


def test_only_the_line_that_changed_is_told() -> None:
    later = ObservedState(files={"/a": file("one\ntwo\n")}, before={"/a": file("one\nthree\n")})

    assert told(changes(ObservedState(), later, ALL)) == ["+ /a line two", "- /a line three"]


def test_a_line_that_comes_twice_counts_twice() -> None:
    later = ObservedState(files={"/a": file("x\nx\n")}, before={"/a": file("x\n")})

    assert told(changes(ObservedState(), later, ALL)) == ["+ /a line x"]


def test_a_deleted_file_is_told_by_what_it_was() -> None:
    later = ObservedState(files={"/a": None}, before={"/a": file("x")})

    assert "- /a is a file" in told(changes(ObservedState(), later, ALL))


def test_what_was_undone_again_is_no_change() -> None:
    earlier = ObservedState(files={"/a": file("x")}, before={"/a": None})
    later = ObservedState(files={}, before={})

    assert told(changes(earlier, later, ALL)) == [
        "- /a is a file",
        "- /a line x",
        "- /a mode 644",
        "- /a owner dev",
    ]


def test_a_link_is_told_by_its_target_and_a_large_file_by_its_digest() -> None:
    link = FileFacts(type="link", target="/b")
    large = FileFacts(type="file", digest="abc")
    later = ObservedState(files={"/l": link, "/f": large}, before={"/l": None, "/f": None})

    assert told(changes(ObservedState(), later, ALL)) == [
        "+ /f content abc",
        "+ /f is a file",
        "+ /l is a link",
        "+ /l points to /b",
    ]


VIEW = View(name="rows", run="x", covers=("**/*.db",), hides=("**/*.db-wal",))


def test_a_view_tells_the_content_of_what_it_covers() -> None:
    later = ObservedState(
        files={"/x/a.db": file("bytes"), "/x/a.db-wal": file("bytes")},
        before={"/x/a.db": None, "/x/a.db-wal": None},
        views={"rows": ("/x/a.db row 1",)},
    )

    assert told(changes(ObservedState(), later, Scope(views=(VIEW,)))) == [
        "+ /x/a.db [rows] row 1",
        "+ /x/a.db is a file",
        "+ /x/a.db mode 644",
        "+ /x/a.db owner dev",
    ]


def test_ignored_paths_do_not_count_with_all_below_them() -> None:
    scope = Scope(ignore=("**/.cache/**", "/tmp/x-*"))

    assert not scope.counts("/home/dev/.cache/a/b")
    assert not scope.counts("/home/dev/.cache")
    assert not scope.counts("/tmp/x-1")
    assert scope.counts("/home/dev/cache")


def test_subjects_are_what_the_changes_are_about() -> None:
    fact = Fact("/a", "is a file")

    assert subjects([Change(Sign.ADDED, fact), Change(Sign.REMOVED, fact)]) == {"/a"}


FILES = st.none() | st.builds(file, st.sampled_from(["", "x\n", "x\ny\n", "y\nx\nx\n"]))
STATES = st.dictionaries(st.sampled_from(["/a", "/b", "/c"]), FILES)


@settings(max_examples=100, deadline=None)
@given(STATES)
def test_a_state_does_not_differ_from_itself(files: dict[str, FileFacts | None]) -> None:
    state = ObservedState(files=files, before=dict.fromkeys(files))

    assert changes(state, state, ALL) == ()


@settings(max_examples=100, deadline=None)
@given(STATES, STATES)
def test_going_back_undoes_every_change(
    one: dict[str, FileFacts | None], other: dict[str, FileFacts | None]
) -> None:
    earlier = ObservedState(files=one, before=dict.fromkeys(one))
    later = ObservedState(files=other, before=dict.fromkeys(other))

    there, back = changes(earlier, later, ALL), changes(later, earlier, ALL)

    turned = {Sign.ADDED: Sign.REMOVED, Sign.REMOVED: Sign.ADDED}
    assert sorted(Change(turned[c.sign], c.fact) for c in there) == sorted(back)
