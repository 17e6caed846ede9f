"""The samples of a file, collected by series while it is read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hsd_viz.errors import UserError
from hsd_viz.records.engines.registry import COMPLETIONS
from hsd_viz.records.file_context import Context
from hsd_viz.records.forms import Form
from hsd_viz.records.sample import Sample
from hsd_viz.records.series import Series


@dataclass(slots=True)
class Group:
    """The samples of one series so far.

    Attributes:
        form: the form of the records.
        single: whether each sample is one request.
        model: the served model; "": not named.
        method: the drafter, by its name in this package.
        draft_model: the model of the drafter.
        samples: the samples.
        remarks: remarks on the samples.
    """

    form: Form
    single: bool
    model: str
    method: str | None = None
    draft_model: str = ""
    samples: list[Sample] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Collected:
    """The samples of a file, by series.

    Attributes:
        context: the state of the file so far.
        groups: the series by engine, form and model.
        by_form: the number of records by the name of their form.
        refused: (line, reason) of damaged or impossible records.
    """

    context: Context = field(default_factory=Context)
    groups: dict[tuple[str, str, str], Group] = field(default_factory=dict)
    by_form: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[int, str]] = field(default_factory=list)

    def count(self, form: Form) -> None:
        """Count a record of a form, also if it has no sample."""
        self.by_form[form.name] += 1

    def refuse(self, line: int, error: UserError) -> None:
        """Store a damaged or impossible record with the reason."""
        self.refused.append((line, str(error)))

    def group(self, form: Form, model: str, single: bool = False) -> Group:
        """Return the group of a form and a model, created if necessary."""
        key = (form.engine, form.name, model)
        return self.groups.setdefault(key, Group(form, single, model))

    def keep(self, sample: Sample, form: Form, model: str, single: bool = False) -> None:
        """Add a sample to its series."""
        group = self.group(form, model, single)
        group.samples.append(sample)
        group.method = self.context.method or group.method
        group.draft_model = self.context.draft_model or group.draft_model

    def series(self) -> list[Series]:
        """Return the series that have figures of speculative decoding."""
        series = []
        for group in self.groups.values():
            samples = group.samples
            for completion in COMPLETIONS:
                if completion.applies_to(group.form):
                    samples = completion.complete(samples, self.context)
            if any(_has_figures(sample) for sample in samples):
                series.append(self._series(group, samples))
        return series

    def _series(self, group: Group, samples: list[Sample]) -> Series:
        form = group.form
        version = self.context.versions.get(form.engine)
        return Series(
            engine=form.engine,
            version=version or f"form seen in {form.seen_in}",
            form=form.name,
            samples=tuple(samples),
            single=group.single,
            model=group.model,
            method=group.method or self.context.method,
            draft_model=group.draft_model or self.context.draft_model,
            remarks=tuple(group.remarks),
        )


def _has_figures(sample: Sample) -> bool:
    return bool(sample.drafted or sample.length or sample.drafts)
