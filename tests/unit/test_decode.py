"""Text to documents: what is refused, where, and with which hint."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.errors import UserError
from procexec.model.document import Answer, Document, Procedure
from procexec.read import decode
from procexec.read.decode import decode_json, decode_yaml, did_you_mean, place_in_yaml


class Thing(Document, frozen=True):
    """What these tests decode."""

    name: str = ""
    parts: tuple["Thing", ...] = ()
    notes: dict[str, str] = msgspec.field(default_factory=dict)


def refusal(attempt: Callable[[], object]) -> UserError | None:
    try:
        attempt()
    except UserError as e:
        return e
    return None


def has_a_place(error: UserError | None) -> bool:
    return error is None or error.at is not None


def refused(text: str) -> str:
    with pytest.raises(UserError) as e:
        decode_yaml(text, Thing, file="t.yaml")
    return str(e.value)


# --- YAML -------------------------------------------------------------------------------------


def test_only_decimal_numbers_are_numbers() -> None:
    text = "name: x\nnotes: {a: 12:30, b: 0755, c: 2024-02-30, d: 0x1F, e: 1_000, f: 0b11}"

    notes = decode_yaml(text, Thing, file="t.yaml").notes

    assert notes == {
        "a": "12:30",
        "b": "0755",
        "c": "2024-02-30",
        "d": "0x1F",
        "e": "1_000",
        "f": "0b11",
    }


@pytest.mark.parametrize("word", ["1", "-7", "1.10", "true", "no"])
def test_a_word_that_yaml_takes_for_something_else_is_to_be_quoted(word: str) -> None:
    assert 'hint: quote it, e.g. "1.10"' in refused(f"name: {word}")


def test_a_null_is_not_to_be_quoted() -> None:
    assert refused("name: ~") == "t.yaml:1:7: error: Expected `str`, got `null`"


def test_a_fault_deep_inside_has_its_own_place() -> None:
    text = "parts:\n  - name: a\n  - parts:\n      - name: b\n        nmae: c\n"

    assert refused(text) == (
        "t.yaml:5:9: error: Object contains unknown field `nmae`\n  hint: did you mean `name`?"
    )


def test_columns_count_characters_not_bytes() -> None:
    assert refused("{name: äöü, nmae: x}").startswith("t.yaml:1:13: ")


def test_a_control_character_is_refused() -> None:
    message = refused("name: a\x07b\n")

    assert message.startswith("t.yaml:1:")
    assert "control characters are not allowed" in message


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MAX_YAML_BYTES", 10)

    assert refused("name: äääääää") == "t.yaml:1:1: error: larger than 10 bytes"


def test_a_hundred_thousand_levels_are_refused() -> None:
    assert "nest" in refused("[" * 10**5)
    assert "nest" in refused("- " * 10**5)


def test_the_place_of_a_value_is_found_by_its_path() -> None:
    text = "a: 1\nb:\n  - c: 2\n  - {d: 3}\n"

    assert str(place_in_yaml(text, ("b", 1, "d"), file="f")) == "f:4:9"


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_any_yaml_text_is_decoded_or_refused(text: str) -> None:
    assert has_a_place(refusal(lambda: decode_yaml(text, Thing, file="t.yaml")))


NEAR_YAML = st.lists(
    st.sampled_from(
        [
            "name",
            ": ",
            "parts",
            "\n",
            "  ",
            "- ",
            "[",
            "]",
            "{",
            "}",
            '"',
            "'",
            "&a",
            "*a",
            "?",
            "!!x",
            "<<",
            "|",
            ">",
            "#",
            ",",
            "~",
            "1",
            "é",
            "---",
            "\t",
            "\ufeff",
            "\u2028",
            "%",
        ]
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(NEAR_YAML)
def test_text_that_is_nearly_yaml_is_decoded_or_refused(pieces: list[str]) -> None:
    assert has_a_place(refusal(lambda: decode_yaml("".join(pieces), Thing, file="t.yaml")))


# --- JSON -------------------------------------------------------------------------------------


def column(line: str | bytes) -> int:
    data = line.encode() if isinstance(line, str) else line
    with pytest.raises(UserError) as e:
        decode_json(data, Answer, file="a.jsonl", number=7)
    assert e.value.at is not None
    assert (e.value.at.file, e.value.at.line) == ("a.jsonl", 7)
    return e.value.at.column


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('{"id": "a", "answer": 5}', "5"),
        ('{"id":\t"a" ,\t"answer" :  [5]}', "[5"),
        ('{"id": "😀", "answer": 5}', "5"),
        (r'{"id": "\ud83d\ude00", "answer": 5}', "5}"),
        (r'{"id": "\"answer\": ,{}[]\\", "answer": 5}', "5}"),
        ('{"id": "a", "answer": "x", "citations": [{"document": "1"}, {"document": 2}]}', "2}"),
        ('{"id": "a", "answer": "x", "slices": ["a", ["b"], "c"]}', '["b"'),
        ('{"id": "a", "answer": "x", "citations": [{"document": "1", "ancor": ""}]}', '"ancor"'),
        ('{"metadata": {"answer": 1}, "id": "a", "answer": 2}', "2}"),
        ('{"metadata": {"a": {"b": 1, "c": 1, "b": 1}}, "id": "a", "answer": ""}', '"b": 1}'),
    ],
)
def test_the_column_is_that_of_the_fault(line: str, wrong: str) -> None:
    assert column(line) == line.index(wrong) + 1


def test_a_missing_field_is_missed_in_its_own_object() -> None:
    line = '{"id": "a", "answer": "x", "citations": [{"anchor": "x"}]}'

    assert column(line) == line.index('{"anchor') + 1


def test_nesting_is_refused_and_not_survived_by_luck() -> None:
    deep = b'{"id": "a", "answer": "", "metadata": {"x": ' + b"[" * 10**5 + b"]" * 10**5 + b"}}"

    with pytest.raises(UserError, match="nested too deeply"):
        decode_json(deep, Answer, file="a.jsonl", number=1)


def test_line_separators_within_strings_are_content() -> None:
    line = '{"id": "a", "answer": "one\u2028two\u2029three\u0085four"}'.encode()

    assert decode_json(line, Answer, file="a.jsonl", number=1).answer.count("\u2028") == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "answer", "citations", "document", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(JSON, st.booleans())
def test_any_json_is_decoded_or_refused_within_its_line(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    line = text.encode(errors="surrogatepass")

    error = refusal(lambda: decode_json(line, Answer, file="a.jsonl", number=1))

    assert error is None or (error.at and 1 <= error.at.column <= len(text) + 1)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_decoded_or_refused(line: bytes) -> None:
    with pytest.raises(UserError):
        decode_json(line, Answer, file="a.jsonl", number=1)


ANSWERS = st.builds(
    Answer,
    id=st.text("abc-é😀 ", min_size=1, max_size=9),
    answer=st.text(max_size=20).filter(lambda text: "\0" not in text),
    question=st.text(max_size=9),
    procedure=st.sampled_from([None, msgspec.UNSET, "git/add-patch"]),
    values=st.dictionaries(st.text(max_size=3), st.text(max_size=3) | st.integers(-9, 9)),
)


@settings(max_examples=100, deadline=None)
@given(ANSWERS)
def test_what_is_encoded_decodes_to_itself(answer: Answer) -> None:
    line = msgspec.json.encode(answer)

    assert decode_json(line, Answer, file="a.jsonl", number=1) == answer


# --- hints ------------------------------------------------------------------------------------


def test_the_nearest_word_is_suggested() -> None:
    assert did_you_mean("workdirs", ["user", "workdir"]) == "did you mean `workdir`?"


def test_few_words_are_listed_in_order_each_once() -> None:
    assert did_you_mean("zzz", ["b", "a", "b"]) == "one of: a, b"


def test_many_words_are_cut_short() -> None:
    assert did_you_mean("zzz", [f"n{k:02}" for k in range(14)]).endswith("n10, n11, ...")


def test_nothing_is_suggested_where_nothing_is_known() -> None:
    assert did_you_mean("zzz", []) == ""


def test_every_field_of_a_procedure_is_known_to_the_hints() -> None:
    with pytest.raises(UserError, match="unknown field") as e:
        decode_yaml("id: a/b\nqestions: []\n", Procedure, file="p.yaml")

    assert e.value.hint == "did you mean `questions`?"
