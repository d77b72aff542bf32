"""The kinds of steps that no documentation should tell people to run, shipped as data."""

from functools import cache
from importlib.resources import files

import msgspec
import yaml

from procexec.model.document import Unsafe


@cache
def shipped_unsafe() -> tuple[Unsafe, ...]:
    """Return the shipped kinds; a sandbox adds its product's own."""
    text = (files("procexec.read") / "unsafe.yaml").read_text()
    return msgspec.convert(yaml.safe_load(text), tuple[Unsafe, ...])
