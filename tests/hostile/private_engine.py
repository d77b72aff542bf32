"""A second engine with everything of its own, which may be killed and frozen: nobody else uses it."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from docker import DockerClient
from docker.errors import DockerException
from requests.exceptions import RequestException

PATIENCE = 60.0
_ALONE = ("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false")


@dataclass(slots=True)
class PrivateEngine:
    """A running dockerd while its ``with`` lasts; its folder is short, as socket paths must be."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="pe-", dir="/tmp")))
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def at(self) -> Path:
        return self.folder / "d.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.at}"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self.process is None:
                self.start()  # what a killed engine left can only be ended by an engine
            self._remove_containers()
            self._end()
        finally:
            self._clear()

    def start(self) -> None:
        """Start the engine and wait until it answers."""
        for name in ("pid", "exec/containerd/containerd.pid"):
            (self.folder / name).unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *("dockerd", "--host", self.url, "--pidfile", str(self.folder / "pid")),
                    *("--data-root", str(self.folder / "data")),
                    *("--exec-root", str(self.folder / "exec"), *_ALONE),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + PATIENCE
        while not self._answers():
            assert self.process.poll() is None, self._log()
            assert time.monotonic() < end, self._log()
            time.sleep(0.1)

    def load(self, client: DockerClient, tag: str) -> None:
        """Copy an image of another engine into this one."""
        with closing(self.client()) as mine:
            mine.images.load(b"".join(client.images.get(tag).save(named=tag)))

    def client(self, timeout: int = 30) -> DockerClient:
        return DockerClient(base_url=self.url, timeout=timeout)

    def kill(self) -> None:
        """Kill the engine as a crash would; its containers' processes live on."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)
        self.process = None

    def freeze(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(str(self.at))
            with closing(self.client(timeout=5)) as client:
                return bool(client.ping())
        except (DockerException, RequestException, OSError):
            return False

    def _remove_containers(self) -> None:
        client = self.client()
        with suppress(DockerException, RequestException):
            for container in client.containers.list(all=True, sparse=True):
                container.remove(force=True, v=True)
        client.close()

    def _end(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)

    def _clear(self) -> None:
        """Remove the folder with all that is still mounted below it."""
        mounts = Path("/proc/self/mounts").read_text().split("\n")
        own = [line.split()[1] for line in mounts if f" {self.folder}/" in line]
        for place in reversed(own):
            subprocess.run(["umount", "-l", place], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]


def can_run() -> bool:
    """Tell whether this process may start an engine of its own."""
    return os.geteuid() == 0 and shutil.which("dockerd") is not None
