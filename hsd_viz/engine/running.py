"""``run`` of every engine: one prompt or several, decoded to the end. No torch."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from hsd_viz.terminal import progress_bar
from hsd_viz.trace import Finished, Trace
from hsd_viz.words import did_you_mean

#: Characters of a prompt in the progress bar.
_SHOWN = 32


def options_of(decode: Callable) -> Callable[[Callable], Callable]:
    """Give a function the keyword-only options of ``decode`` in place of its ``**options``.

    Help and completion list them, and any other option is a TypeError that names them.
    """
    options = [p for p in inspect.signature(decode).parameters.values() if p.kind is p.KEYWORD_ONLY]

    def decorate(function: Callable) -> Callable:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        parameters = [*own, *(o for o in options if o.name not in signature.parameters)]
        names = [p.name for p in parameters if p.name != "self"]

        @functools.wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            if unknown := next((name for name in given if name not in names), None):
                hint = did_you_mean(unknown, names)
                raise TypeError(f"{function.__name__}() has no option '{unknown}' (use {', '.join(names)}){hint}")
            return function(*args, **given)

        checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return checked

    return decorate


def run_to_end(engine: Any, prompt: Any, stack: Any, options: dict[str, Any]) -> Any:
    """Return the trace of a prompt, or with a progress bar the list of traces of a list of prompts.

    A prompt is text or a list of token ids; so a list that does not begin with an integer is a list of prompts.
    """
    if not isinstance(prompt, list | tuple) or not prompt or isinstance(prompt[0], int):
        return _run(engine, prompt, stack, options)
    traces = []
    with progress_bar() as update:
        for n, one in enumerate(prompt):
            update(n, len(prompt), " ".join(one.split())[:_SHOWN] if isinstance(one, str) else "token ids")
            traces.append(_run(engine, one, stack, options))
        update(len(prompt), len(prompt), "")
    return traces


def _run(engine: Any, prompt: Any, stack: Any, options: dict[str, Any]) -> Trace:
    for event in engine.decode(prompt, stack, **options):
        if isinstance(event, Finished):
            return event.trace
    raise AssertionError("a decode that is not closed ends with Finished")
