"""Sandboxes as containers of a Docker-compatible engine."""

import hashlib
import io
import json
import re
import secrets
import socket
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit
from typing import Any

import docker
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from docker.models.images import Image
from docker.types import LogConfig, Ulimit
from pexpect.socket_pexpect import SocketSpawn
from requests.exceptions import RequestException

from procexec.errors import FixtureError, PassingError, SandboxError, WreckedError
from procexec.model.document import Grant
from procexec.model.run import CommandResult, Ending, Event
from procexec.model.state import FileFacts
from procexec.sandbox import (
    SCRATCH,
    Changes,
    Dialog,
    FixtureImage,
    SandboxRequest,
    ScriptResult,
    grants,
)
from procexec.sandbox import overlay as overlays
from procexec.sandbox.names import FIXTURE, RUNNING
from procexec.sandbox.overlay import DIGEST_BYTES
from procexec.sandbox.owner import RUN, Owner
from procexec.sandbox.processes import KILL_ALL, OOM_KILLS, WAITS
from procexec.sandbox.seccomp import profile, profile_file
from procexec.sandbox.services import running, start_all, stop
from procexec.sandbox.session import (
    BEGIN,
    COLUMNS,
    END,
    RESTORE,
    ROWS,
    START,
    Interrupted,
    Reader,
    ShellSession,
)
from procexec.sandbox.witness import OUT_OF_MEMORY, Witness, touched

SETTLE = 10.0
DYING = 2.0  # seconds in which the engine has noticed that a container ended
NOTICED = 0.3  # seconds in which the engine tells of a kill that ended a script
PAUSES = (0.2, 0.5, 1.5)  # seconds before the engine is asked once more
NOTHING_STAYED = "no program was left running to type into"
NEW_SHELL = "the step runs in a new shell; the last one had ended"
NO_SANDBOX = "the sandbox had died before the step"
NO_MEMORY = "the sandbox ran out of memory"
NO_SHELL = "no new shell could be started; the last one had ended"
EXECUTE_LIMIT = 4 << 20
LEAST_SPACE = 1 << 20  # bytes; a disk with less is full
_GONE = (APIError, RequestException, DockerException, OSError)


@contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turn what the engine and its socket throw into a SandboxError."""
    try:
        yield
    except _GONE as e:
        words = getattr(e, "explanation", None) or str(e)
        kind = PassingError if may_pass(e) else SandboxError
        raise kind(
            f"the engine failed while {doing}: {words}", hint="run `docker info` to see its state"
        ) from e


def may_pass(error: Exception) -> bool:
    """Tell whether an error is the engine's own trouble, not its answer to what was asked."""
    if isinstance(error, APIError):
        return bool(error.is_server_error())
    return isinstance(error, RequestException | OSError)


