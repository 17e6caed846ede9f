"""The acceptance given to a prediction: as numbers, as text, or from a profile or a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from hsd_viz.errors import UserError
from hsd_viz.measure.doctor.observe import observe
from hsd_viz.measure.doctor.profile import acceptance_of, edge_of, read_profile
from hsd_viz.measure.predict.assumed_acceptance import Given
from hsd_viz.measure.predict.options import PredictOptions
from hsd_viz.settings.spelling import spelled


def given_acceptance(options: PredictOptions) -> Mapping[str, Given] | Given | None:
    """Return the given acceptance by "draft > verifier", or one for all pairs; ``None``: not given.

    Raises:
        UserError: if a text, a profile or a record cannot be used.
    """
    if options.profile is not None:
        _check_one_draft(options.models)
        return edge_of(read_profile(Path(options.profile))["marginal_accept_rates"])
    if options.records is not None:
        _check_one_draft(options.models)
        return edge_of(acceptance_of(observe(Path(options.records)).seen))
    if not options.has_acceptance:
        return None
    if isinstance(options.acceptance, tuple | list):
        return _read(options.acceptance)
    return cast("Mapping[str, Given] | Given", options.acceptance)


def _read(texts: Sequence[str]) -> Mapping[str, float] | float:
    """Parse acceptances written as one number or as ``draft > verifier=0.7``."""
    try:
        if len(texts) == 1 and "=" not in texts[0]:
            return float(texts[0])
        rates: dict[str, float] = {}
        for text in texts:
            pair, rate = text.rsplit("=", 1)
            rates[" > ".join(map(str.strip, pair.split(">")))] = float(rate)
        return rates
    except ValueError:
        given = f"{spelled('acceptance')} {' '.join(texts)!r}"
        form = "use one number, or 'draft > verifier=0.7'"
        raise UserError(f"{given} is not readable: {form}") from None


def _check_one_draft(models: Sequence[str]) -> None:
    if len([name for name in models if name]) != 2:
        raise UserError(
            "a profile is of one draft model: name the target and that model in "
            f"{spelled('models')}"
        )
