"""Prose in German and Italian: commands are found as in English, and what is not understood is left to people."""

import pytest

from procexec.extract.extraction import extract
from procexec.extract.hints import Hints
from procexec.model.step import Command, Extraction, FileWrite, Input, Manual, SkipReason

FIRST = "```bash\nwidgetctl init\n```\n\n"
CHANGES = (FileWrite, Command, Input)


def read(markdown: str) -> Extraction:
    return extract(FIRST + markdown, Hints(programs=frozenset(["widgetctl", "git"])))


def commands(markdown: str) -> list[str]:
    _, *steps = read(markdown).steps
    return [s.action.text for s in steps if isinstance(s.action, CHANGES)]


def manual(markdown: str) -> list[str]:
    return [s.action.text for s in read(markdown).steps if isinstance(s.action, Manual)]


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("Zuerst wechselst du mit `cd demo` in den Ordner.", ["cd demo"]),
        (
            "Führe anschließend `git pull` aus, danach `git status -s`.",
            ["git pull", "git status -s"],
        ),
        ("Führen Sie bitte `git pull` aus.", ["git pull"]),
        ("Mit `git log -1` siehst du den letzten Commit.", ["git log -1"]),
        ("Optional kannst du mit `git status -s` prüfen, ob alles stimmt.", ["git status -s"]),
        (
            "1. Ordner anlegen: `mkdir demo`\n2. Hineinwechseln: `cd demo`",
            ["mkdir demo", "cd demo"],
        ),
        ("Erstelle die Datei `a.sql`:\n\n```sql\nSELECT 1;\n```", ["create a.sql"]),
        ("Starte erst den Dienst, dann geht es weiter:\n\n```bash\ngit pull\n```", ["git pull"]),
        ("Früher hieß das `git checkout x`, heute `git switch x`.", ["git switch x"]),
        ("Prima entra nella cartella con `cd demo`.", ["cd demo"]),
        ("Poi esegui `git pull`, quindi `git status -s`.", ["git pull", "git status -s"]),
        ("Facoltativo: verifica con `git status -s` che sia a posto.", ["git status -s"]),
        ("1. Crea la cartella: `mkdir demo`\n2. Entra: `cd demo`", ["mkdir demo", "cd demo"]),
        ("Crea il file `a.sql`:\n\n```sql\nSELECT 1;\n```", ["create a.sql"]),
        ("Avvia il server e apri un altro terminale:\n\n```bash\ngit pull\n```", ["git pull"]),
        ("Quando viene chiesto, digita `y`.", ["y"]),
        ("Wenn du gefragt wirst, antworte mit `y`.", ["y"]),
    ],
)
def test_no_command_is_lost_between_foreign_words(markdown: str, texts: list[str]) -> None:
    assert commands(markdown) == texts


@pytest.mark.parametrize(
    ("markdown", "reason"),
    [
        ("Führe `git push -f` nicht aus.", SkipReason.NEGATED),
        ("Lösche niemals mit `rm -rf .git` den Ordner.", SkipReason.NEGATED),
        ("Führe das nicht aus:\n\n```bash\ngit push -f\n```", SkipReason.NEGATED),
        ("Falls das fehlschlägt, hilft nur: `git reset --hard`", SkipReason.CONDITIONAL),
        ("Wenn das nicht klappt:\n\n```bash\ngit reset --hard\n```", SkipReason.CONDITIONAL),
        ("Alternativ geht auch `git switch x`.", SkipReason.ALTERNATIVE),
        ("Zum Rückgängigmachen:\n\n```bash\ngit reset --hard\n```", SkipReason.LATER),
        ("## Fehlerbehebung\n\n```bash\ngit reset --hard\n```", SkipReason.LATER),
        ("In älteren Versionen hieß das `git checkout x`.", SkipReason.HISTORY),
        ("Der Befehl `git stash` legt die Änderungen beiseite.", SkipReason.MENTION),
        ("Du solltest nun Folgendes sehen:\n\n```\nfertig\n```", SkipReason.OUTPUT),
        ("Non eseguire mai `rm -rf .git`.", SkipReason.NEGATED),
        ("Non eseguire questo:\n\n```bash\ngit push -f\n```", SkipReason.NEGATED),
        ("Se fallisce, prova con `git reset --hard`.", SkipReason.CONDITIONAL),
        ("Se c'è un errore:\n\n```bash\ngit reset --hard\n```", SkipReason.CONDITIONAL),
        ("In alternativa puoi usare `git switch x`.", SkipReason.ALTERNATIVE),
        ("Per annullare:\n\n```bash\ngit reset --hard\n```", SkipReason.LATER),
        ("## Risoluzione dei problemi\n\n```bash\ngit reset --hard\n```", SkipReason.LATER),
        ("Nelle versioni precedenti si usava `git checkout x`.", SkipReason.HISTORY),
        ("Il comando `git stash` mette da parte le modifiche.", SkipReason.MENTION),
        ("Dovresti vedere:\n\n```\nfatto\n```", SkipReason.OUTPUT),
    ],
)
def test_what_foreign_words_tell_not_to_do_is_no_step(markdown: str, reason: SkipReason) -> None:
    found = read(markdown)

    assert (len(found.steps), [s.reason for s in found.skipped]) == (1, [reason])


@pytest.mark.parametrize(
    "markdown",
    [
        "Ändere in `a.cfg` die Zeile `x = 1` in `x = 2`.",
        "1. Datei `a.txt` im Editor öffnen und die Zeile `x = 1` einfügen",
        "Öffne dann die Einstellungen im Browser und aktiviere dort den Abgleich.",
        "1. Klicke auf die Schaltfläche Speichern.",
        "Cambia nel file `a.cfg` la riga `x = 1` in `x = 2`.",
        "1. Apri `a.txt` nell'editor e aggiungi la riga `x = 1`",
        "Apri le impostazioni nel browser e attiva la sincronizzazione.",
        "1. Clicca sul pulsante Salva.",
    ],
)
def test_what_only_a_person_understands_is_left_to_a_person(markdown: str) -> None:
    assert len(manual(markdown)) == 1
    assert commands(markdown) == []


@pytest.mark.parametrize(
    "markdown",
    [
        "Der Dienst läuft im Hintergrund und liest die Datei bei jedem Start.",
        "Danach ist alles fertig. Viel Erfolg!",
        "Diese Einstellung öffnet den Zugriff für alle.",
        "Das Verzeichnis enthält drei Dateien.",
        "Il servizio gira in background e rilegge il file a ogni avvio.",
        "A questo punto è tutto pronto. Buon lavoro!",
        "Questa opzione apre l'accesso a tutti.",
        "La cartella contiene tre file.",
        "git è uno strumento che usano in molti.",
        "widgetctl ist ein Programm, das viele\nwidgetctl Benutzer kennen.",
    ],
)
def test_foreign_words_that_tell_nothing_are_no_steps(markdown: str) -> None:
    assert len(read(markdown).steps) == 1
