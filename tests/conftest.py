"""Options of the test suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests that start containers be chosen, not stumbled upon."""
    parser.addoption("--docker", action="store_true", help="run the tests that need an engine, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip visibly what needs an engine, unless --docker was given."""
    if config.getoption("--docker"):
        return
    skip = pytest.mark.skip(reason="needs a container engine: pytest --docker")
    for item in items:
        if "docker" in item.keywords:
            item.add_marker(skip)