@dataclass(slots=True)
class DockerProvider:
    """Makes sandboxes on one engine. ``owner`` labels what it makes, so that it can be reaped."""

    client: docker.DockerClient
    owner: Owner
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    fixtures: dict[str, threading.Lock] = field(default_factory=dict)
    too_big: set[str] = field(default_factory=set)
    is_podman: bool | None = None
    effective: dict[tuple[Grant, ...], grants.Effective] = field(default_factory=dict)

    @contextmanager
    def start(self, request: SandboxRequest) -> Iterator["DockerSandbox"]:
        with engine_errors("making a container"):
            container = self._made(request)
        try:
            with engine_errors("listening to the engine"):
                witness = Witness(self.client, str(container.id))
            with witness:
                sandbox = DockerSandbox(self.client, container, request, witness, self.too_big)
                sandbox.hidden = overlays.Hidden(request.hidden)
                try:
                    with engine_errors("starting a container"):
                        sandbox.deliver(request.scripts)
                        _start(container)
                    if request.grants not in self.effective:
                        self.effective[request.grants] = sandbox.checked()
                    start_all(sandbox, request.services)
                    yield sandbox
                finally:
                    sandbox.close()
        finally:
            self.remove(container)

    def _made(self, request: SandboxRequest) -> Container:
        """Create a container; after a lost reply, what may have been made is removed first."""
        for pause in PAUSES:
            name = self._name(request)
            try:
                return self._create(request, name)
            except _GONE as e:
                self._forget(name)
                if not (may_pass(e) or _is_conflict(e)):
                    raise
                time.sleep(pause)
        return self._create(request, self._name(request))

    def _forget(self, name: str) -> None:
        """Remove the container of that name if it is this run's."""
        with suppress(*_GONE):
            ours: dict[str, str | list[str] | bool] = {
                "label": f"{RUN}={self.owner.run}",
                "name": name,
            }
            for container in self.client.containers.list(all=True, sparse=True, filters=ours):
                self.remove(container)

    def remove(self, container: Container) -> None:
        """Remove a container; one that is gone already is fine."""
        for pause in PAUSES:
            try:
                container.remove(force=True, v=True)
            except NotFound:
                return
            except _GONE:
                time.sleep(pause)
            else:
                return

    def fixture(self, request: SandboxRequest, script: str) -> FixtureImage:
        if not script.strip():
            return FixtureImage(id=request.image)
        digest = hashlib.sha256(_fixture_key(request, script).encode()).hexdigest()[:12]
        with self.lock:
            lock = self.fixtures.setdefault(digest, threading.Lock())
        with lock:
            tag = f"procexec/fixture:{digest}"
            with engine_errors("looking for a fixture image"):
                found = self.client.images.list(name=tag)
            return _fixture_image(found[0]) if found else self._make_fixture(request, script, tag)

    def _make_fixture(self, request: SandboxRequest, script: str, tag: str) -> FixtureImage:
        with self.start(replace(request, label="fixture", scripts=(), services=())) as sandbox:
            sandbox.execute(
                f'[ -d "$1" ] || install -d -o "{request.user}" -- "$1"',
                user="root",
                cwd=request.workdir,
                timeout=20,
            )
            done = sandbox.execute(
                "set -e\n" + script, user=request.user, cwd=request.workdir, timeout=120
            )
            if done.exit_code != 0:
                raise FixtureError(
                    f"the fixture failed with exit code {done.exit_code}:\n{done.output[-800:]}",
                    hint="run it in `procexec sandbox shell`",
                )
            left = running(sandbox, request.services)
            stop(sandbox, left)
            sandbox.forget_scratch()
            repository, _, version = tag.partition(":")
            names = [service.name for service in left]
            labels = {FIXTURE: version, RUNNING: json.dumps(names)}
            with engine_errors("keeping a fixture image"):
                image = sandbox.container.commit(
                    repository, version, pause=False, conf={"Labels": labels}
                )
            return FixtureImage(id=str(image.id), running=tuple(names))

    def _name(self, request: SandboxRequest) -> str:
        with self.lock:
            self.count += 1
            number = self.count
        word = re.sub(r"[^A-Za-z0-9]+", "-", request.label)[:24].strip("-") or "sandbox"
        return f"procexec-{self.owner.run}-{word}-{number}-{secrets.token_hex(3)}"

    def _create(self, request: SandboxRequest, name: str) -> Container:
        return self.client.containers.create(
            image=request.image,
            name=name,
            entrypoint=["tail"],
            command=["-f", "/dev/null"],
            init=True,
            user="0",
            working_dir="/",
            hostname=request.hostname,
            extra_hosts={request.hostname: "127.0.1.1"},
            dns=["127.0.0.1"],
            environment={},
            use_config_proxy=False,
            network_mode="none",
            cap_drop=["ALL"],
            cap_add=list(grants.capabilities(request.grants)),
            security_opt=list(self._security(request)),
            pids_limit=512,
            mem_limit=request.memory,
            memswap_limit=request.memory,
            nano_cpus=1_000_000_000,
            oom_score_adj=500,
            ulimits=list(self._limits()),
            shm_size="64m",
            ipc_mode="private",
            log_config=LogConfig(type="none"),
            healthcheck={"test": ["NONE"]},
            privileged=False,
            auto_remove=False,
            stdin_open=False,
            tty=False,
            labels=self.owner.labels(request.label),
        )

    def _security(self, request: SandboxRequest) -> Iterator[str]:
        if grants.keeps_privileges(request.grants):
            yield "no-new-privileges=true"
        text = profile(grants.capabilities(request.grants))
        yield f"seccomp={profile_file(text) if self._podman() else text}"

    def _limits(self) -> Iterator[Ulimit]:
        """Yield what one process may have; Podman asks for more files than it may have itself."""
        yield Ulimit(name="core", soft=0, hard=0)
        yield Ulimit(name="fsize", soft=4 << 30, hard=4 << 30)
        if self._podman():
            most = getrlimit(RLIMIT_NOFILE)[1]
            yield Ulimit(name="nofile", soft=most, hard=most)
            yield Ulimit(name="nproc", soft=4096, hard=4096)

    def _podman(self) -> bool:
        """Tell whether the engine is Podman: it wants a profile's path, where others want its text."""
        if self.is_podman is None:
            parts = self.client.version().get("Components") or []
            self.is_podman = any("Podman" in str(part.get("Name")) for part in parts)
        return self.is_podman


