"""How alike two texts are, whatever they say."""

import re
from collections import Counter
from collections.abc import Iterator


def text_similarity(left: str, right: str) -> float:
    """Return the cosine of the texts' character trigrams, 0 to 1."""
    a, b = Counter(_trigrams(left)), Counter(_trigrams(right))
    norm = (sum(n * n for n in a.values()) * sum(n * n for n in b.values())) ** 0.5
    shared: float = sum(n * b[gram] for gram, n in a.items())
    return round(shared / norm, 3) if norm else 0.0


def _trigrams(text: str) -> Iterator[str]:
    words = " " + " ".join(re.findall(r"\w+", text.lower())) + " "
    return (words[k : k + 3] for k in range(len(words) - 2))
