"""Every command that pages and docs name is one that procexec has."""

import re
from pathlib import Path

import pytest

from procexec.cli import cli
from procexec.cli.sandbox import sandbox

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    *sorted(ROOT.glob("docs/*.md")),
    ROOT / "README.md",
    ROOT / "procexec/report/codes.yaml",
]
NAMED = re.compile(r"(?:^|[`$ ])procexec ([a-z]+)(?: ([a-z]+))?")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_only_commands_that_there_are(page: Path) -> None:
    text = page.read_text()
    code = "\n".join(re.findall(r"`procexec [^`]*`|^(?: {4}|\$ )procexec .*$", text, re.MULTILINE))

    named = NAMED.findall(code.replace("`|", "`\n"))

    assert {first for first, _ in named} <= set(cli.list_commands(None))  # type: ignore[arg-type]
    assert {second for first, second in named if first == "sandbox" and second} <= {
        name.rstrip("_") for name in sandbox.commands
    }
