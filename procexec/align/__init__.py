"""Stage 3: answer steps and a procedure in, an alignment out."""
