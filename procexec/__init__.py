"""Decide, by running it, whether an answer's procedure does what the documentation's does.

The pipeline:

    read -> extract -> align -> execute -> compare -> judge -> verdict -> aggregate -> report
"""
