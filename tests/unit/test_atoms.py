"""Actions to atoms: pipelines whole, sessions in statements, directories known."""

from functools import cache
from pathlib import Path

import pytest

from procexec.model.document import CommandSpec, OptionSpec, SessionProgram
from procexec.model.step import (
    Action,
    Atom,
    AtomKind,
    Command,
    FileWrite,
    Input,
    Manual,
    Session,
    WriteMode,
)
from procexec.read.sandboxes import read_sandboxes
from procexec.shell.atoms import ShellKnowledge, atoms, atoms_and_bounds

ROOT = Path(__file__).parents[2]


@cache
def sqlite() -> tuple[SessionProgram, ...]:
    sandboxes, _ = read_sandboxes(ROOT / "sandboxes")
    return sandboxes["sqlite3", "3.46"].spec.sessions


def of(*actions: Action | str) -> tuple[Atom, ...]:
    knowledge = ShellKnowledge(
        options={}, sessions=sqlite(), home="/home/dev", workdir="/home/dev/work"
    )
    return atoms([Command(text=a) if isinstance(a, str) else a for a in actions], knowledge)


def statements(*actions: Action | str) -> list[tuple[str, ...]]:
    return [atom.stages[0].operands for atom in of(*actions)]


# --- commands ---------------------------------------------------------------------------------


def test_a_line_of_several_commands_is_several_atoms_of_one_step() -> None:
    assert [(a.text, a.step) for a in of("a && b; c", "d")] == [
        ("a", 0),
        ("b", 0),
        ("c", 0),
        ("d", 1),
    ]


def test_a_pipeline_is_one_atom_with_its_stages() -> None:
    (atom,) = of("cat f | sort -u | head -5")

    assert atom.text == "cat f | sort -u | head -5"
    assert [stage.path for stage in atom.stages] == [("cat",), ("sort",), ("head",)]


@pytest.mark.parametrize("told", ["echo 'DROP TABLE t;'", "printf 'DROP TABLE t;\\n'"])
def test_text_that_is_piped_into_a_program_that_takes_statements_is_its_statements(
    told: str,
) -> None:
    assert statements(f"{told} | sqlite3 app.db") == statements('sqlite3 app.db "DROP TABLE t;"')


@pytest.mark.parametrize("text", ["echo $X | sqlite3 app.db", "echo yes | python manage.py run"])
def test_text_that_is_not_known_or_a_reply_stays_a_pipeline(text: str) -> None:
    (atom,) = of(text)

    assert len(atom.stages) == 2


def test_an_atom_s_place_is_in_the_step_s_text() -> None:
    text = "mkdir d &&\n  cd d"

    assert [text[a.start : a.end] for a in of(text)] == ["mkdir d", "cd d"]


def test_an_empty_command_has_no_atoms() -> None:
    assert of("", "# remark") == ()


def test_what_runs_only_if_something_failed_is_conditional() -> None:
    assert [a.conditional for a in of("a || b")] == [False, True]


def test_a_background_command_is_marked() -> None:
    assert [a.background for a in of("server &\nclient")] == [True, False]


@pytest.mark.parametrize(
    ("text", "looks"),
    [("git status", True), ("git log | head", True), ("git log > f", False), ("make", False)],
)
def test_an_atom_looks_only_if_all_its_stages_do(text: str, looks: bool) -> None:
    (atom,) = of(text)

    assert atom.read_only is looks


# --- directories ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("cd repo", "/home/dev/work/repo"),
        ("cd ./repo/", "/home/dev/work/repo"),
        ("cd ..", "/home/dev"),
        ("cd /srv/../etc", "/etc"),
        ("cd", "/home/dev"),
        ("cd ~", "/home/dev"),
        ("cd ~/x", "/home/dev/x"),
        ('cd "$HOME/x"', "/home/dev/x"),
        ("cd ${HOME}", "/home/dev"),
        ("cd ~other", "/home/dev/work/~other"),
        ("cd -- repo", "/home/dev/work/repo"),
    ],
)
def test_the_directory_of_cd_is_absolute(text: str, where: str) -> None:
    assert of(text)[0].stages[0].operands == (where,)


def test_directories_add_up_over_steps() -> None:
    assert [a.stages[0].operands for a in of("cd a", "cd b && cd ..")] == [
        ("/home/dev/work/a",),
        ("/home/dev/work/a/b",),
        ("/home/dev/work/a",),
    ]


