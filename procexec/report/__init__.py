"""Stage 9: results in, reports out."""
