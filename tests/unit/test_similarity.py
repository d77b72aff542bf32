"""How an answer's atom fits a documented one: cost, label, bindings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.align.similarity import Values, candidate
from procexec.model.alignment import Candidate, Label
from procexec.model.step import (
    Action,
    Atom,
    Command,
    FileEdit,
    FileWrite,
    Input,
    Manual,
    Place,
    WriteMode,
)
from procexec.model.words import text_similarity
from procexec.shell.atoms import ShellKnowledge, atoms

KNOWLEDGE = ShellKnowledge(options={})


def atom(action: Action | str) -> Atom:
    (found,) = atoms([Command(text=action) if isinstance(action, str) else action], KNOWLEDGE)
    return found


def pair(doc: Action | str, answer: Action | str, **free: str) -> Candidate | None:
    return candidate(atom(doc), (), atom(answer), Values(free=free))


def fit(doc: Action | str, answer: Action | str, **free: str) -> Candidate:
    found = pair(doc, answer, **free)
    assert found is not None
    return found


# --- commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("doc", "answer"),
    [
        ("git add a.txt", "git add ./a.txt"),
        ("git commit -m x", "sudo git commit --message=x"),
        ("mkdir a b", "mkdir b a"),
        ("cat f | sort -u", "cat f | sort --unique"),
        ("tool > f", "tool > f"),
    ],
)
def test_the_same_command_costs_nothing(doc: str, answer: str) -> None:
    assert (fit(doc, answer).cost, fit(doc, answer).label) == (0, Label.MATCHED)


def test_a_harmless_option_more_is_a_variant() -> None:
    found = fit("apt-get install a", "apt-get install -y a")

    assert (found.cost, found.label) == (50, Label.VARIANT)


@pytest.mark.parametrize(
    ("doc", "answer", "detail"),
    [
        ("git add a.txt", "git add b.txt", "`b.txt` instead of `a.txt`"),
        ("git commit -m x", "git commit -m y", "`--message` is `y` instead of `x`"),
        ("git push", "git push --force", "`--force` is added"),
        ("git commit --amend", "git commit", "`--amend` is missing"),
        ("git add a b", "git add a", "`b` is missing"),
        ("git add a", "git add a b", "`b` is added"),
        ("curl -H a h", "curl -H a -H b h", "`--header` is given 2 times instead of 1"),
        ("tool > f", "tool > g", "other redirections"),
        ("cat <<E\na\nE", "cat <<E\nb\nE", "other text on standard input"),
    ],
)
def test_what_is_different_is_told(doc: str, answer: str, detail: str) -> None:
    found = fit(doc, answer)

    assert (found.label, found.detail) == (Label.SUBSTITUTED, detail)
    assert 600 <= found.cost < 900


def test_more_differences_cost_more() -> None:
    assert fit("git add a b c", "git add a b d").cost < fit("git add a b c", "git add x y z").cost


@pytest.mark.parametrize(
    ("doc", "answer"),
    [("git add a", "hg add a"), ("git add a", "git commit"), ("a | b", "c"), ("a", "b | c")],
)
def test_another_command_is_no_candidate(doc: str, answer: str) -> None:
    assert pair(doc, answer) is None


def test_a_documented_command_within_a_pipeline_is_nearly_it() -> None:
    found = fit("git log", "git log | cat")

    assert (found.label, found.detail) == (Label.VARIANT, "in a pipeline")
    assert found.cost < 400


@pytest.mark.parametrize("answer", [Manual(text="git add a"), Input(keys=("git add a",))])
def test_another_kind_of_step_is_no_candidate(answer: Action) -> None:
    assert pair("git add a", answer) is None


# --- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("placeholder", ["<name>", "{{ name }}", "$NAME", "${NAME}", "your-name"])
def test_a_placeholder_stands_for_the_documented_value(placeholder: str) -> None:
    found = fit("git checkout topic", f"git checkout {placeholder}")

    assert (found.cost, found.bindings) == (0, ((placeholder, "topic"),))


def test_a_placeholder_within_a_word_binds_its_part() -> None:
    found = fit("git clone https://h/me/repo.git", "git clone https://h/<owner>/<repo>.git")

    assert dict(found.bindings) == {"<owner>": "me", "<repo>": "repo"}


def test_a_placeholder_does_not_make_up_for_other_text() -> None:
    assert fit("git checkout topic", "git checkout x-<name>").label is Label.SUBSTITUTED


def test_a_free_value_may_be_chosen() -> None:
    found = fit("git commit -m 'Fix it'", "git commit -m 'Mend it'", message="Fix it")

    assert (found.cost, found.bindings) == (0, (("message", "Mend it"),))


def test_a_free_value_within_a_word_may_be_chosen() -> None:
    found = fit("openssl req -subj /CN=a.test/O=x", "openssl req -subj /CN=b.test/O=x", cn="a.test")

    assert dict(found.bindings) == {"cn": "b.test"}


def test_what_stands_around_a_free_value_must_be_as_documented() -> None:
    assert fit("tool --subj=/CN=a", "tool --subj=/DN=b", cn="a").label is Label.SUBSTITUTED


# --- files, replies, manual steps -------------------------------------------------------------


def test_a_file_with_the_documented_content_is_matched() -> None:
    one = FileWrite(path="a.ini", content="x = 1\n")

    assert fit(one, FileWrite(path="./a.ini", content="x = 1")).cost == 0


@pytest.mark.parametrize(
    "other",
    [FileWrite(path="a.ini", content="x = 2\n"), FileWrite(path="b.ini", content="x = 1\n")],
)
def test_another_file_is_a_substitute(other: FileWrite) -> None:
    assert fit(FileWrite(path="a.ini", content="x = 1\n"), other).label is Label.SUBSTITUTED


def test_appending_is_not_creating() -> None:
    append = FileWrite(path="a", content="x", mode=WriteMode.APPEND)

    found = pair(FileWrite(path="a", content="x"), append)

    assert found is None or found.label is Label.SUBSTITUTED


def test_the_documented_reply_is_matched_whatever_the_prompt_is_called() -> None:
    assert fit(Input(keys=("y\r",), prompt="Sure?"), Input(keys=("y\r",))).cost == 0


def test_another_reply_is_a_substitute_and_told() -> None:
    found = fit(Input(keys=("y\r",), prompt="Stage it"), Input(keys=("n\r",), prompt="Stage it"))

    assert (found.cost, found.detail) == (600, "types `n`, documented is `y`")


def test_another_reply_to_another_question_costs_more() -> None:
    found = fit(Input(keys=("y\r",), prompt="Stage it"), Input(keys=("n\r",), prompt="Colour:"))

    assert found.cost == 800


def test_a_manual_step_is_found_in_other_words() -> None:
    found = fit(
        Manual(text="Open the Settings page and click Save"),
        Manual(text="In the settings, click on the Save button"),
    )

    assert found.label is Label.PARAPHRASE
    assert 0 < found.cost <= 200


def test_an_unrelated_manual_step_is_no_candidate() -> None:
    assert pair(Manual(text="Open the Settings page"), Manual(text="Plug in a cable")) is None


# --- versions ---------------------------------------------------------------------------------


def test_the_command_of_another_version_is_known_as_such() -> None:
    doc, other = atom("git config set a b"), atom("git config a b")

    found = candidate(doc, (other,), atom("git config a b"), Values())

    assert found is not None
    assert (found.label, found.cost) == (Label.OTHER_VERSION, 400)


def test_the_command_of_this_version_is_not_taken_for_another_s() -> None:
    doc, other = atom("git switch -c x"), atom("git checkout -b x")

    found = candidate(doc, (other,), atom("git switch -c x"), Values())

    assert found is not None
    assert found.cost == 0


# --- texts ------------------------------------------------------------------------------------


def test_a_text_is_like_itself_and_unlike_nothing() -> None:
    assert text_similarity("Open the page", "open the PAGE!") == 1.0
    assert text_similarity("", "Open the page") == 0.0


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_similarity_is_between_nought_and_one_and_symmetric(left: str, right: str) -> None:
    found = text_similarity(left, right)

    assert 0 <= found <= 1.001
    assert found == text_similarity(right, left)


WORDS = st.sampled_from(
    ["git", "add", "-A", "a", "<x>", "$Y", "(.*", "\\1", "[", "'q w'", "{{z}}", "-m"]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, min_size=1, max_size=5))
def test_any_two_commands_can_be_compared(left: list[str], right: list[str]) -> None:
    docs = atoms([Command(text=" ".join(left))], KNOWLEDGE)
    answers = atoms([Command(text=" ".join(right))], KNOWLEDGE)

    for doc in docs:
        for answer in answers:
            found = candidate(doc, (), answer, Values(free={"a": "a", "m": "(.*"}))
            assert found is None or 0 <= found.cost < 900


def test_a_given_value_that_is_replaced_is_told() -> None:
    values = Values(given={"days": "365", "file": "a"})

    found = candidate(atom("tool --days=365 a"), (), atom("tool --days=30 a"), values)

    assert found is not None
    assert found.against == ("365",)


@pytest.mark.parametrize(
    ("doc", "answer", "reshaped"),
    [
        ("git commit -m x", "git commit -m x --apply-now", True),
        ("git commit -m x", "git commit -m x --no-verify", False),
        ("git push origin main", "git push origin topic", False),
        ("git config set a.b true", "git config a.b=true", True),
        ("git submodule deinit x", "git submodule remove x", True),
    ],
)
def test_another_command_is_told_from_another_value(doc: str, answer: str, reshaped: bool) -> None:
    found = pair(doc, answer)

    assert found is None or found.reshaped is reshaped


def test_a_file_is_the_same_however_it_is_written() -> None:
    doc = FileWrite(path="/etc/a.ini", content="x = 1\n\ny = 2\n")

    for text in (
        "cat > /etc/a.ini <<'E'\nx = 1\ny = 2\nE",
        "sudo tee /etc/a.ini >/dev/null <<'E'\nx = 1\ny = 2\nE",
    ):
        assert fit(doc, text).label is Label.MATCHED


@pytest.mark.parametrize(
    "text",
    [
        "cat > /etc/a.ini <<'E'\nx = 2\nE",
        "cat >> /etc/a.ini <<'E'\nx = 1\nE",
    ],
)
def test_another_text_or_an_addition_is_a_substitute(text: str) -> None:
    assert fit(FileWrite(path="/etc/a.ini", content="x = 1\n"), text).label is Label.SUBSTITUTED


@pytest.mark.parametrize("text", ["x = $HOME", "x = $(hostname)", "x = ${y:-1}", "x = `id -u`"])
def test_a_text_that_the_shell_expands_is_the_file_with_another_text(text: str) -> None:
    doc = FileWrite(path="/etc/a.ini", content=f"{text}\n")

    assert fit(doc, f"cat > /etc/a.ini <<E\n{text}\nE").label is Label.SUBSTITUTED


def test_a_text_whose_variables_are_escaped_is_that_text() -> None:
    doc = FileWrite(path="/etc/a.ini", content="x = $uri\n")

    assert fit(doc, "cat > /etc/a.ini <<E\nx = \\$uri\nE").label is Label.MATCHED


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("auth_basic 'x';\n", False),
        ("# auth_basic\n", False),
        ("require valid-user;\nauth_type Basic;\n", True),
        ("}\n", False),
    ],
)
def test_a_text_is_foreign_to_a_file_of_which_it_begins_no_line_alike(
    text: str, foreign: bool
) -> None:
    doc = FileWrite(path="/etc/a.conf", content="location / {\n  auth_basic 'y';\n}\n")

    assert fit(doc, f"cat > /etc/a.conf <<'E'\n{text}E").foreign is foreign


@pytest.mark.parametrize(
    ("text", "added"),
    [("git commit --amend -m x", True), ("git commit -m y", False), ("git commit", False)],
)
def test_an_option_that_the_documented_command_does_not_have_is_added(
    text: str, added: bool
) -> None:
    assert fit("git commit -m x", text).added is added


@pytest.mark.parametrize(
    ("place", "label"), [(Place.MERGE, Label.VARIANT), (Place.END, Label.SUBSTITUTED)]
)
def test_a_text_put_where_it_fits_is_the_documented_file(place: Place, label: Label) -> None:
    doc = FileWrite(path="/etc/a.ini", content="x = 1\n")

    assert fit(doc, FileEdit(path="/etc/a.ini", place=place, content="x = 1")).label is label


def test_a_statement_is_nearest_to_the_one_it_shares_words_with() -> None:
    answer = "mysql -e 'CREATE ROLE shop LOGIN'"
    near, far = (
        fit(f"mysql -e '{text}'", answer)
        for text in ("CREATE ROLE shop WITH LOGIN", "CREATE DATABASE shopdb")
    )

    assert near.cost < far.cost
