"""A plan as JSON data and as text."""

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from hsd_viz.bench.plan import MeasuredStack, Plan
from hsd_viz.calibration.calibrate import TARGET
from hsd_viz.intervals import LEAST
from hsd_viz.latency.law import Prediction
from hsd_viz.stack import parse
from hsd_viz.tables import Cell, Table, Value, page
from hsd_viz.terminal import plain
from hsd_viz.words import counted

#: Predicted rows that are shown even if they were not measured.
SHOWN = 12
_SENSITIVITIES = 3
_ERRORS = {
    "ms/token": "ms_per_token",
    "ms/token without the machine's drift": "ms_per_token_without_drift",
    "forwards/token": "forwards_per_token",
}


def report(found: Plan, machine: dict[str, Any]) -> dict[str, Any]:
    """Return the plan as JSON data, with its calibration."""
    choice, stored = found.choice, found.stored
    rows = [_row_data(prediction, measured) for prediction, measured in found.rows]
    measured = [row for row in rows if row["measured_ms_per_token"] is not None]
    best = min(measured, key=lambda row: row["measured_ms_per_token"], default=None)
    picked = next((row for row in measured if row["stack"] == choice.picked.stack), None)
    over = None if picked is None else picked["measured_ms_per_token"] / best["measured_ms_per_token"] - 1
    return {
        "machine": machine,
        "models": list(found.models),
        "hierarchies": rows,
        "picked": choice.picked.stack,
        "best_single_draft": None if choice.best_single_draft is None else choice.best_single_draft.stack,
        "kind": choice.kind,
        "shortest_path": {
            "stack": choice.shortest.stack,
            "predicted_ms_per_token": choice.shortest.ms_per_token,
        },
        "best_measured": None if best is None else best["stack"],
        "picked_over_best_measured": over,
        "measured_on": found.measured_on if measured else None,
        "errors": _errors(rows),
        "doubts": [asdict(s) for s in found.sensitivities],
        "calibration": {
            "kept": found.was_stored,
            "age_seconds": stored.age(),
            "seconds": stored.seconds,
            "identity": dict(stored.identity),
            "texts": dict(stored.texts),
            "acceptance": [asdict(a) for a in stored.acceptance],
            "looked_up": dict(stored.lookups),
            "forwards": dict(stored.forwards),
            **stored.calibration.to_dict(),
        },
        "complete": found.complete,
    }


def _row_data(prediction: Prediction, measured: MeasuredStack | None) -> dict[str, Any]:
    bottom = parse(prediction.stack).bottom
    levels = dict(zip(prediction.names, prediction.forwards_per_token, strict=True))
    asked = {str(bottom): levels.pop(str(bottom))} if bottom is not None else {}
    ms, length, calls, looked = None, None, {}, None
    if measured is not None:
        ms, length, calls = measured.ms_per_token, measured.acceptance_length, measured.calls_per_token
        looked = calls.get(bottom.name, 0.0) if bottom is not None else 0.0
    return {
        "stack": prediction.stack,
        "predicted_ms_per_token": prediction.ms_per_token,
        "measured_ms_per_token": ms,
        "measured_ms_per_token_ci": None if measured is None else list(measured.interval),
        "error": None if ms is None else prediction.ms_per_token / ms - 1,
        "forwards_per_token": {name: {"predicted": n, "measured": calls.get(name)} for name, n in levels.items()},
        "lookups_per_token": {name: {"predicted": n, "measured": looked} for name, n in asked.items()},
        "acceptance_length": {"predicted": prediction.acceptance_length, "measured": length},
    }


