"""Hostile answers in one run: each has a verdict of its own, the test bed is never blamed for it."""

import json
from dataclasses import dataclass

import pytest

from procexec.model.result import AnswerResult, Code, Verdict
from procexec.report.journal import read_rows
from tests.hostile.world import SLACK, STEP_TIMEOUT, Done, World, make_world

pytestmark = pytest.mark.docker

PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE
NOTE = "echo done > ~/note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """An answer: a right first step, then the hostile ones; what comes of these.

    No verdict: any but error. ``ends`` are ending and exit code of each hostile step; ``says`` stands in the last output.
    """

    id: str
    steps: tuple[str, ...]
    verdict: Verdict | None
    ends: tuple[str, ...]
    says: str = ""
    code: Code | None = None
    first: str = NOTE


def _case(
    name: str,
    *steps: str,
    verdict: Verdict | None,
    ends: str,
    says: str = "",
    code: Code | None = None,
    first: str = NOTE,
) -> Hostile:
    return Hostile(
        id=name,
        steps=steps,
        verdict=verdict,
        ends=tuple(ends.split()),
        says=says,
        code=code,
        first=first,
    )


DIED, NOT_RUN, SLOW = "sandbox-died:137", "not-run:-", "timed-out:-"
LIAR = r"""cat > /tmp/liar <<'PERL'
#!/usr/bin/perl
my ($script) = grep { /printf/ } @ARGV;
my @marks = $script =~ /\\036([0-9a-f]{16})/g;
print "0\037done\036$_" for @marks;
PERL
chmod +x /tmp/liar; cp /tmp/liar /tmp/new; mv /tmp/new /bin/bash"""
BIDI = r"printf 'a\xe2\x80\xaeb\xe2\x80\x8bc e'; printf '\xcc\x81%.0s' $(seq 5000); false"
SEQUENCES = (
    r"printf '\033]0;title\007\033]52;c;aGk=\007\033[6n\033c\033P1$r\033\\"
    r"\033]1337;File=:AAAA\007\xc2\x9b31mred\n::set-env name=a::b\n##vso[task.x]y\n##[error]z\n'; false"
)
CASES = (
    _case("I18 bytes", r"printf '\xff\xfe\xed\xa0\x80x\n'", verdict=PASS, ends="exited:0", says="x"),
    _case("I30 home", 'echo "$HOME $(hostname) ${USER}"', verdict=PASS, ends="exited:0",
          says="/root sandbox root"),
    _case("P01 daemons", "setsid sh -c 'echo $$ > /tmp/pid; exec sleep 100' & nohup sleep 100 >/dev/null 2>&1 & sleep 0.3",
          "kill -0 $(cat /tmp/pid) && echo alive", verdict=PASS, ends="exited:0 exited:0", says="alive"),
    _case("P02 holder", "(sleep 60; echo late) &", verdict=PASS, ends="exited:0"),
    _case("P03", "exit 3", "echo next", verdict=FAIL, ends="shell-ended:3 exited:0", says="next"),
    _case("P04 exec", "exec true", "echo next", verdict=PASS, ends="shell-ended:0 exited:0", says="next"),
    _case("P04 kill", "kill -9 $$", "echo next", verdict=FAIL, ends="shell-ended:137 exited:0", says="next"),
    _case("P05", "kill -TERM 1; sleep 60", "echo next", verdict=FAIL, ends=f"{DIED} {NOT_RUN}",
          code=Code.STEP_FAILED),
    _case("P06", "kill -9 1; kill -STOP 1; true", "echo next", verdict=PASS, ends="exited:0 exited:0",
          says="next"),
    _case("P07 then more", "kill -9 -1", "echo next", verdict=FAIL, ends="? ?"),
    _case("P07 at the end", "kill -9 -1", verdict=FAIL, ends="?", code=Code.STEP_FAILED),
    _case("P08", "kill -STOP -1; sleep 1000", "echo next", verdict=FAIL, ends=f"{SLOW} {NOT_RUN}"),
    _case("P09", "trap '' TERM INT HUP QUIT; trap 'sleep 999' EXIT; sleep 999", verdict=FAIL, ends=SLOW),
    _case("P11 cat", "cat", "echo next", verdict=OPEN, ends=f"waits-for-input:- {NOT_RUN}",
          code=Code.NEEDS_INPUT),
    _case("P12 forged", r"printf '\036%s:e:0:/\037' 0123456789abcdef; printf 'exit 0\n'; false",
          verdict=FAIL, ends="exited:1"),
    _case("P20", "mkdir /tmp/d; cd /tmp/d; rm -r /tmp/d", "exit 0", "pwd", verdict=PASS,
          ends="exited:0 shell-ended:0 exited:0", says="/"),
    _case("P21", SEQUENCES, verdict=FAIL, ends="exited:1", says="::set-env"),
    _case("P22", "head -c 200000 /dev/urandom; head -c 1000 /dev/zero; false", verdict=FAIL, ends="exited:1"),
    _case("P23", BIDI, verdict=FAIL, ends="exited:1"),
    _case("P27 shell", "rm -f /bin/bash", verdict=FAIL, ends="sandbox-died:0", code=Code.STEP_FAILED),
    _case("P27 programs", "rm -rf /bin /usr/bin /lib64 /usr/lib64", "ls", "echo next", verdict=FAIL,
          ends="exited:0 exited:127 sandbox-died:0", says="next"),
    _case("P27 all", "rm -rf --no-preserve-root /", "echo next", verdict=FAIL, ends="? ?"),
    _case("P28 mute", "cp /bin/true /tmp/t; mv /tmp/t /bin/bash", "ls", verdict=FAIL,
          ends="exited:0 sandbox-died:0"),
    _case("P28 liar", LIAR, verdict=FAIL, ends="? ", code=Code.COLLATERAL_CHANGE, first="true"),
    _case("P28 preload", "echo /nonexistent.so > /etc/ld.so.preload", "ls", verdict=FAIL,
          ends="exited:0 exited:0", code=Code.COLLATERAL_CHANGE),
    _case("P28 env", "printf '#!/bin/true\\n' > /tmp/e; chmod +x /tmp/e; cp /tmp/e /usr/bin/env", "ls",
          verdict=FAIL, ends="exited:0 exited:0", code=Code.COLLATERAL_CHANGE),
    _case("P29 removed", "rm -rf /.procexec", "echo next", verdict=FAIL, ends="exited:1 exited:0", says="next"),
    _case("P29 link", "rm -rf /.procexec; ln -s /etc /.procexec", "exit 3", "ls /etc/steps", verdict=FAIL,
          ends="exited:1 shell-ended:3 exited:2", says="No such file"),
    _case("P29 closed", "chmod 000 /.procexec; exit 3", "echo next", verdict=FAIL,
          ends="shell-ended:3 exited:0", says="next"),
    _case("P30", "export X=$(head -c 1000000 /dev/zero | tr '\\0' x)", "ls", "echo ${#X}", verdict=FAIL,
          ends="exited:0 exited:126 exited:0", says="1000000"),
    _case("S01", "f() { f | f & }; f; sleep 60", verdict=FAIL, ends=SLOW),
    _case("S02", "while :; do setsid sh -c 'while :; do sleep 0.01; done' & done", verdict=FAIL, ends=SLOW),
    _case("S03", "perl -e 'push @x, \"a\" x (1 << 20) while 1'", "echo next", verdict=FAIL,
          ends="out-of-memory:137 exited:0", says="next"),
    _case("S04", "tail /dev/zero", "echo next", verdict=FAIL, ends="out-of-memory:137 exited:0", says="next"),
    _case("S05", "head -c 100000000 /dev/zero > /dev/shm/x; df -k --output=used /dev/shm | tail -1; false",
          verdict=FAIL, ends="exited:1", says="65536"),
    _case("S07", "dd if=/dev/zero of=/root/f bs=1M count=10 seek=4090 2>/dev/null", verdict=FAIL,
          ends="exited:153"),
    _case("S08 sparse", "truncate -s 100G /root/f", verdict=FAIL, ends="exited:153"),
    _case("S08 allocated", "fallocate -l 100G /root/f", verdict=FAIL, ends="exited:153"),
    _case("S10", "perl -MPOSIX -e 'defined(POSIX::open(\"/dev/null\")) or die \"$!\\n\" while 1'",
          verdict=FAIL, ends="?"),
    _case("S15", "sleep 1000000000", "echo next", verdict=FAIL, ends=f"{SLOW} {NOT_RUN}"),
    _case("S16", "while :; do :; done", verdict=FAIL, ends=SLOW),
    _case("S17", "while :; do printf .; sleep 0.9; done", verdict=FAIL, ends=SLOW, says="..."),
    _case("X03", "perl -e 'print syscall(101, 0x4206, $_, 0, 0), \";\" for getppid, 1'",
          verdict=PASS, ends="exited:0", says=";"),
    _case("X16", "env; cat /proc/*/environ | tr '\\0' '\\n'", verdict=PASS, ends="exited:0", says="HOME=/root"),
    _case("X17", "env | grep -i proxy", verdict=FAIL, ends="exited:1"),
    _case("X20", "perl -e 'ioctl(STDIN, 0x5412, $_) for split //, \"echo pushed\\n\"'", "(exit 7)",
          verdict=FAIL, ends="exited:0 exited:7"),
    _case("F01 itself", "ln -sf note ~/note", verdict=FAIL, ends="exited:1"),
    _case("F01 shadow", "ln -sf /etc/shadow ~/note", verdict=FAIL, ends="exited:0", code=Code.GOAL_NOT_REACHED),
    _case("F01 proc", "ln -sf /proc/1/environ ~/note", verdict=FAIL, ends="exited:0", code=Code.GOAL_NOT_REACHED),
    _case("F02 pipe", "rm ~/note; mkfifo ~/note", verdict=FAIL, ends="exited:0", code=Code.GOAL_NOT_REACHED),
    _case("F02 folder", "rm ~/note; mkdir ~/note", verdict=FAIL, ends="exited:0", code=Code.GOAL_NOT_REACHED),
    _case("F02 device", "ln -sf /dev/zero ~/note", verdict=FAIL, ends="exited:0", code=Code.GOAL_NOT_REACHED),
    _case("F02 socket", "rm ~/note; perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local=>\"/root/note\",Listen=>1)'",
          verdict=FAIL, ends="exited:0", code=Code.GOAL_NOT_REACHED),
    _case("F03 large", "head -c 100000000 /dev/zero > ~/note", verdict=FAIL, ends="exited:0",
          code=Code.GOAL_NOT_REACHED),
    _case("F03 growing", "(while :; do echo done >> ~/note; done) &", verdict=FAIL, ends="exited:0",
          code=Code.COLLATERAL_CHANGE),
    _case("F04", r"touch $'/root/a\nb' $'/root/\e]0;x\a' $'/root/\xff\xfe'; cd; for i in {1..200}; do mkdir d; cd d; done",
          verdict=PASS, ends="exited:0"),
    _case("F05 loop", "(while :; do ln -sfn /etc/shadow ~/note; rm -f ~/note; echo done > ~/note; done) &",
          verdict=None, ends="exited:0"),
    _case("F08", "chmod 6755 ~/note; touch -d '2400-01-01' ~/note", verdict=FAIL, ends="exited:0",
          code=Code.UNSAFE_STEP),
)  # fmt: skip
IDS = ("../../x", "/abs", "..", ".", "-rf", "a/b", "x" * 200, "\u202egnp.exe", "CON", "A", "a",
       "\u00e9", "e\u0301", " ", "$(touch x)")  # fmt: skip


def markdown(steps: tuple[str, ...]) -> str:
    """Return steps as a numbered list with a code block each."""
    blocks = ("\n".join(f"   {line}" for line in step.split("\n")) for step in steps)
    return "\n".join(f"{k}. Run:\n\n   ```bash\n{b}\n   ```\n" for k, b in enumerate(blocks, 1))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("answers"))


@pytest.fixture(scope="module")
def done(world: World) -> Done:
    """One run of all hostile answers and names, in the plainest locale."""
    answers = {case.id: markdown((case.first, *case.steps)) for case in CASES}
    answers |= {name: markdown((NOTE,)) for name in IDS}
    return world.judge(answers, "-q", env={"LC_ALL": "C", "LANG": "C"}, timeout=400)


def test_the_standing_promises_hold(done: Done) -> None:
    assert done.broken == ()
    assert done.code == 1
    assert "Traceback" not in done.told


def test_every_answer_has_one_result_and_none_is_the_test_beds(done: Done) -> None:
    assert done.results.keys() == {*IDS, *(case.id for case in CASES)}
    blamed = [r.id for r in done.results.values() if r.verdict is Verdict.ERROR]
    assert blamed == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_hostile_answer_has_its_verdict(done: Done, case: Hostile) -> None:
    result = done.results[case.id]

    assert case.verdict in (None, result.verdict), _told(result)
    found = [_end(step.ending, step.exit_code) for step in result.steps[-len(case.steps) :]]
    for wanted, ended in zip(case.ends, found, strict=True):
        assert wanted in ("?", ended), _told(result)
    assert case.says in result.steps[-1].output
    assert case.code in (None, *(finding.code for finding in result.findings)), _told(result)
    assert _seconds(done)[case.id] < STEP_TIMEOUT + SLACK


def _end(ending: str, code: int | None) -> str:
    return f"{ending}:{'-' if code is None else code}"


def _told(result: AnswerResult) -> str:
    steps = [
        (s.text[:60], _end(s.ending, s.exit_code), s.note, s.output[-200:]) for s in result.steps
    ]
    return f"{result.verdict} {steps} {[(f.slug, f.message) for f in result.findings]}"


def _seconds(done: Done) -> dict[str, float]:
    rows = read_rows(done.out / "results.jsonl")
    return {str(row["id"]): row["times"]["seconds"] for row in rows}  # type: ignore[index]


def test_i19_every_name_has_files_of_its_own_below_the_run_folder(done: Done) -> None:
    transcripts = list((done.out / "transcripts").iterdir())

    assert len(transcripts) == len(CASES) + len(IDS)
    assert all(path.name.endswith(".cast") and len(path.name) < 100 for path in transcripts)
    assert {done.results[name].verdict for name in IDS} == {PASS}


def test_i30_nothing_is_expanded_on_the_host(done: Done, world: World) -> None:
    result = done.results["I30 home"]

    assert result.steps[-1].text == 'echo "$HOME $(hostname) ${USER}"'
    assert str(world.base) not in result.steps[-1].output


def test_p21_p22_p23_transcripts_and_results_are_plain_ascii(done: Done) -> None:
    paths = [done.out / "results.jsonl", *(done.out / "transcripts").iterdir()]

    for path in paths:
        data = path.read_bytes()
        assert data.isascii(), path.name
        assert b"\x1b" not in data, path.name
        for line in data.splitlines():
            json.loads(line)


def test_p23_what_hides_text_is_shown_as_codes(done: Done) -> None:
    told = done.stdout.decode() + done.told

    assert not any(mark in told for mark in "\u202e\u200b")
    assert "\u0301" * 9 not in told


def test_p28_a_liar_that_makes_the_goal_hold_does_not_pass(done: Done) -> None:
    result = done.results["P28 liar"]

    assert Code.GOAL_NOT_REACHED not in [finding.code for finding in result.findings]
    assert result.verdict is FAIL