def test_a_file_is_written_in_the_directory_of_that_moment() -> None:
    (_, atom) = of("cd conf", FileWrite(path="a.ini", content="x\n"))

    assert atom.kind is AtomKind.FILE
    assert atom.stages[0].path == ("write", WriteMode.CREATE)
    assert (atom.stages[0].operands, atom.stages[0].stdin) == (
        ("/home/dev/work/conf/a.ini",),
        "x\n",
    )


def test_one_spelling_of_home_stands_for_all() -> None:
    forms = {a.stages[0].operands for a in of("rm ~/f", "rm $HOME/f", "rm ${HOME}/f")}

    assert forms == {("/home/dev/f",)}


def test_a_variable_whose_name_begins_like_home_is_left_alone() -> None:
    (atom,) = of("rm $HOMEPAGE")

    assert atom.stages[0].operands == ("$HOMEPAGE",)


# --- replies and manual steps -----------------------------------------------------------------


def test_replies_and_manual_steps_are_atoms_of_their_kind() -> None:
    reply, manual = of(Input(keys=("y\r",), prompt="Sure?"), Manual(text="Open the lid"))

    assert (reply.kind, reply.text, reply.values) == (AtomKind.INPUT, "y", ("Sure?",))
    assert (manual.kind, manual.text) == (AtomKind.MANUAL, "Open the lid")


# --- sessions ---------------------------------------------------------------------------------


def test_each_statement_on_the_command_line_is_an_atom() -> None:
    assert statements('sqlite3 x.db "CREATE TABLE a(b); DROP TABLE c;" ".tables"') == [
        ("x.db", "create table a(b)"),
        ("x.db", "drop table c"),
        ("x.db", ".tables"),
    ]


def test_a_here_document_a_session_and_a_command_line_say_the_same() -> None:
    line = of('sqlite3 x.db "DROP TABLE c;"')
    here = of("sqlite3 x.db <<'SQL'\nDROP TABLE c;\nSQL")
    typed = of(Session(program="sqlite3 x.db", lines=("DROP TABLE c;", ".quit")))

    assert line[0].stages == here[0].stages == typed[0].stages


def test_a_statement_goes_over_lines_until_its_separator() -> None:
    lines = ("CREATE TABLE a (", "  b INTEGER", ");", "DROP TABLE c")

    assert statements(Session(program="sqlite3 x.db", lines=lines)) == [
        ("x.db", "create table a(b integer)"),
        ("x.db", "drop table c"),
    ]


def test_a_separator_or_remark_within_quotes_is_text() -> None:
    lines = ("INSERT INTO a VALUES ('x;  Y -- z'); -- remark; here",)

    assert statements(Session(program="sqlite3 x.db", lines=lines)) == [
        ("x.db", "insert into a values('x;  Y -- z')")
    ]


def test_white_space_and_case_outside_quotes_do_not_count() -> None:
    one, other = of('sqlite3 x.db "DROP  TABLE\ta"', "sqlite3 x.db 'drop table a;'")

    assert one.stages == other.stages


def test_opening_another_file_changes_what_statements_are_about() -> None:
    lines = (".open y.db", "DROP TABLE a;", ".open z.db", ".tables")

    assert statements(Session(program="sqlite3 x.db", lines=lines)) == [
        ("y.db", "drop table a"),
        ("z.db", ".tables"),
    ]


def test_leaving_and_bracketing_a_transaction_are_no_statements() -> None:
    lines = ("BEGIN TRANSACTION;", "DROP TABLE a;", "COMMIT;", ".quit")

    assert len(of(Session(program="sqlite3 x.db", lines=lines))) == 1


def test_a_statement_that_only_looks_is_read_only() -> None:
    looks = [
        a.read_only for a in of('sqlite3 x.db "SELECT 1; DELETE FROM a; PRAGMA table_info(a);"')
    ]

    assert looks == [True, False, True]


def test_a_session_of_an_unknown_program_is_for_a_person() -> None:
    (atom,) = of(Session(program="ftp host", lines=("get x",)))

    assert atom.kind is AtomKind.MANUAL


def test_opening_a_program_is_no_step_of_its_own() -> None:
    assert of("sqlite3 x.db") == ()


def test_what_is_typed_one_by_one_into_an_open_program_is_its_statements() -> None:
    typed = of("sqlite3 x.db", Input(keys=("DROP TABLE a;\r",)), Input(keys=(".quit\r",)))

    assert [a.stages for a in typed] == [a.stages for a in of('sqlite3 x.db "DROP TABLE a"')]


