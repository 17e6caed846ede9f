"""The run form: prompt, stack, sampling and device. Reads and checks its fields; independent of engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
import traitlets

from hsd_viz.stack import parse
from hsd_viz.trace.tables import DEFAULT_RULE, RULES
from hsd_viz.views.blocks import StackBlocks, allowed
from hsd_viz.views.more import USUAL, Machine, More
from hsd_viz.views.number_field import NumberField, written
from hsd_viz.views.presets import PROMPTS, STACKS, TEMPERATURE

MAX_PROMPT = 20_000
MAX_NEW_TOKENS = 2_000
#: The number fields in order, and the maximum characters of a restored one.
NUMBERS, MOST_NUMBER = ("temperature", "seed", "top_k", "top_p", "length"), 100
#: The menu entry for a run decoded on this page: value and title.
LIVE, LIVE_TITLE = "decoded here", "Run decoded here"
#: Shown while the temperature is 0.
GREEDY = (
    "Greedy decoding: small models then repeat themselves, and repetitions are easy to draft. Speed-ups are those of a "
    "loop, not of typical text."
)


@dataclass(frozen=True, slots=True)
class Request:
    """The form's values. ``options`` are keyword arguments of ``Engine.decode``, ``machine`` those of the engine.

    ``beside_plain``: also run plain decoding, to measure the speed-up.
    """

    prompt: str
    stack: str
    options: dict[str, Any]
    machine: Machine = USUAL
    beside_plain: bool = False


class Prose(widgets.Label):
    """A muted line of plain text (never markup), hidden while empty."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.add_class("hsd-blurb")
        self.observe(self._fit, "value")
        self._fit(None)

    def _fit(self, _change: Any) -> None:
        self.layout.display = None if self.value else "none"


