"""Access control: the models, tokenizers and databases that a request may name.

Each name in a request is checked by :meth:`Access.check` before any file or the model hub is read.
The answer does not depend on which files exist, so that it does not reveal the files of a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hsd_viz.errors import Unsupported
from hsd_viz.models.families import CODE
from hsd_viz.names.hints import did_you_mean
from hsd_viz.stack import parse

Kind = Literal["model", "tokenizer", "databases"]


def model_outside(stack: str, offered: Sequence[str]) -> str | None:
    """Return the first model of a stack that is not offered; ``None`` if all are.

    Raises:
        StackError: if the stack is not valid.
    """
    for model in parse(stack).models:
        if model.name not in offered:
            return model.name
    return None


@dataclass(frozen=True, slots=True)
class Access:
    """The names that a request may use.

    Attributes:
        models: the names of the offered models and tokenizers; ``None`` also allows hub ids, paths
            and folders of databases.
    """

    models: tuple[str, ...] | None

    @classmethod
    def of(cls, allow_models: bool, names: tuple[str, ...] = CODE.names) -> Access:
        """Return access to any model and file if ``allow_models``, else only to ``names``."""
        return cls(None if allow_models else names)

    def check(self, kind: Kind, name: str) -> str:
        """Check that a name is allowed, and return it.

        Raises:
            Unsupported: if the name is not allowed.
        """
        if self.models is None:
            return name
        if kind == "databases":
            raise Unsupported(
                "other databases than the shipped ones are not allowed: "
                "use `hsd-viz dashboard --allow-models`"
            )
        if name not in self.models:
            hint = did_you_mean(name, self.models)
            raise Unsupported(
                f"the {kind} {name[:80]!r} is not allowed here: use {', '.join(self.models)}{hint}"
            )
        return name
