"""Answers from saved benchmark reports, and predictions for other hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hsd_viz import figures
from hsd_viz.errors import UserError
from hsd_viz.results.page import page
from hsd_viz.views.app.question import Answer, PageRequest, Part, choice, files_of
from hsd_viz.views.page_data import FIRST_REPORT, PREDICTED, saved_reports
from hsd_viz.views.view import figure_part

if TYPE_CHECKING:
    from hsd_viz.measure.shared_settings import Weights

#: Maximum number of digits of the number of GPUs.
MAX_DIGITS = 10


def prediction(request: PageRequest) -> Answer:
    """Predict the speed on other hardware."""
    from hsd_viz.latency.cards import GPUS
    from hsd_viz.latency.shapes import WEIGHTS
    from hsd_viz.measure.predict.api import predict

    usual = {
        "gpu": "H100 SXM",
        "models": next(iter(PREDICTED.values())),
        "weights": "bf16",
        "tp": 4,
    }
    gpu, models, weights, tp = (
        str(request.options.get(name) or value) for name, value in usual.items()
    )
    if models not in PREDICTED.values():
        raise UserError(f"unknown models {models!r}")
    if not tp.isascii() or not tp.isdecimal() or len(tp) > MAX_DIGITS:
        raise UserError(f"the number of GPUs is {tp!r:.40}: expected a whole number")
    plan = predict(
        gpu,
        models.split(","),
        tp=int(tp),
        weights=cast("Weights", weights),
        batch=(1, 4, 16, 64),
        context=(2048, 32768),
    )
    first = plan.rows[0]
    title = f"Settings of serving engines at batch {first.batch}, context {first.context:,}"
    named = {title: plan.settings}
    # The figure has the answers.
    html = page(f"Prediction for {plan.gpu}", plan.conditions(), plan.tables(), facts=named)
    menus = [
        choice("gpu", "GPU", GPUS, gpu),
        choice("models", "Models", PREDICTED.items(), models),
        choice("weights", "Weights", WEIGHTS, weights),
        choice("tp", "GPUs per model", (1, 2, 4, 8), tp),
    ]
    shown = {
        "kind": "page",
        "title": "All batches, engine settings, assumptions",
        "html": html,
        "folded": True,
    }
    titles = {value: title for title, value in PREDICTED.items()}
    drawn = figures.prediction(plan, models=titles[models])
    return {"choices": menus, "parts": [figure_part(drawn), shown]}


def report(request: PageRequest) -> Answer:
    """Show a saved report or that of an opened file: its verdict, and the full report folded."""
    from hsd_viz.measure.bench.report import read_report
    from hsd_viz.measure.bench.result import BenchResult
    from hsd_viz.measure.bench.sentences import answer

    paths = saved_reports()
    menu = [(title, path.name) for title, path in paths.items()]
    if request.files:
        (name, content), *_ = request.files
        chosen = ""
        menu = [*menu, ("opened file", "")]
    else:
        by_name = {path.name: path for path in paths.values()}
        first = FIRST_REPORT if FIRST_REPORT in by_name else next(iter(by_name), "")
        name = chosen = str(request.options.get("name") or first)
        if name not in by_name:
            raise UserError("no saved report has this name: open a file of hsd-viz bench --json")
        content = by_name[name].read_bytes()
    bench = read_report(content, name)
    result = BenchResult(bench)
    whole = {
        "kind": "page",
        "title": "All stacks, categories, latencies and settings",
        "html": result.to_html(has_chart=False),
        "folded": True,
    }
    headline = "".join(words for words, _ in answer(bench))
    parts: list[Part] = [{"kind": "text", "text": headline}] if headline else []
    return {
        "choices": [choice("name", "Report", menu, chosen)],
        "parts": [*parts, figure_part(figures.speedup(bench)), whole],
        "files": files_of("report", bench, result.to_html()),
    }