def _fixture_key(request: SandboxRequest, script: str) -> str:
    services = "".join(f"\0{s.name}\0{s.ready}\0{s.stop}" for s in request.services)
    granted = "".join(f"\0{g.knob} {g.value}" for g in request.grants)
    return f"{request.image}\0{request.user}\0{request.workdir}{services}{granted}\0{script}"


def _fixture_image(image: Image) -> FixtureImage:
    return FixtureImage(
        id=str(image.id), running=tuple(json.loads(image.labels.get(RUNNING, "[]")))
    )


def _moment(event: Event) -> float:
    return event.at


@dataclass(frozen=True, slots=True)
class _Held:
    """A terminal that a program holds."""

    session: ShellSession
    stream: Any
    exec_id: str


@dataclass(slots=True)
class DockerSandbox:
    """A running container and its session, which is opened when the first step is run."""

    client: docker.DockerClient
    container: Container
    request: SandboxRequest
    witness: Witness
    too_big: set[str] = field(default_factory=set)
    killed: bool = False
    out_of_memory: int = 0
    delivered: dict[str, str] = field(default_factory=dict)
    session: ShellSession | None = None
    stream: Any = None
    exec_id: str = ""
    held: list[_Held] = field(default_factory=list)
    new_terminal: bool = False
    shells: int = 0
    dirs: overlays.OverlayDirs | None = None
    hidden: overlays.Hidden = overlays.NOTHING
    last_cwd: str = ""
    seen: list[Event] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def cwd(self) -> str:
        return self.last_cwd or self.request.workdir

    @property
    def events(self) -> tuple[Event, ...]:
        open_ones = [*(h.session for h in self.held), *([self.session] if self.session else [])]
        return tuple(sorted((*self.seen, *(e for s in open_ones for e in s.events)), key=_moment))

    def run(self, text: str, *, timeout: float, dialog: Dialog) -> CommandResult:
        mark = self.witness.heard()
        with self._watching("running a step"):
            try:
                result = self._run_somewhere(text, timeout, dialog)
            except _GONE:
                if not self.shells or not self._ends():
                    raise
                result = CommandResult(ending=Ending.SANDBOX_DIED, note=NO_SANDBOX)
        if result.succeeded:
            return result
        return self._attributed(result, mark)

    def go_on(self, *, timeout: float, dialog: Dialog) -> CommandResult:
        if not self.held:
            return CommandResult(ending=Ending.EXITED, exit_code=0, note=NOTHING_STAYED)
        self._close_session()
        last = self.held.pop()
        self.session, self.stream, self.exec_id = last.session, last.stream, last.exec_id
        mark = self.witness.heard()
        with self._watching("running a step"):
            result = self._after(last.session.go_on(timeout=timeout, dialog=dialog))
        self.last_cwd = result.cwd or self.last_cwd
        return result if result.succeeded else self._attributed(result, mark)

    def _attributed(self, result: CommandResult, mark: int) -> CommandResult:
        """Return what came of a step that failed, if it is the step's doing.

        Raises:
            PassingError: it is somebody else's, or the test bed's.
        """
        if result.ending is Ending.SANDBOX_DIED:
            self.witness.wait_for_end(DYING)
        self._check_untouched()
        result = self._with_limit(result, mark)
        if result.ending is Ending.SANDBOX_DIED and result.note != NO_MEMORY:
            self._check_power()
        self._check_disk(result)
        return result

    def _check_power(self, cause: Exception | None = None) -> None:
        """Raise PassingError if the sandbox has ended and no step of its user can have ended it.

        Its keeper is root's, and without new privileges nobody else in it becomes root.
        """
        privileged = not grants.keeps_privileges(self.request.grants)
        if self.killed or self.request.user in ("root", "0") or privileged:
            return
        if not self._was_out_of_memory():
            raise PassingError(
                f"the sandbox was ended from outside: {self.request.user} cannot end it",
                hint="was it killed on the host, or by the kernel for the host's want of memory?",
            ) from cause

    def _was_out_of_memory(self) -> bool:
        state: dict[str, Any] = self.container.attrs.get("State") or {}
        return OUT_OF_MEMORY in self.witness.since(0) or bool(state.get("OOMKilled"))

    def _check_disk(self, result: CommandResult) -> None:
        """Raise PassingError if a step says that the disk is full, and the engine's is."""
        if result.ending is Ending.SANDBOX_DIED or not _FULL.search(result.output):
            return
        told = self._exec("stat -f -c '%a %S %d' /", user="0", cwd="/", timeout=5).output.split()
        blocks, size, inodes = (int(word) for word in told)
        if blocks * size < LEAST_SPACE or not inodes:
            raise PassingError("the engine's disk is full", hint="procexec sandbox prune")

    def _with_limit(self, result: CommandResult, mark: int) -> CommandResult:
        """Tell a step that ran into the sandbox's disk or memory from one that failed by itself."""
        if result.ending is Ending.SANDBOX_DIED:
            if self.container.id in self.too_big:
                return replace(result, ending=Ending.DISK_LIMIT)
            note = NO_MEMORY if OUT_OF_MEMORY in self.witness.since(mark) else result.note
            return replace(result, note=note)
        if result.exit_code == _KILLED_BY_9 and self._ran_out_of_memory(mark):
            return replace(result, ending=Ending.OUT_OF_MEMORY)
        if OUT_OF_MEMORY in self.witness.since(mark):
            return replace(result, note=result.note or NO_MEMORY)
        return result

    def _ran_out_of_memory(self, mark: int) -> bool:
        """Tell whether the kernel killed for memory: by the engine's event, or the group's count."""
        before = self.out_of_memory
        with suppress(SandboxError):
            told = self._exec(OOM_KILLS, user="0", cwd="/", timeout=5).output.split()
            self.out_of_memory = sum(int(word) for word in told if word.isdigit())
        return self.out_of_memory > before or OUT_OF_MEMORY in self.witness.since(mark)

    @contextmanager
    def _watching(self, doing: str) -> Iterator[None]:
        """Turn the engine's errors into ours; first of all tell what others did to the container."""
        try:
            with engine_errors(doing):
                yield
        except SandboxError as e:
            self._check_untouched(e)
            self._check_begun(e)
            raise

    def _check_begun(self, cause: Exception) -> None:
        """Raise SandboxError if the container ended by itself before anything was run in it."""
        if self.shells:
            return
        with suppress(*_GONE):
            self.container.reload()
        state: dict[str, Any] = self.container.attrs.get("State") or {}
        if state.get("Status") == "exited":
            raise SandboxError(
                f"the sandbox ended before its first step, with exit code {state.get('ExitCode')}",
                hint="the image needs /bin/bash and tail",
            ) from cause

    def _check_untouched(self, cause: Exception | None = None) -> None:
        """Raise PassingError if somebody else had a hand in what came of the container."""
        if self.killed or self.container.id in self.too_big:
            return
        if done := touched(self.witness.since(0)):
            raise PassingError(f"somebody {done} the sandbox while it was used") from cause
        if self.witness.lost:
            raise PassingError("the engine went away while the sandbox was used") from cause

    def _run_somewhere(self, text: str, timeout: float, dialog: Dialog) -> CommandResult:
        """Run a step in the session's shell, or in a new one if that has ended."""
        number = self._delivered(text)
        if self.session is not None:
            with suppress(Interrupted):
                return self._run(self.session, number, timeout, dialog)
            self._close_session()  # it ended between the steps
        fresh = self.shells > 0 and not self.new_terminal
        try:
            result = self._run(self._open(), number, timeout, dialog)
        except Interrupted:
            result = self._no_shell()
        return replace(result, note=NEW_SHELL) if fresh and not result.note else result

    def _run(
        self, session: ShellSession, number: str, timeout: float, dialog: Dialog
    ) -> CommandResult:
        result = self._after(session.run(number, timeout=timeout, dialog=dialog))
        self.last_cwd = result.cwd or self.last_cwd
        return result

    def _no_shell(self) -> CommandResult:
        """Tell of a shell that ends before its first prompt, which is up to the steps before."""
        if self.shells == 1:
            raise SandboxError(
                f"no shell could be started in the sandbox as {self.request.user}",
                hint="the image needs /bin/bash and the user",
            )
        status = self._shell_status()
        self._close_session()
        ending = Ending.SANDBOX_DIED if self._is_dead(status) else Ending.SHELL_ENDED
        return CommandResult(ending=ending, exit_code=status, note=NO_SHELL)

    def _after(self, result: CommandResult) -> CommandResult:
        """Clear up after a step that did not come back to the prompt."""
        match result.ending:
            case Ending.SHELL_ENDED:
                self._close_session()
                if self._is_dead(result.exit_code):
                    return replace(result, ending=Ending.SANDBOX_DIED)
                if result.exit_code is None:
                    raise PassingError("the engine cut the terminal's stream before its end")
            case Ending.TIMED_OUT | Ending.WAITS_FOR_INPUT | Ending.OUTPUT_LIMIT:
                self._check_heard(result.ending)
                self.kill_processes()
                self.close()
            case Ending.STAYS:
                assert self.session is not None
                self.held.append(_Held(self.session, self.stream, self.exec_id))
                self.session = self.stream = None
                self.new_terminal, self.last_cwd = True, ""
            case _:
                pass
        return result

    def _check_heard(self, ending: Ending) -> None:
        """Raise PassingError if the step has ended and the engine did not hand on the news."""
        if ending is Ending.OUTPUT_LIMIT or self.session is None:
            return
        if self._told_of_end() == self.session.nonce:
            raise PassingError("the engine held back the terminal's stream after the step's end")

    def checked(self) -> grants.Effective:
        """Return what holds in the container, read back from the engine and from inside.

        Raises:
            SandboxError: it is other than was asked for.
        """
        found = self._effective()
        if wrong := list(grants.differences(self.request.grants, found)):
            raise SandboxError(
                f"the engine made a sandbox that is not as was asked for: {'; '.join(wrong)}",
                hint="procexec sandbox doctor",
            )
        return found

    def _effective(self) -> grants.Effective:
        with engine_errors("looking at a container"):
            details = self.client.api.inspect_container(str(self.container.id))
        host: dict[str, Any] = details["HostConfig"]
        told = self._exec("cat /proc/self/status", user="0", cwd="/", timeout=10).output
        status = {name: value.strip() for name, _, value in _pairs(told)}
        if not {"CapBnd", "NoNewPrivs", "Seccomp"} <= status.keys():
            raise PassingError("a process of the sandbox could not be looked at")
        return grants.Effective(
            capabilities=grants.names_of(int(status.get("CapBnd", "0"), 16)),
            no_new_privileges=status.get("NoNewPrivs") == "1",
            seccomp=status.get("Seccomp") == "2",
            network=str(host.get("NetworkMode")),
            privileged=bool(host.get("Privileged")),
            mounts=len(host.get("Binds") or []),
            memory=int(host.get("Memory") or 0),
            processes=int(host.get("PidsLimit") or 0),
        )

    def _told_of_end(self) -> str:
        """Return the word of the last step that ended, as its shell left it."""
        try:
            script = f"cat {SCRATCH}/state/ended 2>/dev/null"
            return self._exec(script, user="0", cwd="/", timeout=5).output.strip()
        except SandboxError:
            return ""

    def _is_dead(self, shell_status: int | None) -> bool:
        """Tell whether the sandbox ended with its shell; a dying one still counts as running."""
        if shell_status not in (None, *_KILLED):
            return not self._is_running()
        return self._ends()

    def _ends(self) -> bool:
        """Tell whether the container has ended, or is about to: engines notice it a little late."""
        deadline = time.monotonic() + DYING
        while self._is_running():
            if time.monotonic() > deadline or self._answers():
                return False
        return True

    def _answers(self) -> bool:
        try:
            return self._exec("echo here", user="0", cwd="/", timeout=5).output == "here\n"
        except SandboxError:
            return False

    def _is_running(self) -> bool:
        try:
            self.container.reload()
        except NotFound as e:
            raise PassingError("somebody removed the sandbox while it was used") from e
        return bool(self.container.status == "running")

    def kill_processes(self) -> None:
        """Kill everything in the sandbox but its keeper; the container itself as a last resort."""
        for _ in range(5):  # measured: with the process limit reached, an exec may need as many
            try:
                done = self._exec(KILL_ALL, user="0", cwd="/", timeout=5)
            except SandboxError:
                continue
            if "done" in done.output:
                return
        if self._is_running():
            self.killed = True
            self.container.kill()

    def _open(self) -> ShellSession:
        first = "restore" if self.shells and not self.new_terminal else "start"
        self.new_terminal = False
        if self.shells:
            self._put(self.delivered)  # the steps before may have removed or changed them
        created = self.client.api.exec_create(
            self.container.id,
            ["/bin/bash", "--noediting", "--rcfile", f"{SCRATCH}/{first}", "-i"],
            stdin=True,
            tty=True,
            user=self.request.user,
            workdir="/",
            environment=self.environment(),
        )
        self.exec_id = created["Id"]
        self.stream = self.client.api.exec_start(self.exec_id, tty=True, socket=True)
        raw = _socket_of(self.stream)
        raw.settimeout(None)
        spawn: SocketSpawn[bytes] = SocketSpawn(raw, maxread=65536, use_poll=True)
        spawn.delaybeforesend = None
        self.session = ShellSession(
            spawn=spawn,
            prompts=tuple(re.compile(p) for p in self.request.prompts),
            waiting=self._reader,
            ended=self._shell_status,
            began=self.began,
        )
        self.shells += 1
        self.session.settle(SETTLE)
        self.last_cwd = self.session.cwd
        return self.session

    def environment(self) -> dict[str, str]:
        user = self.request.user
        home = "/root" if user in ("root", "0") else f"/home/{user}"
        zone = {"TZ": self.request.timezone} if self.request.timezone else {}
        return {
            "HOME": home,
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COLUMNS": str(COLUMNS),
            "LINES": str(ROWS),
            "PAGER": "cat",
            "PROCEXEC_WORKDIR": self.last_cwd or self.request.workdir,
            **zone,
            **self.request.env,
        }

    def _reader(self) -> Reader:
        """Ask who reads from the terminal; other users' processes are asked as those users."""
        asked: set[str] = set()
        main = self.session.pid if self.session else 0
        shell = main if self.held else 0
        users = [self.request.user]
        while users:
            asked.add(user := users.pop())
            try:
                words = self._exec(
                    f"main={main} shell={shell}\n{WAITS}", user=user, cwd="/", timeout=5
                ).output.split()
            except SandboxError:
                return Reader.NOBODY
            seen = _READERS.get(words[0] if words else "", Reader.NOBODY)
            if seen is Reader.LOST_SHELL:
                self._put(self.delivered)
            if seen is not Reader.NOBODY:
                return seen
            users += [other for other in dict.fromkeys(words[1:]) if other not in asked]
        return Reader.NOBODY

    def _shell_status(self) -> int | None:
        for _ in range(50):
            try:
                state = self.client.api.exec_inspect(self.exec_id)
            except NotFound:
                return None
            if not state.get("Running"):
                status = state.get("ExitCode")
                return int(status) if status is not None else None
            time.sleep(0.02)
        return None

    def execute(self, script: str, *, user: str, cwd: str, timeout: float) -> ScriptResult:
        inner = f'cd -- "$1" 2>/dev/null || cd /\n{script}'
        try:
            return self._exec(inner, user=user, cwd=cwd, timeout=timeout)
        except PassingError:
            raise
        except SandboxError as e:
            if self.shells and not self._is_running():
                if self.container.id not in self.too_big:
                    self._check_power(e)
                raise WreckedError("the sandbox has died") from e
            raise

    def _exec(self, script: str, *, user: str, cwd: str, timeout: float) -> ScriptResult:
        with self._watching("running a script"):
            argv = ["/bin/bash", "--norc", "--noprofile", "-c", script, "procexec", cwd]
            environment = {k: v for k, v in self.environment().items() if k != "PROCEXEC_WORKDIR"}
            if user in ("root", "0"):
                environment |= {"HOME": "/root", "USER": "root", "LOGNAME": "root"}
            created = self.client.api.exec_create(
                self.container.id, argv, user=user, workdir="/", environment=environment
            )
            stream = self.client.api.exec_start(created["Id"], socket=True)
            try:
                output, finished = _read_frames(_socket_of(stream), timeout)
            finally:
                _hang_up(stream)
            state = self._ended(created["Id"]) if finished else {}
        text = output.decode("utf-8", errors="replace")
        if state.get("ExitCode") == 126 and not state.get("Pid"):
            raise WreckedError(f"no shell could be started in the sandbox: {text.strip()}")
        if state.get("ExitCode") == _KILLED_BY_9:
            self.witness.wait_for_end(NOTICED)
            self._check_untouched()
            if not self._is_running():
                error = SandboxError("the sandbox ended while a script ran in it")
                self._check_begun(error)
                raise error
        return ScriptResult(exit_code=state.get("ExitCode"), output=text)

    def _ended(self, exec_id: str) -> dict[str, Any]:
        """Return how a script ended whose stream has ended."""
        for _ in range(50):
            state: dict[str, Any] = self.client.api.exec_inspect(exec_id)
            if not state.get("Running"):
                return state
            time.sleep(0.02)
        raise PassingError("the engine cut a script's stream before its end")

    def changes(self) -> Changes:
        if self.dirs is None:
            self.dirs = self._overlay_dirs()
        if self.dirs is not None and self.dirs.readable:
            files = overlays.changed(self.dirs, self.hidden)
            return Changes(files=files, before=overlays.before(self.dirs, list(files)))
        return self._changes_by_diff()

    def _is_hidden(self, path: str) -> bool:
        above = (path[:k] for k in range(1, len(path)) if path[k] == "/")
        return self.hidden.path(path) or any(map(self.hidden.tree, above))

    def _overlay_dirs(self) -> overlays.OverlayDirs | None:
        with engine_errors("looking at a container"):
            details = self.client.api.inspect_container(str(self.container.id))
        driver: dict[str, Any] = details.get("GraphDriver") or {}
        data: dict[str, str] = driver.get("Data") or {}
        if "overlay" not in driver.get("Name", "") or "UpperDir" not in data:
            return None
        lower = tuple(Path(p) for p in data.get("LowerDir", "").split(":") if p)
        return overlays.OverlayDirs(upper=Path(data["UpperDir"]), lower=lower)

    def _changes_by_diff(self) -> Changes:
        """Ask the engine which paths changed, and look at them with scripts.

        A directory that only got another mode or owner is not told: the engine names every parent.
        """
        with engine_errors("comparing a container with its image"):
            rows = self.client.api.diff(str(self.container.id)) or []
        told = {row["Path"]: row["Kind"] for row in rows if not _is_ours(row["Path"])}
        kinds = {path: kind for path, kind in told.items() if not self._is_hidden(path)}
        gone = {path for path, kind in kinds.items() if kind == 2}
        facts = self._facts([path for path in kinds if path not in gone])
        files: dict[str, FileFacts | None] = dict.fromkeys(sorted(gone))
        files |= {
            path: found
            for path, found in sorted(facts.items())
            if not (found.type == "directory" and kinds[path] == 0)
        }
        before = {p: None if kinds[p] == 1 else FileFacts(type="unknown") for p in files}
        return Changes(files=files, before=before)

    def _facts(self, paths: Sequence[str]) -> dict[str, FileFacts]:
        fields = iter(self._told("find", paths, r"-maxdepth 0 -printf '%p\0%y\0%m\0%u\0%s\0%l\0'"))
        rows = {path: row for path, *row in zip(*[fields] * 6, strict=False)}
        small = [p for p, row in rows.items() if row[0] == "f" and int(row[3]) <= DIGEST_BYTES]
        sums = (line.split("  ", 1) for line in self._told("sha256sum -z", small))
        digests = {path: digest for digest, path in sums}
        return {path: _facts_of(row, digests.get(path, "")) for path, row in rows.items()}

    def _told(self, command: str, paths: Sequence[str], end: str = "") -> Iterator[str]:
        """Yield what a command tells of paths, without their ends, which are NUL."""
        for words in _portions(paths):
            done = self._exec(f"{command} {words} {end}", user="0", cwd="/", timeout=60)
            if done.exit_code is None:
                raise SandboxError("looking at the changed files takes longer than 60 s")
            yield from done.output.split("\0")[:-1]

    def deliver(self, texts: Sequence[str]) -> None:
        """Put scripts into the container, with procexec's own files."""
        new = [text for text in dict.fromkeys(texts) if text not in self.delivered]
        count = len(self.delivered)
        numbers = {text: str(count + k) for k, text in enumerate(new, start=1)}
        self._put(numbers)
        self.delivered |= numbers

    def _put(self, texts: Mapping[str, str]) -> None:
        steps = {f"steps/{number}": text for text, number in texts.items()}
        files = {name: _bytes(text) for name, text in (_OWN_FILES | steps).items()}
        self.container.put_archive("/", _tar(files))

    def _delivered(self, text: str) -> str:
        if text not in self.delivered:
            self.deliver([text])
        return self.delivered[text]

    def forget_scratch(self) -> None:
        """Remove procexec's own files from the container."""
        self._exec(f"rm -rf {SCRATCH}", user="0", cwd="/", timeout=10)

    def close(self) -> None:
        self._close_session()
        for held in self.held:
            self.seen += held.session.events
            _hang_up(held.stream)
        self.held = []

    def _close_session(self) -> None:
        if self.session is not None:
            self.seen += self.session.events
            _hang_up(self.stream)
            self.session = self.stream = None


