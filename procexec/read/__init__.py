"""Stage 1: files in, answers and procedures out."""
