"""Text of a file to a Document, or errors at line and column."""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, TypeVar, cast

import msgspec
import yaml

from procexec.errors import UserError
from procexec.location import Location, locate
from procexec.model.document import Document

MAX_YAML_BYTES = 1 << 20
MAX_DEPTH = 60
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_ESCAPE = re.compile(
    r"\\u[dD][89aAbB]..\\u[dD][c-fC-F]..|(?P<half>\\u[dD][89a-fA-F]..)|\\.", re.DOTALL
)

D = TypeVar("D", bound=Document)

Path = tuple[str | int, ...]


def decode_json(line: bytes, kind: type[D], *, file: str, number: int) -> D:
    """Return the document of one JSON line; ``number`` is the line's, from 1.

    Raises:
        UserError: with the place of the fault, to the column.
    """
    try:
        document = msgspec.json.decode(line, type=kind)
        json.loads(line, object_pairs_hook=_refuse_duplicate_keys)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as e:
        raise _json_error(e, line, kind, Location(file, number)) from e
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
        return msgspec.convert(yaml.load(text, Loader=_Loader), kind)
    except msgspec.ValidationError as e:
        message, path = _message_and_path(str(e))
        at = _yaml_place(node, path, message)
        raise UserError(
            message, at=Location(file, *at), hint=_hint(message, kind, path, quote=True)
        ) from e
    except (yaml.YAMLError, ValueError) as e:
        raise UserError(str(e), at=Location(file, 1)) from e


def read_yaml(path: FilePath, *, within: FilePath) -> str:
    """Return the text of a YAML file that stands in a folder, whatever links lead to it.

    Raises:
        UserError: it stands elsewhere, cannot be read, or is no UTF-8; with the place.
    """
    try:
        if not path.resolve(strict=True).is_relative_to(within.resolve()):
            hint = f"put the file itself into `{within}`"
            raise UserError("a link out of the folder", at=Location(str(path), 1), hint=hint)
        data = path.read_bytes()
    except OSError as e:
        raise UserError(f"cannot be read: {e.strerror}", at=Location(str(path), 1)) from e
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        at = locate(data[: e.start].decode(), e.start)
        raise UserError("not UTF-8", at=Location(str(path), *at)) from e


def place_in_yaml(text: str, path: Path, *, file: str) -> Location:
    """Return where the value at a path stands in YAML that decodes."""
    node = yaml.compose(text, Loader=_Loader)
    return Location(file, *(_yaml_place(node, path, "") if node is not None else (1, 1)))


class _Loader(yaml.CSafeLoader):
    """YAML in which only decimal numbers are numbers: ``12:30``, ``0755`` and dates are text."""


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if not pair[0].endswith((":timestamp", ":int"))]
    for first, pairs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z"), list("-+0123456789")
)


def _refuse_duplicate_keys(items: list[tuple[str, Any]]) -> None:
    keys = [key for key, _ in items]
    if len(set(keys)) != len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key `{twice}` stands twice")


def _json_error(e: Exception, line: bytes, kind: type[D], at: Location) -> UserError:
    if isinstance(e, RecursionError):
        return UserError("nested too deeply", at=at)
    try:
        text = line.decode()
    except UnicodeDecodeError as fault:
        column = len(line[: fault.start].decode()) + 1
        return UserError("not UTF-8", at=replace(at, column=column))
    half = next((m for m in _ESCAPE.finditer(text) if m["half"]), None)
    if half:
        message = f"`{half[0]}` is half a surrogate pair, no character"
        return UserError(message, at=replace(at, column=half.start() + 1))
    message, path = _message_and_path(str(e))
    return UserError(
        message,
        at=replace(at, column=_json_column(text, path, message)),
        hint=_hint(message, kind, path, quote=False),
    )


def _message_and_path(text: str) -> tuple[str, Path]:
    message, _, where = text.partition(" - at ")
    path = [
        int(index) if index else key
        for key, index in re.findall(r"\.([\w-]+)|\[(\d+|\.\.\.)\]", where.strip("`"))
        if index != "..."
    ]
    about = re.match(r"`(\w+)` ", message)  # a document's own check names the field it is about
    return message, (*path, about[1]) if about else tuple(path)


