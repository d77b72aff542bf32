"""Services of a sandbox: what an image cannot keep running is started, awaited and stopped."""

from collections.abc import Sequence

from procexec.errors import SandboxError
from procexec.model.document import Service
from procexec.sandbox import SCRATCH, Sandbox, ScriptResult

POLL = 0.05


def start_all(sandbox: Sandbox, services: Sequence[Service]) -> None:
    """Start services in their order, each as soon as the one before can be used.

    Raises:
        SandboxError: one does not start, or is not ready in its time.
    """
    for service in services:
        _run(sandbox, service, service.start)
        _run(sandbox, service, _until_ready(service))


def running(sandbox: Sandbox, services: Sequence[Service]) -> list[Service]:
    """Return those that can be used now."""
    return [s for s in services if _told(sandbox, s.ready, s.timeout).exit_code == 0]


def stop(sandbox: Sandbox, services: Sequence[Service]) -> None:
    """Stop services, the last one first, so that what they hold is stored.

    Raises:
        SandboxError: one does not stop.
    """
    for service in reversed(services):
        _run(sandbox, service, service.stop)


def _until_ready(service: Service) -> str:
    rounds = int(service.timeout / POLL)
    return (
        f"k=0; until ( {service.ready}\n) >/dev/null 2>&1; do "
        f"k=$((k + 1)); [ $k -lt {rounds} ] || exit 1; sleep {POLL}; done"
    )


def _run(sandbox: Sandbox, service: Service, script: str) -> None:
    done = _told(sandbox, f"( {script}\n) </dev/null >{SCRATCH}/service 2>&1", service.timeout + 5)
    if done.exit_code != 0:
        said = _told(sandbox, f"tail -c 600 {SCRATCH}/service", 5).output
        raise SandboxError(
            f"the service {service.name} did not come up or down "
            f"(exit code {done.exit_code}): {script}\n{said}",
            hint="try its commands in `procexec sandbox shell`",
        )


def _told(sandbox: Sandbox, script: str, timeout: float) -> ScriptResult:
    return sandbox.execute(script, user="root", cwd="/", timeout=timeout)
