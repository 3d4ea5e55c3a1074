"""Counts what the processes of the cell use."""
