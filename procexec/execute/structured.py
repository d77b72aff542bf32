"""Fragments of JSON and YAML put into files of the same kind. Pure."""

import json
import re
from collections.abc import Sequence

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

_YAML_KEY = re.compile(r"^(?P<indent> *)(?P<key>[^\s#\-][^:#]*?)\s*:(?:\s+(?P<value>\S.*))?$")


def merged_json(lines: Sequence[str], new: Sequence[str]) -> list[str] | None:
    """Return a JSON file with the members of a fragment; None if either is no object."""
    told = _object("\n".join(new)) or _object("{" + "\n".join(new).strip().rstrip(",") + "}")
    have = _object("\n".join(lines) or "{}")
    if told is None or have is None:
        return None
    indent = next((len(m[1]) for line in lines if (m := re.match(r"( +)\S", line))), 2)
    return json.dumps(_deep(have, told), indent=indent, ensure_ascii=False).split("\n")


def _object(text: str) -> dict[str, Json] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _deep(have: dict[str, Json], told: dict[str, Json]) -> dict[str, Json]:
    made = dict(have)
    for key, value in told.items():
        old = made.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        made[key] = _deep(old, value) if both else value  # type: ignore[arg-type]
    return made


def merged_yaml(lines: Sequence[str], new: Sequence[str]) -> list[str] | None:
    """Return a YAML file with a fragment's keys set, mappings below them merged; None if it has none."""
    told = [line for line in new if line.strip() and not line.lstrip().startswith("#")]
    if not told or not all(_YAML_KEY.match(line) or line.lstrip().startswith("-") for line in told):
        return None
    return _merged_level(list(lines), told)


def _merged_level(lines: list[str], told: list[str]) -> list[str]:
    k = 0
    while k < len(told):
        m = _YAML_KEY.match(told[k])
        end = k + 1
        own = len(told[k]) - len(told[k].lstrip())
        while end < len(told) and len(told[end]) - len(told[end].lstrip()) > own:
            end += 1
        lines = _with_key(lines, told[k:end], m["key"] if m else "")
        k = end
    return lines


def _with_key(lines: list[str], item: list[str], key: str) -> list[str]:
    shallow = min((_depth(line) for line in lines if line.strip()), default=0)
    at = next(
        (
            k
            for k, line in enumerate(lines)
            if (m := _YAML_KEY.match(line)) and m["key"] == key and _depth(line) == shallow
        ),
        None,
    )
    shift = shallow - _depth(item[0])
    fitted = [_moved(line, shift) for line in item]
    if at is None or not key:
        return [*lines, *fitted]
    end = _end_of(lines, at)
    if len(item) == 1 or end == at + 1:
        return [*lines[:at], *fitted, *lines[end:]]
    below = _merged_level(lines[at + 1 : end], item[1:])
    return [*lines[: at + 1], *below, *lines[end:]]


def _end_of(lines: Sequence[str], at: int) -> int:
    rest = (
        k
        for k in range(at + 1, len(lines))
        if lines[k].strip()
        and _depth(lines[k]) <= _depth(lines[at])
        and lines[k].lstrip()[0] != "#"
    )
    end = next(rest, len(lines))
    while end > at + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _moved(line: str, shift: int) -> str:
    return " " * shift + line if shift >= 0 else line[-shift:]
