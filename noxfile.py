"""The checks in fresh environments: ``nox``, ``nox -s docker``."""

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.error_on_external_run = True


def _install(session: nox.Session) -> None:
    session.install("--require-hashes", "--only-binary", ":all:", "-r", "requirements.lock")
    session.install("--no-deps", "--no-build-isolation", "--editable", ".")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and layers."""
    _install(session)
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")
    session.run("lint-imports")


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """Run what needs no engine, on every Python we promise."""
    _install(session)
    session.run("pytest", *session.posargs)


@nox.session
def docker(session: nox.Session) -> None:
    """Run everything, with containers."""
    _install(session)
    session.run("procexec", "sandbox", "build")
    session.run("pytest", "--docker", *session.posargs)