def test_a_reply_after_the_program_was_left_is_a_reply() -> None:
    typed = of("sqlite3 x.db", Input(keys=(".quit\r",)), Input(keys=("y\r",)))

    assert [a.kind for a in typed] == [AtomKind.INPUT]


KEYS = SessionProgram(program="keys", operands=0, words=True, quit=("exit",))
SQL = SessionProgram(
    program="sql",
    operands=2,
    batch=("-c", "--command"),
    target=("-d",),
    statements=("--command",),
    separator=";",
    commands="\\",
    ends=(r"\\g\b.*",),
)
SQL_OPTIONS = CommandSpec(
    options=(
        OptionSpec(names=("-c", "--command"), value=True, repeatable=True),
        OptionSpec(names=("-d",), value=True),
    )
)


def _statements(*actions: Action) -> list[tuple[str, ...]]:
    knowledge = ShellKnowledge(options={"sql": SQL_OPTIONS}, sessions=(KEYS, SQL))
    return [atom.stages[0].operands for atom in atoms(actions, knowledge)]


def test_the_words_of_a_command_line_can_be_one_statement() -> None:
    line = Command(text="keys SET a '>b c'")
    typed = Session(program="keys", lines=("SET a >b c", "exit"))

    assert _statements(line) == _statements(typed) == [("set a >b c",)]


def test_statements_stand_in_options_and_their_target_too() -> None:
    wrapped = Command(text="sudo -u admin sql -d shop -c 'DROP TABLE a; DROP TABLE b;'")
    typed = Session(program="sql shop", lines=("DROP TABLE a;", "DROP TABLE b;"))

    assert _statements(wrapped) == _statements(typed)


def test_a_command_of_the_program_can_end_a_statement() -> None:
    lines = (r"SELECT 1 \g out", r"\q")

    assert _statements(Session(program="sql", lines=lines)) == [(r"select 1 \g out",), (r"\q",)]


def test_output_that_is_written_keeps_the_command_whole() -> None:
    (atom,) = of("sqlite3 x.db .dump > dump.sql")

    assert atom.stages[0].writes == ("dump.sql",)


def test_a_sandbox_s_table_is_used_for_the_form() -> None:
    knowledge = ShellKnowledge(options={"frob": CommandSpec(read_only=True)})

    assert atoms([Command(text="frob x")], knowledge)[0].read_only


# --- where programs are opened and left --------------------------------------------------------

PYTHON = SessionProgram(program="python", operands=0, scripts=True, quit=("exit\\(\\)",))


def bounds(*actions: Action) -> list[tuple[int, bool]]:
    knowledge = ShellKnowledge(options={}, sessions=(*sqlite(), PYTHON))
    return [(bound.step, bound.opens) for bound in atoms_and_bounds(actions, knowledge)[1]]


def test_opening_and_leaving_a_program_are_told_apart_from_its_statements() -> None:
    assert bounds(
        Command(text="sqlite3 shop.db"),
        Input(keys=("SELECT 1;\r",)),
        Input(keys=(".quit\r",)),
    ) == [(0, True), (2, False)]


def test_a_session_in_one_step_opens_and_leaves_there() -> None:
    assert bounds(Session(program="sqlite3 shop.db", lines=("SELECT 1;", ".quit"))) == [
        (0, True),
        (0, False),
    ]


def test_a_script_reads_its_input_itself_and_a_program_without_one_takes_statements() -> None:
    knowledge = ShellKnowledge(options={}, sessions=(PYTHON,))
    own, taken = (
        atoms([Command(text=f"{opened} <<'E'\nx = 1\nE")], knowledge)[0].stages[0]
        for opened in ("python tool.py", "python -")
    )

    assert (own.operands, own.stdin) == (("tool.py",), "x = 1\n")
    assert taken.path == ("python", "statement")


@pytest.mark.parametrize("text", ["python tool.py check all", "python3 tool.py"])
def test_a_script_and_what_is_for_it_are_no_statements(text: str) -> None:
    knowledge = ShellKnowledge(options={}, sessions=(PYTHON,))

    (atom,), opened = atoms_and_bounds([Command(text=text)], knowledge)

    assert atom.stages[0].operands == tuple(text.split()[1:])
    assert opened == ()
