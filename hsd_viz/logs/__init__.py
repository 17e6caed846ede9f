"""Logs of other programs to replay, and the doctor. Imports no torch."""
