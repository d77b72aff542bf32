"""Who must act, for every product: the documentation, the test bed, or the assistant."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import pytest
from docker import DockerClient
from docker.errors import DockerException

from procexec import pipeline
from procexec.cli.engine import Workshop, image_maker, workshop
from procexec.judge.silent import Silent
from procexec.model.document import (
    Answer,
    Check,
    FileContent,
    Procedure,
    Reply,
    SessionLines,
    Step,
    version_matches,
)
from procexec.model.result import AnswerResult, Owner, Verdict
from procexec.pipeline import Evaluation, Tools
from procexec.read.procedures import read_procedures
from procexec.read.sandboxes import SandboxFolder, read_sandboxes
from procexec.read.unsafe import shipped_unsafe
from procexec.reference import References, chosen_steps
from procexec.sandbox import FixtureImage, Sandbox, SandboxProvider, SandboxRequest
from procexec.sandbox.docker import DockerProvider, DockerSandbox
from procexec.sandbox.engine import connect
from procexec.sandbox.owner import this_process
from procexec.workload import Benches, Library
from tests.hostile.fault_proxy import Fault, FaultProxy, How
from tests.tables import leave

ROOT = Path(__file__).parents[2]
PROCEDURES = {
    "alembic": ("alembic/first-migration", "1.17"),
    "django": ("django/manifest-static", "5.2"),
    "eslint": ("eslint/first-config", "9"),
    "git": ("git/publish-new-repo", "2.47"),
    "nginx": ("nginx/new-site", "1.26"),
    "openssl": ("openssl/csr-san", "3.5"),
    "poetry": ("poetry/dependency-groups", "2.1"),
    "postgresql": ("postgresql/dump-restore-new-db", "17"),
    "redis": ("redis/acl-readonly-user", "8.0"),
    "sqlite3": ("sqlite3/drop-column", "3.46"),
}
PROGRAMS = {
    "alembic": "python3",
    "django": "python3",
    "eslint": "node",
    "git": "git",
    "nginx": "nginx",
    "openssl": "openssl",
    "poetry": "poetry",
    "postgresql": "psql",
    "redis": "redis-cli",
    "sqlite3": "sqlite3",
}
QUICK = ("git", "sqlite3")
pytestmark = pytest.mark.docker


def of_products() -> list[object]:
    marks = {p: [] if p in QUICK else [pytest.mark.nightly] for p in PROCEDURES}
    return [pytest.param(product, marks=marks[product], id=product) for product in PROCEDURES]


@dataclass(slots=True)
class Matrix:
    """What was found, kind by kind; left as a table at the end."""

    found: dict[str, dict[str, str]] = field(default_factory=dict)

    def note(self, kind: str, product: str, result: AnswerResult) -> None:
        self.found.setdefault(product, {})[kind] = f"{result.verdict} ({result.owner})"

    def __str__(self) -> str:
        kinds = list(dict.fromkeys(kind for row in self.found.values() for kind in row))
        lines = [f"{'':12}" + "".join(f"{kind:30}" for kind in kinds)]
        for product, row in sorted(self.found.items()):
            lines.append(f"{product:12}" + "".join(f"{row.get(kind, '-'):30}" for kind in kinds))
        return "\n".join(lines)


@pytest.fixture(scope="module")
def matrix(request: pytest.FixtureRequest) -> Iterator[Matrix]:
    matrix = Matrix()
    yield matrix
    leave(request.config, "who must act: found verdicts and owners", str(matrix))


@pytest.fixture(scope="module")
def shop() -> Iterator[Workshop]:
    with workshop() as shop:
        yield shop


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A product's procedure on one version, and where it is run; parts can be broken."""

    shop: Workshop
    folder: SandboxFolder
    procedure: Procedure
    provider: SandboxProvider
    references: References
    image: Callable[[SandboxFolder], str]
    client: DockerClient

    @property
    def version(self) -> str:
        return self.procedure.versions[0]

    def judged(self, text: str, procedure: Procedure | None = None) -> AnswerResult:
        procedure = procedure or self.procedure
        spec = self.folder.spec
        library = Library(
            procedures={procedure.id: procedure},
            sandboxes={(spec.product, spec.version): self.folder},
        )
        benches = Benches(library=library, provider=self.provider, image=self.image)
        tools = Tools(
            provider=self.provider,
            references=self.references,
            judge=Silent(),
            unsafe=shipped_unsafe(),
        )
        answer = Answer(id="attributed", answer=text, procedure=procedure.id)
        evaluation = Evaluation(answer=answer, line=1, benches=benches.of(procedure), tools=tools)
        (result,) = evaluation.results([self.version])
        return result.answer


