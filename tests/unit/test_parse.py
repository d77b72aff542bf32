"""Shell text to simple commands and to what is typed at one prompt."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.shell.parse import SimpleCommand, parse, placeholders, statements

Words = list[str]

SNIPPETS: list[tuple[str, list[Words]]] = [
    # simple
    ("mkdir demo", [["mkdir", "demo"]]),
    ("  mkdir   -p\tdemo  ", [["mkdir", "-p", "demo"]]),
    ("./configure --prefix=/opt", [["./configure", "--prefix=/opt"]]),
    ("[ -d demo ]", [["[", "-d", "demo", "]"]]),
    ("ls *.txt ?x [ab]c", [["ls", "*.txt", "?x", "[ab]c"]]),
    ("echo a{1,2}b ~/x", [["echo", "a{1,2}b", "~/x"]]),
    ("echo größer ö", [["echo", "größer", "ö"]]),
    ("tool -- -x", [["tool", "--", "-x"]]),
    ("curl -sS http://127.0.0.1:80/a?b=c", [["curl", "-sS", "http://127.0.0.1:80/a?b=c"]]),
    ("", []),
    # continuation and comment
    ("tar -x \\\n  -f a.tar \\\n  -C out\nls", [["tar", "-x", "-f", "a.tar", "-C", "out"], ["ls"]]),
    ("a \\\n| b", [["a"], ["b"]]),
    ("a &&\n  b", [["a"], ["b"]]),
    ("a |\n  b", [["a"], ["b"]]),
    ("# nothing\n\n   # still nothing", []),
    ("a # it's a remark\nb", [["a"], ["b"]]),
    ("echo a#b '#c'", [["echo", "a#b", "#c"]]),
    ("# cat <<EOF\na", [["a"]]),
    ("a \\\n\n  b", [["a"], ["b"]]),
    ("a \\\n  # no remark of its own\nb", [["a"], ["b"]]),
    ("a ||\n\n  # why not\n  b; # done", [["a"], ["b"]]),
    # quotes
    ("echo 'a b' \"c d\"", [["echo", "a b", "c d"]]),
    ('echo "a\\"b\\\\c"', [["echo", 'a"b\\c']]),
    ("echo a\\ b", [["echo", "a b"]]),
    ("echo 'a'\"b\"c", [["echo", "abc"]]),
    ("echo 'two\nlines'\nb", [["echo", "two\nlines"], ["b"]]),
    ('echo "; a && b | c > d"', [["echo", "; a && b | c > d"]]),
    ("echo '' \"\"", [["echo", "", ""]]),
    ('git commit -m "one\n\ntwo" && a', [["git", "commit", "-m", "one\n\ntwo"], ["a"]]),
    ("sed -i 's/a b/c/;s#x#y#' f", [["sed", "-i", "s/a b/c/;s#x#y#", "f"]]),
    ("echo $'a\\tb' -x", [["echo", "$'a\\tb'", "-x"]]),
    ('echo "$HOME/it\'s" \'say "hi"\'', [["echo", "$HOME/it's", 'say "hi"']]),
    ("awk '{print $1}' f", [["awk", "{print $1}", "f"]]),
    # here-documents and redirections
    ("cat <<EOF\n$a\nEOF\nb", [["cat"], ["b"]]),
    ("cat <<A <<B\n1\nA\n2\nB\nb", [["cat"], ["b"]]),
    ("cat <<-EOF\n\tx\n\tEOF\nb", [["cat"], ["b"]]),
    ("cat <<'END OF'\nx\nEND OF\nb", [["cat"], ["b"]]),
    ("cat <<\\E\nx\nE\nb", [["cat"], ["b"]]),
    ("cat <<EOF | sort -u\nx\nEOF\nb", [["cat"], ["sort", "-u"], ["b"]]),
    ("cat <<EOF && b\nx\nEOF\nc", [["cat"], ["b"], ["c"]]),
    ("tool -f - <<EOF\nx\nEOF", [["tool", "-f", "-"]]),
    ("cat <<< 'a b'", [["cat"]]),
    ("echo $((1<<2))\nb", [["echo", "$((1<<2))"], ["b"]]),
    ("echo '<<EOF'\nb", [["echo", "<<EOF"], ["b"]]),
    ("a > out 2>&1 < in >> more &> all", [["a"]]),
    ("> empty", []),
    ("2>/dev/null a b", [["a", "b"]]),
    # substitution
    ("echo $(date +%s) `id -u`", [["echo", "$(date +%s)", "`id -u`"]]),
    ('echo "$(a "b")"', [["echo", '$(a "b")']]),
    ("echo ${x:-a} ${#y} $z", [["echo", "${x:-a}", "${#y}", "$z"]]),
    ("diff <(sort a) <(sort b)", [["diff", "<(sort a)", "<(sort b)"]]),
    ("echo $(cat <<EOF\na\nEOF\n)\nb", [["echo", "$(cat <<EOF\na\nEOF\n)"], ["b"]]),
    ('echo "$(cat <<\'EOF\'\na "b\nEOF\n)"\nc', [["echo", "$(cat <<'EOF'\na \"b\nEOF\n)"], ["c"]]),
    ('tar -czf $(date +%F).tgz "$(pwd)"', [["tar", "-czf", "$(date +%F).tgz", "$(pwd)"]]),
    ("kill $(pgrep -f 'a b') || true", [["kill", "$(pgrep -f 'a b')"], ["true"]]),
    # variables
    ("A=1 B='x y' tool", [["tool"]]),
    ("A=1", []),
    ("export A=1 B='x y'", [["export", "A=1", "B=x y"]]),
    ("unset A B", [["unset", "A", "B"]]),
    ("PATH=$PATH:/opt/bin A= tool -x", [["tool", "-x"]]),
    ("declare -r A=1", [["declare", "-r", "A=1"]]),
    ('A=$(id -u) B="$A"; tool', [["tool"]]),
    # compound
    ("a; b & c || d && e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
    ("(cd x && make) > log", [["cd", "x"], ["make"]]),
    ("{ a; b; } | c", [["a"], ["b"], ["c"]]),
    ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
    ("for f in *; do a $f; done; b", [["a", "$f"], ["b"]]),
    ("while read -r l; do a; done < in", [["read", "-r", "l"], ["a"]]),
    ("until a; do b; done", [["a"], ["b"]]),
    ("case $x in a) b;; *) c;; esac", [["b"], ["c"]]),
    ("f() {\n  a\n}\nf", [["a"], ["f"]]),
    ("! a", [["a"]]),
    ("time make -j4", [["make", "-j4"]]),
    ("(( n++ )); a", [["a"]]),
    ("for ((i = 0; i < 3; i++)); do a $i; done", [["a", "$i"]]),
    ("if ! a | b; then\n  c\nfi || d", [["a"], ["b"], ["c"], ["d"]]),
    ("function g { a; }; g && { b & }", [["a"], ["g"], ["b"]]),
    # as it stands in answers
    ("cd demo\r\nls\r\n", [["cd", "demo"], ["ls"]]),
    ("  cd demo\n    ls  ", [["cd", "demo"], ["ls"]]),
    ("tool tag –name “blue one”", [["tool", "tag", "–name", "“blue", "one”"]]),
    ("tool a\u00a0b", [["tool", "a\u00a0b"]]),
    ("tool list…", [["tool", "list…"]]),
    ("pip install pkg>=2.0", [["pip", "install", "pkg"]]),
    ("curl http://h/?a=1&b=2 -o f", [["curl", "http://h/?a=1"], ["-o", "f"]]),
    (
        "mysql -u root -p\nSHOW TABLES;\nexit",
        [["mysql", "-u", "root", "-p"], ["SHOW", "TABLES"], ["exit"]],
    ),
    ("sqlite> .tables", [["sqlite"]]),
    ("tool --set a.b[0]=c,d={1,2}", [["tool", "--set", "a.b[0]=c,d={1,2}"]]),
    ("git commit -m Fix: rounding", [["git", "commit", "-m", "Fix:", "rounding"]]),
    ("a\n\n\n\tb\n", [["a"], ["b"]]),
    ("tool --size 3 # <- your size", [["tool", "--size", "3"]]),
    (
        "docker run -e A=b -v $PWD:/x img sh -c 'a && b'",
        [["docker", "run", "-e", "A=b", "-v", "$PWD:/x", "img", "sh", "-c", "a && b"]],
    ),
    ("echo done. Then run ls", [["echo", "done.", "Then", "run", "ls"]]),
    ("sudo tee /etc/x <<'EOF' >/dev/null\na=<b>\nEOF\nls", [["sudo", "tee", "/etc/x"], ["ls"]]),
]
IDS = [text.replace("\n", "⏎") or "nothing" for text, _ in SNIPPETS]


@pytest.mark.parametrize(("text", "words"), SNIPPETS, ids=IDS)
def test_the_simple_commands_are_found_in_order(text: str, words: list[Words]) -> None:
    assert argvs(text) == words


def argvs(text: str) -> list[Words]:
    return [list(command.argv) for command in parse(text).commands if command.argv]


def only(text: str) -> SimpleCommand:
    (command,) = parse(text).commands
    return command


# --- beside another parser --------------------------------------------------------------------

KNOWN_DIFFERENCES = {
    "$ ls": "tree-sitter takes the prompt and the command for one word",
    "a \\ \n  b": "tree-sitter drops the escaped blank that bash hands over as a word",
    'echo $"x"': "tree-sitter takes the dollar of a translated string for a word of its own",
    "exec 3<>/dev/tcp/h/1": "tree-sitter does not know the operator <>",
}


REFUSED = [
    "git commit -m Fix: the (rounding",
    "echo 'open",
    'git commit -m "cut off',
    "cat <<EOF\nx",
    "if a; then\n  b",
    "for f in *; do a",
    "a && ",
    "echo $(b",
    "f() {\n  a",
    "b )",
    "case x in a) b",
]


@pytest.mark.parametrize(("text", "words"), SNIPPETS, ids=IDS)
def test_shfmt_finds_the_same_words(text: str, words: list[Words]) -> None:
    assert shfmt_argvs(text) == words


@pytest.mark.parametrize("text", REFUSED)
def test_what_another_parser_refuses_is_read_and_not_complete(text: str) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        shfmt_argvs(text)

    assert not parse(text).complete


@pytest.mark.parametrize("text", KNOWN_DIFFERENCES)
def test_a_known_difference_is_still_one(text: str) -> None:
    assert shfmt_argvs(text) != argvs(text)


def shfmt_argvs(text: str) -> list[Words]:
    done = subprocess.run(
        [Path(sys.executable).parent / "shfmt", "--to-json"],
        input=text.encode(),
        capture_output=True,
        check=True,
        timeout=20,
    )
    return list(_Shfmt(text.encode()).commands(json.loads(done.stdout)))


class _Shfmt:
    """Reads the tree of shfmt: its words with the static quotes removed, as ours."""

    def __init__(self, source: bytes) -> None:
        self.source = source

    def commands(self, node: Any) -> Iterator[Words]:
        if isinstance(node, list):
            for child in node:
                yield from self.commands(child)
            return
        if not isinstance(node, dict):
            return
        match node.get("Type"):
            case "CallExpr" if "Args" in node:
                yield [self.word(word) for word in node["Args"]]
            case "DeclClause":
                yield [node["Variant"]["Value"], *(self.assigned(a) for a in node["Args"])]
            case "CallExpr" | "ArithmCmd":
                return
            case _:
                for key, child in node.items():
                    if key not in ("Redirs", "Loop", "Word", "Patterns"):
                        yield from self.commands(child)

    def assigned(self, node: dict[str, Any]) -> str:
        if "Name" not in node:
            return self.word(node["Value"])
        return str(node["Name"]["Value"]) + "=" + self.word(node["Value"])

    def word(self, node: dict[str, Any]) -> str:
        return "".join(self.part(part, quoted=False) for part in node["Parts"])

    def part(self, node: dict[str, Any], *, quoted: bool) -> str:
        match node["Type"]:
            case "Lit" if quoted:
                return re.sub(r'\\([$`"\\])', r"\1", node["Value"])
            case "Lit":
                return re.sub(r"\\(.)", r"\1", node["Value"])
            case "SglQuoted" if node.get("Dollar"):
                start, end = node["Pos"]["Offset"], node["End"]["Offset"]
                return self.source[start:end].decode()
            case "SglQuoted":
                return str(node.get("Value", ""))
            case "DblQuoted":
                return "".join(self.part(part, quoted=True) for part in node.get("Parts", []))
            case _:
                start, end = node["Pos"]["Offset"], node["End"]["Offset"]
                return self.source[start:end].decode()


# --- what belongs to a command ----------------------------------------------------------------


def test_operators_join_a_command_to_the_next() -> None:
    commands = parse("a && b || c; d & e | f |& g").commands

    assert [c.operator for c in commands] == ["&&", "||", ";", "&", "|", "|&", ""]


def test_the_stages_of_a_pipeline_have_one_number() -> None:
    numbers = [c.pipeline for c in parse("a | b; c | d").commands]

    assert numbers[0] == numbers[1] != numbers[2] == numbers[3]


@pytest.mark.parametrize("text", ["x || a", "if x; then a; fi", "case x in x) a;; esac", "! a"])
def test_what_may_not_run_is_conditional(text: str) -> None:
    assert parse(text).commands[-1].conditional


@pytest.mark.parametrize("text", ["x && a", "x; a", "(x; a)", "{ x; a; }"])
def test_what_runs_if_all_goes_well_is_not_conditional(text: str) -> None:
    assert not parse(text).commands[-1].conditional


def test_loops_and_functions_are_marked() -> None:
    assert parse("for f in *; do a; done").commands[0].loop
    assert parse("setup() { a; }").commands[0].function == "setup"


def test_assignments_before_a_command_are_kept_apart() -> None:
    assert only("A=1 B='x y' tool -a").assignments == (("A", "1"), ("B", "x y"))


def test_redirections_keep_descriptor_operator_and_target() -> None:
    redirects = only("a > 'o ut' 2>> err < in 2>&1 &> all").redirects

    assert redirects == ((">", "o ut"), ("2>>", "err"), ("<", "in"), ("2>&", "1"), ("&>", "all"))


def test_an_unquoted_version_constraint_is_a_redirection() -> None:
    command = only("pip install pkg>=2.0")

    assert (command.argv, command.redirects) == (("pip", "install", "pkg"), ((">", "=2.0"),))


def test_a_quoted_version_constraint_is_a_word() -> None:
    assert only("pip install 'pkg>=2.0'").argv[-1] == "pkg>=2.0"


def test_an_address_with_a_bare_ampersand_ends_the_command() -> None:
    assert argvs("curl http://h/?a=1&b=2") == [["curl", "http://h/?a=1"]]


def test_a_redirection_of_a_group_leaves_the_command_s_text_alone() -> None:
    text = "{ a; b; } > log"

    last = parse(text).commands[-1]

    assert text[last.start : last.end] == "b"
    assert last.redirects == ((">", "log"),)


# --- here-documents ---------------------------------------------------------------------------


def bodies(text: str) -> list[str]:
    return [h.body for c in parse(text).commands for h in c.heredocs]


def test_two_here_documents_on_a_line_are_read_one_after_the_other() -> None:
    assert bodies("cat <<A <<B\n1\nA\n2\nB\n") == ["1\n", "2\n"]


def test_tabs_fall_off_behind_a_dash_and_only_there() -> None:
    assert bodies("cat <<-E\n\t\tx\n\tE\ncat <<E\n\tx\n\tE\nE\n") == ["x\n", "\tx\n\tE\n"]


@pytest.mark.parametrize(
    ("operator", "quoted"), [("<<E", False), ("<<'E'", True), ('<<"E"', True), ("<<\\E", True)]
)
def test_quotes_around_the_word_keep_the_body_as_it_is(operator: str, quoted: bool) -> None:
    (heredoc,) = only(f"cat {operator}\n$x\nE\n").heredocs

    assert (heredoc.quoted, heredoc.closed) == (quoted, True)


@pytest.mark.parametrize("text", ["cat <<EOF\nx\n", "cat <<EOF\nx", "cat <<EOF\nx\n  EOF"])
def test_an_unclosed_here_document_goes_to_the_end(text: str) -> None:
    script = parse(text)

    assert not script.complete
    assert not script.commands[0].heredocs[0].closed
    assert script.commands[0].heredocs[0].body == text.split("\n", 1)[1].rstrip("\n") + "\n"


def test_the_body_belongs_to_the_command() -> None:
    text = "cat > f <<EOF\na\nEOF\nb"

    command = parse(text).commands[0]

    assert text[command.start : command.end] == "cat > f <<EOF\na\nEOF"


@pytest.mark.parametrize("word", ["EOF", "EO-F", "'END OF'", "'!'", "end.sql", "_x1"])
def test_any_word_can_end_a_here_document(word: str) -> None:
    assert bodies(f"cat <<{word}\nx\n{word.strip(chr(39))}\nb") == ["x\n"]


@pytest.mark.parametrize(
    "text",
    [
        "# cat <<EOF\nb\nEOF",
        "a # <<EOF\nb\nEOF",
        "echo 'one\n<<EOF\n'\nb\nEOF",
        'echo "one\n<<EOF\n"\nb\nEOF',
        "(( x = 1 << EOF ))\nb\nEOF",
        "cat <<<EOF\nb\nEOF",
    ],
)
def test_what_only_looks_like_a_here_document_is_none(text: str) -> None:
    assert ["b"] in argvs(text)
    assert bodies(text) == []


def test_an_apostrophe_in_a_remark_hides_no_here_document() -> None:
    assert bodies("a # it's\ncat <<EOF\nx\nEOF\n") == ["x\n"]


def test_carriage_returns_are_no_part_of_a_body() -> None:
    assert bodies("cat <<EOF\r\nx\r\nEOF\r\nb\r\n") == ["x\n"]
    assert argvs("cat <<EOF\r\nx\r\nEOF\r\nb\r\n") == [["cat"], ["b"]]


# --- placeholders -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tool login <user> -n <your name>", ("<user>", "<your name>")),
        ("API_KEY=<your-key> tool", ("<your-key>",)),
        ("curl https://<host>/<path>", ("<host>", "<path>")),
        ("scp x dev@<host>:", ("<host>",)),
        ("tool {{ name }} {{name}}", ("{{ name }}", "{{name}}")),
        ("tool --key YOUR_API_KEY your-app", ("YOUR_API_KEY", "your-app")),
        ("tool <a> <a>", ("<a>",)),
        ('tool "<Your Name>"', ("<Your Name>",)),
        ("sort <in >out", ()),
        ("sort < in > out", ()),
        ("cat <<EOF > out\nx\nEOF", ()),
        ("cat <<EOF >out\nx\nEOF", ()),
        ("cat <<EOF\n<name>\nEOF", ()),
        ("pip install pkg>=2.0", ()),
        ("echo '<b>x</b>'", ()),
        ("a <(b) >(c)", ()),
        ("echo 1 < 2 > 3", ()),
        ("echo $HOME ${USER}", ()),
    ],
)
def test_placeholders_are_told_from_redirections(text: str, found: tuple[str, ...]) -> None:
    assert placeholders(text) == found


def test_a_placeholder_is_a_word_as_it_is_written() -> None:
    assert argvs("tool <your name> -n {{ ns }} x/<id>/y") == [
        ["tool", "<your name>", "-n", "{{ ns }}", "x/<id>/y"]
    ]


# --- what is typed at one prompt --------------------------------------------------------------


def typed(text: str) -> list[str]:
    return [s.text for s in statements(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a\nb", ["a", "b"]),
        ("a; b\nc", ["a; b", "c"]),
        ("a \\\n  b\nc", ["a \\\n  b", "c"]),
        ("a &&\nb\nc", ["a &&\nb", "c"]),
        ("a & b\nc", ["a & b", "c"]),
        ("if a; then\n  b\nfi\nc", ["if a; then\n  b\nfi", "c"]),
        ("for x in 1 2; do\n  a\ndone > log\nb", ["for x in 1 2; do\n  a\ndone > log", "b"]),
        ("f() {\n  a\n}\nf", ["f() {\n  a\n}", "f"]),
        ("(cd x\nmake)\nb", ["(cd x\nmake)", "b"]),
        ("echo 'a\nb'\nc", ["echo 'a\nb'", "c"]),
        ("cat > f <<EOF\na\n\nb\nEOF\n\nc", ["cat > f <<EOF\na\n\nb\nEOF", "c"]),
        ("cat <<A; b <<B\n1\nA\n2\nB\nc", ["cat <<A; b <<B\n1\nA\n2\nB", "c"]),
        ("x=$(cat <<E\na\nE\n)\nb", ["x=$(cat <<E\na\nE\n)", "b"]),
        ("# one\na\n\n  # two\n  b\n", ["a", "b"]),
        ("", []),
        ("# only", []),
    ],
)
def test_text_is_cut_where_a_prompt_would_come(text: str, pieces: list[str]) -> None:
    assert typed(text) == pieces


def test_a_blank_after_a_continuation_backslash_is_kept() -> None:
    assert typed("a \\ \n  b") == ["a \\ ", "b"]
    assert typed("a \\\t\n  b") == ["a \\\t", "b"]


def test_a_remark_is_kept_apart() -> None:
    (statement,) = statements("a 'x # y'   # should fail")

    assert (statement.text, statement.comment) == ("a 'x # y'", "should fail")


@pytest.mark.parametrize("text", ["echo 'a", "if a; then", "cat <<EOF\nx", "a (", "a && "])
def test_what_is_cut_off_is_not_complete(text: str) -> None:
    assert not all(s.complete for s in statements(text))


@pytest.mark.parametrize(
    "text", ["{\U000e49cb}", "{\U0003ffff\U000e49cbx}", "{é..\U0010ffff}", "\ud800"]
)
def test_characters_far_beyond_ascii_do_no_harm(text: str) -> None:
    assert argvs(f"echo {text} é") == [["echo", text, "é"]]


@pytest.mark.parametrize("text", ["é=1", "€x", "a\u00a0b", "“quoted words”", "–x"])
def test_characters_beyond_ascii_are_word_characters(text: str) -> None:
    assert argvs(text) == [text.split(" ")]


def test_many_here_documents_take_no_time() -> None:
    assert len(statements("cat <<E\nx\nE\n" * 2000)) == 2000


# --- laws -------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "a",
        "b -c",
        " ",
        "\n",
        "\r\n",
        "\\",
        "\\\n",
        "'",
        '"',
        "`",
        "$(",
        "${",
        "$((",
        "(",
        ")",
        "))",
        "{",
        "}",
        "[[",
        "]]",
        ";",
        ";;",
        "&",
        "&&",
        "|",
        "||",
        "<",
        ">",
        "<<",
        "<<-",
        "<<<",
        "<<EOF",
        "\nEOF\n",
        "<<'A B'",
        "\nA B\n",
        "#",
        "# c",
        "if",
        "then",
        "fi",
        "for x in",
        "do",
        "done",
        "case x in",
        "esac",
        "f()",
        "<name>",
        "{{x}}",
        "YOUR_KEY",
        "ä",
        "😀",
        "\ue000",
        "\ue100",
        "\x00",
        "\u2028",
        "\t",
        "A=1",
        "$x",
        "!",
        "~",
        "time",
        "\x1b",
        "…",
        "“q”",
    ]
)
TEXTS = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=40)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_any_text_is_parsed_and_places_are_within_it(text: str) -> None:
    for command in parse(text).commands:
        assert 0 <= command.start <= command.end <= len(text)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_statements_stand_where_they_say_in_order(text: str) -> None:
    last = 0
    for statement in statements(text):
        assert last <= statement.start
        assert text[statement.start : statement.start + len(statement.text)] == statement.text
        last = statement.start + len(statement.text)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_placeholders_stand_in_the_text(text: str) -> None:
    assert all(placeholder in text for placeholder in placeholders(text))


@pytest.mark.parametrize("size", [1000])
@pytest.mark.parametrize(
    "piece", ["(", "$(", "'", '"', "<a", "<<A ", "{{", "a|", "\\\n", "if ", "`"]
)
def test_long_monotonous_text_ends(piece: str, size: int) -> None:
    parse(piece * size)
    statements(piece * size)
    placeholders(piece * size)


COMMANDS = st.sampled_from(
    [
        "mkdir d",
        "cd d && ls",
        "A=1 tool",
        "cat <<EOF\n<x>\nEOF",
        "f() {\n a\n}",
        "a \\\n -b",
        "a | b",
    ]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(COMMANDS, min_size=1, max_size=6))
def test_commands_on_lines_of_their_own_are_statements_of_their_own(commands: list[str]) -> None:
    assert typed("\n".join(commands)) == commands
