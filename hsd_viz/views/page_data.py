"""The data that the page has without a request to its host (``About`` of ``js/host.ts``): palette,
presets, recordings, grammar.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.disk import data_folder
from hsd_viz.drafting import drafters
from hsd_viz.engine.recordings import (
    ANSWERS,
    GAMES,
    SIDE_BY_SIDE,
    TEMPERATURE,
    TRACES,
    Recording,
    bundled,
    load_bundled,
    side_by_side,
)
from hsd_viz.figures.palette import HUES
from hsd_viz.latency.basis import temperature_text
from hsd_viz.models.families import DEFAULT, FAMILIES, Family, family_in
from hsd_viz.results.kinds import COPYING
from hsd_viz.settings.declare import fields_of
from hsd_viz.settings.engine_choices import DTYPES
from hsd_viz.stack import DATABASE, TARGET, draft_sources
from hsd_viz.trace import Trace
from hsd_viz.trace.meta import TraceMeta
from hsd_viz.trace.tables import RULES

STATIC = Path(__file__).parent / "static"
#: The module of all views.
BUNDLE = (STATIC / "hsd-viz.js").read_text(encoding="utf-8")
_DATA = json.loads((Path(__file__).parent / "page.json").read_text(encoding="utf-8"))
#: Data of all pages: prompts with their locality, stacks, devices, …
ABOUT = _DATA["about"]
#: Families of models for predictions, the target first.
PREDICTED = _DATA["families"]
#: Prompts of the form by family, one per task of a chat benchmark; other families have the prompts
#: of all pages.
QUESTIONS: dict[str, list[dict[str, str]]] = _DATA["questions"]
MACHINE = {**_DATA["machine"], "dtypes": list(DTYPES)}
#: The report that the page shows first if it exists: that of a model that writes English.
FIRST_REPORT = "spec-bench-t07-cpu.json"


def page_palette() -> dict[str, Any]:
    """Return the palette for the browser, whose style sheet has only the colours of included
    sources.
    """
    return {
        "hues": {name: asdict(hue) for name, hue in HUES.items() if name not in drafters()},
        "baselines": [name for name in drafters() if name != DATABASE],
        "copying": list(COPYING),
        "databases": list(draft_sources()[DATABASE]),
    }


@cache
def races() -> list[dict[str, Any]]:
    """Return the recordings of one prompt with several stacks, in a group per prompt and sampling;
    the group of the page's first recording is first.
    """
    races: list[dict[str, Any]] = []
    for group, recordings in side_by_side().items():
        runs = [
            {"name": f"{group}/{r.name}", "blurb": r.blurb, "stack": r.stack} for r in recordings
        ]
        meta = recorded_runs()[runs[0]["name"]]().meta
        title = f"{_target_text(meta)}, {temperature_text(meta['sampling']['temperature'])}"
        races.append({"group": group, "title": title, "prompt": meta["prompt"], "runs": runs})
    opening = recorded_runs()[next(iter(offered()))]().meta["prompt"]
    return sorted(races, key=lambda race: race["prompt"] != opening)


def _target_text(meta: TraceMeta) -> str:
    """Return the name of a recording's target; for the shipped target, a description."""
    model = str(meta["models"][-1]["model"])
    return FAMILIES[DEFAULT].target_title if model == TARGET else model


@cache
def games() -> list[dict[str, Any]]:
    """Return the recorded texts of the game, each with the names of its runs by player."""
    recorded = side_by_side(GAMES)
    games = []
    for game in ABOUT["games"]:
        name = game["name"]
        if name in recorded:
            runs = {run.name: f"game/{name}/{run.name}" for run in recorded[name]}
            games.append({**game, "runs": runs})
    return games


@cache
def languages() -> dict[str, Any]:
    """Return the translations of the game, by language tag."""
    files = sorted(Path(__file__).parent.glob("game.*.json"))
    return {path.name.split(".")[1]: json.loads(path.read_text(encoding="utf-8")) for path in files}


def offered() -> dict[str, Recording]:
    """Return the recordings that the page offers, by their name on the page. It opens the first."""
    answers = {f"answers/{recording.name}": recording for recording in bundled(ANSWERS)}
    return answers | {recording.name: recording for recording in bundled()}


def recorded_runs() -> dict[str, partial[Trace]]:
    """Return a function that loads each recording, by its name on the page."""
    folders = {"": TRACES, "answers/": ANSWERS}
    folders |= {f"{group}/": SIDE_BY_SIDE / group for group in side_by_side()}
    folders |= {f"game/{name}/": GAMES / name for name in side_by_side(GAMES)}
    runs = {}
    for prefix, folder in folders.items():
        for recording in bundled(folder):
            runs[f"{prefix}{recording.name}"] = partial(load_bundled, recording.name, folder)
    return runs