@pytest.fixture(scope="module")
def references(shop: Workshop) -> References:
    """Give the references of an engine that is well: the same for all tests of a procedure."""
    return References(provider=shop.provider)


@pytest.fixture
def place(request: pytest.FixtureRequest, shop: Workshop, references: References) -> Place:
    product: str = request.getfixturevalue("product")
    name, version = PROCEDURES[product]
    sandboxes, errors = read_sandboxes(ROOT / "sandboxes")
    procedures, more = read_procedures(ROOT / "procedures")
    assert not [*errors, *more]
    procedure = msgspec.structs.replace(
        procedures[name], versions=(version,), documented_for=(version,)
    )
    return Place(
        shop=shop,
        folder=sandboxes[product, version],
        procedure=procedure,
        provider=shop.provider,
        references=references,
        image=image_maker(shop.client, lambda _line: None),
        client=shop.client,
    )


# --- answers ------------------------------------------------------------------------------------


def faithful(procedure: Procedure) -> str:
    """Return an answer that tells the documented steps one by one."""
    version = procedure.versions[0]
    return "Do this:\n\n" + "\n".join(
        told for step in chosen_steps(procedure, {}) if (told := _told(step, version))
    )


def _told(step: Step, version: str) -> str:
    match step:
        case Step(file=FileContent(path=path, content=content, append=append)):
            verb = "Append to" if append else "Create"
            return f"{verb} the file `{path}`:\n\n```\n{content.rstrip()}\n```\n"
        case Step(input=Reply(prompt=prompt, reply=reply)):
            return f"At the prompt `{prompt}` type `{reply}` and press Enter.\n"
        case Step(session=SessionLines(program=program, lines=lines)):
            typed = "\n".join(lines)
            return f"```bash\n{program} <<'END'\n{typed}\nEND\n```\n"
        case Step(run=str(run)):
            return f"```bash\n{run.rstrip()}\n```\n"
        case Step(run=tuple(realisations)):
            found = [r.run for r in realisations if version_matches(version, r.versions)]
            return f"```bash\n{found[0]}\n```\n" if found else ""
        case _:
            return ""


def with_step(procedure: Procedure, step: Step, *goal: Check) -> Procedure:
    steps = (*procedure.steps, step)
    return msgspec.structs.replace(procedure, steps=steps, goal=(*procedure.goal, *goal))


# --- the documentation, the assistant -----------------------------------------------------------


@pytest.mark.parametrize("product", of_products())
def test_a_faithful_answer_passes(place: Place, product: str, matrix: Matrix) -> None:
    result = place.judged(faithful(place.procedure))

    matrix.note("faithful", product, result)
    assert (result.verdict, result.owner) == (Verdict.PASS, Owner.NONE), result.findings


@pytest.mark.parametrize("product", of_products())
def test_a_wrong_answer_is_the_assistant_s(place: Place, product: str, matrix: Matrix) -> None:
    result = place.judged("```bash\necho nothing > ~/other\n```\n")

    matrix.note("wrong answer", product, result)
    assert (result.verdict, result.owner) == (Verdict.FAIL, Owner.ASSISTANT), result.findings


@pytest.mark.parametrize("product", of_products())
def test_a_faithful_answer_to_a_stale_procedure_is_the_documentation_s(
    place: Place, product: str, matrix: Matrix
) -> None:
    program = PROGRAMS[product]
    gone = Step(id="report", run=f"{program} --report-of-an-older-version > report.txt 2>&1")
    made = Check(id="report", run="grep -q 'all is well' report.txt", exit=0)
    stale = with_step(place.procedure, gone, made)

    result = place.judged(faithful(stale), stale)

    matrix.note("stale docs", product, result)
    assert (result.verdict, result.owner) == (Verdict.FAIL, Owner.DOCUMENTATION), result.findings


# --- the test bed -------------------------------------------------------------------------------


def assert_is_the_test_bed_s(result: AnswerResult, words: str) -> None:
    assert (result.verdict, result.owner) == (Verdict.ERROR, Owner.ENVIRONMENT), result.findings
    assert re.search(words, result.findings[0].message)


