"""The answers at the top of the questions of ``docs/results.md``: one line each, with its figures.

:mod:`tools.docs.tables` writes them. Names of stacks are chosen here, by the figures; an answer
whose words the figures no longer support raises an error instead of being written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hsd_viz.measure.bench.hierarchy_gain import GAIN
from hsd_viz.results.kinds import structure_of
from hsd_viz.stack import parse
from tools.docs.results.files import PLAIN, TEMPERATURES, by_stack, figure, read, reports
from tools.docs.results.passes import passes_by_side

#: A speed-up from which on a gain is shown: its whole interval is above.
_EVEN = 1.0


class UnsupportedAnswer(ValueError):
    """An answer whose words are not what was measured."""


def _supported(holds: bool, words: str) -> None:
    if not holds:
        raise UnsupportedAnswer(f"no longer measured: {words}; write the answer again")


def _rows(suite: str) -> dict[str, dict[str, dict]]:
    """Return the rows of a suite by temperature and stack."""
    return {title: by_stack(read(f"{suite}-{part}-cpu")) for title, part in TEMPERATURES}


def _rows_of(suite: str) -> dict[str, dict[str, dict]]:
    """Return the rows of a suite by temperature and stack, of the temperatures that it has."""
    return {title: by_stack(report) for title, (_, report) in reports(suite).items()}


def _speed(rows: dict[str, dict], stack: str) -> float:
    """Return the speed-up of a stack over plain decoding."""
    return rows[stack]["speedup_over_plain"]


def _fastest_of(rows: dict[str, dict], stacks: Iterable[str]) -> str:
    """Return the fastest of some stacks."""
    return max(stacks, key=lambda stack: _speed(rows, stack))


def _fastest(rows: dict[str, dict]) -> str:
    """Return the fastest stack that is neither ``auto`` nor a loop of transformers."""
    return _fastest_of(rows, [name for name in rows if not name.startswith(("auto", "hf-"))])


def _by_temperature(suite: str) -> tuple[str, list[str]]:
    """Return the stack that is fastest at every temperature, and its speed-ups with intervals."""
    rows = _rows(suite)
    best = set(map(_fastest, rows.values()))
    _supported(len(best) == 1, f"one stack is fastest on {suite} at every temperature")
    [stack] = best
    speeds = []
    for title, rows_of_title in rows.items():
        speeds.append(f"{figure(rows_of_title[stack], 'speedup_over_plain')} ({title})")
    return stack, speeds


def fastest() -> str:
    stack, speeds = _by_temperature("heldout")
    rows = _rows("heldout")
    for rows_of_title in rows.values():
        apart = _speed(rows_of_title, "auto > target") - _speed(rows_of_title, stack)
        _supported(abs(apart) < 0.02, "auto is as fast as the fastest stack")
    low = figure(rows["greedy"][stack]["low_repetition"], "speedup_over_plain")
    return (
        f"`{stack}`, or `auto`, at every temperature: {', '.join(speeds)} times as fast as "
        f"plain decoding, and {low} times with greedy decoding where the text does not loop."
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
    lengths: dict[str, float] = {}
    for row in read("budgets")["rows"]:
        ours = row["drafter"].startswith("db[")
        if row["target"] != PLAIN or row["temperature"] != temperature or row["budget"] != budget:
            continue
        figures = row["low_repetition"] if temperature == 0 else row
        if not ours:
            name = row["drafter"] + ", warm" * (row["state"] == "warm")
            lengths[name] = figures["mean_acceptance_length"]
    return lengths


def waiting() -> str:
    rows = _rows("heldout")["T = 0.7"]
    plain = _milliseconds(rows[PLAIN])
    drafted = _milliseconds(rows["db > target"])
    _supported(
        drafted["inter_token_seconds_median"] < plain["inter_token_seconds_median"],
        "databases shorten the time between tokens",
    )
    return (
        f"{drafted['first_token_seconds']:.1f} ms for the first token with `db > target` "
        f"(plain {plain['first_token_seconds']:.1f}), "
        f"then {drafted['inter_token_seconds_median']:.2f} ms per token in the median "
        f"instead of {plain['inter_token_seconds_median']:.2f}, with a longer tail: "
        f"{drafted['inter_token_seconds_p99']:.2f} instead of "
        f"{plain['inter_token_seconds_p99']:.2f} ms at the 99th percentile."
    )


def _milliseconds(row: dict) -> dict[str, float]:
    """Return the times of a row that are seconds, in milliseconds."""
    keys = ("first_token_seconds", "inter_token_seconds_median", "inter_token_seconds_p99")
    return {key: 1e3 * row[key] for key in keys}


def rules() -> str:
    gains = []
    times = []
    faster = 0
    for row in read("rules-cpu")["rows"]:
        gains.append(row["block_gain"])
        same = row["block_gain"] == row["branch_gain"]
        _supported(
            same and row["block_gain"] > 0,
            "block and branch emit the same, and more than token",
        )
        if "block_time" in row:
            times.append(row["block_time"])
            faster += row["block_time_ci"][1] < _EVEN
    return (
        f"Block, with branch equal to it: {min(gains):.0%} to {max(gains):.0%} more tokens per "
        f"round than the token rule, in {min(times):.2f} to {max(times):.2f} of its time per "
        f"token; the interval of the time is below 1 for {faster} of {len(times)} stacks."
    )


def law() -> str:
    parts = []
    for title, part in TEMPERATURES:
        errors = read(f"plan-{part}-cpu")["errors"]["ms_per_token"]
        parts.append(f"{errors['median']:.1%} and {errors['worst']:.1%} ({title})")
    return (
        f"To a median and a worst error of {', '.join(parts)} on other prompts than it was "
        "calibrated on, against goals of 4% and 10%."
    )


def _best(rows: dict[str, dict], hierarchies: bool) -> str:
    """Return the fastest stack in which more than one level drafts, or in which one does."""
    fitting = []
    for stack in rows:
        if stack != PLAIN and structure_of(parse(stack)).is_hierarchy == hierarchies:
            fitting.append(stack)
    return _fastest_of(rows, fitting)


def hierarchy() -> str:
    whole = read("copies-whole-t07-cpu")
    gain = whole["hierarchy_gain"]
    [low, _] = gain[f"{GAIN}_ci"]
    _supported(low > _EVEN, "databases below a copy are faster than the best single draft")
    _supported("db > target[int8]" in gain["hierarchy"], "the fastest hierarchy has a copy")
    fastest_of_all = by_stack(whole)[gain["hierarchy"]]
    integers = _rows("spec-bench")["T = 0.7"]
    two = _best(integers, hierarchies=True)
    one = _best(integers, hierarchies=False)
    less = _speed(integers, two) / _speed(integers, one)
    _supported(less < _EVEN, "no hierarchy pays with 8-bit weights")
    return (
        "Yes, with 16-bit weights and two threads: databases below an 8-bit copy of SmolLM2 are "
        f"{figure(gain, GAIN)} times as fast as the best single draft (`{gain['single_draft']}`) "
        f"and {figure(fastest_of_all, 'speedup_over_plain')} times as fast as plain decoding, on "
        f"{gain['outputs']} questions of Spec-Bench at T = 0.7; with 8-bit weights no: the best "
        f"hierarchy has {less:.2f} of the speed of `{one}`."
    )


def states_and_stopping() -> str:
    by_stack = _rows_of("semantic")["T = 0.7"]
    every = "db[context,semantic,model,statistics] > target"
    usual = "db > target"
    ratio = _speed(by_stack, every) / _speed(by_stack, usual)
    _supported(abs(ratio - 1) < 0.04, "states leave the speed of databases as it is")
    stops = _rows_of("stops")["T = 0.7"]
    fixed = _fastest_of(stops, [stack for stack in stops if "?" not in stack])
    unsure = _fastest_of(stops, [stack for stack in stops if "?" in stack])
    return (
        "States raise the acceptance length of databases on SmolLM2 from "
        f"{by_stack[usual]['mean_acceptance_length']:.2f} to "
        f"{by_stack[every]['mean_acceptance_length']:.2f} and leave their speed as it is; "
        "a draft of nano that may stop is "
        f"{figure(stops[unsure], 'speedup_over_plain')} times as fast as plain decoding "
        f"(`{unsure}`), the best fixed one {figure(stops[fixed], 'speedup_over_plain')} "
        f"(`{fixed}`), at T = 0.7."
    )


def page_and_tab() -> str:
    load = read("page-cpu")["load"]
    seconds = load["medians"]["preheated"]["the trace"] / 1e3
    megabytes = load["bytes"]["all"] / 1e6
    return (
        f"A recorded run is visible {seconds:.1f} s after a visit to a waiting server, "
        f"with {megabytes:.1f} MB."
    )


def second_draft() -> str:
    over: dict[tuple[str, str], dict] = {}
    for title, part in TEMPERATURES:
        for point in read(f"grid-{part}-cpu")["points"]:
            has_noise = "~" in point["target"]
            if not has_noise and point.get("models_over_single_draft"):
                over[title, point["target"]] = point["models_over_single_draft"]
    paid = sum(best["speedup_ci"][0] > _EVEN for best in over.values())
    _supported(paid <= 1, "a second draft model pays at one place at most")
    first, second, third = (figure(over[title, PLAIN], "speedup") for title, _ in TEMPERATURES)
    best = max(over, key=lambda place: over[place]["speedup"])
    title, target = best
    return (
        "Not with the shipped models: the best hierarchy of models has "
        f"{first}, {second} and {third} times the speed of the best single draft "
        f"(T = 0.7, 1, greedy); it was shown to pay at {paid} of {len(over)} measured places, "
        f"and the most was {figure(over[best], 'speedup')} (`{target}`, {title})."
    )


def other_hardware() -> str:
    summary = read("prediction")["summary"]["held aside, without Gaudi at full load"]
    return (
        f"To a median error of {summary['median']:.1%} on {summary['figures']} published step "
        f"times that nothing was fitted on, and a worst of {summary['worst']:.0%}; "
        "Gaudis at full load are worse."
    )


def integers() -> str:
    [row] = [row for row in read("int8-cpu")["models"] if row["model"] == PLAIN]
    before = row["milliseconds"]["float32"]["1"]
    after = row["milliseconds"]["int8"]["1"]
    lost = row["loss_int8"] - row["loss_float32"]
    return (
        f"A pass of the target over one token takes 1/{before / after:.1f} of the time in "
        f"float32, and its loss changes by {lost:+.4f} nats; its rows overlap with those of "
        f"float32 by {row['overlap']:.4f}."
    )


def llama_cpp() -> str:
    rows = {row["side"]: row["processor_ms_per_token"] for row in read("llama-cpp")["decodes"]}
    decode = rows["llama.cpp q8_0 none"] / rows["hsd_viz target"]
    times = passes_by_side("smollm2-llama-1")
    theirs = times["llama.cpp, as it is"]
    ours = times["hsd_viz"]
    one, two, sixteen = (theirs[width] / ours[width] for width in ("1", "2", "16"))
    _supported(decode > 1 and min(one, two, sixteen) > 1, "llama.cpp takes longer")
    return (
        f"llama.cpp takes {decode:.1f} times the processor time for a greedy decode of the "
        f"shipped target in 8 bits, and for SmolLM2's own file {one:.1f}, {two:.1f} and "
        f"{sixteen:.1f} times as long for a pass over 1, 2 and 16 tokens, with one thread on "
        "both sides."
    )


def gpu() -> str:
    measured = {}
    for row in read("gpu-h100")["plan"]["hierarchies"]:
        if row["measured_ms_per_token"]:
            measured[row["stack"]] = row["measured_ms_per_token"]
    best = min(measured, key=lambda stack: measured[stack])
    return (
        f"On one H100 the shipped models decode {measured[PLAIN] / measured[best]:.1f} times as "
        f"fast with `{best}` as without a draft; what was not run yet is listed below."
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
