"""Stage 5: states in, effects and deviations out."""
