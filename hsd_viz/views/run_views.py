"""Linked views of one run, drawn in the browser: staircase, access patterns, rounds, timeline."""

from __future__ import annotations

from collections import Counter
from functools import cache

import traitlets

from hsd_viz.engine.replay import SIDE_BY_SIDE, TRACES, bundled, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views.doors import Given
from hsd_viz.views.linked import LinkedView


class Access(LinkedView):
    """Show a lane for each database or baseline that drafted, and a column for each target round.

    ``Access(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their cursor.
    Drafted and accepted tokens are counted at the first verifier. The lowest lane is the context length in tokens.
    """

    view = traitlets.Unicode("access").tag(sync=True)


class ChartMark(LinkedView):
    """Mark the cursor's round in the first plotly chart of the enclosing ``hsd-charts`` box.

    The chart's first trace must have one point per target round, at x = 1, 2, 3, … Hover previews a round, a click pins
    it. The mark follows the cursor in the browser without redrawing the chart.
    """

    view = traitlets.Unicode("chart_mark").tag(sync=True)


class Staircase(LinkedView):
    """Show a run as a staircase: time across, tokens up, with buttons to step and play.

    A tread is what a round cost, a riser what it brought, coloured by source; the slope is the speed. The ramp behind
    it is plain decoding, where that was measured beside the run. Dragging, stepping and playing move the group's cursor
    and dim the text after it until Esc. ``Staircase(group=stream.group)`` plays the trace of a token stream; nothing is
    decoded. A run without times (imported from another engine) has rounds of one width.
    """

    view = traitlets.Unicode("staircase").tag(sync=True)


class Drafter(LinkedView):
    """Let the visitor propose the next tokens of a run; its recorded target verifies them.

    A proposal is compared with the tokens that the target drew, which is exact for greedy decoding and for point-mass
    drafts: the text is the run's for any proposal. A staircase over target passes compares the visitor with the run,
    with plain decoding, and with ``others``: the shipped recordings of the same prompt.
    """

    view = traitlets.Unicode("drafter").tag(sync=True)
    others = traitlets.List(traitlets.Dict()).tag(sync=True)

    def show(self, trace: Given) -> None:
        """Show a whole trace in all views of the group, with its others."""
        super().show(trace)
        self.race(self._shown)

    def race(self, trace: Trace | None) -> None:
        """Set ``others`` to the shipped recordings of a trace's prompt and temperature."""
        key = trace and _race_of(trace)
        found = {stack: counts for of, stack, counts in _recorded_rounds() if of == key}
        self.others = [{"name": stack, "counts": counts} for stack, counts in found.items()]


def _race_of(trace: Trace) -> tuple[str, float]:
    """Return what runs have in common that can race: prompt and temperature."""
    return trace.meta.get("prompt", ""), (trace.meta.get("sampling") or {}).get("temperature", 0.0)


@cache
def _recorded_rounds() -> list[tuple[tuple[str, float], str, list[int]]]:
    """Return prompt and temperature, stack, and tokens of each target round of the shipped recordings."""
    rounds = []
    for folder in (TRACES, SIDE_BY_SIDE / "greedy", SIDE_BY_SIDE / "sampled"):
        for recording in bundled(folder):
            trace = load_bundled(recording.name, folder)
            counts = Counter(token.round for token in trace.token_rows)
            if trace.meta["stack"] != "target":
                rounds.append((_race_of(trace), trace.meta["stack"], [counts[k] for k in sorted(counts)]))
    return rounds


class RoundInspector(LinkedView):
    """Show one round as a scene: drafts rise through the levels, each stops the tokens that it rejects.

    ``RoundInspector(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their
    cursor. Each level is a floor; *Play round* replays it slowly by the recorded times. Below are the selected token's
    numbers, the computation of each verdict, and p and q of its position as a dart board. Arrow keys move between
    tokens, Enter pins, Esc unpins.
    """

    view = traitlets.Unicode("scene").tag(sync=True)


class Rounds(LinkedView):
    """Show all rounds on one strip, with a filter, and the sums of selected rounds beside those of the run.

    ``Rounds(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their cursor.
    Dragging over the strip selects rounds (``view.selection`` has their tokens); Shift + arrow keys then go through the
    rounds that the filter keeps.
    """

    view = traitlets.Unicode("rounds").tag(sync=True)


class Timeline(LinkedView):
    """Show lanes of calls for levels and databases, with recorded times.

    ``Timeline(trace)`` works alone; linked to other views (:func:`hsd_viz.views.linked.link`) it shares their cursor,
    and a click on a bar moves it to the bar's round. Drag, Page Up and Page Down pan; plus, minus and Ctrl + wheel
    zoom. A lane's *share* is its calls' time over the time of the whole decode, prefill included.
    """

    view = traitlets.Unicode("timeline").tag(sync=True)
