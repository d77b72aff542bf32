"""The tree, the pipeline and the docs agree."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import procexec
from procexec.model.result import Code
from procexec.pipeline import STAGES
from procexec.read.sandboxes import read_sandboxes

ROOT = Path(procexec.__file__).parent


def test_the_stages_of_the_pipeline_are_those_that_the_package_names() -> None:
    named = re.search(r"^ +(read -> .*)$", procexec.__doc__ or "", re.MULTILINE)

    assert named is not None
    assert tuple(named[1].split(" -> ")) == STAGES


def test_each_stage_says_which_one_it_is() -> None:
    for number, stage in enumerate(STAGES, 1):
        doc = import_module(f"procexec.{stage}").__doc__ or ""

        assert doc.startswith(f"Stage {number}: "), stage


def test_no_two_findings_have_the_same_code() -> None:
    assert len({code.value for code in Code}) == len(Code)


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        path
        for path in ROOT.rglob("*.py")
        if not path.read_text().lstrip().startswith('"""') and path.read_text().strip()
    ]

    assert silent == []


_LANGUAGES = {"python", "python3", "node"}
_SCHEMES = {"execute/runnable.py": {"git"}}
"""Words that are something else there: the schemes of addresses."""


def test_no_code_knows_a_product() -> None:
    folders, errors = read_sandboxes(ROOT.parent / "sandboxes")
    assert not errors
    products = {product for product, _ in folders}
    programs = {s.program for f in folders.values() for s in f.spec.sessions} - _LANGUAGES
    name = re.compile(rf"(?<![a-z])(?:{'|'.join(sorted(products | programs))})(?![a-z])")

    found = {
        (module, word)
        for path in ROOT.rglob("*.py")
        for module in [str(path.relative_to(ROOT))]
        for text in _words_of_code(path.read_text())
        for word in name.findall(text)
        if word not in _SCHEMES.get(module, ())
    }

    assert products
    assert found == set()


def _words_of_code(source: str) -> Iterator[str]:
    """Yield the texts and names in code; what only people read, docstrings, is left out."""
    tree = ast.parse(source)
    told = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value
        elif isinstance(node, ast.Name | ast.FunctionDef | ast.ClassDef):
            yield (node.id if isinstance(node, ast.Name) else node.name).lower()


def test_a_product_in_code_would_be_seen() -> None:
    code = '"""Sees git."""\ndef reads_git(): return "git status"'

    assert list(_words_of_code(code)) == ["reads_git", "git status"]
