"""Does an answer say that the documentation is silent? In three languages."""

import pytest

from procexec.extract.decline import decline_in
from procexec.extract.hints import Hints
from procexec.judge.silent import Silent
from procexec.model.document import Answer
from procexec.model.result import AnswerResult, Code, Verdict
from procexec.pipeline import judged
from procexec.trial import uncovered

ENGLISH = [
    "I'm sorry, but the documentation you gave me has nothing on folding widgets.",
    "Unfortunately this isn't something the manual covers.",
    "I couldn't find any instructions for that in the docs.",
    "There's no mention of MongoDB anywhere in the reference.",
    "The documentation is silent on this point.",
    "As far as I can tell, this feature doesn't exist, and the docs don't describe a way to do it.",
    "That's outside the scope of the documentation I have access to.",
    "I don't know: none of the pages I can see talk about this.",
    "Sorry, I can't answer that from the documentation.",
    "The available documentation provides no steps for it.",
    "No section of the guide deals with phone synchronisation.",
    "My sources say nothing about e-mail, so I'd rather not guess.",
    "I was unable to find a documented procedure for this.",
    "This is not supported according to the manual, and it gives no procedure for it.",
    "The official docs contain no information about .htaccess.",
    "I do not have enough information in the documentation to answer this.",
    "It is undocumented, so I cannot give you steps.",
    "I checked the manual and there is nothing in it about this.",
    "The provided documentation does not appear to cover that topic.",
    "That question can't be answered with the docs at hand.",
    "Nothing in the reference tells how this would be done.",
    "We have no documentation for this feature, sorry.",
    "The docs stop short of explaining this; I don't want to make something up.",
    "Sorry, but this is not part of the documentation.",
    "There doesn't seem to be a documented way of doing that.",
    "I looked through the guide, but it never mentions this.",
    "The docs leave this open, so I have no steps to offer.",
    "You won't find this in the manual.",
    "That is beyond what the documentation covers.",
]
GERMAN = [
    "Leider finde ich dazu nichts in der Dokumentation.",
    "Das steht nicht in der Dokumentation.",
    "Dazu sagt das Handbuch nichts.",
    "In der Dokumentation gibt es dazu keine Anleitung.",
    "Diese Frage wird von der Dokumentation nicht abgedeckt.",
    "Ich habe in den Unterlagen keine Beschreibung dafür gefunden.",
    "Dafür ist kein Verfahren dokumentiert.",
    "Das Handbuch schweigt sich dazu aus.",
    "Die Doku erwähnt so etwas mit keinem Wort.",
    "Hierzu liegen mir keine Informationen vor.",
    "Das kann ich anhand der Dokumentation nicht beantworten.",
    "Eine solche Funktion ist im Handbuch nicht vorgesehen.",
    "Die mir vorliegende Dokumentation behandelt das Thema nicht.",
    "Tut mir leid, darüber enthält die Anleitung keine Angaben.",
    "Es ist mir nicht möglich, das aus der Dokumentation heraus zu beantworten.",
    "Dazu habe ich leider nichts gefunden.",
    "In den Dokumenten wird das nicht beschrieben.",
    "Das Handbuch enthält dazu nichts, ich möchte nichts erfinden.",
    "Die Anleitung geht darauf nicht ein.",
    "Ich kann dazu keine dokumentierte Lösung nennen.",
    "Laut Dokumentation gibt es dafür keinen vorgesehenen Weg.",
    "Leider ist das nicht Teil der Dokumentation.",
    "Für diese Frage gibt die Dokumentation nichts her.",
    "Ich weiß es nicht, denn die Anleitung sagt dazu nichts.",
    "Dazu fehlt eine Beschreibung in der Dokumentation.",
    "Darauf gibt es in den Unterlagen keine Antwort.",
]
ITALIAN = [
    "Mi dispiace, nella documentazione non c'è nulla al riguardo.",
    "Il manuale non ne parla.",
    "Non esiste una procedura documentata per questo.",
    "La guida non dice come farlo.",
    "Questo argomento non è trattato nella documentazione.",
    "Non riesco a trovare istruzioni in merito nei documenti.",
    "La documentazione non fornisce alcuna indicazione su questo punto.",
    "Purtroppo la documentazione disponibile non copre questo caso.",
    "Di questo la documentazione non fa menzione.",
    "Non ho informazioni su questo nella documentazione.",
    "In base alla documentazione non posso rispondere.",
    "Nessuna pagina del manuale spiega come sincronizzare il telefono.",
    "Questa funzione non è prevista dal manuale.",
    "Non ho trovato niente di simile nella guida ufficiale.",
    "Le istruzioni non coprono questo scenario.",
    "Nella documentazione non trovo nulla su questo.",
    "La documentazione che ho a disposizione non tratta questo argomento.",
    "Il manuale tace su questo punto.",
    "Non c'è alcuna istruzione ufficiale per farlo.",
    "Mi spiace, non posso rispondere sulla base della documentazione.",
    "Questo non fa parte della documentazione.",
    "Non risulta documentato da nessuna parte.",
    "La guida non affronta questo tema.",
    "Di ciò non vi è traccia nel manuale.",
    "Non sono in grado di rispondere: la documentazione non lo prevede.",
]
ENGLISH_ANSWERS = [
    "This option is not documented on Windows, but on Linux it works.",
    "A restart is not covered here because none is needed: the server reads the file again.",
    "The manual says you should not edit this file by hand.",
    "Nothing happens if the documentation's example is run twice.",
    "You don't have any information to enter; accept the defaults.",
    "The docs describe two ways and do not recommend the second.",
    "Do not forget to document the change in the manual.",
    "If the file does not exist, the guide tells you to create it.",
    "The output does not mention the file; that is fine.",
    "The documentation does not mention a restart, because the file is read each time.",
    "I can't find a simpler way than the documented one: export and import.",
    "There is no need to read the documentation first.",
    "The reference page doesn't say so explicitly, but the switch implies it.",
]
GERMAN_ANSWERS = [
    "Das Handbuch beschreibt zwei Wege; der zweite ist nicht nötig.",
    "Die Dokumentation empfiehlt, die Datei nicht von Hand zu ändern.",
    "Unter Windows ist das nicht dokumentiert, unter Linux geht es so.",
    "Ein Neustart ist nicht vorgesehen, weil die Datei jedes Mal gelesen wird.",
    "Wenn der Ordner nicht existiert, legt ihn die Anleitung an.",
    "Keine Sorge, die Dokumentation erklärt jeden Schritt.",
    "Die Ausgabe enthält nichts Besonderes.",
    "Das geht nicht ohne Neustart, steht im Handbuch.",
    "Im Handbuch steht, dass man nichts löschen muss.",
    "Es gibt keine Rückfrage, wie die Dokumentation sagt.",
    "Nicht alles muss dokumentiert werden: ein Kommentar reicht.",
    "Die Anleitung ist kurz, es fehlt nichts.",
]
ITALIAN_ANSWERS = [
    "La documentazione dice di non modificare il file a mano.",
    "Il manuale descrive due modi; il secondo non è necessario.",
    "Su Windows non è documentato, su Linux funziona così.",
    "Il comando non stampa nulla, come dice la guida.",
    "Se la cartella non esiste, la guida la crea.",
    "Un riavvio non è previsto, perché il file viene riletto ogni volta.",
    "La documentazione spiega che non serve alcun riavvio.",
    "Non dimenticare di leggere la documentazione.",
    "Non c'è nulla da confermare: la procedura è automatica.",
    "Il manuale non raccomanda la seconda opzione, usa la prima.",
    "Nella guida non serve cercare altro: basta un comando.",
    "Le istruzioni non cambiano su altre versioni.",
]


