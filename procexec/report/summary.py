"""The summary as JSON: the same bytes for the same results."""

import json

import msgspec

from procexec.model.result import Summary


def summary_json(summary: Summary) -> bytes:
    plain = msgspec.to_builtins(summary)
    return f"{json.dumps(plain, sort_keys=True, indent=2, allow_nan=False)}\n".encode()
