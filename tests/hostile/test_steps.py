"""Steps that break other harnesses: each has its own result, and the next step is not harmed."""

import hashlib
import re
import time
from dataclasses import dataclass, field

import pytest

from procexec.model.run import CommandResult, Ending
from procexec.model.step import Input
from procexec.sandbox import SCRATCH, Dialog
from procexec.sandbox.collector import HEAD_BYTES, TAIL_BYTES
from procexec.sandbox.docker import DockerSandbox

pytestmark = pytest.mark.docker

EXITED, SHELL_ENDED = Ending.EXITED, Ending.SHELL_ENDED
TIMED_OUT, WAITS, DIED = Ending.TIMED_OUT, Ending.WAITS_FOR_INPUT, Ending.SANDBOX_DIED


def _run(
    sandbox: DockerSandbox, text: str, *keys: tuple[str, ...], timeout: float = 10
) -> CommandResult:
    replies = tuple(Input(keys=some) for some in keys)
    return sandbox.run(text, timeout=timeout, dialog=Dialog(replies=replies))


def _assert_fine(sandbox: DockerSandbox) -> None:
    after = _run(sandbox, "echo ok")
    assert (after.ending, after.exit_code, after.output) == (EXITED, 0, "ok")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A step and what is to come of it; ``replies`` are typed."""

    name: str
    text: str
    ending: Ending = EXITED
    code: int | None = 0
    output: str = ""
    prompt: str = ""
    timeout: float = 10
    replies: tuple[tuple[str, ...], ...] = field(default=())


CASES = (
    # that broke a persistent bash elsewhere
    Case(
        name="a command after a heredoc",
        text="cat > /tmp/x <<EOF\nhello\nEOF\necho after; cat /tmp/x",
        output="after\nhello",
    ),
    Case(name="a line that ends in an ampersand", text="sleep 0.1 &\necho x", output="x"),
    Case(
        name="P11 a question",
        text="read -p 'name? ' n; echo got $n",
        ending=WAITS,
        code=None,
        output="name? ",
        prompt="name?",
    ),
    Case(name="P16 another prompt", text="export PS1='$ '"),
    Case(name="P03 exit", text="exit 3", ending=SHELL_ENDED, code=3),
    Case(name="P18 errexit that strikes", text="set -e; false", ending=SHELL_ENDED, code=1),
    Case(name="P04 exec of a program", text="exec true", ending=SHELL_ENDED),
    Case(
        name="S15 a step that never ends",
        text="echo partial; sleep 80; echo done",
        ending=TIMED_OUT,
        code=None,
        output="partial",
        timeout=1,
    ),
    Case(
        name="S15 a step that never ends and has more commands",
        text="sleep 75; true",
        ending=TIMED_OUT,
        code=None,
        timeout=1,
    ),
    Case(name="a mark of another harness", text="echo SHELLPS1PREFIX", output="SHELLPS1PREFIX"),
    Case(name="a case statement", text="case a in a) echo A;; *) echo B;; esac", output="A"),
    Case(name="P26 an unfinished quote", text='echo "open', code=2),
    Case(name="P26 an unfinished if", text="if true; then echo x", code=2),
    Case(name="a subshell that exits", text="(exit 4)", code=4),
    Case(name="a failing last command", text="true; false", code=1),
    Case(name="nothing", text=""),
    Case(name="a comment", text="# only a comment"),
    Case(name="no newline but many", text="\n\n\necho x\n\n\n", output="x"),
    # options, traps, names
    Case(name="P18 an unset variable", text="set -u; echo $NONE; echo no", code=1),
    Case(name="an expansion that fails", text="echo ${NONE:?is missing}; echo no", code=1),
    Case(name="P17 a trap on exit", text="trap 'echo bye; exit 9' EXIT"),
    Case(
        name="P17 a trap that strikes",
        text="trap 'exit 9' EXIT; exit 0",
        ending=SHELL_ENDED,
        code=9,
    ),
    Case(name="P17 a trap for each command", text="trap 'T=1' DEBUG; trap 'E=1' ERR"),
    Case(name="P17 a trap that exits", text="trap 'exit 7' DEBUG", ending=SHELL_ENDED, code=7),
    Case(name="return", text="return 3; echo no", code=3),
    Case(
        name="P14 builtins that are functions",
        text="printf() { echo fake; }; builtin() { echo fake; }; declare() { :; }; set() { :; }",
    ),
    Case(name="other positional parameters", text="set -- a b c; echo $2", output="b"),
    Case(name="another field separator", text="IFS=/:; x=a:b; echo $x", output="a b"),
    Case(name="P15 no path", text="PATH=/none; ls", code=127),
    Case(name="P16 commands around the prompt", text="PROMPT_COMMAND='echo boo'; PS0=zero; PS1="),
    Case(name="P16 a prompt that ends the shell", text="PROMPT_COMMAND='exit 3'"),
    Case(name="a variable that cannot change", text="readonly PATH HOME PWD; cd /tmp", code=1),
    Case(name="another history", text="HISTCONTROL= HISTFILE=/tmp/h; set -o history"),
    Case(name="P18 reading without running", text="set -n; echo x", output="x"),
    # file descriptors and terminals
    Case(name="P19 output to nowhere", text="exec >/dev/null 2>&1; echo x"),
    Case(name="P19 no standard output", text="exec 1>&-; exec 2>&-"),
    Case(name="P19 no standard input", text="exec 0</dev/null"),
    Case(name="P10 a raw terminal", text="stty raw -echo -isig -icrnl -opost"),
    Case(name="a screen that was not left", text="printf '\\033[?1049h'; sleep 0.01"),
    Case(
        name="P12 a forged end", text="printf '\\036x:e:0:/\\037'; false", code=1, output="x:e:0:/"
    ),
    Case(
        name="P12 a forged end of the right length",
        text="printf '\\0360123456789abcdef:e:0:/\\037'; (exit 5)",
        code=5,
        output="0123456789abcdef:e:0:/",
    ),
    Case(
        name="P12 a forged end with a tail",
        text="printf '\\0360123456789abcdef:e:0:/\\037\\n\\036'; printf ':b\\037'; (exit 6)",
        code=6,
        output="0123456789abcdef:e:0:/\n:b",
    ),
    # what reads
    Case(name="P11 cat", text="cat", ending=WAITS, code=None),
    Case(name="P13 a reader of the next step", text="read -r x <&0", ending=WAITS, code=None),
    Case(
        name="P11 a secret question",
        text="read -s -p 'Password: ' p",
        ending=WAITS,
        code=None,
        output="Password: ",
        prompt="Password:",
    ),
    Case(
        name="an answered secret question",
        text="read -s -p 'Password: ' p; echo; echo ${#p}",
        replies=(("secret\r",),),
        output="Password: \n6",
    ),
    Case(
        name="another shell",
        text="PS1='$ ' exec bash --norc --noprofile",
        ending=WAITS,
        code=None,
        output="$",
        prompt="$",
    ),
    Case(name="an interrupt", text="cat", replies=(("\x03",),), code=130, output="^C"),
    # processes and jobs
    Case(name="P04 its own death", text="kill -9 $$", ending=SHELL_ENDED, code=137),
    Case(name="P04 its own end", text="kill -HUP $$", ending=SHELL_ENDED, code=129),
    Case(name="everybody's death", text="kill -9 -1"),
    Case(name="P08 a stopped shell", text="kill -STOP $$", ending=TIMED_OUT, code=None, timeout=1),
    Case(name="a stopped child", text="bash -c 'kill -STOP $$'", code=147),
    Case(name="jobs", text="sleep 0.2 &\njobs | grep -c Running; fg", output="1\nsleep 0.2"),
    Case(name="a job by its number", text="sleep 60 &\nkill %1; wait %1", code=143),
    Case(
        name="a job that outlives the shell", text="sleep 60 & exit 4", ending=SHELL_ENDED, code=4
    ),
    Case(
        name="a daemon that outlives the shell",
        text="(setsid sleep 60 &); exit 5",
        ending=SHELL_ENDED,
        code=5,
    ),
    # more of the catalogue
    Case(
        name="P02 a child that holds the output",
        text="(sleep 60; echo late) & echo on",
        output="on",
        timeout=5,
    ),
    Case(
        name="P11 a program that asks",
        text="perl -e 'print q(name? ); <STDIN>'",
        ending=WAITS,
        code=None,
        output="name? ",
        prompt="name?",
    ),
    Case(
        name="P14 aliases",
        text="alias printf=true builtin=true return=false exit=true; command() { :; }; (exit 4)",
        code=4,
    ),
    Case(name="P15 an empty path", text="PATH=; ls", code=127),
    Case(name="P15 no path at all", text="unset PATH; (exit 6)", code=6),
    Case(
        name="P16 what shells read first",
        text="export BASH_ENV=/tmp/evil ENV=/tmp/evil; echo 'exit 9' > /tmp/evil; (exit 5)",
        code=5,
    ),
    Case(
        name="P18 errexit within a condition",
        text="set -e; if false; then :; fi; echo on",
        output="on",
    ),
    Case(
        name="P26 an unfinished here-document",
        text="cat <<END; echo on\nhello",
        output="bash: warning: here-document at line 1 delimited by end-of-file (wanted `END')\n"
        "hello\non",
    ),
    Case(name="P26 an unfinished brace", text="{ echo x", code=2),
    Case(name="P31 a new date", text="date -s '2001-01-01' >/dev/null", code=1),
    Case(name="P31 a new host name", text="hostname other", code=1),
    # text
    Case(name="unicode", text="echo 'grüße 日本 🎉'", output="grüße 日本 🎉"),
    Case(name="lines that end in CR LF", text="echo one\r\necho two\r\n", output="one\ntwo"),
    Case(name="a backslash at the end", text="echo x\\", output="x\\"),
    Case(name="P24 a very long command", text=f": {'a' * 200_000}\necho long", output="long"),
    Case(name="P20 a deleted directory", text="mkdir /tmp/d; cd /tmp/d; rm -r /tmp/d"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_hostile_step_has_its_result_and_harms_no_other(
    sandbox: DockerSandbox, case: Case
) -> None:
    result = _run(sandbox, case.text, *case.replies, timeout=case.timeout)

    assert (result.ending, result.exit_code) == (case.ending, case.code), result
    if case.output or case.ending is not EXITED:
        assert result.output.strip() == case.output.strip()
    if case.prompt:
        assert result.prompt == case.prompt
    _assert_sane(sandbox)


def _assert_sane(sandbox: DockerSandbox) -> None:
    """The next step runs, and to its end, even if nobody can see its output any more."""
    after = _run(sandbox, "echo ok > /tmp/ok")
    assert (after.ending, after.exit_code) == (EXITED, 0)
    assert sandbox.execute("cat /tmp/ok", user="dev", cwd="/", timeout=10).output == "ok\n"


def test_p25_a_heredoc_of_ten_thousand_lines_arrives_byte_by_byte(sandbox: DockerSandbox) -> None:
    content = "".join(f"{n}\t$HOME `id` \\ ' \" é {'.' * (n % 90)}\n" for n in range(10_000))

    result = _run(sandbox, f"cat > /tmp/big <<'END'\n{content}END\nsha256sum < /tmp/big")

    assert result.output.split()[0] == hashlib.sha256(content.encode()).hexdigest()


def test_much_output_is_bounded_and_counted_with_head_and_tail(sandbox: DockerSandbox) -> None:
    result = _run(sandbox, "echo first; yes 0123456789 | head -c 5000000; echo; echo last")

    assert (result.ending, result.exit_code) == (EXITED, 0)
    assert result.truncated
    assert 5_000_000 < result.size_bytes < 6_000_000
    assert len(result.output) < HEAD_BYTES + 2 * TAIL_BYTES
    assert result.output.startswith("first\n0123456789\n")
    assert result.output.endswith("\nlast")
    assert "bytes left out" in result.output
    _assert_fine(sandbox)


def test_s14_a_line_of_ten_megabytes_is_bounded_too(sandbox: DockerSandbox) -> None:
    result = _run(sandbox, "head -c 10000000 /dev/zero | tr '\\0' x", timeout=30)

    assert (result.ending, result.size_bytes) == (EXITED, 10_000_000)
    assert len(result.output) < HEAD_BYTES + 2 * TAIL_BYTES
    _assert_fine(sandbox)


def test_p22_binary_output_is_text_at_the_end(sandbox: DockerSandbox) -> None:
    result = _run(sandbox, "cat /bin/ls; head -c 100000 /dev/urandom; (exit 3)")

    assert (result.ending, result.exit_code) == (EXITED, 3)
    assert "\x1b" not in result.output
    assert "\x00" not in result.output
    _assert_fine(sandbox)


def test_what_a_background_job_prints_late_belongs_to_no_other_step(
    sandbox: DockerSandbox,
) -> None:
    _run(sandbox, "(until [ -e /tmp/go ]; do sleep 0.01; done; echo LATE; touch /tmp/gone) &")
    script = "touch /tmp/go; until [ -e /tmp/gone ]; do sleep 0.01; done"
    sandbox.execute(script, user="dev", cwd="/", timeout=10)

    result = _run(sandbox, "echo mine")

    assert result.output.replace("[1]+", "").split("\n")[-1] == "mine"
    assert "LATE" not in result.output
    assert result.late_output == "LATE"


def test_p13_a_step_cannot_eat_the_next_one(sandbox: DockerSandbox) -> None:
    _run(sandbox, "(exec </dev/tty; read -r eaten; echo $eaten > /tmp/eaten) & disown")

    _assert_fine(sandbox)
    _assert_fine(sandbox)


def test_p13_a_step_cannot_read_its_own_mark(sandbox: DockerSandbox) -> None:
    _run(sandbox, "HISTCONTROL=; set -o history; shopt -s extdebug")

    look = 'history; fc -l -5; echo "[$_] [$*] [${BASH_ARGV[*]}]"; declare -p; cat /proc/$$/environ'
    _run(sandbox, f"{{ {look}; }} > /tmp/seen 2>&1")
    seen = sandbox.execute("cat /tmp/seen", user="dev", cwd="/", timeout=10).output

    typed = "".join(event.data for event in sandbox.events if event.kind == "i")
    marks = re.findall(r"/begin (\w{16}) ", typed)
    assert marks
    assert "BASH_VERSINFO" in seen
    assert not any(mark in seen for mark in marks)
    assert f"{SCRATCH}/begin" not in seen


def test_p18_errexit_lasts_until_a_later_step_fails(sandbox: DockerSandbox) -> None:
    assert _run(sandbox, "set -e").exit_code == 0
    assert _run(sandbox, "if false; then :; fi; echo still").output == "still"

    failed = _run(sandbox, "echo before; false; echo after")

    assert (failed.ending, failed.exit_code, failed.output) == (SHELL_ENDED, 1, "before")
    _assert_fine(sandbox)


def test_aliases_and_jobs_last_from_step_to_step(sandbox: DockerSandbox) -> None:
    _run(sandbox, "alias ll='echo alias'")
    _run(sandbox, "sleep 60 &")

    assert _run(sandbox, "ll x").output == "alias x"
    assert "Running" in _run(sandbox, "jobs").output
    assert _run(sandbox, "kill %1; wait %1").exit_code == 143


def test_p18_a_trace_shows_the_step_and_nothing_of_ours(sandbox: DockerSandbox) -> None:
    _run(sandbox, "set -xv")

    result = _run(sandbox, "echo x")

    assert result.output == "echo x\n++ echo x\nx"
    assert result.late_output == ""


def test_a_syntax_error_does_not_name_our_file(sandbox: DockerSandbox) -> None:
    assert _run(sandbox, "fi").output == (
        "bash: line 1: syntax error near unexpected token `fi'\nbash: line 1: `fi'"
    )


def test_p20_a_deleted_directory_does_not_keep_a_new_shell_from_starting(
    sandbox: DockerSandbox,
) -> None:
    _run(sandbox, "mkdir /tmp/d; cd /tmp/d; rm -r /tmp/d; exit 0")
    _run(sandbox, "mkdir /tmp/d; cd /tmp/d; rm -r /tmp/d")
    _run(sandbox, "exit 0")

    result = _run(sandbox, "pwd")

    assert (result.ending, result.exit_code) == (EXITED, 0)
    _assert_fine(sandbox)


def test_keys_that_are_typed_into_an_editor_save_a_file(sandbox: DockerSandbox) -> None:
    result = _run(sandbox, "vi /tmp/note", ("i", "written in vi", "\x1b", ":wq", "\r"))

    assert (result.ending, result.exit_code) == (EXITED, 0)
    assert [dialogue.prompt for dialogue in result.dialogues] == ["full-screen program"]
    assert sandbox.execute("cat /tmp/note", user="dev", cwd="/", timeout=10).output == (
        "written in vi\n"
    )
    _assert_fine(sandbox)


@pytest.mark.parametrize(
    "step", ["vi /tmp/note", "unset PAGER; seq 1000 | less", "less /etc/passwd"]
)
def test_a_full_screen_program_waits_for_keys(sandbox: DockerSandbox, step: str) -> None:
    began = time.monotonic()
    result = _run(sandbox, step, timeout=30)

    assert (result.ending, result.prompt) == (WAITS, "full-screen program")
    assert time.monotonic() - began < 4  # two seconds, and a busy machine
    _assert_fine(sandbox)


def test_a_pager_is_left_by_its_key(sandbox: DockerSandbox) -> None:
    assert _run(sandbox, "seq 1000 | less", ("q",)).exit_code == 0
    _assert_fine(sandbox)


# --- what destroys the sandbox ----------------------------------------------------------------


def test_p05_the_sandbox_that_dies_is_a_result_now_and_later(root: DockerSandbox) -> None:
    result = _run(root, "echo last words; kill -TERM 1; sleep 30")

    assert (result.ending, result.output) == (DIED, "last words")
    assert _run(root, "echo ok").ending is DIED


def test_p07_the_death_of_all_processes_is_told_by_the_next_step_at_the_latest(
    root: DockerSandbox,
) -> None:
    results = [_run(root, "kill -9 -1"), _run(root, "echo ok"), _run(root, "echo ok")]

    assert results[0].ending in (EXITED, DIED)
    assert results[-1].ending is DIED


def test_p29_our_files_come_back_with_a_new_shell(root: DockerSandbox) -> None:
    _run(root, f"rm -rf {SCRATCH}")

    _assert_fine(root)


def test_p27_without_a_shell_no_step_runs_any_more(root: DockerSandbox) -> None:
    assert _run(root, "rm -f /bin/bash; exit 3").exit_code == 3

    result = _run(root, "echo ok")

    assert (result.ending, result.exit_code) == (SHELL_ENDED, 126)
    assert result.note


# --- sizes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5_000, 100_000, 2_000_000])
def test_p24_a_command_of_any_size_is_run_whole(sandbox: DockerSandbox, size: int) -> None:
    result = _run(sandbox, f"x={'a' * size}; echo ${{#x}}")

    assert (result.ending, result.output) == (EXITED, str(size))


def test_s14_a_million_lines_cost_no_quadratic_work(sandbox: DockerSandbox) -> None:
    began = time.process_time()

    result = _run(sandbox, "yes | head -n 1000000", timeout=60)

    assert (result.ending, result.exit_code) == (EXITED, 0)
    assert len(result.output) < HEAD_BYTES + 2 * TAIL_BYTES
    assert time.process_time() - began < 5
    _assert_fine(sandbox)


def test_p30_a_variable_that_no_program_takes_is_the_steps_own_error(
    sandbox: DockerSandbox,
) -> None:
    _run(sandbox, "export X=$(head -c 1000000 /dev/zero | tr '\\0' x)")

    result = _run(sandbox, "/bin/ls")

    assert (result.ending, result.exit_code) == (EXITED, 126)
    assert "Argument list too long" in result.output
    assert _run(sandbox, "unset X; ls /").exit_code == 0


def test_p15_the_next_step_has_the_path_that_was_set(sandbox: DockerSandbox) -> None:
    _run(sandbox, "PATH=/evil")

    assert _run(sandbox, "echo $PATH").output == "/evil"
    assert _run(sandbox, "ls").exit_code == 127


def test_p01_a_daemon_lives_in_the_next_step(sandbox: DockerSandbox) -> None:
    began = time.monotonic()
    _run(sandbox, "setsid sh -c 'echo $$ > /tmp/daemon; exec sleep 300' >/dev/null 2>&1 &")
    _run(sandbox, "until [ -s /tmp/daemon ]; do sleep 0.05; done")

    assert time.monotonic() - began < 5
    assert _run(sandbox, "kill -0 $(cat /tmp/daemon)").exit_code == 0


def test_p06_the_first_process_cannot_be_killed_or_stopped(root: DockerSandbox) -> None:
    _run(root, "kill -9 1; kill -STOP 1")

    _assert_fine(root)


BOMBS = {
    "S01 a fork bomb": "f() { f | f & }; f; sleep 60",
    "S02 a bomb of sessions": "while :; do setsid sh -c 'while :; do sleep 0.01; done' & done",
    "S15 a sleeper": "sleep 1000000000",
    "S16 an empty loop": "while :; do :; done",
    "P08 everything stopped": "sleep 500 & kill -STOP -1; sleep 1000",
    "P09 deaf processes": "(trap '' TERM INT HUP QUIT; sleep 999; sleep 999) & trap '' TERM; sleep 999",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_of_what_runs_for_ever_nothing_is_left_but_the_keeper(
    root: DockerSandbox, bomb: str
) -> None:
    result = _run(root, BOMBS[bomb], timeout=1.5)

    left = root.container.top(ps_args="-eo pid,args")["Processes"]
    assert result.ending is TIMED_OUT
    assert len(left) == 2, left  # the first process and the keeper
    _assert_fine(root)


def test_s18_orphans_are_reaped(root: DockerSandbox) -> None:
    result = _run(root, "for i in {1..2000}; do (true & ) ; done; echo made", timeout=60)

    assert result.output == "made"
    zombies = root.execute(
        "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l",
        user="root",
        cwd="/",
        timeout=10,
    )
    assert int(zombies.output) < 5


@pytest.mark.nightly
def test_s18_ten_thousand_orphans_do_not_fill_the_process_limit(root: DockerSandbox) -> None:
    result = _run(root, "for i in {1..10000}; do (true & ) ; done; echo made", timeout=120)

    assert result.output == "made"
    _assert_fine(root)
