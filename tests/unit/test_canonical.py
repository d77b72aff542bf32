"""Commands in canonical form: the same whatever the spelling, and no more than that."""

from collections.abc import Iterator
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
kubectl get pods -n shop -o yaml | kubectl -n shop get po --output=yaml
kubectl logs --namespace shop api -f | kubectl logs -fn shop api
k apply -f app.yaml         | /usr/bin/kubectl apply --filename=./app.yaml
kubectl delete svc a        | kubectl delete services a
kubectl create ns shop      | kubectl create namespace shop
kubectl get deploy          | kubectl get deployments
docker run -d -p 90:80 --name front web:1 | docker run --name=front --detach --publish 90:80 web:1
docker run -ti web:1 sh     | docker run -it web:1 sh
docker build -t front:2 .   | docker build . --tag=front:2
docker exec -it front sh    | sudo docker exec -i -t front sh
docker container ls -a      | docker ps --all
docker image ls             | docker images
docker container rm -f front | docker rm --force front
docker image rm web:1       | docker rmi web:1
docker image pull web:1     | docker pull web:1
docker-compose up -d --build | docker compose up --build --detach
git branch -D old           | git branch --delete --force old
git branch -d -f old        | git branch -D old
git branch -M main          | git branch --move --force main
git checkout -b topic 'origin/main' | git checkout -b "topic" origin/main
git clone --depth 1 u       | git clone --depth=1 u
git stash                   | git stash push
git push -f                 | git push --force
git fetch -p --all          | git fetch --all --prune
git tag -a v1 -m x          | git tag --annotate --message=x v1
tar xzf a.tgz               | tar -xzf a.tgz
tar cvf a.tar d             | tar -c -v -f a.tar d
tar xf a.tar -C out         | tar --extract --file a.tar --directory=out
systemctl enable --now web  | sudo systemctl enable web --now
journalctl -u web -f        | journalctl -fu web
sudo usermod -aG web dev    | usermod --append --groups web dev
sudo -E apt-get install --yes web | apt-get install web -y
apt -y install web          | sudo apt install -y web
npm i web                   | npm install web
npm install -D web          | npm i --save-dev web
npm run build               | npm run-script build
pip install -r needs.txt    | python -m pip install --requirement needs.txt
pip install -U web          | pip3 install --upgrade web
ssh -i key dev@host         | ssh -ikey dev@host
ssh -p 22 dev@host ls -l    | ssh -p22 dev@host ls -l
chmod +x go.sh              | chmod +x ./go.sh
rm -r -f out                | rm -fr ./out
grep -rn x .                | grep -n -r x .
make -j4                    | A=1 make -j 4
useradd -m -s /bin/sh dev   | useradd --create-home --shell=/bin/sh dev
curl -fsSL http://h         | curl --fail --silent --show-error --location http://h
psql -U dev -d shop -c 'select 1' | psql --username=dev --dbname shop --command "select 1"
find . -name '*.py' -delete | find . -name "*.py" -delete
sed -i s/a/b/ f             | sed --in-place s/a/b/ f
ln -sf a b                  | ln -s -f a b
poetry add -G test x        | poetry add --group=test x
nginx -s reload             | nginx -sreload
openssl genrsa -out k.pem 2048 | openssl genrsa -out ./k.pem 2048
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
docker run web:1 -d         | docker run -d web:1
docker run web:1 sh -l      | docker run -l sh web:1
docker exec front ls -l     | docker exec -l front ls
ssh host ls -p              | ssh -p host ls
git branch -d old           | git branch -D old
git branch -m a             | git branch -M a
git reset --soft HEAD~1     | git reset --hard HEAD~1
git stash pop               | git stash
git stash drop              | git stash push
kubectl get pods -n a       | kubectl get pods -n b
kubectl apply -f a          | kubectl delete -f a
kubectl get pods            | kubectl get services
docker ps                   | docker images
docker container rm a       | docker image rm a
tar czf a.tgz d             | tar xzf a.tgz d
tar xf a.tar b              | tar xf b.tar a
usermod -G web dev          | usermod -aG web dev
chmod 600 k                 | chmod 644 k
mv a b                      | mv b a
pip install a==1            | pip install a==2
npm install a               | npm uninstall a
npm run build               | npm run test
systemctl start web         | systemctl restart web
systemctl enable web        | systemctl enable --now web
journalctl -u a             | journalctl -u b
useradd -m dev              | useradd -M dev
curl -X PUT http://h        | curl -X POST http://h
find . -name a -delete      | find . -name a
sed -i s/a/b/ f             | sed s/a/b/ f
rm -r d                     | rm -rf d
make a b                    | make b a
xargs rm -f                 | rm -f
git push --force            | git push --force-with-lease
git tag -d v1               | git tag v1
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


def test_there_are_enough_pairs_of_each_kind() -> None:
    assert len(set(pairs(EQUIVALENT))) >= 40 * 2
    assert len(set(pairs(DIFFERENT))) >= 18 * 2


def test_options_behind_an_operand_are_those_of_the_command_in_it() -> None:
    found = form("docker run -d img tool -d")

    assert (dict(found.options), found.operands) == ({"--detach": ()}, ("img", "tool", "-d"))


def test_a_first_word_that_is_no_bundle_of_options_is_an_operand() -> None:
    assert form("tar name").operands == ("name",)


def test_another_name_of_a_command_only_looks_where_that_one_does() -> None:
    assert form("docker container ls").read_only
    assert not form("docker container rm x").read_only


def test_a_sub_command_that_is_named_is_not_the_default_one() -> None:
    assert form("git stash").path == form("git stash -u").path == ("git", "stash", "push")
    assert form("git stash list").path == ("git", "stash", "list")


@pytest.mark.parametrize("program", sorted(known_programs()))
def test_tables_only_speak_of_commands_and_options_that_they_have(program: str) -> None:
    table = shipped_table(program)

    assert table is None or list(_unknown(table, table)) == []


def _unknown(table: CommandSpec, root: CommandSpec) -> Iterator[str]:
    names = {name for option in table.options for name in option.names}
    yield from (word for option in table.options for word in option.means if word not in names)
    if table.default and table.default not in table.commands:
        yield table.default
    target: CommandSpec | None = root
    for name in table.same_as:
        target = target.commands.get(name) if target else None
    if target is None or target.same_as:
        yield " ".join(table.same_as)
    for command in table.commands.values():
        yield from _unknown(command, root)


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


@pytest.mark.parametrize(
    "text",
    [
        "git status",
        "git log -3",
        "ls -la",
        "cat f",
        "docker ps",
        "openssl req -in a.csr -noout -text",
        "openssl x509 -noout -dates -in a.crt",
    ],
)
def test_what_only_looks_is_read_only(text: str) -> None:
    assert form(text).read_only


@pytest.mark.parametrize(
    "text",
    [
        "git commit",
        "rm f",
        "mkdir d",
        "unknown-tool",
        "docker rm x",
        "openssl req -noout -newkey rsa:2048 -keyout k",
        "openssl x509 -noout -pubkey -in a -out b",
    ],
)
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
