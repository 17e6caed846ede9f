"""Measures of how easy the code is to read, and the limits of each part of the project."""
