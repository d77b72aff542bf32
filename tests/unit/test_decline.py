"""Does an answer say that the documentation is silent? In three languages."""

import pytest

from procexec.extract.decline import decline_in


@pytest.mark.parametrize(
    "text",
    [
        "The documentation does not cover folding widgets.",
        "The docs don't mention this at all.",
        "The user guide does not describe how to do that.",
        "This is not documented.",
        "That isn’t described anywhere.",
        "There is no documented procedure for this.",
        "I could not find this in the documentation.",
        "I can't find a documented way to do it.",
        "I don't have any documentation about it.",
        "This is not covered by the manual.",
        "La documentazione non descrive come piegare un widget.",
        "Questo non è documentato.",
        "Non trovo una procedura per farlo.",
        "Non ho trovato nulla nella documentazione.",
        "Die Dokumentation beschreibt das nicht.",
        "Die Dokumentation enthält dazu keine Anleitung.",
        "Das ist nicht dokumentiert.",
        "Es gibt keine offizielle Vorgehensweise.",
    ],
)
def test_declining_words_are_found(text: str) -> None:
    assert decline_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "The documentation describes it: run `widgetctl fold`.",
        "Run the command. It does not print anything.",
        "The guide says that you do not need root.",
        "See the documentation. This does not delete your files.",
        "La documentazione descrive come fare.",
        "Questo comando non stampa nulla.",
        "Die Dokumentation beschreibt es so.",
        "Das geht nicht ohne Neustart.",
        "",
    ],
)
def test_an_answer_that_answers_does_not_decline(text: str) -> None:
    assert decline_in(text) == ""


def test_the_words_are_quoted_as_evidence() -> None:
    assert decline_in("Sorry: the docs\ndon’t cover that.") == "docs don't cover"