def _errors(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return relative errors of the predictions: raw, and without the machine's drift since the calibration. The drift
    is that of plain decoding, whose prediction is only the cost of a forward pass.
    """
    done = [row for row in rows if row["measured_ms_per_token"] is not None]
    if not done:
        return None
    plain = next((row for row in done if row["stack"] == TARGET), None)
    drift = None if plain is None else plain["measured_ms_per_token"] / plain["predicted_ms_per_token"]
    counts = [
        n["predicted"] / n["measured"] - 1
        for row in done
        if row["stack"] != TARGET
        for n in row["forwards_per_token"].values()
        if n["measured"]
    ]
    spread = lambda values: {"median": median(map(abs, values)), "worst": max(map(abs, values))} if values else None
    undrifted = [(1 + row["error"]) * drift - 1 for row in done if row is not plain] if drift else []
    return {
        "drift": drift,
        "ms_per_token": spread([row["error"] for row in done]),
        "ms_per_token_without_drift": spread(undrifted),
        "forwards_per_token": spread(counts),
    }


def plan_table(found: Plan, data: dict[str, Any]) -> str:
    """Return the plan ``found`` and its report ``data`` as text: calibration, table, pick and its sensitivity."""
    before, table, after = _parts(found, data)
    return plain([*before, "", table, "", table.note, "", *after])


def plan_page(found: Plan, data: dict[str, Any]) -> str:
    """Return the same as a page."""
    before, table, after = _parts(found, data)
    lines = [*(line.strip() for line in after if line), *before]
    return page("The fastest hierarchy on this machine", lines, [table], command=data.get("command", ""))


def _parts(found: Plan, data: dict[str, Any]) -> tuple[list[str], Table, list[str]]:
    """Return the lines about the calibration, the table of stacks, and the lines about the pick."""
    shown = [row for k, row in enumerate(data["hierarchies"]) if k < SHOWN or row["measured_ms_per_token"] is not None]
    sure = int(found.measured_on.split(" ")[0]) >= LEAST
    head = ["stack", "ms/token", "error", "acceptance length", *(f"{name} forwards/token" for name in found.models)]
    rows = [head, *(_row(row, found.models, sure) for row in shown)]
    note = f"predicted / measured on {data['measured_on']}" if data["measured_on"] else "predicted"
    lines = ["pick by the law:", *(f"  {line}" for line in found.choice.explain().splitlines())]
    seed = data["shortest_path"]
    if seed["stack"] != data["picked"]:
        ms = f"{seed['predicted_ms_per_token']:.4g} ms/token by the law"
        lines.append(f"  the polynomial selection alone would pick {seed['stack']}: {ms}")
    after = [*lines, *_sensitivities(data["doubts"]), *_outcome(data)]
    table = Table("Stacks", rows, note, forms={"error": ("{:+.1%}", 1.0)})
    return [_calibration(data), *_acceptance(data["calibration"])], table, after


def _calibration(data: dict[str, Any]) -> str:
    about, texts = data["calibration"], data["calibration"]["texts"]
    who = about["identity"]
    sampling, how = who["sampling"], "greedy"
    if sampling.get("temperature"):
        how = f"temperature {sampling['temperature']:g}, {sampling.get('rule', 'token')} verification"
    age = f"stored {_ago(about['age_seconds'])}" if about["kept"] else f"measured in {about['seconds']:.0f} s"
    runtimes = " + ".join(dict.fromkeys(runtime for _, runtime in who["models"].values() if runtime))
    threads = counted(who["threads"], "thread")
    where = [who["device_name"], threads, who["dtype"], runtimes or "unknown runtime", how]
    where += ["processor time"] if texts.get("clock") == "processor" else []
    what = f"{texts['prompts']} prompts of {texts['suite']}, {texts['max_new_tokens']} tokens each"
    return f"calibration: {what}, {age}; {', '.join(where)}"


def _acceptance(about: dict[str, Any]) -> list[str]:
    """Return the acceptance of examined tokens, with 95 % intervals from :data:`LEAST` prompts."""
    sure = about["texts"]["prompts"] >= LEAST
    parts = []
    for one in about["acceptance"]:
        rate = one["accepted"] / one["examined"]
        interval = f" [{one['low']:.2f}, {one['high']:.2f}]" if sure else ""
        parts.append(f"{one['draft']} by {one['verifier']} {rate:.2f}{interval} in {one['rounds']} rounds")
    return [f"acceptance: {'; '.join(parts)}"] if parts else []


def _ago(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def _row(row: dict[str, Any], models: Sequence[str], sure: bool) -> list[Value]:
    forwards = [row["forwards_per_token"].get(name) for name in models]
    length, ends = row["acceptance_length"], row["measured_ms_per_token_ci"] if sure else None
    ms = _pair(row["predicted_ms_per_token"], row["measured_ms_per_token"], "{:.3f}")
    return [
        row["stack"],
        Cell(ms, f"[{ends[0]:.3f}, {ends[1]:.3f}]" if ends else ""),
        "" if row["error"] is None else row["error"],
        _pair(length["predicted"], length["measured"], "{:.2f}"),
        *("" if n is None else _pair(n["predicted"], n["measured"], "{:.3f}") for n in forwards),
    ]


def _pair(predicted: float, measured: float | None, form: str) -> str:
    return form.format(predicted) + ("" if measured is None else f" / {form.format(measured)}")


def _sensitivities(found: Sequence[dict[str, Any]]) -> list[str]:
    heavy = [d for d in found if d["regret"] > 0][:_SENSITIVITIES]
    if not heavy:
        return ["  the pick does not change if any one acceptance is off by 0.05 or any one cost by 20 %"]
    return [f"  with {d['what']}: {d['picked']} would be {d['regret']:.1%} faster" for d in heavy]


def _outcome(data: dict[str, Any]) -> list[str]:
    errors, over = data["errors"], data["picked_over_best_measured"]
    if errors is None:
        return []
    lines = [""]
    if over is not None:
        slower = "" if data["best_measured"] == data["picked"] else f", the pick is {over:.1%} slower"
        lines.append(f"measured: {data['best_measured']} is the fastest{slower}")
    for what, key in _ERRORS.items():
        if found := errors[key]:
            lines.append(f"error of the law, {what}: median {found['median']:.1%}, worst {found['worst']:.1%}")
    if errors["drift"]:
        lines.append(f"drift since the calibration, by plain decoding: {errors['drift'] - 1:+.1%}")
    return lines
