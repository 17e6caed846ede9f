"""The function ``hsd.doctor``."""

from __future__ import annotations

from dataclasses import replace

from hsd_viz.measure.doctor.diagnosis import Diagnosis
from hsd_viz.measure.doctor.observe import observed_in, with_hardware
from hsd_viz.measure.doctor.options import DoctorOptions
from hsd_viz.measure.doctor.signs import COLLAPSES_IN_TIME
from hsd_viz.measure.doctor.verdict import diagnose
from hsd_viz.measure.doctor.what_if import BatchGain, predicted_batches
from hsd_viz.settings.keywords import keywords_from


@keywords_from(DoctorOptions)
def doctor(options: DoctorOptions) -> Diagnosis:
    """Diagnose why speculative decoding is not faster, and which settings to use.

    A record is a trace, or the path of a trace or of a record of another engine.

    Raises:
        UserError: for invalid input, or unless exactly one of record, stack and acceptance is
            given.
    """
    return run(options)


def run(options: DoctorOptions) -> Diagnosis:
    """Examine a run and return its diagnosis.

    Raises:
        UserError: if its evidence cannot be used, its figures contradict each other, or its
            hardware is unknown.
    """
    observed = observed_in(options)
    seen = observed.seen
    filled = None
    predicted: tuple[BatchGain, ...] = ()
    if options.hardware.is_given:
        filled = with_hardware(seen, options.hardware)
        batches = predicted_batches(seen, lambda unknown: with_hardware(unknown, options.hardware))
        predicted = tuple(batches)
    diagnosis = diagnose(seen, filled, observed.changes)
    return replace(
        diagnosis,
        remarks=observed.notes,
        model=observed.model,
        engine=observed.engine,
        batches=(*diagnosis.batches, *predicted),
    )


def below(diagnosis: Diagnosis, least: float) -> str:
    """Return why a health check at ``least`` fails; "": it passes.

    It fails if the whole interval of the speed-up is below ``least``, or the bound of a speed-up
    that was not observed, or if acceptance collapsed within the record.
    """
    for finding in diagnosis.findings:
        if finding.sign == COLLAPSES_IN_TIME:
            return finding.evidence
    if diagnosis.speedup.value is not None:
        _, high = diagnosis.speedup.ends or (None, diagnosis.speedup.value)
        if high < least:
            speedup = diagnosis.speedup.as_text("{:.2f}")
            return f"the speed-up is {speedup}, below {least:g}"
        return ""
    if diagnosis.at_most is not None and diagnosis.at_most < least:
        return f"the speed-up is at most {diagnosis.at_most:.2f}, below {least:g}"
    return ""