@contextmanager
def broken_image(place: Place, script: str) -> Iterator[Place]:
    """Give the place with an image that a script has been run in."""
    image = place.image(place.folder)
    request = SandboxRequest(image=image, label="break")
    with place.shop.provider.start(request) as sandbox:
        sandbox.execute(script, user="root", cwd="/", timeout=60)
        made = sandbox.container.commit("procexec/broken", "test", pause=False)
    try:
        yield replace(place, image=lambda _folder: str(made.id))
    finally:
        place.client.images.remove("procexec/broken:test", force=True)


@pytest.mark.parametrize("product", of_products())
def test_an_image_without_its_product_is_the_test_bed_s(
    place: Place, product: str, matrix: Matrix
) -> None:
    program = PROGRAMS[product]
    gone = f'while p=$(command -v {program}); do rm -f "$p"; hash -r; done'

    with broken_image(place, gone) as broken:
        result = broken.judged(faithful(place.procedure))

    matrix.note("no program", product, result)
    assert_is_the_test_bed_s(result, "is broken")


@pytest.mark.parametrize("product", of_products())
def test_an_image_that_does_not_start_is_the_test_bed_s(
    place: Place, product: str, matrix: Matrix
) -> None:
    with broken_image(place, "rm -f /usr/bin/tail") as broken:
        result = broken.judged(faithful(place.procedure))

    matrix.note("no start", product, result)
    assert_is_the_test_bed_s(result, "ended before its first step|no shell could be started")


@pytest.mark.parametrize("product", of_products())
def test_a_step_that_needs_the_network_is_the_test_bed_s(
    place: Place, product: str, matrix: Matrix
) -> None:
    fetch = Step(id="fetch", run="curl -fsS -o page.html https://www.example.com/")
    fetched = Check(id="fetched", run="test -s page.html", exit=0)
    online = with_step(place.procedure, fetch, fetched)

    result = place.judged(faithful(online), online)

    matrix.note("no network", product, result)
    assert (result.verdict, result.owner) == (Verdict.INCONCLUSIVE, Owner.ENVIRONMENT), (
        result.findings
    )


@pytest.fixture
def one_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no answer begun again: what is tried here fails each time."""
    monkeypatch.setattr(pipeline, "RESTARTS", ())


@pytest.mark.usefixtures("one_try")
@pytest.mark.parametrize("product", of_products())
def test_a_full_disk_of_the_engine_is_the_test_bed_s(
    place: Place,
    product: str,
    matrix: Matrix,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = Fault(
        on=r"^POST \S*/containers/create", how=How.WRONG, message="no space left on device"
    )
    with FaultProxy(tmp_path / "p.sock", "/var/run/docker.sock") as proxy:
        proxy.faults.append(full)
        monkeypatch.setenv("DOCKER_HOST", proxy.url)
        client = connect()
        provider = DockerProvider(client, this_process("full"))
        away = replace(place, provider=provider, references=References(provider=provider))

        result = away.judged(faithful(place.procedure))

        client.close()

    matrix.note("disk full", product, result)
    assert_is_the_test_bed_s(result, "no space left on device")


@dataclass(frozen=True, slots=True)
class Killing:
    """A provider whose sandboxes of answers are killed by somebody else while a step runs."""

    provider: DockerProvider

    @contextmanager
    def start(self, request: SandboxRequest) -> Iterator[Sandbox]:
        with self.provider.start(request) as sandbox:
            if request.label == "attributed":
                threading.Thread(target=_kill_later, args=[sandbox], daemon=True).start()
            yield sandbox

    def fixture(self, request: SandboxRequest, script: str) -> FixtureImage:
        return self.provider.fixture(request, script)


def _kill_later(sandbox: DockerSandbox) -> None:
    time.sleep(1)
    with suppress(DockerException):
        sandbox.container.kill()


@pytest.mark.usefixtures("one_try")
@pytest.mark.parametrize("product", of_products())
def test_a_sandbox_that_somebody_kills_is_the_test_bed_s(
    place: Place, product: str, matrix: Matrix
) -> None:
    killed = replace(place, provider=Killing(place.shop.provider))

    result = killed.judged("```bash\nsleep 8\n```\n" + faithful(place.procedure))

    matrix.note("killed", product, result)
    assert_is_the_test_bed_s(result, "somebody killed the sandbox")


def test_every_product_is_in_the_matrix() -> None:
    products = {product for product, _ in read_sandboxes(ROOT / "sandboxes")[0]}

    assert products == PROCEDURES.keys() == PROGRAMS.keys()
