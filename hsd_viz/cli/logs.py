"""``hsd-viz import``, ``replay`` and ``doctor``: runs and logs of other programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated as A
from typing import Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import Html, Json
from hsd_viz.cli.options import Numbers, Save
from hsd_viz.terminal import progress_bar, show


def replay(
    log: A[Path, "LOG", "a file of requests with their outputs"],
    *,
    drafter: A[tuple[str, ...], "NAME", "a draft source, as in a stack; may be repeated (default: seven)"] = (),
    tokenizer: A[str | None, "T", "the log's tokenizer: a ladder name, a hub id, a folder or a tokenizer.json"] = None,
    budget: A[int | None, (1, 256), "N", "the most draft tokens per round, cost stopping off"] = None,
    verify_cost: A[str, "C", "cost of drafts: cpu, free16, a number, or c(0),c(1),..."] = "cpu",
    databases: A[Path | None, "DIR", "use these databases (default: the shipped ones, for their tokenizer)"] = None,
    limit: A[int | None, (1, 10**9), "N", "replay at most N requests"] = None,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Count what drafters would have brought on a log, without a model."""
    from hsd_viz.logs import replay as logs

    options: dict[str, Any] = {"tokenizer": tokenizer, "budget": budget, "verify_cost": verify_cost}
    options |= {"databases": databases, "limit": limit}
    with progress_bar() as update:
        report = logs.replay(log, progress=update, **options, **({"drafters": list(drafter)} if drafter else {}))
    print(report)
    _write(json_, html, report.to_dict(), f"Replay of {log.name}", report.introduction(), report.tables())
    if not report.complete:
        arguments.say("interrupted")
    return 0 if report.complete else 130


def import_(
    record: A[Path, "RECORD", "responses, a log or a copy of /metrics"],
    *,
    engine: A[str | None, "ENGINE", "the engine, as in vllm (default: any)"] = None,
    save: A[Save | None, "FILE", "write one trace; several requests are added up"] = None,
) -> None:
    """Convert records of vLLM, SGLang, llama.cpp, TensorRT-LLM or AIPerf to traces."""
    from hsd_viz.adapters.read import import_records, pooled, summary

    with arguments.reading(record):
        traces = import_records(record, engine)
    print(summary(traces))
    if save is not None:
        with arguments.writing(save):
            print(pooled(traces).save(save))


def doctor(
    record: A[Path | None, "FILE", "a trace or a record of another engine"] = None,
    *,
    acceptance: A[Numbers | None, "A", "instead of a file: accepted / drafted, a length, or rates: 0.8,0.6"] = None,
    lookahead: A[int | None, (1, 64), "K", "draft tokens per round, with --acceptance"] = None,
    batch: A[int, (1, 4096), "N", "requests per batch of the run"] = 1,
    method: A[str | None, "M", "draft, eagle, eagle3, mtp, dflash, medusa, ngram or suffix"] = None,
    draft_model: A[str | None, "NAME", "the draft model in the settings to paste"] = None,
    speed: A[float | None, (1e-6, 1e9), "R", "tokens per second of a request with speculation"] = None,
    plain_speed: A[float | None, (1e-6, 1e9), "R", "tokens per second of a request without speculation"] = None,
    step_ms: A[float | None, (0, 1e6), "MS", "time of a plain step of the target"] = None,
    verify_ms: A[float | None, (0, 1e6), "MS", "time of the target's forward pass over a draft"] = None,
    draft_ms: A[float | None, (0, 1e6), "MS", "time of drafting per round"] = None,
    overhead_ms: A[float | None, (0, 1e6), "MS", "other time per round"] = None,
    json_: Json = None,
    html: Html = None,
) -> None:
    """Explain why speculative decoding is not faster, and what to set."""
    from hsd_viz.logs.doctor import doctor as diagnose
    from hsd_viz.tables import Table

    if (record is None) == (acceptance is None):
        raise ValueError("give one of FILE and --acceptance A")
    given = {"speed": speed, "plain_speed": plain_speed, "step": step_ms, "verify": verify_ms, "draft": draft_ms}
    given |= {"overhead": overhead_ms, "batch": batch, "method": method, "draft_model": draft_model}
    with arguments.reading(record or "--acceptance"):
        diagnosis = diagnose(record, acceptance=acceptance or (), lookahead=lookahead, **given)
    # In the terminal settings have lines of their own, to be pasted.
    flags, lines, tables = diagnosis.flags.items(), diagnosis.lines(), diagnosis.tables()
    settings = [f"  {engine}: {text}" for engine, text in flags]
    show([*lines, *tables, *(["", "Settings to paste:", *settings] if settings else [])])
    tables.append(Table("Settings to paste", [["engine", "settings"], *map(list, flags)] if flags else []))
    _write(json_, html, diagnosis.to_dict(), f"Diagnosis of {diagnosis.observation.source}", lines, tables)


def _write(
    json: Path | None, html: Path | None, data: Any, title: str, lines: list[str], tables: Iterable[Any]
) -> None:
    """Write the files of --json and --html."""
    from hsd_viz.tables import page

    arguments.write_json(json, data)
    arguments.write_text(html, page(title, lines, tables) if html else "")
