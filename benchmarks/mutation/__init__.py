"""Answers with known verdicts, derived from documented procedures and from answers that pass."""
