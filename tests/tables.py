"""Tables that tests leave for the end of the session's report."""

import pytest

TABLES = pytest.StashKey[dict[str, str]]()


def leave(config: pytest.Config, title: str, table: str) -> None:
    """Have a table printed under a title when the session ends."""
    config.stash.setdefault(TABLES, {})[title] = table
