"""Prompt suites, prompt files and chat templates. No torch here."""
