"""Text of a file to a Document, or errors at line and column."""

import difflib
import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec
import yaml

from procexec.errors import UserError
from procexec.location import Location
from procexec.model.document import Document

MAX_YAML_BYTES = 1 << 20
MAX_DEPTH = 60

D = TypeVar("D", bound=Document)

Path = tuple[str | int, ...]


def decode_json(line: bytes, kind: type[D], *, file: str, number: int) -> D:
    """Return the document of one JSON line; ``number`` is the line's, from 1.

    Raises:
        UserError: with the place of the fault, to the column.
    """
    try:
        document = msgspec.json.decode(line, type=kind)
        _refuse_duplicate_keys(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as e:
        raise _json_error(e, line, kind, file=file, number=number) from e
    return document


def decode_yaml(text: str, kind: type[D], *, file: str) -> D:
    """Return the document of a YAML file: no aliases, no tags, no duplicate keys.

    Raises:
        UserError: with the place of the fault.
    """
    node = _compose(text, file)
    if node is None:
        raise UserError("the file is empty", at=Location(file, 1))
    try:
        return msgspec.convert(yaml.safe_load(text), kind)
    except msgspec.ValidationError as e:
        message, path = _message_and_path(str(e))
        at = _yaml_place(node, path, message)
        raise UserError(
            message, at=Location(file, *at), hint=_hint(message, kind, path, quote=True)
        ) from e
    except (yaml.YAMLError, ValueError) as e:
        raise UserError(str(e), at=Location(file, 1)) from e


def _refuse_duplicate_keys(line: bytes) -> None:
    def pairs(items: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in items]
        if len(set(keys)) != len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"the key `{twice}` stands twice")

    json.loads(line, object_pairs_hook=pairs)


def _json_error(e: Exception, line: bytes, kind: type[D], *, file: str, number: int) -> UserError:
    if isinstance(e, RecursionError):
        return UserError("nested too deeply", at=Location(file, number))
    if isinstance(e, UnicodeDecodeError):
        return UserError(f"not UTF-8 at byte {e.start + 1}", at=Location(file, number, e.start + 1))
    message, path = _message_and_path(str(e))
    column = _json_column(line, path, message)
    return UserError(
        message, at=Location(file, number, column), hint=_hint(message, kind, path, quote=False)
    )


def _message_and_path(text: str) -> tuple[str, Path]:
    message, _, where = text.partition(" - at ")
    path = [
        int(index) if index else key
        for key, index in re.findall(r"\.([\w-]+)|\[(\d+|\.\.\.)\]", where.strip("`"))
        if index != "..."
    ]
    return message, tuple(path)


def _json_column(line: bytes, path: Path, message: str) -> int:
    byte = re.search(r"\(byte (\d+)\)", message)
    if byte:
        return len(line[: int(byte[1])].decode(errors="replace")) + 1
    try:
        node = yaml.compose(line.decode(errors="replace"), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError):
        return 1
    return _yaml_place(node, path, message)[1] if node is not None else 1


def _yaml_place(node: yaml.Node, path: Path, message: str) -> tuple[int, int]:
    for part in path:
        node = _child(node, part) or node
    unknown = re.search(r"unknown field `([^`]+)`", message)
    if unknown and isinstance(node, yaml.MappingNode):
        node = next((k for k, _ in node.value if k.value == unknown[1]), node)
    return node.start_mark.line + 1, node.start_mark.column + 1


def _child(node: yaml.Node, part: str | int) -> yaml.Node | None:
    if isinstance(part, int) and isinstance(node, yaml.SequenceNode):
        return cast("yaml.Node", node.value[part]) if part < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        return next((v for k, v in node.value if k.value == part), None)
    return None


def _hint(message: str, kind: type[Document], path: Path, *, quote: bool) -> str:
    unknown = re.search(r"unknown field `([^`]+)`", message)
    if unknown:
        return did_you_mean(unknown[1], _field_names(kind))
    if quote and "Expected `str`" in message and re.search(r"got `(float|int|bool)`", message):
        return 'quote it, e.g. "1.10"'
    missing = re.search(r"missing required field `([^`]+)`", message)
    return f"add `{missing[1]}`" if missing else ""


def _field_names(kind: type[Document]) -> list[str]:
    names: list[str] = []
    seen: set[type] = set()

    def collect(struct: type) -> None:
        if struct in seen:
            return
        seen.add(struct)
        for field in msgspec.structs.fields(struct):
            names.append(field.encode_name)
            for part in _structs_in(field.type):
                collect(part)

    collect(kind)
    return names


def _structs_in(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _structs_in(part)


def did_you_mean(word: str, known: list[str]) -> str:
    """Return a hint that names the nearest of the known words, or all of them if they are few."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    shown = sorted(dict.fromkeys(known))
    return f"one of: {', '.join(shown[:12])}{', ...' if len(shown) > 12 else ''}" if shown else ""


def _compose(text: str, file: str) -> yaml.Node | None:
    if len(text.encode()) > MAX_YAML_BYTES:
        raise UserError(f"larger than {MAX_YAML_BYTES} bytes", at=Location(file, 1))
    try:
        _check_events(text, file)
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise UserError(e.problem or "not YAML", at=Location(file, *place)) from e
    except (yaml.YAMLError, ValueError) as e:
        raise UserError(str(e), at=Location(file, 1)) from e
    if node is not None:
        _check_keys(node, file)
    return cast("yaml.Node | None", node)


def _check_events(text: str, file: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        at = Location(file, event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.AliasEvent):
            raise UserError("aliases are not allowed", at=at, hint="write the value out")
        if getattr(event, "tag", None):
            raise UserError(f"the tag `{event.tag}` is not allowed", at=at, hint="remove it")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise UserError("nested too deeply", at=at)


def _check_keys(node: yaml.Node, file: str) -> None:
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen or key.value == "<<":
                at = Location(file, key.start_mark.line + 1, key.start_mark.column + 1)
                raise UserError(f"the key `{key.value}` stands twice or is a merge key", at=at)
            seen.add(str(key.value))
            children.append(value)
    elif isinstance(node, yaml.SequenceNode):
        children = list(node.value)
    for child in children:
        _check_keys(child, file)
