"""How much of a question do other texts say? BM25, the usual ranking of search engines, typed."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

STEM = 5
"""Letters of a word that count, without its ending: `squash` and `squashed` are one."""

_ENDING = re.compile(r"(?<=\w\w\w)(?:ing|ed|es|en|s|e)$")


class Index:
    """Texts that questions are compared with."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s  # type: ignore[import-untyped]  # lazily: numpy takes a tenth of a second

        words = [_stems(text) for text in texts]
        self._texts = len(texts)
        self._ranking = bm25s.BM25()
        self._most: dict[str, float] = {}
        known = sorted({word for text in words for word in text})
        if known:
            self._ranking.index(words, show_progress=False)
            self._most = {word: max(self._scores([word])) for word in known}

    def shares(self, question: str) -> list[float]:
        """Return for each text the share of the question's weight that it holds, 0 to 1.

        A word that no text knows weighs as much as the rarest that one knows.
        """
        words = list(dict.fromkeys(_stems(question)))
        known = [word for word in words if word in self._most]
        if not known:
            return [0.0] * self._texts
        rarest = max(self._most.values())
        whole = sum(self._most.get(word, rarest) for word in words)
        return [round(score / whole, 3) for score in self._scores(known)]

    def _scores(self, words: list[str]) -> list[float]:
        return [float(score) for score in self._ranking.get_scores(words)]


def _stems(text: str) -> list[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return [_ENDING.sub("", word)[:STEM] for word in words if word not in _empty_words()]


@cache
def _empty_words() -> frozenset[str]:
    return frozenset((files("procexec.align") / "empty_words.txt").read_text("utf-8").split())
