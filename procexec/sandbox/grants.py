"""What a sandbox may do beyond the default, who asked for it and why, and the grade it gives. Pure.

Only sandbox.yaml can ask: whoever chooses the folder of sandboxes has their Dockerfiles built, and so
trusts them anyway. A procedure or an answer can ask for nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from procexec.model.document import Grant

DEFAULT: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID")
CAPABILITY: Final = "capability"
NEW_PRIVILEGES: Final = "new-privileges"
KNOBS: Final = (CAPABILITY, NEW_PRIVILEGES)
NUMBERS: Final[Mapping[str, int]] = {  # linux/capability.h
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "FSETID": 4,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "NET_BIND_SERVICE": 10,
    "NET_RAW": 13,
    "SYS_CHROOT": 18,
    "SYS_PTRACE": 19,
    "AUDIT_WRITE": 29,
    "SETFCAP": 31,
}
GRANTABLE: Final = tuple(sorted(NUMBERS.keys() - set(DEFAULT)))


class Grade(StrEnum):
    """How much of the default hardening holds: A all of it, C less of it, D none to rely on."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """What holds in a container, as the engine and a process inside tell it."""

    capabilities: tuple[str, ...]
    no_new_privileges: bool
    seccomp: bool
    network: str
    privileged: bool
    mounts: int
    memory: int
    processes: int


def refusal(grant: Grant) -> str:
    """Return why a grant is never given, or nothing if it can be."""
    match grant.knob:
        case "capability" if grant.value in GRANTABLE:
            return ""
        case "capability" if grant.value in DEFAULT:
            return f"every sandbox has {grant.value}"
        case "capability":
            return f"the capability {grant.value} is never granted; one of: {', '.join(GRANTABLE)}"
        case "new-privileges" if grant.value == "yes":
            return ""
        case "new-privileges":
            return "the only value of new-privileges is `yes`"
        case _:
            return f"`{grant.knob}` is never granted; one of: {', '.join(KNOBS)}"


def grade(grants: Iterable[Grant]) -> Grade:
    """Return the grade of a sandbox; every grant there is today weakens the wall itself."""
    return Grade.C if any(True for _ in grants) else Grade.A


def capabilities(grants: Iterable[Grant]) -> tuple[str, ...]:
    """Return all capabilities of a sandbox."""
    return (*DEFAULT, *(g.value for g in grants if g.knob == CAPABILITY))


def keeps_privileges(grants: Iterable[Grant]) -> bool:
    """Tell whether a program of the sandbox may gain what its caller has not, as sudo does."""
    return not any(g.knob == NEW_PRIVILEGES for g in grants)


def differences(grants: Sequence[Grant], found: Effective) -> Iterator[str]:
    """Yield in which way a container is weaker, or other, than was asked for."""
    wanted = set(capabilities(grants))
    if set(found.capabilities) != wanted:
        more = ", ".join(sorted(set(found.capabilities) - wanted)) or "nothing more"
        less = ", ".join(sorted(wanted - set(found.capabilities))) or "nothing"
        yield f"capabilities: {more}, and {less} is missing"
    if keeps_privileges(grants) and not found.no_new_privileges:
        yield "new privileges are possible"
    if not found.seccomp:
        yield "no system call filter"
    if found.network != "none":
        yield f"network {found.network}"
    if found.privileged:
        yield "it is privileged"
    if found.mounts:
        yield f"{found.mounts} of the host's folders are mounted"
    if not found.memory:
        yield "no memory limit"
    if found.processes <= 0:
        yield "no process limit"


def names_of(mask: int) -> tuple[str, ...]:
    """Return the capabilities of a mask, unknown ones by number."""
    by_number = {number: name for name, number in NUMBERS.items()}
    bits = (bit for bit in range(64) if mask >> bit & 1)
    return tuple(by_number.get(bit, f"capability {bit}") for bit in bits)