_KILLED_BY_9 = 137
_FULL = re.compile(r"(?i)no space left on device|\bdisk (?:is )?full\b|quota exceeded")
_KILLED = (_KILLED_BY_9, 143)
_READERS = {reader.value: reader for reader in Reader}
_OWN_FILES = {"begin": BEGIN, "end": END, "start": START, "restore": RESTORE}
_KINDS = {"f": "file", "d": "directory", "l": "link"}
_PORTION = 60_000  # bytes: an argument may have 128 KiB


def _pairs(text: str) -> Iterator[tuple[str, str, str]]:
    return (line.partition(":") for line in text.split("\n"))


def _start(container: Container) -> None:
    """Start a container; asking again is harmless, and one that runs already is fine."""
    for pause in PAUSES:
        try:
            container.start()
        except _GONE as e:
            if not may_pass(e):
                raise
            time.sleep(pause)
        else:
            return
    container.start()


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, APIError) and error.status_code == 409


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _portions(paths: Sequence[str]) -> Iterator[str]:
    """Yield the paths as words of a command line, as many at once as fit."""
    words, size = [], 0
    for path in paths:
        words.append(_quoted(path))
        size += len(words[-1].encode()) + 1
        if size > _PORTION:
            yield " ".join(words)
            words, size = [], 0
    if words:
        yield " ".join(words)


