"""Markdown to steps: a corpus in pairs, and laws that hold for any text."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from procexec.extract.extraction import extract
from procexec.extract.hints import Hints
from procexec.model.document import SessionProgram
from procexec.model.step import (
    AnswerStep,
    Command,
    Extraction,
    FileEdit,
    FileWrite,
    Input,
    Manual,
    Session,
    Skipped,
    SkipReason,
)
from procexec.read.sandboxes import read_sandboxes
from procexec.trial import hints_of
from tests.golden import DATA, Golden
from tests.markdown import ANSWERS, stands_there

ROOT = Path(__file__).parents[2]
CASES = sorted((DATA / "extract").glob("*.md"))


@cache
def hints() -> Hints:
    sandboxes, _ = read_sandboxes(ROOT / "sandboxes")
    known = hints_of(sandboxes["sqlite3", "3.46"].spec)
    editors = sandboxes["git", "2.47"].spec.editors
    return replace(known, programs=known.programs | {"widgetctl", "widgetd"}, editors=editors)


def extracted(markdown: str) -> Extraction:
    return extract(markdown, hints())


def commands(markdown: str) -> list[str]:
    return [s.action.text for s in extracted(markdown).steps]


# --- the corpus -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_an_answer_gives_its_steps(path: Path, golden: Golden) -> None:
    found = _record(extracted(path.read_bytes().decode()))

    golden.check(json.dumps(found, indent=1, ensure_ascii=False) + "\n", path.with_suffix(".json"))


def _record(found: Extraction) -> dict[str, Any]:
    record: dict[str, Any] = {"steps": [_step(step) for step in found.steps]}
    if found.skipped:
        record["skipped"] = [_skipped(piece) for piece in found.skipped]
    if found.declines:
        record["declines"] = found.declines
    return record


def _step(step: AnswerStep) -> dict[str, Any]:
    record: dict[str, Any] = {
        "kind": type(step.action).__name__.lower(),
        "text": step.action.text,
        "at": f"{step.line}:{step.column}",
    }
    match step.action:
        case FileWrite(content=content) | FileEdit(content=content):
            record["content"] = content
        case Input(keys=keys, prompt=prompt):
            record["keys"] = keys
            record["prompt"] = prompt
        case _:
            pass
    for name in ("output", "optional", "expects_failure", "repairs", "doubts", "placeholders"):
        if value := getattr(step, name):
            record[name] = value
    return record


def _skipped(piece: Skipped) -> dict[str, str]:
    return {
        "reason": piece.reason,
        "text": piece.text,
        "at": f"{piece.line}:{piece.column}",
    }


@pytest.mark.parametrize("end", ["\r\n", "\r"])
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_other_line_ends_give_the_same_steps(path: Path, end: str) -> None:
    markdown = path.read_bytes().decode()

    assert extracted(markdown.replace("\r\n", "\n").replace("\n", end)) == extracted(markdown)


# --- rules, one by one ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sentence",
    [
        "Do not run the following:",
        "Don't copy this:",
        "Never execute this on a live system:",
        "You must not use this:",
        "Avoid running this:",
    ],
)
def test_a_block_that_is_warned_of_is_no_step(sentence: str) -> None:
    found = extracted(f"{sentence}\n\n```bash\nwidgetctl destroy --all\n```\n")

    assert (found.steps, [s.reason for s in found.skipped]) == ((), [SkipReason.NEGATED])


@pytest.mark.parametrize(
    "sentence",
    ["Do this:", "You do not need root to run this:", "Run this, not more:", "Don't forget this:"],
)
def test_a_block_that_is_not_warned_of_is_a_step(sentence: str) -> None:
    assert commands(f"{sentence}\n\n```bash\nwidgetctl init\n```\n") == ["widgetctl init"]


@pytest.mark.parametrize(
    ("sentence", "texts"),
    [
        ("Do not run this: `widgetctl destroy`.", []),
        ("Never type: `widgetctl destroy`", []),
        ("You do not need root: `widgetctl list`", ["widgetctl list"]),
        ("Esegui, ma non come root: `widgetctl list`", ["widgetctl list"]),
    ],
)
def test_what_forbids_may_end_with_a_colon(sentence: str, texts: list[str]) -> None:
    assert commands(sentence) == texts


@pytest.mark.parametrize("mark", ["9. ", "9.  ", "10. ", "10.  ", "100. ", "- ", "-   "])
@pytest.mark.parametrize("indent", [2, 3, 4, 5])
def test_a_fence_below_an_item_is_a_fence_however_far_it_is_indented(
    mark: str, indent: int
) -> None:
    blanks = " " * indent
    markdown = f"{mark}Next:\n\n{blanks}```bash\n{blanks}widgetctl a\n{blanks}```\n\n{mark}Last:\n\n{blanks}`widgetctl b`"

    assert commands(markdown)[0] == "widgetctl a"


@pytest.mark.parametrize("blank", ["\u00a0", "\x0c", "\u2003", "\u00a0\n\x0c"])
def test_lines_of_other_blanks_count_as_lines(blank: str) -> None:
    (step,) = extracted(f"{blank}\nRun `widgetctl a`.").steps

    assert (step.line, step.column) == (2 + blank.count("\n"), 6)


def test_a_script_for_another_platform_is_no_part_of_the_file_that_was_named() -> None:
    assert commands("Add `x.log` to `.gitignore`.\n\nDone.\n\n```powershell\ngci\n```") == [
        "edit .gitignore: where it fits"
    ]


def test_a_sentence_with_its_own_code_says_nothing_of_the_block_below() -> None:
    markdown = "Go on.\n\n```bash\nwidgetctl a\n```\n\nIf it fails, run `widgetctl b`.\n\n```bash\nwidgetctl c\n```"

    assert commands(markdown) == ["widgetctl a", "widgetctl c"]


@pytest.mark.parametrize(
    "language", ["bash", "sh", "shell", "zsh", "console", "text", "", "Bash", "{.bash}", "sh copy"]
)
def test_a_shell_fence_is_run_whatever_it_is_called(language: str) -> None:
    assert commands(f"```{language}\nwidgetctl init\n```\n") == ["widgetctl init"]


@pytest.mark.parametrize("language", ["json", "yaml", "python", "output", "diff", "dockerfile"])
def test_a_fence_of_another_language_is_not_run(language: str) -> None:
    assert commands(f"```{language}\nwidgetctl init\n```\n") == []


@pytest.mark.parametrize(
    "lead", ["You should see:", "Expected output:", "It prints something like:", "It fails with:"]
)
def test_an_announced_output_is_no_step(lead: str) -> None:
    found = extracted(f"{lead}\n\n```\nready in 3 s\n```\n")

    assert (found.steps, [s.reason for s in found.skipped]) == ((), [SkipReason.OUTPUT])


def test_the_command_whose_output_is_shown_is_a_step() -> None:
    markdown = "Run `widgetctl list`. You should see:\n\n```\nblue ready\n```\n"

    assert commands(markdown) == ["widgetctl list"]


def test_a_command_in_the_sentence_before_its_block_is_done_once() -> None:
    markdown = "Use `widgetctl start` like this:\n\n```\nwidgetctl start --all\n```\n"

    assert commands(markdown) == ["widgetctl start --all"]


@pytest.mark.parametrize(
    "prompt", ["$ ", "% ", "❯ ", "➜ ", "user@host:~$ ", "[me@box ~]$ ", "(venv) $ ", "~/src $ "]
)
def test_a_prompt_is_taken_off_and_the_repair_is_told(prompt: str) -> None:
    (step,) = extracted(f"```console\n{prompt}widgetctl init\n```\n").steps

    assert step.action == Command(text="widgetctl init")
    assert step.repairs == ("prompt-stripped",)
    assert (step.line, step.column) == (2, len(prompt) + 1)


def test_a_blank_after_the_backslash_stays_and_is_doubted() -> None:
    first, second = extracted("```bash\nwidgetctl create blue \\ \n  --size 3\n```\n").steps

    assert first.action.text == "widgetctl create blue \\ "
    assert first.doubts == ("a blank after the backslash at the end of a line",)
    assert second.action.text == "--size 3"


def test_a_session_keeps_what_was_typed_and_what_was_shown() -> None:
    markdown = "```\n$ sqlite3 x.db\nsqlite> select 1;\n1\nsqlite> .quit\n$ ls\n```\n"

    first, second = extracted(markdown).steps

    assert first.action == Session(program="sqlite3 x.db", lines=("select 1;", ".quit"))
    assert first.output == "1"
    assert second.action == Command(text="ls")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_do_not_matter(end: str) -> None:
    markdown = "1. Run:\n\n   ```bash\n   cat <<E\n   x\n   E\n   ls\n   ```\n"

    assert commands(markdown.replace("\n", end)) == ["cat <<E\nx\nE", "ls"]


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        (
            "```console\n$ run -it web sh\n# nginx -t\n# it says ok\n```",
            ["run -it web sh", "nginx -t"],
        ),
        (
            "```console\n$ sudo -i\n# apt-get update\nok\n# exit\n$ ls\n# apt-get is no prompt\n```",
            ["sudo -i", "apt-get update", "exit", "ls"],
        ),
        ("```console\n$ ls\n# nginx -t\n```", ["ls"]),
    ],
)
def test_a_hash_is_a_prompt_in_a_shell_that_a_command_opened(
    markdown: str, texts: list[str]
) -> None:
    assert commands(markdown) == texts


def test_that_a_hash_may_begin_a_remark_is_a_doubt() -> None:
    first, second = extracted("```console\n$ sudo -i\n# apt-get update\n```").steps

    assert (first.doubts, second.doubts) == (
        (),
        ("`#` may be a prompt of root or begin a remark",),
    )


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("<pre>widgetctl start\nwidgetctl list</pre>", ["widgetctl start", "widgetctl list"]),
        (
            '<pre class="x"><code class="language-sh">cd a &amp;&amp; ls\n</code></pre>',
            ["cd a && ls"],
        ),
        ("<pre><b>$</b> cd <span>a</span>\nok</pre>", ["cd a"]),
        ('<pre><code class="language-json">cd a</code></pre>', []),
        ("- x:\n\n  <pre>\n  $ cd a\n\n  $ ls\n  </pre>", ["cd a", "ls"]),
        ("You should see:\n\n<pre>ready in 3 s</pre>", []),
        ("<pre>cd cut-off", ["cd cut-off"]),
        ("Run <code>cd a</code>, then <kbd>ls -l</kbd>.", ["cd a", "ls -l"]),
        ("<details><summary>Do not run `ls -l`</summary></details>", []),
    ],
)
def test_code_that_html_marks_is_code(markdown: str, texts: list[str]) -> None:
    assert commands(markdown) == texts


# --- laws -------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *("\n", "\n\n", "  ", "    ", "\t", "> ", "- ", "* ", "1. ", "10) ", "# ", "## Windows\n"),
        *("```\n", "```bash\n", "```console\n", "```sql\n", "~~~sh\n", "````\n", "`", "``", "**"),
        *("`widgetctl init`", "`sqlite3 x.db`", "`y`", "`:wq`", "`<name>`", "`vi f`", "`a.txt`"),
        *("widgetctl init\n", "$ widgetctl list\n", "# apt-get update\n", "sqlite> select 1;\n"),
        *("> more\n", "cat <<EOF\n", "EOF\n", "a \\\n", "a \\ \n", "Overwrite? [y/N] y\n"),
        *("Run ", "Do not run ", "Type ", "press Enter", " twice", "or\n", "Alternatively, "),
        *("If it fails, ", "Optional: ", "You should see:\n", "Create a file `a.txt`:\n"),
        *("| a | b |\n", "|---|---|\n", "| Question | Answer |\n", '=== "Windows"\n', "!!! note\n"),
        *("**Linux**\n", "<pre>", "</pre>", "<!-- x -->", "[a](b)", "![a](b)", "&amp;", "\\`"),
        *(
            "é",
            "😀",
            "“q”",
            "\u00a0",
            "\u2028",
            "\0",
            "\r",
            "\x1b",
            "---\n",
            "===\n",
            "Save and quit.",
        ),
    ]
)
MARKDOWN = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=80)


@settings(max_examples=200, deadline=2000)
@given(ANSWERS | MARKDOWN)
def test_any_text_is_read_and_every_place_exists(markdown: str) -> None:
    found = extracted(markdown)

    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    places: list[AnswerStep | Skipped] = [*found.steps, *found.skipped]
    for place in places:
        assert 1 <= place.line <= len(lines)
        assert place.column >= 1


PLACED = ANSWERS | MARKDOWN.filter(lambda text: "\0" not in text)


@example("\u00a0\n`vi 0`")
@example("`\n[]`")
@example("<pre>&amp;<b> x</pre>")
@example("> - \x0c\n> widgetctl a &&\n>   widgetctl b")
@example("| Step | Command |\n|---|---|\n| 1 | ``widgetctl `x` `` |")
@settings(max_examples=300, deadline=2000, derandomize=True)
@given(PLACED)
def test_every_step_stands_where_it_says(markdown: str) -> None:
    for step in extracted(markdown).steps:
        assert stands_there(markdown, step), step


@pytest.mark.nightly
@settings(max_examples=5000, deadline=None)
@given(PLACED)
def test_every_step_stands_where_it_says_in_many_more_answers(markdown: str) -> None:
    for step in extracted(markdown).steps:
        assert stands_there(markdown, step), step


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_step_of_the_corpus_stands_where_it_says(path: Path) -> None:
    markdown = path.read_bytes().decode()

    for step in extracted(markdown).steps:
        assert stands_there(markdown, step), step


@settings(max_examples=200, deadline=2000)
@given(ANSWERS | MARKDOWN)
def test_steps_come_in_reading_order(markdown: str) -> None:
    """But for replies, which a text may announce ahead of the block that asks for them."""
    steps = extracted(markdown).steps
    lines = [step.line for step in steps if not isinstance(step.action, Input)]

    assert lines == sorted(lines)


@settings(max_examples=200, deadline=2000)
@given(st.permutations([path for path in CASES if path.stat().st_size < 600]), st.integers(2, 5))
def test_shuffled_answers_are_read(paths: list[Path], count: int) -> None:
    extracted("\n\n".join(path.read_bytes().decode() for path in paths[:count]))


@settings(max_examples=200, deadline=2000)
@given(st.sampled_from(CASES), st.integers(0, 600))
def test_an_answer_that_is_cut_off_is_read(path: Path, length: int) -> None:
    extracted(path.read_bytes().decode()[:length])


@pytest.mark.parametrize(
    "text", [*list("`~>-*#|[<\\&"), "```bash\n", "- `git a`\n", "Run `git a` and\n"]
)
def test_long_monotonous_text_ends(text: str) -> None:
    extracted(text * 500)


def nested(kinds: tuple[str, ...]) -> Iterator[str]:
    for depth in range(200):
        yield "    " * depth + kinds[depth % len(kinds)] + "\n\n"


def test_deep_nesting_ends() -> None:
    extracted("".join(nested(("!!! note", '=== "Linux"'))) + "    " * 200 + "```\n")
    extracted("> " * 1000 + "x")
    extracted("- " * 1000 + "x")


# --- how people really write ------------------------------------------------------------------

OPEN = "Open it:\n\n```bash\nsqlite3 a.db\n```\n\n"
SESSION = "sqlite3 a.db\nSELECT 1;\n.quit"


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("1. Go to `blog`: `cd blog`\n2. `git stash`", ["cd blog", "git stash"]),
        ("- [ ] `cd blog`\n- [x] `git pull`", ["cd blog", "git pull"]),
        ("`git tag v1 x`, then `git push origin v1`.", ["git tag v1 x", "git push origin v1"]),
        ("widgetctl use x\nwidgetctl push x y", ["widgetctl use x", "widgetctl push x y"]),
        ("widgetctl push -m 1 x", ["widgetctl push -m 1 x"]),
        ("widgetctl is a tool that\nwidgetctl users like.", []),
        (
            "1. Passa al ramo con `git switch x`.\n2. Esegui `git pull origin x`.",
            ["git switch x", "git pull origin x"],
        ),
        (
            "Führe `git switch x` aus, nicht `git reset x`. Danach `git pull`.",
            ["git switch x", "git pull"],
        ),
        ("1. Switch (`git switch x`; older Git: `git checkout x`)", ["git switch x"]),
        ("Save this as `a.sql`:\n\n```sql\nSELECT 1;\n```", ["create a.sql"]),
        (
            "```sql\nSELECT 1;\n```\n\nSave this as `a.sql` and run `sqlite3 a.db < a.sql`.",
            ["create a.sql", "sqlite3 a.db < a.sql"],
        ),
        ("Add `x.log` to `.gitignore`.", ["edit .gitignore: where it fits"]),
        ("Add `x.log` to `.gitignore`:\n\n```bash\necho x.log\n```", ["echo x.log"]),
        (
            "> Do not run `git push --force`.\n\n```bash\ngit push\n```",
            ["git push"],
        ),
    ],
)
def test_what_a_reader_would_do_is_found(markdown: str, texts: list[str]) -> None:
    assert commands(markdown) == texts


@pytest.mark.parametrize(
    "after",
    [
        "To undo this later:",
        "Made a mistake? Delete the tag again:",
        "If you want to go back:",
        "## Troubleshooting",
        "## Undo",
        "## What if the push fails",
        "Troubleshooting:",
    ],
)
def test_what_takes_the_steps_back_is_for_later(after: str) -> None:
    markdown = f"```bash\ngit tag v1\n```\n\n{after}\n\n```bash\ngit tag -d v1\n```"

    assert commands(markdown) == ["git tag v1"]


@pytest.mark.parametrize("lead", ["Then remove it from the index:", "Revert the merge:"])
def test_a_task_that_takes_something_back_is_done(lead: str) -> None:
    assert len(commands(f"```bash\ncd x\n```\n\n{lead}\n\n```bash\ngit rm --cached x\n```")) == 2


@pytest.mark.parametrize(
    ("first", "second"), [("## Method 1", "## Method 2"), ("Option A - one tag:", "**Option B**")]
)
def test_only_the_first_of_several_ways_is_taken(first: str, second: str) -> None:
    markdown = f"{first}\n\n```bash\ngit tag a\n```\n\n{second}\n\n```bash\ngit tag b\n```"

    assert commands(markdown) == ["git tag a"]


def test_what_follows_the_last_way_is_for_all() -> None:
    ways = "Option A:\n\n```bash\ngit tag a\n```\n\nOption B:\n\n```bash\ngit tag b\n```"

    assert commands(f"{ways}\n\nCheck it:\n\n```bash\ngit tag -l\n```") == [
        "git tag a",
        "git tag -l",
    ]


@pytest.mark.parametrize(
    "markdown",
    [
        OPEN + "```\nSELECT 1;\n.quit\n```",
        OPEN + "```sql\nSELECT 1;\n```\n\nLeave it:\n\n```sql\n.quit\n```",
        OPEN
        + "You will see\n\n```\nSQLite version 3\nsqlite>\n```\n\n```sql\nSELECT 1;\n.quit\n```",
        "```bash\nsqlite3 a.db\nSELECT 1;\n.quit\n```",
    ],
)
def test_statements_go_to_the_program_that_is_open(markdown: str) -> None:
    assert commands(markdown) == [SESSION]


def test_a_command_behind_an_open_program_is_for_the_shell() -> None:
    assert commands(OPEN + "```\nsqlite3 b.db .schema\n```") == [
        "sqlite3 a.db",
        "sqlite3 b.db .schema",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Edit `app.py`, remove the conflict markers and save it.",
        "Make the change in README with your editor, then commit.",
        "1. Open the repository on GitHub, click **Branches** and delete `x` there.",
    ],
)
def test_what_only_a_person_can_do_is_a_manual_step(sentence: str) -> None:
    (step,) = extracted(sentence).steps

    assert isinstance(step.action, Manual)


def test_a_word_that_the_prose_calls_a_stand_in_is_a_placeholder() -> None:
    (step,) = extracted("```\ngit tag vX.Y.Z\n```\n\nReplace X.Y.Z with your version.").steps

    assert step.placeholders == ("X.Y.Z",)


def test_an_editor_that_the_prose_announces_takes_keys() -> None:
    text = "1. `git revert -m 1 HEAD`\n2. An editor opens: save and close it (`:wq` in vi)."

    assert commands(text) == ["git revert -m 1 HEAD", ":wq"]


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        (
            "| Step | Command |\n|---|---|\n| 1 | `cd x` |\n| 2 | `git push` |",
            ["cd x", "git push"],
        ),
        ("```\nsqlite3 a.db\nsqlite> SELECT 1;\n1\nsqlite> .quit\n```", [SESSION]),
        ("```sql\nsqlite3 a.db\nsqlite> SELECT 1;\n1\nsqlite> .quit\n```", [SESSION]),
        ("```sql\n$ sqlite3 a.db\nsqlite> SELECT 1;\n1\nsqlite> .quit\n```", [SESSION]),
        ("```sql\nSELECT 1;\n-- sqlite> is the prompt\n```", []),
        (
            "```\nopenssl pkey -aes256 -in a\nEnter PEM pass phrase: secret\n```",
            ["openssl pkey -aes256 -in a", "secret"],
        ),
        (
            "Run `openssl pkey -aes256 -in a`. When asked, enter the passphrase `secret`.",
            ["openssl pkey -aes256 -in a", "secret"],
        ),
    ],
)
def test_tables_transcripts_and_replies_are_read(markdown: str, texts: list[str]) -> None:
    assert commands(markdown) == texts


@pytest.mark.parametrize(
    "markdown",
    [
        "```\ncat > f <<'E'\nx\nE\nok\nsqlite3 a.db\n```",
        "```sql\n> cat > f <<'E'\nx\nE\n# a\na &&\n  b\nok\nsqlite3 a.db\n```",
        "```\n# only a remark\nsqlite3 a.db\nx\n```",
    ],
)
def test_a_program_behind_what_cannot_be_told_is_read(markdown: str) -> None:
    extracted(markdown)


def test_a_manual_step_stands_where_its_sentence_does() -> None:
    (step,) = extracted(
        "You need the web interface.\nOnce there:\n\n1. It\nloads. Open the **User** menu."
    ).steps

    assert (step.action, step.line, step.column) == (Manual(text="Open the User menu."), 5, 8)


def test_a_reply_that_is_announced_ahead_of_its_block_keeps_its_place_and_comes_after() -> None:
    steps = extracted("Type `y` when you are asked.\n\n```bash\nwidgetctl init\n```").steps

    assert [(s.action.text, s.line) for s in steps] == [("widgetctl init", 4), ("y", 1)]


def test_a_program_that_is_left_takes_no_more_blocks() -> None:
    program = SessionProgram(program="kv", prompts=("kv>",), quit=("exit",))
    hints = Hints(programs=frozenset(["kv"]), sessions=(program,), prompts=("kv>",))
    text = "```console\n$ kv\nkv> SET a 1\nkv> exit\n```\n\nThen:\n\n```sh\nrepair --all\n```\n"

    steps = extract(text, hints).steps

    assert [step.action.text for step in steps] == ["kv\nSET a 1\nexit", "repair --all"]


def manual_of(markdown: str) -> list[tuple[str, bool]]:
    steps = extracted(markdown).steps
    return [(s.action.text, s.action.looks) for s in steps if isinstance(s.action, Manual)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Open `http://your-server/admin/` in a browser. It should ask for a name.",
        "Visit `http://blog.example.test:8080/` in your browser to see the site.",
        "Always have a look at the file in `alembic/versions/` before the last command.",
        "Then review the generated file `migrations/0001_initial.py`.",
        "Now read through `/etc/app/app.conf`.",
    ],
)
def test_a_look_by_hand_is_a_step_that_changes_nothing(sentence: str) -> None:
    found = manual_of(f"1. `git status`\n2. {sentence}\n")

    assert [looks for _, looks in found] == [True]
    assert sentence.startswith(found[0][0])


@pytest.mark.parametrize(
    "sentence",
    [
        "If it fails, have a look at `/var/log/app.log`.",
        "Open `https://example.test/admin` in a browser and click **Save**.",
        "The command opens `http://localhost:8000` in your browser.",
        "We review the file `a.txt` in the next chapter.",
        "Have a look at the documentation.",
    ],
)
def test_what_is_no_look_or_more_than_one_is_none(sentence: str) -> None:
    assert True not in [looks for _, looks in manual_of(f"1. `git status`\n2. {sentence}\n")]


@pytest.mark.parametrize(
    "text",
    [
        "Leave it again with `deactivate` when you are finished.",
        "Type `exit` to get back to your normal shell.",
        "Enter `deactivate` to leave the virtual environment.",
    ],
)
def test_the_way_out_at_the_end_is_no_reply(text: str) -> None:
    found = extracted(f"```bash\ngit status\n```\n\n{text}\n").steps

    assert [s.action.text for s in found] == ["git status"]


def test_a_look_in_the_sentence_before_a_block_is_done_too() -> None:
    found = extracted("Check with `git status` first, then:\n\n```sh\ngit add .\n```\n").steps

    assert [s.action.text for s in found] == ["git status", "git add ."]


@pytest.mark.parametrize(
    ("lead", "count"),
    [("Look at it before you load it:", 1), ("Before:", 0), ("In Git before 2.23:", 0)],
)
def test_before_something_is_done_is_no_history(lead: str, count: int) -> None:
    assert len(extracted(f"{lead}\n\n```sh\ngit add .\n```\n").steps) == count