def _json_column(text: str, path: Path, message: str) -> int:
    byte = re.search(r"\(byte (\d+)\)", message)
    if byte:
        return len(text.encode()[: int(byte[1])].decode(errors="replace")) + 1
    if "truncated" in message:
        return len(text.rstrip()) + 1
    unknown = re.search(r"unknown field `([^`]+)`", message)
    places = list(_json_places(text))
    if "stands twice" in message:
        return next((p.key for k, p in enumerate(places) if p in places[:k]), 0) + 1
    if unknown:
        return next((p.key for p in places if p.path == (*path, unknown[1])), 0) + 1
    return next((p.value for p in places if p.path == path), 0) + 1


@dataclass(frozen=True, slots=True)
class _JsonPlace:
    """Where a value and its key begin in JSON text; two are the same if their paths are."""

    path: Path
    value: int = field(compare=False)
    key: int = field(compare=False)


def _json_places(text: str) -> Iterator[_JsonPlace]:
    """Yield the places of all values of JSON text that decodes, in reading order."""
    stack: list[str | int] = []
    key = 0
    in_object = [False]
    for m in _JSON_TOKEN.finditer(text):
        match m[0]:
            case "," | ":":
                if m[0] == "," and isinstance(stack[-1], int):
                    stack[-1] += 1
            case "}" | "]":
                in_object.pop()
                del stack[-1]
            case token if in_object[-1] and text[m.end() :].lstrip()[:1] == ":":
                stack[-1], key = json.loads(token), m.start()
            case token:
                yield _JsonPlace(tuple(stack), m.start(), key)
                if token in ("{", "["):
                    in_object.append(token == "{")
                    stack.append("" if token == "{" else 0)


def _yaml_place(node: yaml.Node, path: Path, message: str) -> tuple[int, int]:
    for part in path:
        node = _child(node, part) or node
    unknown = re.search(r"unknown field `([^`]+)`", message)
    if unknown and isinstance(node, yaml.MappingNode):
        node = next((k for k, _ in node.value if k.value == unknown[1]), node)
    return node.start_mark.line + 1, node.start_mark.column + 1


def _child(node: yaml.Node, part: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return cast("yaml.Node", node.value[part])
    return None


def _hint(message: str, kind: type[Document], path: Path, *, quote: bool) -> str:
    unknown = re.search(r"unknown field `([^`]+)`", message)
    if unknown:
        return did_you_mean(unknown[1], _field_names(kind, path))
    if quote and re.search(r"Expected `(?:\w+ \| )*str\b.*got `(float|int|bool)`", message):
        return 'quote it, e.g. "1.10"'
    missing = re.search(r"missing required field `([^`]+)`", message)
    return f"add `{missing[1]}`" if missing else ""


def _field_names(kind: type[Document], path: Path) -> list[str]:
    """Return the fields of the document that stands at a path of another."""
    for name in path:
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        kind = next(_structs_in(fields[name]), kind) if isinstance(name, str) else kind
    return [field.encode_name for field in msgspec.structs.fields(kind)]


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
    return node


def _check_events(text: str, file: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        mark = event.start_mark
        at = Location(file, mark.line + 1, mark.column + 1) if mark else Location(file, 1)
        if isinstance(event, yaml.AliasEvent):
            raise UserError("aliases are not allowed", at=at, hint="write the value out")
        if tag := getattr(event, "tag", None):
            raise UserError(f"the tag `{tag}` is not allowed", at=at, hint="remove it")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise UserError("nested too deeply", at=at)


def _check_keys(node: yaml.Node, file: str) -> None:
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            _check_key(key, seen, Location(file, *_yaml_place(key, (), "")))
            seen.add(key.value)
            children.append(value)
    elif isinstance(node, yaml.SequenceNode):
        children = list(node.value)
    for child in children:
        _check_keys(child, file)


def _check_key(key: yaml.Node, seen: set[str], at: Location) -> None:
    if not isinstance(key, yaml.ScalarNode):
        raise UserError("a key is a word, not a list or mapping", at=at)
    if key.value == "<<":
        raise UserError("merge keys are not allowed", at=at, hint="write the values out")
    if key.value in seen:
        raise UserError(f"the key `{key.value}` stands twice", at=at, hint="remove one")
