"""A plan as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hsd_viz.bench.plan import Plan
from hsd_viz.terminal import table_lines
from hsd_viz.words import counted

#: Predicted rows that are shown even if they were not measured.
SHOWN = 12
_SENSITIVITIES = 3


def plan_table(found: Plan, data: dict[str, Any]) -> str:
    """Return the plan ``found`` and its report ``data`` as text: calibration, table, pick and its sensitivity."""
    lines = [_calibration(data), *_acceptance(data["calibration"]), ""]
    rows = data["hierarchies"]
    shown = [row for k, row in enumerate(rows) if k < SHOWN or row["measured_ms_per_token"] is not None]
    lines += table_lines([_head(found.models), *(_row(row, found.models) for row in shown)])
    lines += ["", f"predicted / measured on {data['measured_on']}" if data["measured_on"] else "predicted", ""]
    lines += ["pick by the law:", *(f"  {line}" for line in found.choice.explain().splitlines())]
    seed = data["affine"]
    if seed["stack"] != data["picked"]:
        ms = f"{seed['predicted_ms_per_token']:.4g} ms/token by the law"
        lines.append(f"  the affine form alone would pick {seed['stack']}: {ms}")
    lines += _sensitivities(data["doubts"])
    lines += _outcome(data)
    return "\n".join(lines)


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
    """Return the acceptance of examined tokens, with 95 % intervals."""
    parts = []
    for one in about["acceptance"]:
        rate = one["accepted"] / one["examined"]
        interval = f"[{one['low']:.2f}, {one['high']:.2f}]"
        parts.append(f"{one['draft']} by {one['verifier']} {rate:.2f} {interval} in {one['rounds']} rounds")
    return [f"acceptance: {'; '.join(parts)}"] if parts else []


def _ago(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def _head(models: Sequence[str]) -> list[str]:
    return ["stack", "ms/token", "error", "acceptance length", *(f"{name} forwards/token" for name in models)]


def _row(row: dict[str, Any], models: Sequence[str]) -> list[str]:
    forwards = [row["forwards_per_token"].get(name) for name in models]
    length = row["acceptance_length"]
    low_high = row["measured_ms_per_token_ci"]
    ms = _pair(row["predicted_ms_per_token"], row["measured_ms_per_token"], "{:.3f}")
    return [
        row["stack"],
        ms + (f" [{low_high[0]:.3f}, {low_high[1]:.3f}]" if low_high else ""),
        "" if row["error"] is None else f"{row['error']:+.1%}",
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
    errors = data["errors"]
    if errors is None:
        return []
    lines = [""]
    over = data["picked_over_best_measured"]
    if over is not None:
        fastest = data["best_measured"]
        lines.append(
            f"measured: {fastest} is the fastest"
            + ("" if fastest == data["picked"] else f", the pick is {over:.1%} slower")
        )
    for what, key in (
        ("ms/token", "ms_per_token"),
        ("ms/token without the machine's drift", "ms_per_token_without_drift"),
        ("ms/token at the costs of the measured decodes", "ms_per_token_at_measured_costs"),
        ("forwards/token", "forwards_per_token"),
    ):
        if errors[key]:
            lines.append(
                f"error of the law, {what}: median {errors[key]['median']:.1%}, worst {errors[key]['worst']:.1%}"
            )
    if errors["drift"]:
        lines.append(f"drift since the calibration, by plain decoding: {errors['drift'] - 1:+.1%}")
    return lines
