"""What a sandbox cannot do, by the words of what failed in it."""

import re
from collections.abc import Sequence

from procexec.model.run import Ending
from procexec.model.state import Reference

_SANDBOX_WORDS = (
    r"could not resolve (?:host|hostname)[^\n]*|temporary failure (?:in name resolution|resolving)[^\n]*|"
    r"name or service not known|network is unreachable|no route to host|"
    r"system has not been booted with systemd[^\n]*|failed to connect to bus[^\n]*|"
    r"systemctl: command not found|cannot open display|"
    r"sudo: the \"no new privileges\" flag is set[^\n]*|sudo: command not found|"
    r"sudo: effective uid is not 0[^\n]*|this sandbox has no systemd[^\n]*|"
    r"e: (?:unable to locate package|package '[^\n]*' has no installation candidate)[^\n]*|"
    r"e: could not open lock file /var/lib/(?:dpkg|apt)/[^\n]*"
)


def limit_told(output: str, limits: Sequence[str]) -> str:
    """Return the words by which a failed step says that the sandbox cannot do it, or nothing."""
    found = (re.search(pattern, output, re.IGNORECASE) for pattern in (_SANDBOX_WORDS, *limits))
    return next((m[0] for m in found if m), "")


def is_stopped(reference: Reference, limits: Sequence[str]) -> bool:
    """Tell whether a reference fails first where the sandbox cannot go on: nothing is stale then."""
    failed = next(iter(reference.failed_steps), None)
    if failed is None or reference.works:
        return False
    return failed.ending == Ending.NOT_RUN or bool(limit_told(failed.output, limits))
