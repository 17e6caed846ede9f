"""Load the compiled runtime, with the functions that :mod:`hsd_viz.native.interface` declares."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.native.interface import functions


class Library(ctypes.CDLL):
    """The compiled runtime. Each declared function is an attribute of it or of :attr:`quick`.

    A function that fails raises ``UserError`` or ``MemoryError``.

    Args:
        path: the path of the compiled library.

    Attributes:
        quick: the functions that are called without releasing Python's lock.

    Raises:
        OSError: if the file cannot be loaded.
        AttributeError: if a function is missing.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.quick = ctypes.PyDLL(self._name, handle=self._handle)
        for declared in functions().values():
            function = getattr(self.quick if declared.quick else self, declared.name)
            function.restype = declared.result.ctype
            function.argtypes = [kind.ctype for kind in declared.arguments.values()]
            if declared.can_fail:
                function.errcheck = partial(self._checked, declared.failure)

    def _checked(self, failure: int | None, result: Any, *_: Any) -> Any:
        """Return the result of a function, or raise its error if the result is ``failure``."""
        if result != failure:
            return result
        reason = self.hsd_error().decode()
        if reason == "memory":
            raise MemoryError("there is too little memory for the native runtime")
        raise UserError(reason)
