"""Commands written otherwise: wrong ones, and the same ones in other words."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from procexec.model.document import CommandSpec, OptionSpec
from procexec.model.step import Canonical
from procexec.shell.canonical import canonical
from procexec.shell.options import merged, option
from procexec.shell.parse import SimpleCommand, parse

Tables = Mapping[str, CommandSpec]

_TOKEN = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""")
_PLAIN = re.compile(r"[\w@%+=:,./-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """A new text, and what was done to the old one."""

    text: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word of a command's first line, with its place in the text."""

    text: str
    start: int
    end: int

    @property
    def bare(self) -> str:
        return re.sub(r"""^(['"])(.*)\1$""", r"\2", self.text)


def tokens(text: str) -> list[Token]:
    """Return the words of the first line of a command."""
    line = text.split("\n", 1)[0]
    return [Token(text=m[0], start=m.start(), end=m.end()) for m in _TOKEN.finditer(line)]


def _put(text: str, token: Token, new: str) -> str:
    return text[: token.start] + new + text[token.end :]


def _forms(text: str, tables: Tables) -> list[tuple[SimpleCommand, Canonical]]:
    return [(c, canonical(c, tables)) for c in parse(text).commands if c.argv]


def _letters_swapped(word: str, rng: Random) -> str:
    at = [k for k in range(len(word) - 1) if word[k] != word[k + 1] and word[k].isalpha()]
    k = rng.choice(at)
    return word[:k] + word[k + 1] + word[k] + word[k + 2 :]


def typo(text: str, tables: Tables, rng: Random) -> Iterator[Rewrite]:
    """Yield the command with two letters of its program or sub-command swapped."""
    for _, form in _forms(text, tables)[:1]:
        names = {form.path[-1], form.path[0]} if form.path else set()
        for token in tokens(text):
            word = token.bare
            if word in names and len(word) > 2 and word.isascii() and re.search("[a-z]{2}", word):
                wrong = _letters_swapped(word, rng)
                yield Rewrite(text=_put(text, token, wrong), change=f"`{word}` becomes `{wrong}`")


def invented_option(text: str, tables: Tables, rng: Random) -> Iterator[Rewrite]:
    """Yield the command with an option that no program has."""
    name = rng.choice(["--apply-now", "--auto-resolve", "--safe-mode=strict"])
    for _, form in _forms(text, tables)[:1]:
        found = [t for t in tokens(text) if t.bare == (form.path or ("",))[-1]]
        if found:
            at = found[0].end
            yield Rewrite(text=f"{text[:at]} {name}{text[at:]}", change=f"`{name}` is added")


def _options_of(text: str, tables: Tables) -> Iterator[tuple[Token, Token | None, OptionSpec]]:
    """Yield the options that a command's table knows, each with its value if that stands apart."""
    forms = _forms(text, tables)
    if len(forms) != 1:
        return
    form = forms[0][1]
    specs: list[CommandSpec] = []
    table = merged(form.path[0], tables) if form.path else None
    for name in form.path[1:]:
        specs += [table] if table else []
        table = table.commands.get(name) if table else None
    specs += [table] if table else []
    words = tokens(text)
    for k, token in enumerate(words):
        spec = next((o for s in reversed(specs) if (o := option(s, token.bare))), None)
        if spec is not None and token.text.startswith("-"):
            value = words[k + 1] if spec.value and k + 1 < len(words) else None
            yield token, value, spec


def dropped_option(text: str, tables: Tables, rng: Random) -> Iterator[Rewrite]:
    """Yield the command without one of its options that says what to do."""
    for token, value, spec in _options_of(text, tables):
        if not spec.benign:
            end = value.end if value else token.end
            shorter = (text[: token.start].rstrip() + text[end:]).strip()
            yield Rewrite(text=shorter, change=f"`{token.text}` is left out")


def altered(word: str) -> str:
    """Return another value of the same kind."""
    if word.isdigit():
        return str(int(word) + 1 if len(word) < 3 else int(word) * 2)
    if m := re.fullmatch(r"(.*?)(\.\w{1,5})", word):
        return f"{m[1]}-alt{m[2]}"
    return f"{word}-alt" if re.fullmatch(r"[\w./:@*-]+", word) else f"{word} alt"


def _in_its_place(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<![\w.-]){re.escape(old)}(?![\w.-])", lambda _: new, text)


def wrong_value(text: str, values: Mapping[str, str], rng: Random) -> Iterator[Rewrite]:
    """Yield the text with a value that the question fixes replaced by another."""
    for name, value in values.items():
        if len(value) < 2 or name in ("dir", "folder", "project"):
            continue
        places = list(re.finditer(rf"(?<![\w.-]){re.escape(value)}(?![\w.-])", text))
        if places:
            wrong = altered(value)
            changed = _in_its_place(text, value, wrong)
            yield Rewrite(text=changed, change=f"{name}: `{value}` becomes `{wrong}`")


def wrong_path(text: str, tables: Tables, rng: Random) -> Iterator[Rewrite]:
    """Yield the command with one of its paths replaced by another."""
    for token in tokens(text)[1:]:
        if re.fullmatch(r"[~\w.@-]*/[\w./@-]*\w", token.text):
            wrong = altered(token.text)
            yield Rewrite(text=_put(text, token, wrong), change=f"`{token.text}` becomes `{wrong}`")


def wrong_content(text: str, rng: Random) -> Iterator[Rewrite]:
    """Yield the content of a file with a line left out that says something."""
    lines = text.split("\n")
    telling = [k for k, line in enumerate(lines) if len(re.sub(r"\W", "", line)) > 5]
    for k in rng.sample(telling, min(2, len(telling))):
        rest = "\n".join(lines[:k] + lines[k + 1 :])
        yield Rewrite(text=rest, change=f"the line `{lines[k].strip()}` is left out")


# --- the same in other words -------------------------------------------------------------------


def option_spelling(text: str, tables: Tables, rng: Random) -> Iterator[Rewrite]:
    """Yield the command with an option by another of its names, or its value joined by ``=``."""
    for token, value, spec in _options_of(text, tables):
        for name in spec.names:
            if name == token.text or "=" in token.text:
                continue
            long = name.startswith("--")
            if value is not None and long:
                new = f"{text[: token.start]}{name}={text[value.start :]}"
            else:
                new = _put(text, token, name)
            yield Rewrite(text=new, change=f"`{token.text}` is spelt `{name}`")


def option_order(text: str, tables: Tables, rng: Random) -> Iterator[Rewrite]:
    """Yield the command with two neighbouring options in the other order."""
    found = list(_options_of(text, tables))
    ends = [(token.start, (value or token).end) for token, value, _ in found]
    for (a, b), (c, d) in pairwise(ends):
        if text[b:c].strip() == "":
            new = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
            yield Rewrite(text=new, change=f"`{text[c:d]}` before `{text[a:b]}`")


def quoting(text: str, tables: Tables, rng: Random) -> Iterator[Rewrite]:
    """Yield the command with a word in other quotes."""
    for token in tokens(text)[1:]:
        bare = token.bare
        if re.search(r"""['"\\$`!*?~<>|;&(){}#]""", bare) or token.text.startswith("-") or not bare:
            continue
        if token.text.startswith('"'):
            yield Rewrite(text=_put(text, token, f"'{bare}'"), change="single quotes")
        elif token.text.startswith("'"):
            yield Rewrite(text=_put(text, token, f'"{bare}"'), change="double quotes")
        elif _PLAIN.fullmatch(token.text) and re.search(r"[\w]", bare) and "=" not in bare:
            if _is_name(text, token, tables):
                continue
            yield Rewrite(text=_put(text, token, f'"{bare}"'), change="quotes that are not needed")


def _is_name(text: str, token: Token, tables: Tables) -> bool:
    return any(token.bare in form.path for _, form in _forms(text, tables))


def split_line(text: str, tables: Tables, rng: Random) -> Iterator[Rewrite]:
    """Yield the command on two lines, joined by a backslash."""
    found = tokens(text)
    if len(found) > 3 and "\n" not in text:
        at = found[rng.randrange(2, len(found))].start
        yield Rewrite(text=f"{text[:at]}\\\n    {text[at:]}", change="a line is continued")


def equivalent(text: str, pairs: Mapping[str, str], rng: Random) -> Iterator[Rewrite]:
    """Yield the command as other commands that do the same (``pairs``: pattern to replacement)."""
    for pattern, other in pairs.items():
        if re.search(pattern, text):
            new = re.sub(pattern, other, text, count=1)
            if new != text:
                yield Rewrite(text=new, change=f"`{new}` for `{text}`")


Rewriter = Callable[[str, Tables, Random], Iterator[Rewrite]]
