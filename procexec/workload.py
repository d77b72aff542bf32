"""What is to be evaluated: answers with their procedures, versions and benches."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import UNSET

from procexec.align.alignment import Documented
from procexec.align.find import Match, Questions, find
from procexec.errors import SandboxError, UserError
from procexec.extract.extraction import extract
from procexec.model.document import Answer, Procedure, SandboxSpec, version_key
from procexec.model.step import Action
from procexec.read.answers import AnswerFile, NumberedAnswer
from procexec.read.check import Known, check_answers, check_procedures, check_versions
from procexec.read.procedures import read_procedures
from procexec.read.sandboxes import SandboxFolder, read_sandboxes
from procexec.reference import Bench
from procexec.sandbox import SandboxProvider, SandboxRequest
from procexec.sandbox.grants import Grade, grade
from procexec.trial import document, hints_of

MakeImage = Callable[[SandboxFolder], str]
NO_VERSION = "any"
PROBE_PATIENCE = 30.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """All procedures and sandboxes, checked."""

    procedures: Mapping[str, Procedure]
    sandboxes: Mapping[tuple[str, str], SandboxFolder]

    @property
    def known(self) -> Known:
        return Known(procedures=self.procedures, sandboxes=frozenset(self.sandboxes))

    def versions(self, product: str) -> list[str]:
        """Return a product's versions, oldest first."""
        return sorted((v for p, v in self.sandboxes if p == product), key=version_key)


