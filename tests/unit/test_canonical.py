"""Commands in canonical form: the same whatever the spelling, and no more than that."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procexec.model.document import CommandSpec, OptionSpec
from procexec.model.step import Canonical
from procexec.shell.canonical import canonical
from procexec.shell.options import known_programs, longest_name, merged, shipped_table
from procexec.shell.parse import parse

EQUIVALENT = """
git commit -m msg           | git commit --message msg
git commit -m msg           | git commit --message=msg
git commit -m msg           | git commit -mmsg
git commit -am msg          | git commit -a -m msg
git commit -am msg          | git commit -m msg --all
git push -u origin topic    | git push origin topic --set-upstream
git -C repo status          | git -Crepo status
git log -n 5                | git log -n5
git log -n 5                | git log --max-count=5
git log -5 --oneline        | git log --oneline -n 5
git add ./a.txt             | git add a.txt
git reset --hard HEAD~1     | git reset HEAD~1 --hard
git rebase -i HEAD~3        | git rebase --interactive HEAD~3
git config --global a.b "x y" | git config a.b 'x y' --global
/usr/bin/git status         | git status
sudo -u dev -H git status   | git status
env A=1 git status          | LC_ALL=C git status
openssl req -new -key k.pem -out r.csr | openssl req -out r.csr -key k.pem -new
openssl x509 -in ./c.pem -text | openssl x509 -text -in c.pem
openssl x509 --in c.pem -noout | openssl x509 -noout -in c.pem
sqlite3 x.db ".tables"      | sqlite3 ./x.db '.tables'
sqlite3 -header x.db .dump  | sqlite3 --header x.db .dump
mkdir -p a b                | mkdir --parents b a
rm -rf d                    | rm -fr d
rm -rf d                    | rm --recursive --force d
cp -r a b                   | cp --recursive a b
ls -la                      | ls -l -a
tar -xzf a.tgz -C out       | tar --extract --gzip --file=a.tgz --directory out
tar -xzf a.tgz              | tar -x -z -f a.tgz
head -n 5 f                 | head -5 f
tail -n5 f                  | tail --lines=5 f
grep -i x f                 | grep --ignore-case x f
sort -u f                   | sort --unique f
nohup nice -n 5 make        | make
curl -s -o f http://h       | curl -so f http://h
curl -X POST -d a=b http://h | curl http://h --data a=b --request POST
wget -O f http://h          | wget --output-document=f http://h
apt-get install -y a b      | apt-get -y install b a
apt install -y a            | sudo apt install --assume-yes a
docker run -d -p 80:81 img  | docker run --detach --publish=80:81 img
docker run -it img sh       | docker run -i -t img sh
docker run --rm=true img    | docker run --rm img
docker-compose up -d        | docker compose up --detach
python3 -m pip install x    | pip3 install x
"""

DIFFERENT = """
git commit -m a             | git commit -m b
git commit -a               | git commit --amend
git push                    | git pull
git push -f                 | git push
git checkout topic          | git checkout -b topic
git config --global a b     | git config --local a b
git diff                    | git diff --cached
git log -1                  | git log -10
git mv a b                  | git mv b a
./git status                | git status
openssl req -new            | openssl req -x509 -new
openssl genrsa 2048         | openssl genrsa 4096
sqlite3 a.db .tables        | sqlite3 b.db .tables
cp a b                      | cp b a
ln -s a b                   | ln a b
rm d                        | rm -r d
head -n 5 f                 | head -n 50 f
tar -cf a b                 | tar -xf a b
sort a b                    | sort b a
echo a > f                  | echo a > g
cat <<< a                   | cat <<< b
curl -o f http://h          | curl -O http://h
curl http://a               | curl http://b
apt-get install a           | apt-get remove a
docker run a b              | docker run b a
docker run -p 80:81 a       | docker run -p 81:80 a
docker rm a                 | docker rmi a
"""


def pairs(block: str) -> list[tuple[str, str]]:
    lines = (line.split(" | ") for line in block.strip().split("\n"))
    return [(left.strip(), right.strip()) for left, right in lines]


def form(text: str) -> Canonical:
    (command,) = parse(text).commands
    return canonical(command, {})


def compared(text: str) -> Canonical:
    """The form without what no comparison looks at."""
    return replace(form(text), wrappers=(), benign=frozenset())


@pytest.mark.parametrize(("left", "right"), pairs(EQUIVALENT))
def test_two_spellings_have_one_form(left: str, right: str) -> None:
    assert compared(left) == compared(right)


@pytest.mark.parametrize(
    ("left", "right"),
    pairs(DIFFERENT),
)
def test_two_commands_have_two_forms(left: str, right: str) -> None:
    assert compared(left) != compared(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param("tar xzf a.tgz", "tar -xzf a.tgz", id="old-style-tar"),
        pytest.param("git branch -D x", "git branch --delete --force x", id="two-in-one"),
        pytest.param("docker container ls", "docker ps", id="command-alias"),
    ],
)
@pytest.mark.xfail(strict=True, reason="the option tables have no word for it")
def test_a_spelling_beyond_the_tables_has_the_same_form(left: str, right: str) -> None:
    assert compared(left) == compared(right)


@pytest.mark.xfail(strict=True, reason="the tables do not say where a program's options end")
def test_options_behind_an_image_are_those_of_the_command_in_it() -> None:
    assert compared("docker run img -d") != compared("docker run -d img")


# --- parts of a form --------------------------------------------------------------------------


def test_the_path_is_the_program_and_its_sub_commands() -> None:
    assert form("docker compose up -d").path == ("docker", "compose", "up")
    assert form("git config --global a b").path == ("git", "config")


def test_a_sub_command_s_name_behind_an_operand_is_an_operand() -> None:
    assert form("git add commit").operands == ("commit",)


def test_what_stands_behind_two_dashes_is_an_operand() -> None:
    found = form("git rm -r -- -f commit")

    assert found.operands == ("-f", "commit")


def test_an_option_with_a_value_keeps_it_from_the_operands() -> None:
    found = form("curl -o out http://h")

    assert (dict(found.options)["--output"], found.operands) == (("out",), ("http://h",))


def test_the_values_of_a_repeated_option_keep_their_order() -> None:
    options = dict(form("curl -H b -H a http://h").options)

    assert options["--header"] == ("b", "a")


def test_wrappers_are_kept_as_attributes() -> None:
    assert form("sudo -E env A=1 nohup tool").wrappers == ("sudo", "env", "nohup")


def test_a_wrapper_alone_is_the_program() -> None:
    assert form("sudo").path == ("sudo",)


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("a > f", ("f",)),
        ("a 2>> f > g", ("f", "g")),
        ("a &> f", ("f",)),
        ("a > /dev/null 2>&1", ()),
        ("a < f", ()),
        ("a >&2", ()),
    ],
)
def test_what_a_redirection_writes_is_known(text: str, writes: tuple[str, ...]) -> None:
    assert form(text).writes == writes


def test_a_here_document_is_the_standard_input() -> None:
    assert form("tool <<E\na\nb\nE\n").stdin == "a\nb\n"


@pytest.mark.parametrize("text", ["git status", "git log -3", "ls -la", "cat f", "docker ps"])
def test_what_only_looks_is_read_only(text: str) -> None:
    assert form(text).read_only


@pytest.mark.parametrize("text", ["git commit", "rm f", "mkdir d", "unknown-tool", "docker rm x"])
def test_what_may_change_something_is_not_read_only(text: str) -> None:
    assert not form(text).read_only


# --- tables -----------------------------------------------------------------------------------


def test_a_sandbox_s_own_table_goes_before_the_shipped_one() -> None:
    own = CommandSpec(commands={"frob": CommandSpec(read_only=True)})

    table = merged("git", {"git": own})

    assert table is not None
    assert table.commands["frob"].read_only
    assert "commit" in table.commands


def test_a_sandbox_s_own_program_needs_no_shipped_table() -> None:
    own = CommandSpec(options=(OptionSpec(names=("-x", "--extra"), value=True),))
    (command,) = parse("frob -x 1 a").commands

    assert canonical(command, {"frob": own}).options == (("--extra", ("1",)),)


def test_every_shipped_table_can_be_read() -> None:
    tables = [shipped_table(program) for program in sorted(known_programs())]

    assert sum(table is not None for table in tables) > 50


def test_no_option_name_has_its_value_in_it() -> None:
    names = [
        name
        for program in known_programs()
        if (table := shipped_table(program))
        for option in table.options
        for name in option.names
    ]

    assert [name for name in names if "=" in name] == []


def test_a_path_has_no_table() -> None:
    assert shipped_table("../git") is None
    assert shipped_table("./git") is None


def test_the_longest_name_stands_for_an_option() -> None:
    assert longest_name(OptionSpec(names=("-m", "--message", "--msg"))) == "--message"


# --- laws -------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        "git",
        "commit",
        "-a",
        "-m",
        "msg",
        "--message=x",
        "--",
        "-",
        "sudo",
        "-u",
        "env",
        "A=1",
        "docker",
        "run",
        "-it",
        "--rm=true",
        "tar",
        "-xzf",
        "-5",
        "./x",
        "openssl",
        "--in",
        "head",
        "",
        "-é",
        "'",
        "$x",
        "<name>",
        "python3",
        "-mpip",
    ]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, max_size=8))
def test_every_command_has_a_form(words: list[str]) -> None:
    for command in parse(" ".join(words)).commands:
        canonical(command, {})


@settings(max_examples=100, deadline=None)
@given(st.permutations(["-a", "-s", "--amend", "-m msg", "--date=x"]))
def test_the_order_of_options_does_not_count(options: list[str]) -> None:
    assert compared(f"git commit {' '.join(options)}") == compared(
        "git commit -a -s --amend -m msg --date=x"
    )
