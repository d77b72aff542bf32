"""Hostile input files: refused with their place before any container, or read for what they are."""

import gzip
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from procexec.read.answers import NumberedAnswer, open_answers
from procexec.read.procedures import read_procedure
from procexec.read.sandboxes import read_sandboxes
from procexec.read.unsafe import shipped_unsafe
from tests.hostile.world import NOWHERE, ROOT, Done, World, add_procedure, make_world

AWAY = {"DOCKER_HOST": NOWHERE}  # exit code 2, not 4: no engine was asked for

# Lines by the case that they are about; each must be refused for what `told` says, at its place.
BAD_LINES: tuple[tuple[str, bytes, str], ...] = (
    ("I02", b'{"id":"raw","answer":"a\0b"}', r":\d+: error: .*(?:control|invalid|character)"),
    ("I02", b'{"id":"escaped","answer":"a\\u0000b"}', r":\d+: error: .*NUL"),
    ("I03", b'{"id":"latin","answer":"\xc3\x28"}', r":25: error: not UTF-8"),
    ("I06", b'{"id":"good","answer":"x"}', r":1: error: .*`good` stands on line 1 already, with the same"),
    ("I07", b'{"id":"good","answer":"y"}', r":1: error: .*`good` stands on line 1 already, with another"),
    ("I07", b'{"id":1,"answer":"x"}', r":7: error: Expected `str`, got `int`"),
    ("I08", b'{"id":"p","id":"q","answer":"x"}', r":11: error: the key `id` stands twice"),
    ("I09", b'{"answer":"x"}', r":1: error: .*missing required field `id`"),
    ("I09", b'{"id":"textless"}', r":1: error: .*missing required field `answer`"),
    ("I10", b'{"id":{},"answer":"x"}', r":7: error: Expected `str`, got `object`"),
    ("I10", b'{"id":"n","answer":null}', r":20: error: Expected `str`, got `null`"),
    ("I10", b'{"id":"s","answer":"x","slices":5}', r":33: error: Expected `array`, got `int`"),
    ("I10", b'{"id":"b","answer":"x","values":{"a":true}}', r":33: error: Expected `int \| str`, got `bool`"),
    ("I11", b'{"id":"deep","answer":"x","metadata":{"a":' + b"[" * 100_000 + b"}}", r"error: nested too deep"),
    ("I12", b'{"id":"d","answer":"x","metadata":{"a":' + b"9" * 5000 + b"}}", r"error: "),
    ("I12", b'{"id":"e","answer":"x","metadata":{"a":1e400}}', r"error: .*(?:range|finite|large)"),
    ("I12", b'{"id":"f","answer":"x","metadata":{"a":NaN}}', r"error: "),
    ("I12", b'{"id":"g","answer":"x","metadata":{"a":-Infinity}}', r"error: "),
    ("I18", b'{"id":"\\ud800","answer":"x"}', r":8: error: .*half a surrogate pair"),
    ("I18", b'{"id":"h","answer":"\\udfff"}', r":21: error: .*half a surrogate pair"),
    ("I19", b'{"id":"","answer":"x"}', r"error: "),
    ("I19", b'{"id":"a\\u0000b","answer":"x"}', r"error: "),
    ("I19", b'{"id":"a\\nb","answer":"x"}', r"error: "),
    ("I19", b'{"id":"' + b"x" * 300 + b'","answer":"x"}', r"error: "),
    ("I15", b'{"id":"cut","answer":"x', r":24: error: .*truncated"),
)  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """One run on a file in which every line but the first is bad."""
    world = make_world(tmp_path_factory.mktemp("refused"))
    lines = [b'{"id":"good","answer":"x"}', *(line for _, line, _ in BAD_LINES)]
    (world.work / "answers.jsonl").write_bytes(b"\n".join(lines))
    return world.run("run", "answers.jsonl", env=AWAY)


def test_a_bad_file_costs_exit_code_2_before_any_engine_is_asked(refused: Done) -> None:
    assert (refused.code, refused.broken) == (2, ())
    assert "Traceback" not in refused.told
    assert not refused.told.startswith("answers.jsonl:1:")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param(number, told, id=f"{case} line {number}")
        for number, (case, _, told) in enumerate(BAD_LINES, start=2)
    ],
)
def test_a_hostile_line_is_told_at_its_place(refused: Done, line: int, told: str) -> None:
    assert re.search(rf"(?m)^answers\.jsonl:{line}(?=:).*?{told}", refused.told), refused.told


