"""The folded part of the run form: chat template, target model and databases."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import ipywidgets as widgets

from hsd_viz.stack import Model, Stack
from hsd_viz.views.blocks import OTHER_MODELS, allowed

TARGET = "target"
#: Maximum characters of a name or a path.
MOST_PATH = 1_000


class Machine(NamedTuple):
    """Options of the engine; ``None``: its choice, and the shipped databases."""

    device: str | None = None
    dtype: str | None = None
    target: str = TARGET
    databases: str | None = None


#: The engine's choice of everything.
USUAL = Machine()


class More(widgets.VBox):
    """The fields. ``names`` are the allowed models (``None``: any); ``loads``: the page loads its own models."""

    def __init__(self, names: Sequence[str] | None, loads: bool) -> None:
        self._names = names
        self.chat = widgets.Checkbox(description="Chat: format the prompt by the target's chat template", indent=False)
        ladder = ", ".join(names) if names is not None else "a ladder name, hub id or path"
        self.target = widgets.Text(TARGET, description=f"Target model ({ladder})")
        only = "" if names is None else ", with --allow-models"
        words = f"Folder of databases (empty: shipped{only})"
        self.databases = widgets.Text("", description=words, placeholder="made by hsd-viz databases build")
        for field in (self.target, self.databases):
            field.continuous_update = False
            field.add_class("hsd-code")
        self.fold = widgets.ToggleButton(False, description="More settings", tooltip="Chat template, target, databases")
        self.fold.add_class("hsd-quiet")
        fields = [self.chat, *((self.target, self.databases) if loads else ())]
        if loads and find_spec("torch") is None:
            fields.append(
                widgets.Label("Hugging Face models: run make dashboard MODELS=1, or pip install 'hsd-viz[models]'.")
            )
        self.fields = widgets.VBox(fields)
        self.fields.add_class("hsd-more")
        super().__init__([self.fold, self.fields])
        self.fold.observe(lambda _change: self._show(), "value")
        self._show()

    def _show(self) -> None:
        self.fields.layout.display = None if self.fold.value else "none"

    def machine(self, device: str | None, dtype: str | None) -> Machine:
        """Return the options of the engine. Raises: ValueError: if one is not allowed on this page."""
        target, folder = self.target.value.strip() or TARGET, self.databases.value.strip()
        allowed(Stack(None, (Model(target, None),)), self._names)
        if folder and self._names is not None:
            raise ValueError(f"other databases than the shipped ones are not allowed on this page: they {OTHER_MODELS}")
        return Machine(device, dtype, target, folder or None)

    def state(self) -> dict[str, Any]:
        """Return the fields, to store them."""
        return {"chat": self.chat.value, "target": self.target.value, "databases": self.databases.value}

    def restore(self, state: dict[str, Any]) -> None:
        """Set the fields that ``state`` has, and unfold those that are set."""
        if isinstance(state.get("chat"), bool):
            self.chat.value = state["chat"]
        for name in ("target", "databases"):
            if isinstance(state.get(name), str):
                getattr(self, name).value = state[name][:MOST_PATH]
        if self.state() != {"chat": False, "target": TARGET, "databases": ""}:
            self.fold.value = True