def _facts_of(row: Sequence[str], digest: str) -> FileFacts:
    letter, mode, owner, size, target = row
    match _KINDS.get(letter, "other"):
        case "file":
            digest = digest or f"size:{size}"
            return FileFacts(type="file", mode=mode, owner=owner, size=int(size), digest=digest)
        case "link":
            return FileFacts(type="link", owner=owner, target=target)
        case other:
            return FileFacts(type=other, mode=mode, owner=owner)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _is_ours(path: str) -> bool:
    return overlays.is_left_out(path)


def _tar(files: dict[str, bytes]) -> bytes:
    """Return an uncompressed archive with a constant first name, all of it root's."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        root = SCRATCH.strip("/")
        for folder, mode in ((root, 0o755), (f"{root}/steps", 0o755), (f"{root}/state", 0o1777)):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, mode
            archive.addfile(info)
        for name, data in files.items():
            info = tarfile.TarInfo(f"{root}/{name}")
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _socket_of(stream: Any) -> socket.socket:
    """Return the socket of what the client wraps differently over HTTP and TLS."""
    raw: socket.socket = getattr(stream, "_sock", stream)
    return raw


def _hang_up(stream: Any) -> None:
    """Close a stream with all that the client holds open for it."""
    with suppress(OSError):
        _socket_of(stream).shutdown(socket.SHUT_RDWR)
    for held in (getattr(stream, "_response", stream), stream, _socket_of(stream)):
        with suppress(OSError):
            held.close()


def _read_frames(sock: socket.socket, timeout: float) -> tuple[bytes, bool]:
    """Return the output of an exec without a terminal, at most a limit, and whether it ended."""
    deadline = time.monotonic() + timeout
    out, pending = bytearray(), bytearray()
    sock.settimeout(timeout)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return bytes(out), False
        sock.settimeout(left)
        try:
            data = sock.recv(65536)
        except TimeoutError:
            return bytes(out), False
        if not data:
            return bytes(out), True
        pending += data
        while len(pending) >= 8:
            size = int.from_bytes(pending[4:8], "big")
            if len(pending) < 8 + size:
                break
            if len(out) < EXECUTE_LIMIT:
                out += pending[8 : 8 + size]
            del pending[: 8 + size]