@pytest.mark.nightly
def test_i01_a_line_of_600_mb_is_one_error_and_the_file_is_read_on(world: World) -> None:
    with (world.work / "answers.jsonl").open("wb") as file:
        file.write(b'{"id":"long","answer":"')
        for _ in range(600):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n{"id":"good","answer":"x"}\n{"id":"bad","answer":5}\n')

    done = world.run("run", "answers.jsonl", env=AWAY)

    assert (done.code, done.broken) == (2, ())
    assert "answers.jsonl:1:1: error: the line is longer than 8388608 bytes" in done.told
    assert "answers.jsonl:2" not in done.told
    assert "answers.jsonl:3:22: error: Expected `str`, got `int`" in done.told
    _report("I01", done)


def test_i04_a_byte_order_mark_changes_nothing(world: World) -> None:
    row = '{"id":"a","procedure":"git/note","answer":"Run `echo done > ~/note`."}\n'

    assert _answers(world, b"\xef\xbb\xbf" + row.encode()) == _answers(world, row.encode())


def test_i05_line_ends_change_nothing_and_a_carriage_return_in_a_string_stays(world: World) -> None:
    rows = (b'{"id":"a","answer":"one\\r\\ntwo"}', b'{"id":"b","answer":"x"}', b"")

    answers = _answers(world, b"\n".join(rows))

    assert answers == _answers(world, b"\r\n".join(rows))
    assert answers[0] == (1, "a", "one\r\ntwo")


def test_i17_only_a_newline_ends_a_line(world: World) -> None:
    text = "a\u2028b\u0085c"
    rows = [{"id": "a", "answer": text + "\v"}, {"id": "b", "answer": text}]
    lines = [json.dumps(row, ensure_ascii=False).replace("\\u000b", "\\u000b") for row in rows]

    answers = _answers(world, "\n".join(lines).encode())

    assert answers == [(1, "a", text + "\v"), (2, "b", text)]


def _answers(world: World, data: bytes) -> list[tuple[int, str, str]]:
    path = world.work / "these.jsonl"
    path.write_bytes(data)
    with open_answers(str(path)) as file:
        return [
            (a.line, a.answer.id, a.answer.answer) for a in file if isinstance(a, NumberedAnswer)
        ]


@pytest.mark.nightly
def test_i13_a_hundred_thousand_answers_are_checked_in_flat_memory(world: World) -> None:
    with (world.work / "answers.jsonl").open("w") as file:
        for number in range(100_000):
            row = {"id": f"a{number}", "procedure": "git/note", "answer": "Run `true`.\n" * 20}
            file.write(json.dumps(row) + "\n")

    done = world.run("run", "answers.jsonl", env=AWAY)

    assert (done.code, done.broken) == (4, ())
    assert "no container engine answers" in done.told
    assert done.seconds < 30
    _report("I13", done)


@pytest.mark.parametrize("data", [b"", b"\n \n\t\n", b"\xef\xbb\xbf"])
def test_i14_nothing_to_judge_is_never_green(world: World, data: bytes) -> None:
    (world.work / "answers.jsonl").write_bytes(data)

    done = world.run("run", "answers.jsonl", env=AWAY)

    assert (done.code, done.broken) == (2, ())
    assert "answers.jsonl:1:1: error: there are no answers in it" in done.told


def test_i16_packed_answers_are_read_whatever_they_are_called(world: World) -> None:
    row = b'{"id":"a","answer":"x"}\n'

    assert _answers(world, gzip.compress(row)) == _answers(world, row)


@pytest.mark.nightly
@pytest.mark.parametrize("line_end", ["", "\n"])
def test_i16_a_gzip_bomb_takes_neither_memory_nor_for_ever(world: World, line_end: str) -> None:
    piece = (b"x" * 1023 + line_end.encode().ljust(1, b"x")) * 1024
    with gzip.open(world.work / "bomb.jsonl.gz", "wb", compresslevel=9) as file:
        for _ in range(1000):
            file.write(piece)
    assert (world.work / "bomb.jsonl.gz").stat().st_size < 8 << 20

    done = world.run("run", "bomb.jsonl.gz", env=AWAY)

    assert (done.code, done.broken) == (2, ())
    wanted = "and 951 more" if line_end else "the line is longer than"
    assert wanted in done.told
    _report("I16", done)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "no-folder", "link-circle"])
def test_i20_what_is_no_file_is_refused_at_once(world: World, kind: str) -> None:
    path = world.work / "answers.jsonl"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "no-folder":
            path = world.work / "procedures" / "git" / "note.yaml" / "answers.jsonl"
        case _:
            path.symlink_to(path)

    done = world.run("run", str(path), env=AWAY)

    assert (done.code, done.broken) == (2, ())
    assert done.seconds < 2
    assert "error: " in done.told
    assert "hint: give a .jsonl file" in done.told


