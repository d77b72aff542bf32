"""Edits of files: the place is found as a person would find it, or the edit is unclear."""

import pytest

from procexec.execute.edit import UnclearEdit, edited
from procexec.model.step import FileEdit, Place

INI = "[alembic]\n# a comment\nsqlalchemy.url = driver://x\nlevel = 1\n\n[logging]\nlevel = WARN\n"
NGINX = "server {\n    listen 80;\n    location / {\n        root /a;\n    }\n    location /admin/ {\n        try_files $uri =404;\n    }\n}\n"
SETTINGS = "import os\n\nINSTALLED_APPS = [\n    'admin',\n    'static',\n]\nDEBUG = True\n"


def of(text: str, place: Place, content: str = "", anchor: str = "", path: str = "a.conf") -> str:
    return edited(text, FileEdit(path=path, place=place, content=content, anchor=anchor))


@pytest.mark.parametrize(
    ("text", "edit", "wanted"),
    [
        pytest.param("a\n", ("", Place.END, "b", "", "n.txt"), "a\nb\n", id="at-the-end"),
        pytest.param("a", ("", Place.END, "b", "", "n.txt"), "a\nb\n", id="no-last-line-end"),
        pytest.param("#!/bin/sh\na\n", ("", Place.TOP, "b", "", "n"), "#!/bin/sh\nb\na\n", id="top"),
        pytest.param("a\nb\n", ("", Place.AFTER, "x", "a", "n"), "a\nx\nb\n", id="after-a-line"),
        pytest.param("a\n  b\n", ("", Place.BEFORE, "x", "b", "n"), "a\n  x\n  b\n", id="before"),
        pytest.param(
            "x = None\n", ("", Place.INSTEAD_OF, "y = 1\nx = y", "x = None", "e.py"), "y = 1\nx = y\n",
            id="instead-of",
        ),
        pytest.param("a\n#b = 1\n", ("", Place.UNCOMMENT, "", "b = 1", "n"), "a\nb = 1\n", id="uncomment"),
        pytest.param("a\nb\n", ("", Place.DELETE, "", "a", "n"), "b\n", id="delete"),
        pytest.param(
            "a: 1\nb:\n  c: 2\n", ("", Place.MERGE, "b:\n  d: 3", "", "a.yaml"), "a: 1\nb:\n  c: 2\n  d: 3\n",
            id="yaml",
        ),
        pytest.param(
            '{"a": {"b": 1}}\n', ("", Place.MERGE, '{"a": {"c": 2}}', "", "a.json"),
            '{\n  "a": {\n    "b": 1,\n    "c": 2\n  }\n}\n', id="json",
        ),
        pytest.param("    gzip  off;\n", ("", Place.SET, "on", "gzip", "n"), "    gzip  on;\n", id="set-as-the-file-does"),
        pytest.param("#a = 1\n", ("", Place.SET, "2", "a", "n"), "a = 2\n", id="set-a-commented-key"),
        pytest.param("a: 1\n", ("", Place.SET, "2", "b", "n.yml"), "a: 1\nb: 2\n", id="set-a-new-key"),
        pytest.param(
            "#port = 5432\nx = 1\n", ("", Place.MERGE, "port = 5433", "", "p.conf"), "port = 5433\nx = 1\n",
            id="a-commented-key-is-set",
        ),
    ],
)  # fmt: skip
def test_an_edit_is_made_where_it_is_told(
    text: str, edit: tuple[str, Place, str, str, str], wanted: str
) -> None:
    _, place, content, anchor, path = edit

    assert of(text, place, content, anchor, path) == wanted


def test_a_key_is_set_in_the_section_that_has_it() -> None:
    made = of(INI, Place.MERGE, "sqlalchemy.url = sqlite:///x", path="alembic.ini")

    assert made == INI.replace("driver://x", "sqlite:///x")


def test_a_section_of_a_fragment_is_merged_and_a_new_one_comes_last() -> None:
    made = of(INI, Place.MERGE, "[logging]\nlevel = DEBUG\n\n[new]\na = 1", path="x.ini")

    assert made == INI.replace("WARN", "DEBUG") + "\n[new]\na = 1\n"


def test_a_block_with_the_same_first_line_is_replaced_at_its_indentation() -> None:
    told = "location /admin/ {\n    auth_basic on;\n}"

    assert "    location /admin/ {\n        auth_basic on;\n    }\n}\n" in of(
        NGINX, Place.MERGE, told
    )


def test_lines_go_into_the_block_that_is_named_with_its_rest_elided() -> None:
    made = of(NGINX, Place.FIRST_INSIDE, "auth_basic on;", "location /admin/ { ... }")

    assert "    location /admin/ {\n        auth_basic on;\n        try_files" in made


@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        (Place.FIRST_INSIDE, "[\n    'polls',\n    'admin',"),
        (Place.LAST_INSIDE, "'static',\n    'polls',\n]"),
    ],
)
def test_an_entry_goes_into_a_list(place: Place, wanted: str) -> None:
    assert wanted in of(SETTINGS, place, "'polls',", "INSTALLED_APPS", "settings.py")


def test_the_elided_rest_of_a_list_stays() -> None:
    told = 'INSTALLED_APPS = [\n    "polls",\n    "admin",\n    # ... the rest stays\n]'
    made = of(SETTINGS, Place.MERGE, told, path="settings.py")

    assert "[\n    \"polls\",\n    'admin',\n    'static',\n]" in made


def test_an_import_joins_the_imports_and_a_value_replaces_the_old_one() -> None:
    made = of(SETTINGS, Place.MERGE, "import sys\n\nDEBUG = False", path="settings.py")

    assert made.startswith("import os\nimport sys\n\n")
    assert made.endswith("DEBUG = False\n")


@pytest.mark.parametrize(
    ("place", "anchor"),
    [(Place.INSTEAD_OF, "level"), (Place.AFTER, "nowhere"), (Place.UNCOMMENT, "level = 2")],
)
def test_a_place_that_nobody_can_tell_is_unclear(place: Place, anchor: str) -> None:
    with pytest.raises(UnclearEdit):
        of(INI, place, "level = 3", anchor)
