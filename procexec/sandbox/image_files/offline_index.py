"""A package index without a network: answers the requests library from a folder of wheels.

``python offline_index.py WHEELS`` writes WHEELS/index.json once; ``import offline_index`` in an
interpreter, by a .pth file, makes every HTTP request of that interpreter find what is there, by
the simple index (PEP 691) and the release JSON that installers read; anything else is 404.
"""

import email.parser
import hashlib
import io
import json
import re
import sys
import urllib.parse
import zipfile
from pathlib import Path

HOST = "https://wheels.invalid/"
PLACE = Path("/opt/wheels")


def describe(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        told = email.parser.Parser().parsestr(archive.read(name).decode())
    return {
        "project": re.sub(r"[-_.]+", "-", told["Name"]).lower(),
        "version": told["Version"],
        "summary": told.get("Summary", ""),
        "python": told.get("Requires-Python"),
        "needs": told.get_all("Requires-Dist") or [],
        "file": wheel.name,
        "size": wheel.stat().st_size,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
    }


def simple(project, releases):
    files = [
        {
            "filename": r["file"],
            "url": HOST + r["file"],
            "hashes": {"sha256": r["sha256"]},
            "requires-python": r["python"],
            "size": r["size"],
            "yanked": False,
        }
        for r in releases
    ]
    versions = sorted({r["version"] for r in releases})
    return {"meta": {"api-version": "1.1"}, "name": project, "versions": versions, "files": files}


def release(project, version, releases):
    files = [
        {
            "packagetype": "bdist_wheel",
            "filename": r["file"],
            "url": HOST + r["file"],
            "digests": {"sha256": r["sha256"]},
            "requires_python": r["python"],
            "size": r["size"],
            "yanked": False,
        }
        for r in releases
    ]
    first = releases[0]
    info = {
        "name": project,
        "version": version,
        "summary": first["summary"],
        "requires_dist": first["needs"],
        "requires_python": first["python"],
        "platform": None,
        "yanked": False,
    }
    return {"info": info, "urls": files, "last_serial": 0}


def reply(path):
    """Return content type and body for a path, or None."""
    parts = [part for part in path.split("/") if part]
    known = json.loads((PLACE / "index.json").read_text())
    if len(parts) == 2 and parts[0] == "simple":
        found = [r for r in known if r["project"] == parts[1]]
        body = simple(parts[1], found)
        kind = "application/vnd.pypi.simple.v1+json"
    elif len(parts) == 4 and parts[0] == "pypi":
        found = [r for r in known if (r["project"], r["version"]) == (parts[1], parts[2])]
        body = release(parts[1], parts[2], found) if found else None
        kind = "application/json"
    elif parts and any(r["file"] == parts[-1] for r in known):
        return "application/octet-stream", (PLACE / parts[-1]).read_bytes()
    else:
        return None
    return (kind, json.dumps(body).encode()) if found else None


def send(self, request, *_args, **_options):
    from urllib3 import HTTPResponse

    told = reply(urllib.parse.unquote(urllib.parse.urlsplit(request.url).path))
    kind, body = told or ("text/plain", b"not in the offline index")
    raw = HTTPResponse(
        body=io.BytesIO(b"" if request.method == "HEAD" else body),
        headers={"content-type": kind, "content-length": str(len(body))},
        status=200 if told else 404,
        reason="OK" if told else "Not Found",
        preload_content=False,
    )
    return self.build_response(request, raw)


if __name__ == "__main__":
    wheels = sorted(Path(sys.argv[1]).glob("*.whl"))
    (Path(sys.argv[1]) / "index.json").write_text(json.dumps([describe(w) for w in wheels]))
else:
    import requests.adapters

    requests.adapters.HTTPAdapter.send = send