@pytest.mark.docker
def test_i21_a_file_that_is_edited_during_the_run_is_told_and_not_green(world: World) -> None:
    slow, quick = "Run `sleep 2`, then `echo done > ~/note`.", "Run `echo done > ~/note`."
    rows = [{"id": name, "procedure": "git/note", "answer": slow} for name in ("a", "b")]
    world.write_answers(*rows)
    path = world.work / "answers.jsonl"
    edited = path.read_text().replace(slow, quick)
    arguments = ("run", "answers.jsonl", "--out", str(world.out), "-j", "1", "-q")

    with ThreadPoolExecutor(1) as editor:
        editor.submit(_write_once_there_is, world.out / "manifest.json", path, edited)
        done = world.run(*arguments, also_changes=("work/answers.jsonl",))
    again = world.run(*arguments)

    assert done.code == 2
    assert "error: answers.jsonl was changed while the run went" in done.told
    assert again.code == 0
    assert {r.steps[0].text for r in again.results.values()} == {"echo done > ~/note"}


def _write_once_there_is(sign: Path, path: Path, text: str) -> None:
    end = time.monotonic() + 60
    while not sign.exists() and time.monotonic() < end:
        time.sleep(0.02)
    path.write_text(text)


BAD_YAML: dict[str, tuple[str, str]] = {
    "I22": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{n}: &{n} [{', '.join([f'*{m}'] * 9)}]\n" for m, n in zip("abcdefg", "bcdefgh", strict=True)),
        "aliases are not allowed",
    ),
    "I23 merge": ("base: {x: 1}\nid: {<<: {a: 1}, <<: {b: 2}}\n", "merge keys are not allowed"),
    "I23 deep": ("id: " + "[" * 5000 + "]" * 5000 + "\n", "exceeded maximum nesting depth"),
    "I24 object": ("id: !!python/object/apply:os.system [id]\n", "the tag `tag:yaml.org,2002:python/object/apply:os.system` is not allowed"),
    "I24 binary": ("fixture: !!binary |\n" + "  QUFB\n" * 200_000, "larger than 1048576 bytes"),
    "I24 number": ("id: " + "9" * 5000 + "\n", "Exceeds the limit (4300 digits)"),
    "I25 version": ("versions: [1.10]\n", "quote it"),
    "I25 no": ("given: {a: no}\n", "quote it"),
    "I26": ("title: x\ntitle: y\n", "the key `title` stands twice"),
}  # fmt: skip
ASKS = (
    "privileged: true",
    "network: host",
    "pid: host",
    "volumes: ['/:/host']",
    "devices: [/dev/kmsg]",
)