@pytest.mark.parametrize("text", [*ENGLISH, *GERMAN, *ITALIAN])
def test_whoever_says_that_the_documentation_is_silent_declines(text: str) -> None:
    assert decline_in(text)


@pytest.mark.parametrize("text", [*ENGLISH_ANSWERS, *GERMAN_ANSWERS, *ITALIAN_ANSWERS])
def test_who_only_says_that_something_is_not_there_does_not_decline(text: str) -> None:
    assert decline_in(text) == ""


@pytest.mark.parametrize(
    "sentences",
    [ENGLISH, GERMAN, ITALIAN, ENGLISH_ANSWERS, GERMAN_ANSWERS, ITALIAN_ANSWERS],
    ids=["en", "de", "it", "en-answers", "de-answers", "it-answers"],
)
def test_there_are_enough_ways_to_say_it(sentences: list[str]) -> None:
    assert len(set(sentences)) >= 12


def verdict_on(markdown: str) -> AnswerResult:
    """The verdict on an answer to a question that the documentation does not cover."""
    answer = Answer(id="a", question="How?", answer=markdown, procedure=None)
    return judged(uncovered(answer, 1, "1", Hints(programs=frozenset(["widgetctl"]))), Silent())


@pytest.mark.parametrize("text", [ENGLISH[0], GERMAN[0], ITALIAN[0]])
def test_declining_passes_where_the_documentation_is_silent(text: str) -> None:
    assert verdict_on(text).verdict is Verdict.PASS


@pytest.mark.parametrize(
    "commands",
    [
        "Run `widgetctl fold --all`.",
        "Not covered here, but do this:\n\n```bash\nwidgetctl fold --all\n```",
        "<pre>widgetctl fold --all</pre>",
        "1. `widgetctl fold --all`",
        "| Step | Command |\n|---|---|\n| 1 | `widgetctl fold --all` |",
    ],
)
@pytest.mark.parametrize("text", [ENGLISH[0], GERMAN[1], ITALIAN[2]])
def test_who_declines_and_gives_commands_all_the_same_has_invented_them(
    text: str, commands: str
) -> None:
    result = verdict_on(f"{text}\n\n{commands}\n")

    assert (result.verdict, result.findings[0].code) == (Verdict.FAIL, Code.INVENTED_STEP)


@pytest.mark.parametrize("text", ["You can fold it.", ENGLISH_ANSWERS[5]])
def test_who_neither_declines_nor_gives_steps_is_left_to_the_judge(text: str) -> None:
    assert verdict_on(text).findings[0].code is Code.OPEN_QUESTION


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
