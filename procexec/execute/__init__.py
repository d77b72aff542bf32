"""Stage 4: a plan and a sandbox in, a transcript out."""
