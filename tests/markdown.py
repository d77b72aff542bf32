"""Markdown as assistants write it, put together from fragments; and where a step stands in it."""

import html
import re
from collections.abc import Callable

from hypothesis import strategies as st

from procexec.model.step import (
    AnswerStep,
    Command,
    FileEdit,
    FileWrite,
    Input,
    Manual,
    Repair,
    Rule,
    Session,
)

Text = st.SearchStrategy[str]

COMMANDS = st.sampled_from(
    [
        "widgetctl init",
        "widgetctl list --all",
        "git commit -m 'größer 😀'",
        "cd demo",
        "A=1 widgetctl start",
        "widgetctl login <user> --key YOUR_KEY",
        "widgetctl tag –name “blue”",
        'echo "it\'s" | sort',
        "widgetctl create \\\n  --size 3",
        "cat > note.txt <<'EOF'\nport = 8080\n\n  deep\nEOF",
        "for f in *.txt; do\n\twidgetctl add $f\ndone",
        "widgetctl a &&\n  widgetctl b",
        "# only a remark",
        "widgetctl go  # a remark",
        "$HOME/bin/widgetctl init",
        "widgetctl x \\ \n  --y",
        "sqlite3 a.db",
        "echo 'open",
    ]
)
INLINE = st.sampled_from(
    ["widgetctl init", "git status -s", "cd demo", "demo", "y", "a.txt", "sqlite3 a.db", "x = 1"]
)
PROMPTS = st.sampled_from(["$ ", "# ", "(venv) $ ", "dev@box:~/src$ ", "❯ ", "sqlite> ", "> ", ""])
OUTPUT = st.sampled_from(["ok", "done: 3", "| a | b |", "", "sqlite> select 1;", "\tx\ty", "# x"])
LANGUAGES = st.sampled_from(["bash", "sh", "console", "", "text", "sql", "yaml", "{.bash}", "sh x"])
VERBS = st.sampled_from(
    [
        "Run {}.",
        "Then run {}, and after that {}.",
        "Do not run {}.",
        "Type {} when asked.",
        "Change into {} and run {}:",
        "Esegui {}.",
        "Führe {} aus, danach {}.",
        "Create the file {}:",
        "In {} change {} to {}.",
        "Add {} to {}.",
        "**Open** the *settings* page, click {}.",
        "If it fails, run {}.",
        "Alternatively, {}:",
        "You should see:",
        "Öffne die Einstellungen – “alles” wählen\u00a0… \\* &amp; &lt;b&gt; {}",
        "<code>{}</code> and <kbd>{}</kbd>",
    ]
)


@st.composite
def prose(draw: st.DrawFn) -> str:
    """A sentence with code in it."""
    sentence = draw(VERBS)
    codes = [f"`{draw(INLINE)}`" for _ in range(sentence.count("{}"))]
    return sentence.format(*codes)


@st.composite
def fence(draw: st.DrawFn) -> str:
    """A code block: a script or a terminal, closed or cut off, of any kind of fence."""
    mark = draw(st.sampled_from(["```", "~~~", "````"]))
    lines = draw(
        st.lists(COMMANDS | st.builds(str.__add__, PROMPTS, COMMANDS) | OUTPUT, max_size=5)
    )
    end = draw(st.sampled_from([f"\n{mark}", f"\n{mark}", ""]))
    return f"{mark}{draw(LANGUAGES)}\n" + "\n".join(lines) + end


HTML = st.builds(
    lambda code, tag: tag.format(code),
    COMMANDS,
    st.sampled_from(
        [
            "<pre>{}</pre>",
            '<pre><code class="language-bash">{}\n</code></pre>',
            "<pre>\n{}\n</pre>",
            "<details>\n<summary>x</summary>\n\n`{}`\n\n</details>",
            "<!-- {} -->",
        ]
    ),
)
TABLE = st.builds(
    lambda codes, head: (
        f"| {head} | Command |\n|---|---|\n"
        + "\n".join(f"| {k} | `{code}` |" for k, code in enumerate(codes, 1))
    ),
    st.lists(INLINE, min_size=1, max_size=3),
    st.sampled_from(["Step", "Name", "Question"]),
)
OTHER = st.sampled_from(
    ["## Windows", "### Option B", "---", '=== "Linux"\n', "!!! note\n", "[^1]: a note", "", "\x0c"]
)


def _indented(text: str, first: str, rest: str) -> str:
    head, *tail = text.split("\n")
    return "\n".join([first + head, *(rest + line if line else line for line in tail)])


BULLETS = st.sampled_from(["- ", "* ", "1. ", "10. ", "2) ", "-   "])


def _item(text: str, bullet: str) -> str:
    return _indented(text, bullet, " " * len(bullet))


def _quote(text: str) -> str:
    return _indented(text, "> ", "> ")


def _deep(text: str) -> str:
    return _indented(text, "    ", "    ")


BLOCKS = st.recursive(
    prose() | fence() | HTML | TABLE | OTHER | COMMANDS,
    lambda inner: (
        st.builds(_item, inner, BULLETS)
        | st.builds(_quote, inner)
        | st.builds(_deep, inner)
        | st.lists(inner, min_size=2, max_size=3).map("\n\n".join)
    ),
    max_leaves=6,
)
ENDS: list[Callable[[str], str]] = [
    lambda text: text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\r"),
]
ANSWERS = st.builds(
    lambda blocks, glue, end: end(glue.join(blocks)),
    st.lists(BLOCKS, max_size=5),
    st.sampled_from(["\n\n", "\n"]),
    st.sampled_from(ENDS),
)


def stands_there(markdown: str, step: AnswerStep) -> bool:
    """Tell whether the text at a step's place begins as the step does, as far as it is written."""
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    there = lines[step.line - 1][step.column - 1 :]
    wanted = _as_written(step)
    if isinstance(step.action, Manual):
        there = there.lstrip("*_ (")
    read = html.unescape(there.replace("\\|", "|"))
    return wanted is None or any(s.startswith(wanted) or _flowing(s, wanted) for s in (there, read))


def _flowing(there: str, wanted: str) -> bool:
    """Code in a sentence may go on in the next line, where the line's end counts as a blank."""
    return bool(there.strip()) and wanted.startswith(there.rstrip() + " ")


def _as_written(step: AnswerStep) -> str | None:
    """Return what must stand at a step's place; None for keys and edits that sentences describe."""
    match step.action:
        case Command(text=text) if Repair.DIRECTORY_FROM_PROSE in step.repairs:
            return text.removeprefix("cd ")
        case Command(text=text):
            return text.split("\n")[0]
        case Session(program=program, lines=lines):
            return (program or next(iter(lines), "")).split("\n")[0]
        case Input(keys=(key, *_)) if step.rule not in (Rule.EDITOR_KEYS, Rule.DEFAULT_REPLY):
            return key.rstrip("\r")
        case FileWrite(content=content):
            return content.split("\n")[0]
        case FileEdit(content=content) if not re.search("`", step.prose) or content in step.prose:
            return None
        case FileEdit(content=content):
            return content.split("\n")[0]
        case Manual(text=text):
            return re.split(r"[\W_]", text.lstrip("*_ ("), maxsplit=1)[0]
        case _:
            return None
