"""The compiled runtime as functions of Python, by the declarations of
:mod:`hsd_viz.native.interface`.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.native.interface import functions


class Library(ctypes.CDLL):
    """The compiled runtime: every declared function is an attribute of it or of :attr:`quick`. One
    that fails raises ``UserError`` or ``MemoryError``.

    Args:
        path: of the compiled file.

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
        """Return the result of a function that returns ``failure`` when it fails."""
        if result != failure:
            return result
        reason = self.hsd_error().decode()
        if reason == "memory":
            raise MemoryError("there is too little memory for the native runtime")
        raise UserError(reason)
