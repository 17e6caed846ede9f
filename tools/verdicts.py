"""The answers at the top of the questions of ``docs/results.md``: one line each, with its figures.

:mod:`tools.tables` writes them. Names of stacks are chosen here, by the figures; an answer whose
words the figures no longer support raises an error instead of being written.
"""

from __future__ import annotations

from collections.abc import Callable

from hsd_viz.results.kinds import structure_of
from hsd_viz.stack import parse
from tools.results import (
    PLAIN,
    TEMPERATURES,
    by_stack,
    figure,
    passes_by_side,
    read,
    reports,
)

#: A speed-up from which on a gain is shown: its whole interval is above.
_EVEN = 1.0


class Unsupported(ValueError):
    """An answer whose words are not what was measured."""


def _supported(holds: bool, words: str) -> None:
    if not holds:
        raise Unsupported(f"no longer measured: {words}; write the answer again")


def _rows(suite: str) -> dict[str, dict[str, dict]]:
    """Return the rows of a suite by temperature and stack."""
    return {title: by_stack(read(f"{suite}-{part}-cpu")) for title, part in TEMPERATURES}


def _rows_of(suite: str) -> dict[str, dict[str, dict]]:
    """Return the rows of a suite by temperature and stack, of the temperatures that it has."""
    return {title: by_stack(report) for title, (_, report) in reports(suite).items()}


def _fastest(rows: dict[str, dict]) -> str:
    """Return the fastest stack that is neither ``auto`` nor a loop of transformers."""
    fixed = [stack for stack in rows if not stack.startswith(("auto", "hf-"))]
    return max(fixed, key=lambda stack: rows[stack]["speedup_over_plain"])


def _by_temperature(suite: str) -> tuple[str, list[str]]:
    """Return the stack that is fastest at every temperature, and its speed-ups with intervals."""
    rows = _rows(suite)
    best = {_fastest(found) for found in rows.values()}
    _supported(len(best) == 1, f"one stack is fastest on {suite} at every temperature")
    [stack] = best
    return stack, [
        f"{figure(found[stack], 'speedup_over_plain')} ({title})" for title, found in rows.items()
    ]


def fastest() -> str:
    stack, speeds = _by_temperature("heldout")
    rows = _rows("heldout")
    low = rows["greedy"][stack]["low_repetition"]
    margin = [found["auto > target"]["speedup_over_plain"] for found in rows.values()]
    ours = [found[stack]["speedup_over_plain"] for found in rows.values()]
    near = all(abs(one - other) < 0.02 for one, other in zip(margin, ours, strict=True))
    _supported(near, "auto is as fast as the fastest stack")
    return (
        f"`{stack}`, or `auto`, at every temperature: {', '.join(speeds)} times as fast as plain decoding, and "
        f"{figure(low, 'speedup_over_plain')} times with greedy decoding where the text does not loop."
    )


def baselines() -> str:
    parts = []
    columns = (("T = 0.7", 0.7), ("T = 1", 1.0), ("greedy decoding without loops", 0.0))
    for title, temperature in columns:
        lengths = _lengths(temperature, budget=16)
        ours = lengths.pop("db")
        best = max(lengths, key=lambda drafter: lengths[drafter])
        _supported(ours > lengths[best], f"db emits most tokens at {title}")
        parts.append(f"{ours:.2f} at {title} (best baseline `{best}`: {lengths[best]:.2f})")
    return (
        "Yes: with at most 16 draft tokens per round, `db` emits the most tokens per forward pass, "
        f"{', '.join(parts)}."
    )


def _lengths(temperature: float, budget: int) -> dict[str, float]:
    """Return the mean acceptance length of ``db`` and of the published baselines, cold or warm."""
    found: dict[str, float] = {}
    for row in read("budgets")["rows"]:
        ours = row["drafter"].startswith("db[")
        if row["target"] != PLAIN or row["temperature"] != temperature or row["budget"] != budget:
            continue
        figures = row["low_repetition"] if temperature == 0 else row
        if not ours:
            name = row["drafter"] + ", warm" * (row["state"] == "warm")
            found[name] = figures["mean_acceptance_length"]
    return found


