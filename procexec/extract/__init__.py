"""Stage 2: Markdown in, answer steps out."""
