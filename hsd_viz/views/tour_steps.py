"""Texts of the guided tour. Places are found in the recordings by rules, which also supply every value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hsd_viz.views import tour_places as places
from hsd_viz.views.tour_places import Found, Load, Rule


@dataclass(frozen=True, slots=True)
class TourStep:
    """One step: heading, paragraphs (with ``{values}``), the recording where its ``rule`` is tried first, CSS selectors
    of the outlined element (the first visible one), and its tab.
    """

    key: str
    title: str
    text: tuple[str, ...]
    recording: str
    rule: Rule
    targets: tuple[str, ...]
    tab: str = ""


#: The lesson of the course (:mod:`hsd_viz.views.lessons`) about each step.
LESSONS = {
    **dict.fromkeys(("draft", "accepted", "rejected", "bonus"), 2),
    **{"verification": 1, "chance": 3, "lossless": 4, "databases": 5, "locality": 5},
    **{"measures": 6, "hierarchy": 7, "latency": 8},
}


def locate(step: TourStep, names: Sequence[str], load: Load) -> tuple[str, Found] | None:
    """Return the recording of a step and its place there; ``None`` if no recording has one."""
    for name in sorted(names, key=lambda n: n != step.recording):
        found = step.rule(load(name), names, load)
        if found is not None:
            return name, found
    return None


_TOKEN = (".hsd-stream .hsd-tok.hsd-pinned", ".hsd-stream .hsd-scroll")

STEPS: tuple[TourStep, ...] = (
    TourStep(
        "draft",
        "A draft",
        (
            "The target model determines every token, but its forward passes are slow. So {source}, a much smaller "
            "draft model, proposes several tokens: here {drafted}, {tokens}.",
            "None of them is part of the text yet.",
            "The tour uses its own recordings. Your run is restored when you leave, and the form is unchanged.",
        ),
        "one-draft",
        places.first_draft,
        (".hsd-inspector .hsd-ins-scroll", ".hsd-inspector"),
        "Round",
    ),
    TourStep(
        "verification",
        "Verification",
        (
            "The target verifies the whole draft in one forward pass over {fed}: {verifying} here, after {drafting} "
            "of drafting. The pass gives the target's own token at every position of the draft.",
            "One forward pass over several tokens costs less than one pass per token. This is why drafting pays off.",
        ),
        "one-draft",
        places.first_draft,
        (".hsd-timeline .hsd-tl-chart", ".hsd-timeline"),
        "Timeline",
    ),
    TourStep(
        "accepted",
        "Accepted",
        (
            "{kept} is also the target's token: accepted, and underlined in the colour of its source. Accepted in "
            "this draft: {accepted}.",
            "Every accepted token saves a target forward pass.",
        ),
        "one-draft",
        places.first_accepted,
        _TOKEN,
    ),
    TourStep(
        "rejected",
        "Rejection and correction",
        (
            "{source} proposed {refused}; the target's token is {token}, with probability {p}. The draft token is "
            "rejected (struck through), and the tokens after it ({unreached}) are not examined.",
            "The target's own token, the correction with the dashed frame, comes from the same forward pass.",
        ),
        "one-draft",
        places.first_rejected,
        (".hsd-stream .hsd-strip:has(+ .hsd-pinned)", *_TOKEN),
    ),
    TourStep(
        "chance",
        "Sampling",
        (
            "At temperature {temperature} the target samples its tokens, so a likely draft token can be rejected. "
            "{source} gave {refused} the probability q\u00a0=\u00a0{q}, the target p\u00a0=\u00a0{p}; the uniform "
            "number is u\u00a0=\u00a0{u}. It is accepted if u·q\u00a0<\u00a0p; here u·q\u00a0=\u00a0{uq}, so it is "
            "rejected.",
            "The correction {token} is drawn from the residual p\u00a0−\u00a0q where positive, rescaled. The result "
            "is an exact sample from p.",
        ),
        "sampled",
        places.first_residual,
        (".hsd-inspector .hsd-ins-sums section", ".hsd-inspector"),
        "Round",
    ),
    TourStep(
        "bonus",
        "A bonus",
        (
            "All {drafted} tokens of this draft were accepted. The same forward pass gives the next token, {token}: "
            "a bonus token with a dotted underline.",
            "{emitted} from one target forward pass.",
        ),
        "one-draft",
        places.first_bonus,
        _TOKEN,
    ),
    TourStep(
        "databases",
        "Drafts from a database",
        (
            "No model drafted {token}. The {key} before it occurred earlier in this text, and the context database "
            "proposed the tokens that followed: the copied place, at position {position}, is marked in yellow.",
            "This round's look-up took {lookup} and no forward pass of any model.",
        ),
        "databases",
        places.first_copy,
        (".hsd-stream .hsd-lit", *_TOKEN),
    ),
    TourStep(
        "locality",
        "Locality",
        (
            "Databases are used in the order of temporal locality: context (this text), model (frequent outputs of "
            "this model), statistics (a large corpus). Of the {tokens} of this run {stored} were accepted; {target} "
            "are the target's own.",
            "The map shows where the text repeats itself.",
        ),
        "databases",
        places.first_copy,
        (".hsd-panel .hsd-latency .hsd-plot-frame", ".hsd-panel .hsd-latency"),
        "Databases",
    ),
    TourStep(
        "hierarchy",
        "A hierarchy",
        (
            "Hierarchical Speculative Decoding (HSD) stacks draft models: {below} drafts for {middle}, {middle} for "
            "the target. {token} is {middle}'s own: {middle} added it while verifying {below}'s draft, and the "
            "target accepted it.",
            "Forward passes for the {tokens} of this run: {passes}.",
        ),
        "hierarchy",
        places.middle_token,
        (".hsd-inspector .hsd-ins-levels", ".hsd-inspector"),
        "Round",
    ),
    TourStep(
        "measures",
        "Acceptance rate and mean acceptance length",
        (
            "The acceptance rate is accepted / drafted: {accepted} of {drafted}, {rate} here. A draft tree with many "
            "branches has a low rate but can still save time.",
            "The mean acceptance length is emitted tokens per target forward pass: {tokens} in {rounds}, {length}. "
            "Plain decoding emits one token per pass.",
            "Drafts also cost time, so fewer target forward passes are not always faster: {against}.",
        ),
        "both",
        places.figures_of_run,
        (".hsd-readout .hsd-tiles",),
    ),
    TourStep(
        "latency",
        "Latency",
        (
            "The timeline shows every forward pass and look-up of this run: {shares} of the total time, prefill "
            "included; {speed} tokens/s after prefill.",
            "A level pays off only if it saves more time than it takes. The Hierarchy tab predicts the fastest stack "
            "by a latency law; runs on this page measure it.",
        ),
        "both",
        places.figures_of_run,
        (".hsd-timeline .hsd-tl-chart", ".hsd-timeline"),
        "Timeline",
    ),
    TourStep(
        "lossless",
        "Lossless",
        (
            "Drafting does not change the output. Plain decoding of this prompt took {plain}; {stack} took "
            "{passes}, and all {tokens} are equal.",
            "Above temperature zero, stacks with draft models equal plain decoding in distribution, stacks with only "
            "databases token for token. Hover over a token or open a tab to continue.",
        ),
        "databases",
        places.same_text,
        (".hsd-readout .hsd-origin-note", ".hsd-readout"),
    ),
)
