"""The codes of findings, explained: one page each, kept as data beside this module."""

from difflib import get_close_matches
from functools import cache
from importlib.resources import files

import msgspec
import yaml

from procexec.errors import UserError
from procexec.model.result import Code


class Page(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What there is to know about a code."""

    title: str
    meaning: str
    decided: str
    acts: str
    example: str
    closer: str


def explain(code_or_slug: str) -> str:
    """Return the page of a code, found by its number or its words.

    Raises:
        UserError: there is no such code.
    """
    code = _code(code_or_slug.strip())
    page = pages()[code.value]
    parts = {
        "How it is decided": page.decided,
        "Who acts": page.acts,
        "Example": page.example,
        "To look closer": page.closer,
    }
    sections = [f"{head}\n{_indented(text)}" for head, text in parts.items()]
    title = f"{code.value} {code.slug}: {page.title}"
    return "\n\n".join([title, page.meaning.strip(), *sections]) + "\n"


def all_codes() -> str:
    """Return all codes, a line each."""
    width = max(len(code.slug) for code in Code)
    return "".join(f"{c.value}  {c.slug:<{width}}  {pages()[c.value].title}\n" for c in Code)


@cache
def pages() -> dict[str, Page]:
    """Return the shipped pages by code."""
    text = (files("procexec.report") / "codes.yaml").read_text("utf-8")
    return msgspec.convert(yaml.safe_load(text), dict[str, Page])


def _code(wanted: str) -> Code:
    known = {name: code for code in Code for name in (code.value, code.slug)}
    for name in (wanted.upper(), wanted.lower().replace("_", "-").replace(" ", "-")):
        if name in known:
            return known[name]
    close = get_close_matches(wanted.lower(), [name.lower() for name in known], n=1)
    hint = f"did you mean `{_spelt(close[0])}`?" if close else "`procexec explain` lists all codes"
    raise UserError(f'no finding has the code "{wanted}"', hint=hint)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.strip().split("\n"))


def _spelt(name: str) -> str:
    return name.upper() if name.startswith("px") else name