def waiting() -> str:
    rows = _rows("heldout")["T = 0.7"]
    plain, drafted = rows[PLAIN], rows["db > target"]
    ms = lambda row, key: 1e3 * row[key]
    _supported(
        drafted["inter_token_seconds_median"] < plain["inter_token_seconds_median"],
        "databases shorten the time between tokens",
    )
    return (
        f"{ms(drafted, 'first_token_seconds'):.1f} ms for the first token with `db > target` (plain "
        f"{ms(plain, 'first_token_seconds'):.1f}), then {ms(drafted, 'inter_token_seconds_median'):.2f} ms "
        f"per token in the median instead of {ms(plain, 'inter_token_seconds_median'):.2f}, with a longer "
        f"tail: {ms(drafted, 'inter_token_seconds_p99'):.2f} instead of "
        f"{ms(plain, 'inter_token_seconds_p99'):.2f} ms at the 99th percentile."
    )


def rules() -> str:
    rows = read("rules-cpu")["rows"]
    gains = [row["block_gain"] for row in rows]
    timed = [row for row in rows if "block_time" in row]
    shown = [row for row in timed if row["block_time_ci"][1] < _EVEN]
    same = all(row["block_gain"] == row["branch_gain"] for row in rows)
    _supported(same and min(gains) > 0, "block and branch emit the same, and more than token")
    times = [row["block_time"] for row in timed]
    return (
        f"Block, with branch equal to it: {min(gains):.0%} to {max(gains):.0%} more tokens per round "
        f"than the token rule, in {min(times):.2f} to {max(times):.2f} of its time per token; the "
        f"interval of the time is below 1 for {len(shown)} of {len(timed)} stacks."
    )


def law() -> str:
    parts = []
    for title, part in TEMPERATURES:
        errors = read(f"plan-{part}-cpu")["errors"]["ms_per_token"]
        parts.append(f"{errors['median']:.1%} and {errors['worst']:.1%} ({title})")
    return (
        f"To a median and a worst error of {', '.join(parts)} on other prompts than it was calibrated "
        "on, against goals of 4% and 10%."
    )


def _best(rows: dict[str, dict], hierarchies: bool) -> str:
    """Return the fastest stack in which more than one level drafts, or in which one does."""
    drafting = [stack for stack in rows if stack != PLAIN]
    fitting = [s for s in drafting if structure_of(parse(s)).is_hierarchy == hierarchies]
    return max(fitting, key=lambda stack: rows[stack]["speedup_over_plain"])


def hierarchy() -> str:
    parts = []
    copies = _rows("copies")
    for title, rows in copies.items():
        two, one = _best(rows, hierarchies=True), _best(rows, hierarchies=False)
        _supported("[int8]" in two, "the fastest hierarchy has a copy of the target")
        ratio = rows[two]["speedup_over_plain"] / rows[one]["speedup_over_plain"]
        parts.append(f"{figure(rows[two], 'speedup_over_plain')}, {ratio:.2f} of `{one}` ({title})")
    integers = _rows("spec-bench")["T = 0.7"]
    two, one = _best(integers, hierarchies=True), _best(integers, hierarchies=False)
    less = integers[two]["speedup_over_plain"] / integers[one]["speedup_over_plain"]
    _supported(less < _EVEN, "no hierarchy pays with 8-bit weights")
    return (
        "With 16-bit weights and two threads the best hierarchy, databases below an 8-bit copy of SmolLM2, has these "
        f"speed-ups over plain decoding and shares of the best single draft: {', '.join(parts)}; with 8-bit weights "
        f"the best one has {less:.2f} of the speed of `{one}` at T = 0.7."
    )


def states_and_stopping() -> str:
    found = _rows_of("semantic")["T = 0.7"]
    every, usual = "db[context,semantic,model,statistics] > target", "db > target"
    length = lambda stack: found[stack]["mean_acceptance_length"]
    speed = found[every]["speedup_over_plain"] / found[usual]["speedup_over_plain"]
    _supported(abs(speed - 1) < 0.04, "states leave the speed of databases as it is")
    stops = _rows_of("stops")["T = 0.7"]
    fixed = max((s for s in stops if "?" not in s), key=lambda s: stops[s]["speedup_over_plain"])
    unsure = max((s for s in stops if "?" in s), key=lambda s: stops[s]["speedup_over_plain"])
    one, other = (figure(stops[s], "speedup_over_plain") for s in (unsure, fixed))
    return (
        f"States raise the acceptance length of databases on SmolLM2 from {length(usual):.2f} to "
        f"{length(every):.2f} and leave their speed as it is; a draft of nano that may stop is {one} times as fast as "
        f"plain decoding (`{unsure}`), the best fixed one {other} (`{fixed}`), at T = 0.7."
    )


