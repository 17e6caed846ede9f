"""Compiled models that verify greedy drafts on the device, without a decode on the device.

A verification then takes the same time as in :class:`~hsd_viz.torch_models.device_loop.DeviceLoop`,
because no row is copied to the host. Calibrations time these sessions, and stacks with models of
several runtimes use them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import UniformNumbers
from hsd_viz.decoding.verdict import RecordOptions, Verdict
from hsd_viz.torch_models import layout
from hsd_viz.torch_models.cache import StaticCache
from hsd_viz.torch_models.compiled import CompiledModel, CompiledSession
from hsd_viz.torch_models.layout import StackPlan
from hsd_viz.torch_models.read_verdicts import read_line, verdict_of
from hsd_viz.torch_models.sampling import Shaping
from hsd_viz.torch_models.steps import DeviceStep, board_for

#: The number of places for draft tokens; larger drafts get more.
_PLACES = 31


class DeviceModel(CompiledModel):
    """A :class:`~hsd_viz.torch_models.compiled.CompiledModel` that verifies on the device."""

    def open(self, cache: StaticCache) -> DeviceSession:
        return DeviceSession(self, cache)


class DeviceSession(CompiledSession):
    """A sequence of a :class:`DeviceModel`."""

    @torch.no_grad()
    def verify(
        self,
        pending: Sequence[int],
        draft: Draft,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        record: RecordOptions,
    ) -> Verdict:
        if not sampling.greedy or record.details or record.observe:
            return super().verify(pending, draft, sampling, numbers, record)
        tree = draft.tree
        n = len(tree)
        cached = self.length
        end = cached + len(pending)
        plan = self._plan(n)
        places = plan.places_for(1, n)
        step = DeviceStep(level=1, width=len(pending) + places, drafts=False, places=places)
        self.reserve(cached + self.model.width_for(step.width))
        used = board_for(plan, [self.model], [self.cache], 0)
        used.send([*pending, *tree.tokens], used.state.text, cached)
        if n:
            used.send(tree.parents, used.state.parents)
        values = {
            layout.END: end + n,
            layout.LIMIT: end + n + 1,
            layout.PROMPT: end,
            layout.base_mark(plan, 0): end,
        }
        used.send(layout.integers(plan, values, [0, cached]), used.state.marks)
        used.run(step)
        line = read_line(used.read(1)[0], places)
        self.length = end + n
        return verdict_of(plan, 1, line, places, tree.parents)

    def _plan(self, n: int) -> StackPlan:
        """Return the plan of a stack of this model over a drafter of at most ``n`` tokens."""
        return StackPlan(
            lookaheads=(0,),
            drafter=max(_PLACES, (1 << n.bit_length()) - 1),
            shaping=Shaping.of(Sampling(), self.model.vocab_size),
            rule="token",
            details=0,
            observe=0,
            warm=False,
        )