def read_library(procedures: Path, sandboxes: Path) -> tuple[Library, list[UserError]]:
    """Return everything below the two folders, and every error in it."""
    found, errors = read_procedures(procedures)
    folders, more = read_sandboxes(sandboxes)
    library = Library(procedures=found, sandboxes=folders)
    return library, [*errors, *more, *check_procedures(library.known)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which part of the work is wanted; nothing said means all of it."""

    versions: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    select: tuple[str, ...] = ()

    def takes(self, answer: Answer, procedure: Procedure | None) -> bool:
        """Tell whether an answer is wanted: by product; by id, slice or procedure."""
        product = procedure.product if procedure else answer.product
        if self.products and product not in self.products:
            return False
        names = {answer.id, *answer.slices}
        if procedure is not None:
            names.add(procedure.id)
        return not self.select or any(_fits(name, s) for s in self.select for name in names)


def _fits(name: str, wanted: str) -> bool:
    return name == wanted or (wanted.endswith("*") and name.startswith(wanted[:-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An answer with what it is to be judged by; no procedure: the docs are silent.

    Unless nobody said which one it is and none could be told: ``unmatched`` says why.
    """

    answer: Answer
    line: int
    procedure: Procedure | None
    versions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    unmatched: str = ""


def check(file: AnswerFile, library: Library, selection: Selection) -> list[UserError]:
    """Return every error of the answers and of what was asked for on the command line."""
    errors = [*check_answers(file, library.known).errors]
    errors += check_versions(selection.versions, library.known)
    if not errors and not any(True for _ in jobs(file, library, selection)):
        hint = "look at --select, --product and --version"
        errors.append(UserError("nothing is left to run after the selection", hint=hint))
    return errors


def too_weak(library: Library, wanted: Iterator[Job], most: Grade) -> Iterator[UserError]:
    """Yield an error for each sandbox of the work whose hardening is weaker than a grade."""
    used = {(job.procedure.product, v) for job in wanted if job.procedure for v in job.versions}
    for product, version in sorted(used):
        grants = library.sandboxes[product, version].spec.grants
        if grade(grants) > most:
            told = ", ".join(f"{g.knob} {g.value}" for g in grants)
            yield UserError(
                f"the sandbox {product} {version} has grade {grade(grants)} ({told}), "
                f"and {most} is the weakest that is allowed",
                hint="leave it out with --product, or raise --max-grade",
            )


def jobs(file: AnswerFile, library: Library, selection: Selection) -> Iterator[Job]:
    """Yield the wanted work in file order; the file must have been checked."""
    finder = _Finder(library=library)
    for item in file:
        if isinstance(item, NumberedAnswer):
            job = _job(item, finder, selection)
            if job is not None and job.versions:
                yield job


def _job(item: NumberedAnswer, finder: "_Finder", selection: Selection) -> Job | None:
    answer, library = item.answer, finder.library
    notes: tuple[str, ...] = ()
    unmatched = ""
    procedure_id = answer.procedure
    if procedure_id is UNSET:
        match = finder.find(answer)
        procedure_id, notes = match.procedure, (match.explanation,)
        unmatched = "" if match.procedure else match.explanation
    procedure = library.procedures.get(procedure_id) if isinstance(procedure_id, str) else None
    if not selection.takes(answer, procedure):
        return None
    if procedure is not None:
        have = list(procedure.versions)
    else:
        have = library.versions(answer.product) if answer.product else [NO_VERSION]
    wanted = [v for v in answer.versions or have if v in have]
    if selection.versions:
        wanted = [v for v in wanted if v in selection.versions]
    return Job(
        answer=answer,
        line=item.line,
        procedure=procedure,
        versions=tuple(wanted),
        notes=notes,
        unmatched=unmatched,
    )


@dataclass(slots=True, kw_only=True)
class _Finder:
    """Finds the procedures of answers that name none; reads each procedure once."""

    library: Library
    questions: dict[str | None, Questions] = field(default_factory=dict)
    documents: dict[str, Documented] = field(default_factory=dict)

    def find(self, answer: Answer) -> Match:
        actions: dict[str, list[Action]] = {}

        def compare(name: str) -> tuple[list[Action], Documented]:
            doc = self._document(name)
            product = doc.procedure.product
            if product not in actions:
                hints = hints_of(self._spec(doc.procedure))
                actions[product] = [s.action for s in extract(answer.answer, hints).steps]
            return actions[product], doc

        return find(answer.question, self._questions(answer.product), compare)

    def _questions(self, product: str | None) -> Questions:
        if product not in self.questions:
            every = self.library.procedures.values()
            self.questions[product] = Questions([p for p in every if product in (None, p.product)])
        return self.questions[product]

    def _document(self, name: str) -> Documented:
        if name not in self.documents:
            procedure = self.library.procedures[name]
            newest = procedure.versions[-1]
            self.documents[name] = document(procedure, newest, self._spec(procedure))
        return self.documents[name]

    def _spec(self, procedure: Procedure) -> SandboxSpec:
        return self.library.sandboxes[procedure.product, procedure.versions[-1]].spec


@dataclass(slots=True, kw_only=True)
class Benches:
    """Makes benches when they are asked for, each once; ``image`` builds a sandbox's image."""

    library: Library
    provider: SandboxProvider
    image: MakeImage
    locks: dict[tuple[str, str], threading.Lock] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    made: dict[tuple[str, str], Bench] = field(default_factory=dict)
    probed: set[str] = field(default_factory=set)

    def of(self, procedure: Procedure) -> dict[str, Callable[[], Bench]]:
        """Return for each version, oldest first, what makes its bench."""
        ordered = sorted(procedure.versions, key=version_key)
        return {v: lambda v=v: self.get(procedure, v) for v in ordered}  # type: ignore[misc]

    def get(self, procedure: Procedure, version: str) -> Bench:
        """Return the bench of a procedure on a version.

        Raises:
            SandboxError: the image could not be built, or does not have its product.
            FixtureError: the procedure's fixture fails on this version.
        """
        key = (procedure.id, version)
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.made:
                self.made[key] = self._make(procedure, version)
            return self.made[key]

    def _make(self, procedure: Procedure, version: str) -> Bench:
        folder = self.library.sandboxes[procedure.product, version]
        image = self.image(folder)
        self._probe(image, folder.spec)
        request = SandboxRequest(
            image=image,
            user=procedure.fixture_user or procedure.user,
            workdir=procedure.workdir,
            env=folder.spec.env,
            memory=folder.spec.memory,
            grants=folder.spec.grants,
            services=folder.spec.services,
        )
        made = self.provider.fixture(request, procedure.fixture)
        return Bench(
            procedure=procedure,
            version=version,
            spec=folder.spec,
            image=made.id,
            running=made.running,
        )

    def _probe(self, image: str, spec: SandboxSpec) -> None:
        """Try once whether the product is in an image.

        Raises:
            SandboxError: it is not.
        """
        if spec.probe is None or image in self.probed:
            return
        request = SandboxRequest(image=image, label="probe", env=spec.env, grants=spec.grants)
        with self.provider.start(request) as sandbox:
            done = sandbox.execute(spec.probe, user="root", cwd="/", timeout=PROBE_PATIENCE)
        if done.exit_code != 0:
            raise SandboxError(
                f"the image of {spec.product} {spec.version} is broken: `{spec.probe}` ends with "
                f"exit code {done.exit_code}: {done.output.strip()[-400:]}",
                hint=f"look with: procexec sandbox shell {spec.product} {spec.version}",
            )
        self.probed.add(image)


def reuse_key(job: Job, version: str, library: Library, image: str, **settings: str) -> str:
    """Return the digest of all that goes into a result: equal keys, equal results."""
    product = job.procedure.product if job.procedure else job.answer.product
    folder = library.sandboxes.get((product or "", version))
    parts = [
        msgspec.json.encode(job.answer),
        msgspec.json.encode(job.procedure),
        job.unmatched.encode(),
        version.encode(),
        msgspec.json.encode(folder.spec if folder else None),
        image.encode(),
        msgspec.json.encode(sorted(settings.items())),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]
