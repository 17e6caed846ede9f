"""Answers about a server: the diagnosis of its record, and the replay of its log."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hsd_viz.disk import data_folder
from hsd_viz.errors import UserError
from hsd_viz.stack import TARGET
from hsd_viz.views.app.question import Answer, PageRequest, Part, files_of

#: Value of the tokenizer setting for an opened tokenizer file.
OWN = "own"
#: Maximum number of drafters of a replay.
MAX_DRAFTERS = 32


#: File names of the examples: a record of a server, and a log of its texts.
EXAMPLE_RECORD = "chat.log"
EXAMPLE_LOG = "edits.jsonl"
#: Speed of the example's server: tokens per second, and milliseconds per round.
EXAMPLE_SPEED = 40.0
EXAMPLE_STEP = 25.0
EXAMPLE_DRAFT = 21.0
EXAMPLE_VERIFY = 28.0


#: Explanation of why the figures of a drafter differ from those of a report.
BESIDE_REPORTS = (
    "Reports on many prompts (tab Compare) measure the same methods, such as lookup, on other text "
    "and at another cost of verification: their speed-ups differ from these predictions."
)


def record(request: PageRequest) -> Answer:
    """Diagnose an opened record of a serving engine, an opened trace, or the example."""
    from hsd_viz.measure.doctor.api import doctor as diagnosis_of
    from hsd_viz.measure.doctor.options import Known
    from hsd_viz.views.app.traffic import diagnosis_part

    files = request.files or _example(request, EXAMPLE_RECORD)
    if not files:
        raise UserError("no record: drop a file on the field above, or open one")
    name, content = files[0]
    shown_name = name[:80]
    with tempfile.TemporaryDirectory(prefix="hsd-viz-record-") as place:
        # A visitor's name of a file never becomes a path.
        path = Path(place) / "visitors-file"
        path.write_bytes(content)
        model = request.options.get("model") or None
        engine = request.options.get("engine") or None
        try:
            if request.files:
                diagnosis = diagnosis_of(path, model=model, engine=engine)
            else:
                known = Known(
                    plain_speed=EXAMPLE_SPEED,
                    step_ms=EXAMPLE_STEP,
                    draft_ms=EXAMPLE_DRAFT,
                    verify_ms=EXAMPLE_VERIFY,
                )
                diagnosis = diagnosis_of(path, known=known)
        except UserError as error:
            message = str(error).replace(str(path), shown_name).replace(path.name, shown_name)
            raise UserError(message) from None
    diagnosis = replace(diagnosis, observation=replace(diagnosis.observation, source=shown_name))
    card = diagnosis_part(diagnosis, diagnosis.engine)
    if not request.files:
        times_text = (
            f"{EXAMPLE_SPEED:g} tokens/s without drafts; a step {EXAMPLE_STEP:g} ms, "
            f"a draft {EXAMPLE_DRAFT:g} ms, its verification {EXAMPLE_VERIFY:g} ms"
        )
        words = _example_part(f"the log of a chat server on vLLM ({times_text})")
        return {"parts": [words, card]}
    return {"parts": [card], "files": files_of("diagnosis", diagnosis)}


def _example(request: PageRequest, name: str) -> list[tuple[str, bytes]]:
    """Return the example as an attached file if the question asks for it. It is a log of the
    course, synthetic, in the format of an engine.
    """
    if not request.options.get("example"):
        return []
    folder = data_folder("exercises/master", "notebooks/course/master") / "lab"
    return [(name, (folder / name).read_bytes())]


def _example_part(what: str) -> Part:
    """Return a part that states that the answer is about an example."""
    words = f"Example, made up: {what}. Your file replaces it."
    return {"kind": "text", "text": words, "caution": True}


def replay(request: PageRequest) -> Answer:
    """Replay drafters on an opened log."""
    from hsd_viz.measure.replay.api import run
    from hsd_viz.measure.replay.options import ReplayOptions
    from hsd_viz.views.app.traffic import replay_part

    options = request.options
    files = request.files or _example(request, EXAMPLE_LOG)
    if not files:
        raise UserError("no log: drop a file on the field above, or open one")
    names = [line.strip() for line in str(options.get("drafters", "")).splitlines() if line.strip()]
    if not names:
        raise UserError("no drafters: write one per line")
    if len(names) > MAX_DRAFTERS:
        raise UserError(f"{len(names)} drafters are too many: at most {MAX_DRAFTERS}")
    # The example is a log of texts, not of token ids.
    tokenizer = (options.get("tokenizer") or None) if request.files else TARGET

    def progress(done: int, size: int, words: str) -> None:
        request.send("stage", text=words, done=done, total=size)
        if request.cancelled.is_set():
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory(prefix="hsd-viz-log-") as place:
        # A visitor's name of a file never becomes a path, not even its ending.
        paths = [Path(place) / str(number) for number in range(len(files[:2]))]
        for path, (_, content) in zip(paths, files, strict=False):
            path.write_bytes(content)
        if tokenizer == OWN and len(paths) > 1:
            own: str | Path | None = paths[1]
        elif tokenizer is not None:
            own = request.access.check("tokenizer", str(tokenizer))
        else:
            own = None
        costs = str(options.get("costs", "cpu"))
        try:
            replay_options = ReplayOptions(
                paths[0], tokenizer=own, drafters=names, verify_cost=costs
            )
            replayed = run(replay_options, progress)
        except UserError as error:
            message = str(error)
            for path, (name, _) in zip(paths, files, strict=False):
                message = message.replace(str(path), name[:80])
            raise UserError(message) from None
    if not replayed.drafters:
        raise UserError("cancelled before a request was replayed; no results")
    log = replace(replayed.log, name=files[0][0][:80])
    settings = replayed.settings
    if isinstance(own, Path):
        settings = replace(settings, tokenizer=files[1][0][:80])
    replayed = replace(replayed, log=log, settings=settings)
    reply: Answer = {
        "parts": [replay_part(replayed)],
        "files": files_of("replay", replayed),
    }
    if not request.files:
        reply["parts"].append({"kind": "text", "text": BESIDE_REPORTS})
        reply["parts"].insert(0, _example_part("a log of requests to edit code"))
    return reply
