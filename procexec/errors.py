"""What can go wrong, by who can fix it."""

from collections.abc import Sequence
from typing import ClassVar

from procexec.location import Location


class ProcexecError(Exception):
    """A failure we foresaw: shown as one short message, without a traceback."""

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *, at: Location | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.at}: " if self.at else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{place}error: {self.message}{hint}"


class UserError(ProcexecError):
    """Answers, procedures, sandboxes or options that their author can put right."""

    exit_code = 2


class InputErrors(UserError):  # noqa: N818 - it is several errors
    """All errors that were found in the input files, in reading order."""

    def __init__(self, errors: Sequence[UserError]) -> None:
        super().__init__(f"{len(errors)} errors in the input")
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(map(str, self.errors))


class SandboxError(ProcexecError):
    """The test bed failed: engine, image, disk, network. Says nothing about the answer."""

    exit_code = 4


class PassingError(SandboxError):
    """The test bed failed in a way that may pass: another try in a new container may succeed."""


class WreckedError(SandboxError):
    """Nothing can be looked at in the sandbox any more: no shell, no life, or liars in their place.

    After a step it is the step's doing; before the first one, the image's.
    """


class StorageError(ProcexecError):
    """Results cannot be kept: the disk failed, or what was stored is damaged."""

    exit_code = 4


class JudgeError(ProcexecError):
    """The judge could not be asked. Says nothing about the answer."""

    exit_code = 4


class FixtureError(ProcexecError):
    """A procedure's fixture does not run on this version: the procedure's author must act."""

    exit_code = 2
