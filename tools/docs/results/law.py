"""Tables of what the latency law predicts and what rules and further levels of drafts bring."""

from __future__ import annotations

from hsd_viz.stack import PLAIN
from hsd_viz.text import counted
from tools.docs.results.files import TEMPERATURES, figure, read, table, texts
from training.evaluation import markdown


def law(plans: str = "plan") -> str:
    """Return the errors of the law's predictions and how its selection compares, by temperature.

    Args:
        plans: how the names of the files begin.
    """
    head = [
        "",
        "stacks measured",
        "error of ms per token: median",
        "worst",
        "without drift: median",
        "worst",
        "error of forward passes: median",
        "worst",
        "selected",
        "slower than the fastest measured",
    ]
    body = []
    names = []
    for title, part in TEMPERATURES:
        name = f"{plans}-{part}-cpu"
        names.append(name)
        plan = read(name)
        measured = sum(row["measured_ms_per_token"] is not None for row in plan["hierarchies"])
        line = [title, str(measured)]
        for quantity in ("ms_per_token", "ms_per_token_without_drift", "forwards_per_token"):
            line += texts("{:.1%}", plan["errors"][quantity], ("median", "worst"))
        line.append(f"`{plan['picked']}`")
        line.append(f"{plan['picked_over_best_measured']:.1%}")
        body.append(line)
    return table(head, body, *names)


def law_of_stops() -> str:
    """Return what the law predicts of drafts that stop when they are unsure, and what was
    measured.
    """
    name = "plan-stops-t07-cpu"
    head = [
        "stack",
        "ms per token: predicted",
        "measured",
        "acceptance length: predicted",
        "measured",
    ]
    body = []
    for row in read(name)["hierarchies"]:
        if "?" not in row["stack"] or row["measured_ms_per_token"] is None:
            continue
        lengths = row["acceptance_length"]
        body.append(
            [
                f"`{row['stack']}`",
                f"{row['predicted_ms_per_token']:.3f}",
                figure(row, "measured_ms_per_token", "{:.3f}"),
                f"{lengths['predicted']:.2f}",
                f"{lengths['measured']:.2f}",
            ]
        )
    return table(head, body, name)


def rules() -> str:
    """Return tokens per round under the verification rules, with the gain and the time of block
    and branch.
    """
    head = [
        "stack",
        "T",
        "level",
        "tokens per round: token",
        "block over token",
        "branch over token",
        "time per token: block over token",
        "branch over token",
    ]
    body = []
    for row in read("rules-cpu")["rows"]:
        line = [
            f"`{row['stack']}`",
            f"{row['temperature']:g}",
            str(row["level"]),
            f"{row['token_tokens_per_round']:.2f}",
        ]
        gain_and_time = {"gain": "{:+.1%}", "time": "{:.2f}"}
        for quantity, form in gain_and_time.items():
            for rule in ("block", "branch"):
                name = f"{rule}_{quantity}"
                line.append(figure(row, name, form) if name in row else "")
        body.append(line)
    return table(head, body, "rules-cpu")


def second_draft() -> str:
    """Return, for each target of the grids, the best hierarchy of models over the best single
    draft model.
    """
    head = [
        "",
        "target",
        "forward pass, ms",
        "best single draft",
        "best hierarchy of models",
        "speed-up over it",
        "best with a database",
        "speed-up over the single draft",
    ]
    body = []
    names = []
    for title, part in TEMPERATURES:
        name = f"grid-{part}-cpu"
        names.append(name)
        for point in read(name)["points"]:
            has_noise = "~" in point["target"]
            if has_noise:
                continue
            line = [
                title,
                f"`{point['target']}`",
                f"{point['ms_per_forward'][PLAIN]:.2f}",
                f"`{point['best_single_draft']}`",
            ]
            for kind in ("models_over_single_draft", "databases_over_single_draft"):
                best = point.get(kind) or {}
                line.append(f"`{best['hierarchy']}`" if best else "–")
                line.append(figure(best, "speedup"))
            body.append(line)
    return table(head, body, *names)


def designs() -> str:
    """Return what designs of a draft model for SmolLM2 learn in the same time, and what it brings
    by the law.
    """
    comparison = read("draft-designs")
    head = [
        "design",
        "overlap",
        "tokens learned from",
        "pass, of the target's",
        "speed-up by the law",
        "lookahead",
    ]
    body = []
    ranked = sorted(comparison["designs"].items(), key=lambda item: -item[1]["speedup"])
    for name, facts in ranked:
        body.append(
            [
                name,
                f"{facts['overlap']:.3f}",
                f"{facts['seen']:,}",
                f"{facts['cost']:.3f}",
                f"{facts['speedup']:.3f}",
                str(facts["lookahead"]),
            ]
        )
    machine = comparison["machine"]
    words = (
        f"{comparison['seconds']:.0f} seconds of processor time each, {machine['cpu']}, "
        f"{counted(machine['threads'], 'thread')}"
    )
    return (
        f"{markdown([head, *body], '---:')}\n\n"
        f"Source: [draft-designs.json](../bench/draft-designs.json): {words}."
    )
