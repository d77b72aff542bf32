"""A step that fills the disk is stopped, and it is told that this was why."""

import pytest

from procexec.model.run import Ending
from procexec.sandbox import Dialog, SandboxRequest
from procexec.sandbox.docker import DockerProvider
from procexec.sandbox.engine import connect
from procexec.sandbox.images import list_images
from procexec.sandbox.owner import this_process
from procexec.sandbox.size_watch import SizeWatch

pytestmark = pytest.mark.docker


def test_a_sandbox_that_writes_too_much_is_ended_with_the_reason() -> None:
    client = connect()
    provider = DockerProvider(client, this_process("size-watch"))
    request = SandboxRequest(image=list_images(client)[0].id, label="size-watch")
    fill = "i=0; while :; do i=$((i+1)); head -c 8000000 /dev/zero > /root/f$i; sleep 0.1; done"

    with (
        SizeWatch(client, "size-watch", provider.too_big, limit=100 << 20),
        provider.start(request) as sandbox,
    ):
        result = sandbox.run(fill, timeout=60, dialog=Dialog())

    client.close()
    assert result.ending is Ending.DISK_LIMIT


def test_a_sandbox_that_writes_little_is_left_alone() -> None:
    client = connect()
    provider = DockerProvider(client, this_process("size-watch-2"))
    request = SandboxRequest(image=list_images(client)[0].id, label="size-watch")

    with (
        SizeWatch(client, "size-watch-2", provider.too_big, limit=100 << 20),
        provider.start(request) as sandbox,
    ):
        result = sandbox.run("sleep 5; echo fine", timeout=60, dialog=Dialog())

    client.close()
    assert result.output == "fine"
    assert provider.too_big == set()