def page_and_tab() -> str:
    data = read("page-cpu")
    load = data["load"]["medians"]
    size = data["load"]["bytes"]["all"]
    return (
        f"A recorded run is visible {load['preheated']['the trace'] / 1e3:.1f} s after a visit to a waiting server, "
        f"with {size / 1e6:.1f} MB."
    )


def second_draft() -> str:
    over = {
        (title, point["target"]): point["models_over_single_draft"]
        for title, part in TEMPERATURES
        for point in read(f"grid-{part}-cpu")["points"]
        if "~" not in point["target"] and point.get("models_over_single_draft")
    }
    paid = [place for place, best in over.items() if best["speedup_ci"][0] > _EVEN]
    own = [figure(over[title, PLAIN], "speedup") for title, _ in TEMPERATURES]
    best = max(over, key=lambda place: over[place]["speedup"])
    _supported(len(paid) <= 1, "a second draft model pays at one place at most")
    places = f"{len(paid)} of {len(over)} measured places"
    return (
        f"Not with the shipped models: the best hierarchy of models has {own[0]}, {own[1]} and {own[2]} "
        f"times the speed of the best single draft (T = 0.7, 1, greedy); it was shown to pay at {places}, "
        f"and the most was {figure(over[best], 'speedup')} (`{best[1]}`, {best[0]})."
    )


def other_hardware() -> str:
    summary = read("prediction")["summary"]["held aside, without Gaudi at full load"]
    return (
        f"To a median error of {summary['median']:.1%} on {summary['figures']} published step times that "
        f"nothing was fitted on, and a worst of {summary['worst']:.0%}; Gaudis at full load are worse."
    )


def integers() -> str:
    [row] = [row for row in read("int8-cpu")["models"] if row["model"] == PLAIN]
    before, after = (row["milliseconds"][dtype]["1"] for dtype in ("float32", "int8"))
    lost = row["loss_int8"] - row["loss_float32"]
    return (
        f"A pass of the target over one token takes 1/{before / after:.1f} of the time in float32, and its "
        f"loss changes by {lost:+.4f} nats; its rows overlap with those of float32 by {row['overlap']:.4f}."
    )


def llama_cpp() -> str:
    rows = {row["side"]: row["processor_ms_per_token"] for row in read("llama-cpp")["decodes"]}
    decode = rows["llama.cpp q8_0 none"] / rows["hsd_viz target"]
    times = passes_by_side("smollm2-llama-1")
    ours = times["hsd_viz"]
    ratios = {
        width: times["llama.cpp, as it is"][width] / ours[width] for width in ("1", "2", "16")
    }
    _supported(decode > 1 and min(ratios.values()) > 1, "llama.cpp takes longer")
    return (
        f"llama.cpp takes {decode:.1f} times the processor time for a greedy decode of the shipped target in "
        f"8 bits, and for SmolLM2's own file {ratios['1']:.1f}, {ratios['2']:.1f} and {ratios['16']:.1f} "
        "times as long for a pass over 1, 2 and 16 tokens, with one thread on both sides."
    )


def gpu() -> str:
    plan = read("gpu-h100")["plan"]["hierarchies"]
    times = {row["stack"]: row["measured_ms_per_token"] for row in plan}
    measured = {stack: ms for stack, ms in times.items() if ms}
    best = min(measured, key=lambda stack: measured[stack])
    return (
        f"On one H100 the shipped models decode {measured[PLAIN] / measured[best]:.1f} times as fast with "
        f"`{best}` as without a draft; what was not run yet is listed below."
    )


def chat() -> str:
    stack, speeds = _by_temperature("spec-bench")
    return (
        f"`{stack}`, at every temperature: {', '.join(speeds)} times as fast as plain decoding of "
        "SmolLM2 on Spec-Bench."
    )


#: Marked place at the top of a question -> its answer.
VERDICTS: dict[str, Callable[[], str]] = {
    "answer-chat": chat,
    "answer-hierarchy": hierarchy,
    "answer-second-draft": second_draft,
    "answer-fastest": fastest,
    "answer-baselines": baselines,
    "answer-waiting": waiting,
    "answer-law": law,
    "answer-rules": rules,
    "answer-states": states_and_stopping,
    "answer-integers": integers,
    "answer-llama-cpp": llama_cpp,
    "answer-other-hardware": other_hardware,
    "answer-gpu": gpu,
    "answer-page": page_and_tab,
}


def answer(name: str) -> str:
    """Return the text of a marked place."""
    return f"**{VERDICTS[name]()}**"
