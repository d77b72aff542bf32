"""Stage 6: questions in, opinions out."""
