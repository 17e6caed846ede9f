"""What the guided tour says, and of what. Places are found in the recordings by rules, and every figure is taken from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hsd_viz.views import tour_places as places
from hsd_viz.views.tour_places import Found, Load, Rule


@dataclass(frozen=True, slots=True)
class TourStep:
    """One step: its heading, its paragraphs (with ``{figures}``), the recording where its ``rule`` is tried first, what on the page it
    speaks of (CSS selectors, the first that is visible counts), and the tab that shows it."""

    key: str
    title: str
    text: tuple[str, ...]
    recording: str
    rule: Rule
    targets: tuple[str, ...]
    tab: str = ""


def locate(step: TourStep, names: Sequence[str], load: Load) -> tuple[str, Found] | None:
    """The recording of a step and its place there; ``None`` where no recording has such a place."""
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
            "The target model decides every token of the text, but each of its forwards is slow. So {source}, a much smaller "
            "draft model, runs ahead: here it put up {drafted}, {tokens}.",
            "They are guesses. None of them is part of the text yet.",
            "The tour shows recordings of its own; the run that was on the page comes back when you leave, and the form stays as it is.",
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
            "The target reads the whole draft in a single forward, {fed} fed at once: {verifying} here, after {drafting} of "
            "drafting. That forward gives the target's own choice at every place of the draft.",
            "Reading several tokens together costs a model less than as many forwards of a single token each: that is what "
            "makes drafting pay.",
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
            "{kept} is what the target would have written here itself: accepted, and shown underlined in the colour of its "
            "source. Of this draft {accepted} tokens were kept.",
            "Every accepted token is a forward of the target that need not be made.",
        ),
        "one-draft",
        places.first_accepted,
        _TOKEN,
    ),
    TourStep(
        "rejected",
        "Rejected, and corrected",
        (
            "Here {source} guessed {refused}; the target would write {token}, to which it gives a probability of {p}. The "
            "guess is rejected, struck through, and what was drafted behind it ({unreached}) falls with it.",
            "Nothing is lost but the draft: the target's own token, the correction with the dashed frame, comes out of the same forward.",
        ),
        "one-draft",
        places.first_rejected,
        (".hsd-stream .hsd-strip:has(+ .hsd-pinned)", *_TOKEN),
    ),
    TourStep(
        "chance",
        "When tokens are drawn",
        (
            "At temperature {temperature} the target draws its tokens, so a guess may be good and still not be drawn. "
            "{source} gave {refused} the probability q\u00a0=\u00a0{q}, the target p\u00a0=\u00a0{p}; a uniform number "
            "u\u00a0=\u00a0{u} decides. It is kept where u·q\u00a0<\u00a0p; here u·q\u00a0=\u00a0{uq}, so it goes.",
            "The correction {token} is drawn from the residual, what is left of p once q is taken away. That makes the result "
            "exactly a draw from p.",
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
            "All {drafted} tokens of this draft were accepted. The forward that verified them also says what comes after the "
            "last of them: {token}, a bonus with a dotted line.",
            "{emitted} of text for a single forward of the target.",
        ),
        "one-draft",
        places.first_bonus,
        _TOKEN,
    ),
    TourStep(
        "databases",
        "Drafts from a database",
        (
            "No model drafted {token}. The {key} before it stood in this text already, and the context database proposed what "
            "came after them then: the place it copied, at position {position}, is marked in yellow.",
            "Looking up this round's draft took {lookup}, and no forward of any model.",
        ),
        "databases",
        places.first_copy,
        (".hsd-stream .hsd-lit", *_TOKEN),
    ),
    TourStep(
        "locality",
        "Locality",
        (
            "Databases are asked in the order of temporal locality: first the context (this text), then what this model tends "
            "to write, then statistics of a large corpus. Of the {tokens} of this run {stored} were accepted; {target} are "
            "the target's own.",
            "The map shows where the text repeats what stands above it.",
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
            "Drafts can be verified on their way up: {below} drafts for {middle}, {middle} for the target. {token} is "
            "{middle}'s own: it added this token while it verified {below}'s draft, handed all of it up, and the target "
            "accepted it.",
            "The small models run often so that the large one need not. Forwards for the {tokens} of this run: {forwards}.",
        ),
        "hierarchy",
        places.middle_token,
        (".hsd-inspector .hsd-ins-levels", ".hsd-inspector"),
        "Round",
    ),
    TourStep(
        "measures",
        "Acceptance rate, and mean acceptance length",
        (
            "The acceptance rate is accepted over drafted: {accepted} of {drafted}, {rate} here. It says how good the guesses "
            "are, not what they bring: a draft with many branches has a low rate and may still be a good draft.",
            "That is the mean acceptance length, tokens emitted for each forward of the target: {tokens} in {rounds} "
            "forwards, {length}. Plain decoding emits a single token each time.",
            "Fewer forwards of the target are not yet a higher speed, since drafts cost time, too: {against}.",
        ),
        "both",
        places.figures_of_run,
        (".hsd-readout .hsd-tiles",),
    ),
    TourStep(
        "latency",
        "Latency",
        (
            "Drafts have a price. Every forward and every look-up of this run, as it was timed: {shares} of the whole time, "
            "reading the prompt included; {speed} tokens a second once the prompt was read.",
            "A level pays only where it saves the target more than it costs. The Hierarchy tab works out by a latency law "
            "which stack is the fastest; this page measures whether it is.",
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
            "None of this changes the text. The target decoded the same prompt by itself, in {plain} forwards; with {stack} "
            "it took {forwards}, and all {tokens} are the same.",
            "Above temperature zero, stacks with draft models equal plain decoding in distribution, those with databases "
            "alone token for token. Now look around by yourself: hover over any token, open any tab.",
        ),
        "databases",
        places.same_text,
        (".hsd-readout .hsd-origin-note", ".hsd-readout"),
    ),
)