@pytest.fixture(scope="module")
def bad_procedures(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """One run with many bad procedure files."""
    world = make_world(tmp_path_factory.mktemp("procedures"))
    folder = world.work / "procedures" / "git"
    good = yaml.safe_load((folder / "note.yaml").read_text())
    for name, (text, _) in BAD_YAML.items():
        kept = {key: value for key, value in good.items() if key not in ("id", text.split(":")[0])}
        (folder / f"{_file_name(name)}.yaml").write_text(yaml.safe_dump(kept) + text)
    for number, ask in enumerate(ASKS):
        named = good | {"id": f"git/ask-{number}"}
        (folder / f"ask-{number}.yaml").write_text(yaml.safe_dump(named) + ask + "\n")
    (world.base / "strangers" / "secret.yaml").write_text("password: strangers-secret\n")
    link = world.work / "procedures" / "git" / "link.yaml"
    link.symlink_to(world.base / "strangers" / "secret.yaml")
    world.write_answers({"id": "a", "answer": "x"})
    return world.run("run", "answers.jsonl", env=AWAY)


def _file_name(name: str) -> str:
    return name.lower().replace(" ", "-")


def test_bad_procedures_cost_exit_code_2_in_little_time(bad_procedures: Done) -> None:
    assert (bad_procedures.code, bad_procedures.broken) == (2, ())
    assert bad_procedures.seconds < 5
    assert "Traceback" not in bad_procedures.told


@pytest.mark.parametrize("name", BAD_YAML)
def test_hostile_yaml_is_refused(bad_procedures: Done, name: str) -> None:
    place = rf"procedures/git/{_file_name(name)}\.yaml:\d+(?::\d+)?: error: "

    found = re.search(place + r".*\n(?:  hint: .*\n)?", bad_procedures.told)

    assert found, bad_procedures.told
    assert BAD_YAML[name][1] in found[0]


def test_i25_text_that_looks_like_octal_or_a_time_stays_text(world: World) -> None:
    given = "given:\n  mode: 0755\n  at: 12:30:45\n  version: '1.10'\n"
    path = add_procedure(world.work, "git/texts", {"steps": [{"id": "a", "run": "true"}]})
    path.write_text(path.read_text() + given)

    assert read_procedure(path).given == {"mode": "0755", "at": "12:30:45", "version": "1.10"}


@pytest.mark.parametrize("number", range(len(ASKS)))
def test_i27_a_procedure_cannot_even_ask_for_the_host(bad_procedures: Done, number: int) -> None:
    field = ASKS[number].partition(":")[0]
    place = rf"procedures/git/ask-{number}\.yaml:\d+:1: error: "

    assert re.search(place + f".*unknown field `{field}`", bad_procedures.told)


@pytest.mark.parametrize("number", range(len(ASKS)))
def test_i27_a_sandbox_cannot_take_the_host(world: World, number: int) -> None:
    path = world.work / "sandboxes" / "git" / "2.39" / "sandbox.yaml"
    path.write_text(path.read_text() + ASKS[number] + "\n")
    world.write_answers({"id": "a", "answer": "x"})

    done = world.run("run", "answers.jsonl", env=AWAY)

    field = ASKS[number].partition(":")[0]
    assert (done.code, done.broken) == (2, ())
    assert re.search(rf"sandbox\.yaml:\d+:1: error: .*unknown field `{field}`", done.told)


@pytest.mark.parametrize(
    ("knob", "value"),
    [("capability", "SYS_ADMIN"),
        ("capability", "MKNOD"),
        ("cap_add", "SYS_ADMIN"), ("privileged", "true"), ("network", "host"), ("volumes", "/:/host"),
     ("volumes", "/var/run/docker.sock"), ("pid", "host"), ("seccomp", "unconfined")],
)  # fmt: skip
def test_i27_no_grant_gives_the_host_away(world: World, knob: str, value: str) -> None:
    path = world.work / "sandboxes" / "git" / "2.39" / "sandbox.yaml"
    grant = f"grants:\n- {{knob: {knob}, value: '{value}', reason: because}}\n"
    path.write_text(path.read_text() + grant)
    world.write_answers({"id": "a", "answer": "x"})

    done = world.run("run", "answers.jsonl", env=AWAY)

    assert (done.code, done.broken) == (2, ())
    assert re.search(r"sandbox\.yaml:\d+:\d+: error: ", done.told)


def test_i28_a_link_out_of_the_folder_is_not_read(bad_procedures: Done) -> None:
    assert "procedures/git/link.yaml:1:1: error: a link out of the folder" in bad_procedures.told
    assert "strangers-secret" not in bad_procedures.told


def _shipped_patterns() -> set[tuple[str, int]]:
    """Return the shipped patterns with the length of the text that they are tried on."""
    specs = [folder.spec for folder in read_sandboxes(ROOT / "sandboxes")[0].values()]
    found = {(kind.pattern, 50_000) for kind in shipped_unsafe()}
    for spec in specs:
        found |= {(p, 50_000) for p in (*spec.editors, *(kind.pattern for kind in spec.unsafe))}
        prompts = [prompt.pattern for prompt in spec.prompts]
        prompts += [p for session in spec.sessions for p in session.prompts]
        found |= {(pattern, 4096) for pattern in prompts}  # the terminal's last line
    return found


class _Slow(Exception):  # noqa: N818 - no error, a measurement
    pass


@pytest.fixture
def five_seconds() -> Iterator[None]:
    """Let a pattern that backtracks end with an exception."""

    def stop(_number: int, _frame: object) -> None:
        raise _Slow

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(5)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("five_seconds")
@pytest.mark.parametrize(("pattern", "length"), sorted(_shipped_patterns()))
def test_i29_no_shipped_pattern_backtracks_for_long_on_hostile_text(
    pattern: str, length: int
) -> None:
    words = {*re.findall(r"[A-Za-z]{2,}", pattern), "-", "a", "/", " "}
    texts = [word + end for word in words for end in ("", " ", " -a ", " x")]

    for text in texts:
        began = time.process_time()
        re.search(pattern, text * (length // len(text)))
        assert time.process_time() - began < 1, text


def _report(case: str, done: Done) -> None:
    print(f"\n{case}: {done.seconds:.1f} s, {done.peak_mib:.0f} MiB")
