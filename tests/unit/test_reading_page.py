"""docs/reading.md tells of every rule by which answers are read and compared."""

import re
from pathlib import Path

import pytest

from procexec.align import find
from procexec.model.alignment import Label
from procexec.model.step import Rule, SkipReason

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reading.md").read_text()


@pytest.mark.parametrize("rule", [*Rule, *SkipReason, *Label])
def test_every_rule_has_a_row_with_its_meaning(rule: Rule | SkipReason | Label) -> None:
    assert f"| `{rule}` | {rule.meaning} |" in PAGE


@pytest.mark.parametrize(
    "place", sorted(set(re.findall(r"(?:extract|align|shell)/\w+\.py[^|;\n]*", PAGE)))
)
def test_what_a_row_points_at_is_there(place: str) -> None:
    file, *names = re.findall(r"[\w/]+\.py|(?<=`)\w+(?=`)", place)
    source = (ROOT / "procexec" / file).read_text()

    assert [name for name in names if name not in source] == []


def test_the_numbers_are_those_of_the_code() -> None:
    numbers = [find.CLEAR, find.HINT, find.FITS, find.AHEAD]

    assert [f"{number:.2f}" for number in numbers if f"{number:.2f}" not in PAGE] == []
