"""Reference runs in containers: noise that comes by chance is learnt."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from procexec.cli.engine import Workshop, image_maker, workshop
from procexec.model.document import Procedure, Source, Step
from procexec.read.sandboxes import read_sandboxes
from procexec.reference import make
from procexec.workload import Benches, Library

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.docker, pytest.mark.nightly]


@pytest.fixture(scope="module")
def shop() -> Iterator[Workshop]:
    with workshop() as shop:
        yield shop


def test_a_file_that_comes_by_chance_is_masked_but_for_one_time_in_two_thousand(
    shop: Workshop,
) -> None:
    sandboxes, errors = read_sandboxes(ROOT / "sandboxes")
    assert not errors
    chance = Step(id="chance", run="(( RANDOM % 2 )) && touch chance; echo made > made")
    procedure = Procedure(
        id="git/chance",
        title="Chance",
        product="git",
        doc=Source(title="none", url="https://docs.example"),
        versions=("2.47",),
        steps=(chance,),
    )
    library = Library(procedures={procedure.id: procedure}, sandboxes=sandboxes)
    image = image_maker(shop.client, lambda _line: None)
    bench = Benches(library=library, provider=shop.provider, image=image).get(procedure, "2.47")

    found = make(bench, {}, shop.provider, runs=12)

    assert found.mask.subjects == {"/root/chance"}
    assert found.works
