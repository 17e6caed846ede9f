"""Measurements and their results: the doctor, replay of logs, prediction. Imports no torch."""
