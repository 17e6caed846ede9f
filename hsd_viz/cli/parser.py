"""An argument parser with one-line errors that suggest a word.

It is argparse because ``hsd-viz --help`` has 0.3 s: all of it takes 0.14 s, where cyclopts 5.5
takes 0.23 s for a program of one command (medians of 15 on one machine).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NoReturn

from hsd_viz.names.hints import did_you_mean, guess, guesses

BAD_INPUT = 2


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors, and suggestions for misspelled words."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options: dict[str, Any] = {
            "formatter_class": argparse.RawDescriptionHelpFormatter,
            "allow_abbrev": False,
        }
        super().__init__(*args, **options | kwargs)
        self._words: list[str] = []

    def group(self, title: str) -> Any:
        """Return the group of options with a title, created if necessary."""
        for group in self._action_groups:
            if group.title == title:
                return group
        return self.add_argument_group(title)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._words = list(args or [])
        self._check_first_option(self._words)
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = guess(self.prog, unknown[0].partition("=")[0], self._option_string_actions)
            hint = hint or self._list_hint(unknown[0], self._words)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return known, unknown

    def _check_first_option(self, args: Sequence[str]) -> None:
        """Report an option in place of an action, since its value would be parsed as the action."""
        if not args or args[0] in self._option_string_actions:
            return
        option = args[0].partition("=")[0]
        if option in guesses().get(self.prog, {}):
            self.error(f"unrecognized arguments: {option}{guess(self.prog, option)}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = action.choices
        if choices is None or value in choices:
            return
        allowed = ", ".join(choices)
        raise argparse.ArgumentError(
            action, f"invalid choice: {value!r} (use {allowed}){did_you_mean(value, choices)}"
        )

    def _get_value(self, action: argparse.Action, text: str) -> Any:
        try:
            return action.type(text) if callable(action.type) else text
        except ValueError as error:
            message = str(error)
            if action.type is int:
                message = f"{text!r} is not a whole number"
            elif action.type is float:
                message = f"{text!r} is not a number"
            raise argparse.ArgumentError(action, message) from None

    def _list_hint(self, word: str, args: Sequence[str]) -> str:
        """Return a hint to use commas if a word follows the first item of a list; else ""."""
        if word.startswith("-"):
            return ""
        for name in args:
            action = self._option_string_actions.get(name)
            if action is not None and "," in str(action.metavar):
                return f"; {name} takes a list with commas, as in {action.metavar}"
        return ""

    def _taken_hint(self) -> str:
        """Return which word an option with an optional value took, as in ``--json NAME``; else
        nothing.
        """
        for name, word in pairwise(self._words):
            action = self._option_string_actions.get(name)
            if action is not None and action.nargs == "?" and not word.startswith("-"):
                return f"; {name} took '{word}' as its {action.metavar}: write {name} last"
        return ""

    def error(self, message: str) -> NoReturn:
        if message.startswith("the following arguments are required"):
            message += self._taken_hint()
        self.exit(BAD_INPUT, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")