class Controls(widgets.VBox):
    """Prompt, stack, sampling, device and buttons; ``picker``, placed elsewhere on the page, selects a recording.

    ``recordings`` are (title, name), none selected at first; ``names`` the allowed model names (``None``: any),
    ``offered`` those in the block editor if any is allowed. If nothing can be decoded (``live`` is false), the form is
    empty and the picker gives the reason.
    """

    def __init__(
        self,
        recordings: Sequence[tuple[str, str]],
        names: Sequence[str] | None,
        live: bool,
        offered: Sequence[str] = (),
        loads: bool = True,
    ) -> None:
        self._names = names
        self.recording = widgets.Dropdown(options=recordings, value=None, description="Recording")
        self.replay = _button(
            "Replay", "Replay the recording at its recorded speed, slower if it is short", "hsd-quiet"
        )
        prompts = [*((p.title, i) for i, p in enumerate(PROMPTS)), ("custom", -1)]
        self.preset = widgets.Dropdown(options=prompts, value=0, description="Prompt preset")
        self.blurb = Prose(PROMPTS[0].blurb)
        self.prompt = widgets.Textarea(PROMPTS[0].prompt, description="Prompt", rows=8, continuous_update=True)
        self.prompt.add_class("hsd-code")
        options = [*((f"{stack}  ({words})", stack) for stack, words in STACKS), ("custom", "")]
        self.stacks = widgets.Dropdown(options=options, value=STACKS[0][0], description="Stack preset")
        self.stack = widgets.Text(STACKS[0][0], description="Stack", continuous_update=False)
        self.stack.add_class("hsd-code")
        self.blocks = StackBlocks(self.stack.value, names, offered)
        traitlets.link((self.stack, "value"), (self.blocks, "text"))
        self.temperature = NumberField("Temperature", TEMPERATURE, 0, 100)
        self.top_k = NumberField("Top-k (0: off)", 0, 0, 1_000_000, whole=True)
        self.top_p = NumberField("Top-p (1: off)", 1, 0.01, 1)
        self.seed = NumberField("Seed", 0, 0, 2**31 - 1, whole=True)
        self.rule = widgets.Dropdown(
            options=[(rule, rule) for rule in RULES], value=DEFAULT_RULE, description="Verification rule"
        )
        self.length = NumberField("New tokens", 128, 1, MAX_NEW_TOKENS, whole=True)
        self.numbers = tuple(getattr(self, name) for name in NUMBERS)
        self.device = widgets.Dropdown(options=[("automatic", ""), ("cpu", "cpu")], description="Device")
        dtypes = ("float32", "bfloat16", "float64")
        self.dtype = widgets.Dropdown(options=[("automatic", ""), *((d, d) for d in dtypes)], description="Number type")
        self.more = More(names, loads)
        self.beside = widgets.Checkbox(True, description="Measure speed-up over plain decoding", indent=False)
        self.run = _button("Run", "Decode the prompt with the stack (Ctrl+Enter)", "hsd-primary")
        self.cancel = _classes(_button("Cancel", "Stop after the current token", "hsd-quiet"), "hsd-cancel")
        self.undo = _button("Restore my prompt and settings", "Undo filling the form from a recording", "hsd-quiet")
        self.undo.layout.display = "none"
        #: The form as it was last filled, and as the user had written it before.
        self.filled: dict[str, Any] = {}
        self.own: dict[str, Any] | None = None
        self.lists = False
        self.greedy = Prose()
        self.picker: list[widgets.Widget] = self._pickers(live)
        super().__init__([_section("New run", self._form())] if live else [])
        _classes(self, "hsd-controls", "hsd-form")
        self.preset.observe(self._use_prompt, "value")
        self.prompt.observe(self._prompt_written, "value")
        self.stacks.observe(self._use_stack, "value")
        self.stack.observe(self._written, "value")
        self.temperature.observe(self._heated, "text")
        self.undo.on_click(self._undo)
        self.filled = self.state()
        self.busy(False)

    def _pickers(self, live: bool) -> list[widgets.Widget]:
        """Return the widgets that select a recording."""
        buttons = [self.replay] if live else [self.replay, self.cancel]
        row = _classes(widgets.Box([self.recording, *buttons]), "hsd-recordings", "hsd-form")
        missing = (
            "The package tokenizers is not installed: this page replays recordings. For live runs: pip install hsd-viz."
        )
        return [row] if live else [Prose(missing), row]

    def _form(self) -> list[widgets.Widget]:
        """Return the fields and buttons of a new run."""
        buttons = _classes(widgets.HBox([self.run, self.cancel]), "hsd-buttons")
        fields = [*self.numbers, self.rule, self.device, self.dtype]
        choices = [self.undo, self.preset, self.blurb, self.prompt, self.stacks, self.stack, self.blocks]
        return [*choices, buttons, self.beside, _grid(fields), self.greedy, self.more]

    def request(self) -> Request:
        """Return the form's values. Raises: ValueError: if a field is invalid."""
        self.check_stack()
        if len(self.prompt.value) > MAX_PROMPT:
            raise ValueError(f"the prompt has {len(self.prompt.value)} characters; the maximum is {MAX_PROMPT}")
        options = {
            "max_new_tokens": self.length.value,
            "temperature": self.temperature.value,
            "top_k": self.top_k.value,
            "top_p": self.top_p.value,
            "seed": self.seed.value,
            "rule": self.rule.value,
        }
        if self.more.chat.value:
            options["chat"] = True
        return Request(self.prompt.value, self.stack.value.strip(), options, self.machine(), self.beside.value)

    def machine(self) -> Machine:
        """Return the options of the engine. Raises: ValueError: if one is not allowed on this page."""
        return self.more.machine(self.device.value or None, self.dtype.value or None)

    def check_stack(self) -> None:
        """Check the stack. Raises: StackError: if it is invalid or names a model that is not allowed."""
        allowed(parse(self.stack.value), self._names)

    def busy(self, running: bool) -> None:
        """Enable or disable the buttons."""
        self.run.disabled = self.replay.disabled = self.recording.disabled = running
        self.cancel.disabled = not running
        if self.recording.value in (None, LIVE):
            self.replay.disabled = True

    @contextmanager
    def listing(self) -> Iterator[None]:
        """Set the options of ``recording``, which selects the first: ``lists`` is true meanwhile."""
        self.lists = True
        try:
            yield
        finally:
            self.lists = False

    def offer_cuda(self) -> None:
        """Offer the GPU."""
        if "cuda" not in [value for _, value in self.device.options]:
            chosen = self.device.value
            self.device.options = [("automatic", ""), ("cpu", "cpu"), ("cuda", "cuda")]
            self.device.value = chosen

    def state(self) -> dict[str, Any]:
        """Return the fields as text, to store them or to write an address."""
        return {
            "prompt": self.prompt.value,
            "stack": self.stack.value,
            **{name: getattr(self, name).text for name in NUMBERS},
            "rule": self.rule.value,
            "device": self.device.value,
            "dtype": self.dtype.value,
            "beside": self.beside.value,
            **self.more.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Set the fields that ``state`` has; values of another kind are ignored."""
        for name in ("prompt", "stack"):
            if isinstance(state.get(name), str):
                getattr(self, name).value = state[name][: MAX_PROMPT + 1]
        for name in NUMBERS:
            if isinstance(state.get(name), str):
                getattr(self, name).text = state[name][:MOST_NUMBER]
        for name in ("rule", "device", "dtype"):
            menu = getattr(self, name)
            if state.get(name) in [value for _, value in menu.options]:
                menu.value = state[name]
        if isinstance(state.get("beside"), bool):
            self.beside.value = state["beside"]
        self.more.restore(state)

    def remember(self, state: dict[str, Any], own: dict[str, Any] | None) -> None:
        """Restore a stored form, and the one that it replaced."""
        self.restore(state)
        self.own = own
        self._offer_undo()

    def fill(self, meta: dict[str, Any]) -> None:
        """Fill prompt, stack and sampling from a trace's meta; a form written by the user can be restored."""
        if self.written:
            self.own = self.state()
        self.restore(values_of(meta))
        self.filled = self.state()
        self._offer_undo()

    @property
    def written(self) -> bool:
        """Whether the user has changed the form since it was last filled."""
        return self.state() != self.filled

    def changed(self) -> dict[str, Any]:
        """Return the fields that the user has changed since the form was last filled."""
        return {name: value for name, value in self.state().items() if value != self.filled.get(name)}

    def _undo(self, _button: Any) -> None:
        if self.own is not None:
            self.restore(self.own)
            self.own = None
            self._offer_undo()

    def _offer_undo(self) -> None:
        self.undo.layout.display = "none" if self.own in (None, self.state()) else None

    def _use_prompt(self, _change: Any) -> None:
        if self.preset.value < 0:
            self.blurb.value = ""
            return
        preset = PROMPTS[self.preset.value]
        self.prompt.value, self.blurb.value = preset.prompt, preset.blurb

    def _prompt_written(self, _change: Any) -> None:
        self.preset.value = next((i for i, p in enumerate(PROMPTS) if p.prompt == self.prompt.value), -1)

    def _use_stack(self, _change: Any) -> None:
        if self.stacks.value:
            self.stack.value = self.stacks.value

    def _heated(self, _change: Any) -> None:
        greedy = not self.temperature.problem and self.temperature.value == 0
        self.greedy.value = GREEDY if greedy else ""

    def _written(self, _change: Any) -> None:
        known = [stack for stack, _ in STACKS]
        self.stacks.value = self.stack.value if self.stack.value in known else ""


def values_of(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a form that would decode a trace again, as :meth:`Controls.state`."""
    sampling = meta.get("sampling") or {}
    numbers = {
        "temperature": sampling.get("temperature", 0.0),
        "top_k": sampling.get("top_k", 0),
        "top_p": sampling.get("top_p", 1.0),
        "seed": sampling.get("seed", 0),
    }
    if length := meta.get("max_new_tokens"):
        numbers["length"] = min(MAX_NEW_TOKENS, length)
    texts = {name: written(number) for name, number in numbers.items()}
    stack = {"stack": str(meta["stack"])} if meta.get("stack") else {}
    form = {"prompt": str(meta.get("prompt", "")), "rule": sampling.get("rule", "token")}
    return {**form, "chat": bool(meta.get("chat")), **stack, **texts}


def _classes(widget: widgets.DOMWidget, *names: str) -> widgets.DOMWidget:
    for name in names:
        widget.add_class(name)
    return widget


def _button(text: str, tooltip: str, kind: str) -> widgets.Button:
    return _classes(widgets.Button(description=text, tooltip=tooltip), kind)


def _section(title: str, children: list[widgets.Widget]) -> widgets.VBox:
    heading = widgets.HTML(f"<h2>{title}</h2>")
    return _classes(widgets.VBox([_classes(heading, "hsd-heading"), *children]), "hsd-section")


def _grid(children: list[widgets.Widget]) -> widgets.Box:
    return _classes(widgets.Box(children), "hsd-fields")
