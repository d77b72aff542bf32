"""Another engine for the contract: Podman's service with everything of its own."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from docker import DockerClient

from procexec.sandbox.engine import can_install, install

PACKAGES = ("podman", "runc", "catatonit")
PATIENCE = 30.0

# Nothing of systemd is needed: cgroups and events by files.
CONFIGURATION = """\
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
"""
STORAGE = """\
[storage]
driver = "overlay"
runroot = "{folder}/run"
graphroot = "{folder}/graph"
"""


@contextmanager
def podman(source: DockerClient, tag: str) -> Iterator[DockerClient]:
    """Give a client of a Podman that has one image of another engine; install it where we may."""
    if shutil.which("podman") is None:
        if not can_install():
            pytest.skip("Podman is not there and cannot be installed: root on Debian or Ubuntu can")
        install(PACKAGES)
    folder = Path(tempfile.mkdtemp(prefix="pm-", dir="/tmp"))
    (folder / "containers.conf").write_text(CONFIGURATION)
    (folder / "storage.conf").write_text(STORAGE.format(folder=folder))
    environment = os.environ | {
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
    }
    at = folder / "p.sock"
    options = ["--tmpdir", str(folder / "tmp"), "system", "service", "--time=0"]
    command = ["podman", *options, f"unix://{at}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait_for(at, process, folder / "log")
        with closing(DockerClient(base_url=f"unix://{at}", timeout=60)) as client:
            client.images.load(b"".join(source.images.get(tag).save(named=tag)))
            yield client
            for container in client.containers.list(all=True, sparse=True):
                container.remove(force=True)
    finally:
        process.terminate()
        process.wait(20)
        _clear(folder)


def _wait_for(at: Path, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        with socket.socket(socket.AF_UNIX) as line:
            if line.connect_ex(str(at)) == 0:
                return
        assert process.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < end, log.read_text(errors="replace")
        time.sleep(0.05)


def _clear(folder: Path) -> None:
    mounts = Path("/proc/self/mounts").read_text().split("\n")
    for place in reversed([line.split()[1] for line in mounts if f" {folder}/" in line]):
        subprocess.run(["umount", "-l", place], check=False, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)
