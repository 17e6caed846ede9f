"""``hsd-viz predict``: what the latency law predicts on hardware that is not at hand."""

from __future__ import annotations

from hsd_viz.cli.shared import Html, Json
from hsd_viz.measure.predict.options import PredictOptions


def predict(
    *,
    options: PredictOptions,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Predict plain decoding, drafts and hierarchies on hardware that is not at hand."""
    from hsd_viz.measure.predict.api import run
    from hsd_viz.results.result import print_result

    return print_result(run(options), json=json_, html=html)
