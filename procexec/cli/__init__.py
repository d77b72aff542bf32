"""Arguments in, exit code out."""

import io
import os
import platform
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version

import click

from procexec.errors import ProcexecError

BUG_EXIT = 3
INTERRUPTED_EXIT = 130


def program_version() -> str:
    """Return the installed version of procexec."""
    try:
        return version("procexec")
    except PackageNotFoundError:
        return "0 (not installed)"


class LazyGroup(click.Group):
    """Imports a command's module only when that command is asked for, so that help is quick."""

    def __init__(self, *args: object, commands_in: dict[str, tuple[str, str]], **kwargs: object):
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.commands_in = commands_in

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; click would end with 1, "some fail", where a reader like head leaves."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _write_nowhere()
            return 0

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_in)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_in:
            return None
        from importlib import import_module

        module, _ = self.commands_in[cmd_name]
        command: click.Command = getattr(import_module(module), cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.commands_in.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    commands_in={
        "run": ("procexec.cli.run", "Judge answers by running them."),
        "steps": ("procexec.cli.look", "Show the steps of answers, without running them."),
        "align": ("procexec.cli.look", "Show answers beside their documented procedures."),
        "verify": ("procexec.cli.verify", "Run the documented procedures: which are stale, where?"),
        "explain": ("procexec.cli.look", "Tell what a finding's code means."),
        "schema": (
            "procexec.cli.look",
            "Print the JSON Schema of a file that people write, or of a result.",
        ),
        "graph": ("procexec.cli.look", "Draw a documented procedure."),
        "sandbox": ("procexec.cli.sandbox", "Build and look after the sandboxes."),
        "completion": ("procexec.cli.look", "Print the completion script for a shell."),
    },
    epilog="Exit codes: 0 all pass, 1 some fail or inconclusive, 2 input, 3 bug, 4 sandbox or judge "
    "unavailable, 130 interrupted.",
)
@click.version_option(program_version(), "--version", prog_name="procexec")
def cli() -> None:
    """Decide, by running it, whether an answer's procedure does what the documentation's does.

    \b
      procexec run answers.jsonl                 judge all answers on all versions
      procexec run answers.jsonl --version 2.39  on one version only
      procexec steps answers.jsonl               what would be run?
      procexec verify                            which documented procedures are stale?
      procexec explain PX104                     what does this finding mean?
    """


def main() -> None:
    """Run the command line: the one place where every error ends."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a poor terminal loses no report
    try:
        code = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as e:
        code = e.exit_code
    except click.ClickException as e:
        e.show()
        code = 2
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED_EXIT
    except ProcexecError as e:
        click.echo(str(e), err=True)
        code = e.exit_code
    except BrokenPipeError:
        _write_nowhere()
        code = 0
    except Exception:  # noqa: BLE001 - the boundary: whatever is left is a bug
        click.echo(traceback.format_exc(), err=True)
        click.echo(
            f"This is a bug in procexec {program_version()} "
            f"(Python {platform.python_version()}, {platform.platform()}).",
            err=True,
        )
        code = BUG_EXIT
    sys.exit(code if isinstance(code, int) else 0)


def _write_nowhere() -> None:
    """Send what is still to be printed away, so that Python's own last flush is silent."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
