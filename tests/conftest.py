"""Options of the test suite."""

import pytest

from tests.golden import Golden
from tests.tables import TABLES


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests that start containers be chosen, not stumbled upon."""
    parser.addoption("--docker", action="store_true", help="run the tests that need an engine, too")
    parser.addoption("--nightly", action="store_true", help="run the tests that take long, too")
    parser.addoption("--accept", action="store_true", help="rewrite the expectations in tests/data")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip visibly what needs an engine or takes long, unless --docker or --nightly was given."""
    reasons = {"docker": "needs a container engine", "nightly": "takes long"}
    for mark, reason in reasons.items():
        if config.getoption(f"--{mark}"):
            continue
        skip = pytest.mark.skip(reason=f"{reason}: pytest --{mark}")
        for item in items:
            if item.get_closest_marker(mark):
                item.add_marker(skip)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare with the expectations in files, or accept what is found."""
    return Golden(accept=bool(request.config.getoption("--accept")))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the tables that tests left."""
    for title, table in config.stash.get(TABLES, {}).items():
        terminalreporter.section(title)
        terminalreporter.write_line(table)
