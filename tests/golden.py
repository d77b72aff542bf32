"""Expectations that stand in files: compared, or rewritten with ``pytest --accept``."""

from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Golden:
    """Compares texts with files; ``accept`` rewrites the files, so that the diff is reviewed."""

    accept: bool

    def check(self, found: str, expected: Path) -> None:
        if self.accept:
            expected.write_text(found, encoding="utf-8")
        wanted = expected.read_text(encoding="utf-8") if expected.exists() else ""
        assert found == wanted, f"not as in {expected.name}; pytest --accept rewrites it"
