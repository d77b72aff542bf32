"""The tree, the pipeline and the docs agree."""

import re
from importlib import import_module
from pathlib import Path

import procexec
from procexec.model.result import Code
from procexec.pipeline import STAGES

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
