"""Prose and code to edits: which file, which place, which lines."""

import pytest

from procexec.extract.extraction import extract
from procexec.extract.hints import Hints
from procexec.model.document import SessionProgram
from procexec.model.step import Command, FileEdit, FileWrite, Input, Place, Session

FENCE = "\n\n```ini\na = 1\n```\n"


def edit(markdown: str) -> FileEdit:
    (action,) = [s.action for s in extract(markdown, Hints(programs=frozenset({"tool"}))).steps]
    assert isinstance(action, FileEdit)
    return action


@pytest.mark.parametrize(
    ("markdown", "path", "place", "anchor", "content"),
    [
        ("In `app.ini`:" + FENCE, "app.ini", Place.MERGE, "", "a = 1"),
        ("**app.ini** - the port:" + FENCE, "app.ini", Place.MERGE, "", "a = 1"),
        ("Add to conf/app.ini:" + FENCE, "conf/app.ini", Place.MERGE, "", "a = 1"),
        ("Put this at the end of `app.ini`:" + FENCE, "app.ini", Place.END, "", "a = 1"),
        ("In `app.ini`, below the line `x = 2`, add:" + FENCE, "app.ini", Place.AFTER, "x = 2", "a = 1"),
        ("Right above `[b]` in `app.ini` insert:" + FENCE, "app.ini", Place.BEFORE, "[b]", "a = 1"),
        ("In app.ini, instead of `a = None`:" + FENCE, "app.ini", Place.INSTEAD_OF, "a = None", "a = 1"),
        ("In `app.ini`, change the line starting with `a` to:" + FENCE, "app.ini", Place.INSTEAD_OF, "a", "a = 1"),
        ("Append" + FENCE + "\nto `app.ini` and go on.", "app.ini", Place.END, "", "a = 1"),
        ("Change `a = 1` to `a = 2` in `app.ini`.", "app.ini", Place.INSTEAD_OF, "a = 1", "a = 2"),
        ("Uncomment `a = 1` in `app.ini`.", "app.ini", Place.UNCOMMENT, "a = 1", ""),
        ("Set `port` to `5433` in `app.conf`.", "app.conf", Place.SET, "port", "5433"),
        ("Add `'x',` as the first entry of `LIST` in `s.py`.", "s.py", Place.FIRST_INSIDE, "LIST", "'x',"),
        ("In `s.py`, append `'x',` to `LIST`.", "s.py", Place.LAST_INSIDE, "LIST", "'x',"),
    ],
)  # fmt: skip
def test_an_edit_says_file_place_and_lines(
    markdown: str, path: str, place: Place, anchor: str, content: str
) -> None:
    assert edit(markdown) == FileEdit(path=path, place=place, anchor=anchor, content=content)


def test_a_block_that_shows_the_place_is_the_anchor_of_the_next() -> None:
    markdown = "Open `a.py`, find the line\n\n```python\nx = 1\n```\n\nand write directly below it:\n\n```python\ny = 2\n```\n"

    assert edit(markdown) == FileEdit(
        path="a.py", place=Place.AFTER, anchor="x = 1", content="y = 2"
    )


@pytest.mark.parametrize("word", ["Create `a.py` with this content:", "New file **a.py**:"])
def test_a_whole_file_is_written(word: str) -> None:
    (step,) = extract(f"{word}\n\n```python\nx = 1\n```\n", Hints()).steps

    assert step.action == FileWrite(path="a.py", content="x = 1\n")


@pytest.mark.parametrize("editor", ["nano", "sudo nano", "sudo -e", "sudoedit", "$EDITOR"])
def test_the_editor_that_is_opened_for_a_told_edit_is_no_step(editor: str) -> None:
    markdown = f"```bash\n{editor} n.txt\n```\n\nAdd `x = 1` at the end of `n.txt`."
    (step,) = extract(markdown, Hints()).steps

    assert step.action == FileEdit(path="n.txt", place=Place.END, content="x = 1")


def test_an_address_is_no_file() -> None:
    text = "Put `postgresql://shop:pw-Shop@localhost/shopdb` into the configuration."

    assert extract(text, Hints()).steps == ()


SQL = SessionProgram(program="sql", separator=";", quit=("exit",))


def test_a_program_left_open_gets_more_lines_from_another_terminal() -> None:
    markdown = (
        "**Terminal 1**\n\n```bash\nsql\n```\n```sql\nbegin;\n```\n\n**Terminal 2**\n\n```bash\ntool copy\n```\n\n"
        "Back in **terminal 1**:\n\n```sql\ncommit;\n```\n"
    )
    hints = Hints(programs=frozenset({"tool", "sql"}), sessions=(SQL,))

    assert [s.action for s in extract(markdown, hints).steps] == [
        Session(program="sql", lines=("begin;",)),
        Command(text="tool copy"),
        Session(program="", lines=("commit;",)),
    ]


def test_replies_that_are_announced_go_to_the_command_below() -> None:
    markdown = "Add it (enter `s3cret` when asked):\n\n```bash\ntool add\n```\n"
    steps = extract(markdown, Hints(programs=frozenset({"tool"}))).steps

    assert [type(s.action) for s in steps] == [Command, Input]


def test_a_block_of_questions_gives_the_replies() -> None:
    markdown = "Run `tool init`:\n\n```text\nname: (app)\nsize: (1) 3\n```\n"
    hints = Hints(programs=frozenset({"tool"}), prompts=(r"^(?:name|size): \(\w+\)$",))
    replies = [s.action.keys for s in extract(markdown, hints).steps if isinstance(s.action, Input)]

    assert replies == [("\r",), ("3\r",)]