@cache
def _shown_reports() -> dict[str, str]:
    """Return the descriptions of the project's bench reports that pages show, by file name."""
    manifest = data_folder("measured", "docs/bench") / "reports.toml"
    return tomllib.loads(manifest.read_text(encoding="utf-8"))["reports"]


def saved_reports() -> dict[str, Path]:
    """Return the paths of the project's bench reports by title, in the order of their menu."""
    place = data_folder("measured", "docs/bench")
    reports = {}
    for name, description in _shown_reports().items():
        reports[f"{description[:1].upper()}{description[1:]}"] = place / name
    return reports


@cache
def suites() -> list[dict[str, Any]]:
    """Return the speed-ups of the project's bench reports over all prompts of their suites, which
    the page shows beside the speed-up of one prompt.

    Of each family, stack, temperature and number type, the first one with an interval is taken, in
    the order of the menu; those of :data:`FIRST_REPORT` are before all others.
    """
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    place = data_folder("measured", "docs/bench")
    for name, description in _shown_reports().items():
        report = json.loads((place / name).read_bytes())
        for row in _suite_rows(name, description, report):
            key = (row["family"], row["stack"], row["temperature"], row["dtype"])
            first.setdefault(key, row)
    return sorted(first.values(), key=lambda row: row["file"] != FIRST_REPORT)


def _suite_rows(name: str, description: str, report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the speed-ups of a report. A suite named by a file gets the name in the
    description.
    """
    suite = report["suite"]
    settings = report["settings"]
    family = settings.get("family") or family_in(report["command"])
    first_part = description.partition(",")[0]
    for stack in report["stacks"]:
        ends = stack.get("speedup_over_plain_ci")
        if not ends or stack["stack"] == TARGET:
            continue
        low, high = ends
        yield {
            "family": family,
            "name": first_part if "." in suite["name"] else f"suite {suite['name']}",
            "file": name,
            "stack": stack["stack"],
            "temperature": settings["temperature"],
            "dtype": settings["dtype"],
            "prompts": suite["prompts"],
            "value": stack["speedup_over_plain"],
            "low": low,
            "high": high,
        }


def first_stack(family: Family) -> str:
    """Return the initial stack of the form: the first of its menu for the shipped models, else the
    fastest one of the menu according to the project's bench reports on the family at the page's
    temperature.
    """
    menu = ABOUT["stacks"]
    measured = {
        row["stack"]: row["value"]
        for row in suites()
        if row["family"] == family.name
        and row["temperature"] == TEMPERATURE
        and row["stack"] in menu
    }
    if family.name == DEFAULT or not measured:
        return str(menu[0])
    return max(measured, key=lambda stack: measured[stack])


def families() -> list[dict[str, Any]]:
    """Return the families that a page may offer, each with the data of its form."""
    return [
        {
            "name": family.name,
            "title": family.title,
            "models": list(family.names),
            "prompt": family.prompt,
            "prompts": QUESTIONS.get(family.name, ABOUT["prompts"]),
            "chat": family.is_chat,
            "stack": first_stack(family),
            "installed": family.is_installed,
        }
        for family in FAMILIES.values()
    ]


def family_form(family: Family) -> dict[str, Any]:
    """Return the parts of the page's data that depend on its initial family."""
    if family.name == DEFAULT:
        return {}
    form = about()["form"]
    form["prompt"] = family.prompt
    form["chat"] = family.is_chat
    form["stack"] = first_stack(family)
    return {"family": family.name, "models": list(family.names), "form": form}


def about() -> dict[str, Any]:
    """Return the initial data of the page."""
    form = {"prompt": ABOUT["prompts"][0]["prompt"], "stack": ABOUT["stacks"][0]}
    form |= {field.name: field.default for field in fields_of(DecodingOptions)}
    form["temperature"] = TEMPERATURE
    facts = {
        "palette": page_palette(),
        "rules": list(RULES),
        "sources": dict(draft_sources()),
        "races": races(),
        "suites": suites(),
        "games": games(),
        "languages": languages(),
        "families": families(),
        "family": DEFAULT,
    }
    recordings = [
        {"name": name, "title": r.label, "blurb": r.blurb} for name, r in offered().items()
    ]
    return ABOUT | facts | {"recordings": recordings, "form": form}
