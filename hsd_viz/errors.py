"""Errors that are the user's: input that cannot be used.

Only these become one line and exit code 2. Any other exception is a fault of this package and is
reported as one.
"""

from __future__ import annotations


class UserError(ValueError):
    """Input that cannot be used. The message is one line: what was wrong, and what is allowed."""


class BadFile(UserError):
    """A file whose content cannot be used, or that cannot be read."""


class MissingPackage(UserError):
    """An optional package is not installed; the message contains the command that installs it."""


class Unsupported(UserError):
    """A valid input of a form that this package does not handle; the message gives the reason."""
