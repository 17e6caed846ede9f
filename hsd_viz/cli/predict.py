"""``hsd-viz predict``: what the latency law predicts on hardware that is not at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as A

from hsd_viz.disk import write_text
from hsd_viz.measure.predict.options import PredictOptions
from hsd_viz.settings.declare import CliOption, Setting


def predict(
    *,
    options: PredictOptions,
    json_: A[
        Path | None, Setting("write the whole prediction", CliOption("OUT", writes="file"))
    ] = None,
    html: A[
        Path | None, Setting("write a figure of the speed-ups", CliOption("OUT", writes="file"))
    ] = None,
) -> int:
    """Predict plain decoding, drafts and hierarchies on hardware that is not at hand."""
    from hsd_viz.measure.predict.api import predicted
    from hsd_viz.results.result import show

    prediction = predicted(options)
    if html is not None:
        from hsd_viz import figures

        figure = figures.prediction(prediction)
        write_text(html, figure.to_html(include_plotlyjs=True))
    return show(prediction, json=json_)
