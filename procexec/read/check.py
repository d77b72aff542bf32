"""Answers against procedures and sandboxes: every error, before the first container starts."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from procexec.errors import UserError
from procexec.location import Location
from procexec.model.document import Answer, Procedure
from procexec.read.answers import AnswerFile, NumberedAnswer
from procexec.read.decode import did_you_mean

MAX_ERRORS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What answers may refer to: procedures by id, and (product, version) of the sandboxes."""

    procedures: Mapping[str, Procedure]
    sandboxes: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """How many answers a file has, and what is wrong with it."""

    count: int
    errors: tuple[UserError, ...]


def check_answers(file: AnswerFile, known: Known) -> Checked:
    """Read a whole file in flat memory and return every error, up to a number nobody reads."""
    lines_by_id: dict[bytes, tuple[int, bytes]] = {}
    errors: list[UserError] = []
    count = 0
    for item in file:
        if len(errors) >= MAX_ERRORS:
            message = f"more than {MAX_ERRORS} errors; the rest of the file was not read"
            errors.append(UserError(message, at=Location(file.name, 1)))
            break
        if isinstance(item, UserError):
            errors.append(item)
            continue
        count += 1
        errors += _duplicate(item, lines_by_id, file.name)
        errors += _references(item.answer, known, Location(file.name, item.line))
    if not count and not errors:
        message = "there are no answers in it"
        errors.append(UserError(message, at=Location(file.name, 1), hint="one JSON object a line"))
    return Checked(count=count, errors=tuple(errors))


def check_versions(versions: Iterable[str], known: Known) -> list[UserError]:
    """Return an error for each version asked for on the command line that no sandbox has."""
    have = sorted({version for _, version in known.sandboxes})
    return [
        UserError(f"there is no sandbox of version `{v}`", hint=did_you_mean(v, have))
        for v in versions
        if v not in have
    ]


def _duplicate(
    item: NumberedAnswer, seen: dict[bytes, tuple[int, bytes]], name: str
) -> Iterator[UserError]:
    key = hashlib.blake2b(item.answer.id.encode(), digest_size=12).digest()
    body = hashlib.blake2b(item.answer.answer.encode(), digest_size=12).digest()
    if key in seen:
        line, other = seen[key]
        same = "with the same text" if other == body else "with another text"
        message = f"the id `{item.answer.id}` stands on line {line} already, {same}"
        yield UserError(message, at=Location(name, item.line), hint="give each answer its own id")
    else:
        seen[key] = (item.line, body)


def _references(answer: Answer, known: Known, at: Location) -> Iterator[UserError]:
    if isinstance(answer.procedure, str) and answer.procedure not in known.procedures:
        hint = did_you_mean(answer.procedure, list(known.procedures))
        yield UserError(f"there is no procedure `{answer.procedure}`", at=at, hint=hint)
        return
    product = answer.product
    if isinstance(answer.procedure, str):
        product = known.procedures[answer.procedure].product
        if answer.product not in (None, product):
            message = f"product is `{answer.product}`, but the procedure is about `{product}`"
            yield UserError(message, at=at)
    products = {p for p, _ in known.sandboxes}
    if product and product not in products:
        hint = did_you_mean(product, sorted(products))
        yield UserError(f"there is no sandbox of product `{product}`", at=at, hint=hint)
        return
    have = [v for p, v in sorted(known.sandboxes) if p == product]
    for version in answer.versions:
        if product and version not in have:
            message = f"there is no sandbox of `{product}` version `{version}`"
            yield UserError(message, at=at, hint=did_you_mean(version, have))


def check_procedures(known: Known) -> list[UserError]:
    """Return an error for each version of a procedure that has no sandbox."""
    errors = []
    for procedure in known.procedures.values():
        have = [v for p, v in sorted(known.sandboxes) if p == procedure.product]
        errors += [
            UserError(
                f"procedure `{procedure.id}` names version `{version}`, which has no sandbox",
                hint=did_you_mean(version, have),
            )
            for version in procedure.versions
            if version not in have
        ]
    return errors
