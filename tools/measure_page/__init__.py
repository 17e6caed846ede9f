"""Measurements of the page in a real Chromium."""
