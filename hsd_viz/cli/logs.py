"""``hsd-viz import``, ``replay`` and ``doctor``: runs and logs of other programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from typing import Annotated as A

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import Html, Json, Ray
from hsd_viz.cli.options import Range
from hsd_viz.terminal import progress_bar, show

if TYPE_CHECKING:
    from hsd_viz.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Replay."""

    tokenizer: A[str | None, "T", "the log's tokenizer: a ladder name, a hub id, a folder or a tokenizer.json"] = None
    state: A[Literal["cold", "warm", "both"], "how drafters that learn from request to request start"] = "cold"
    budget: A[int | None, Range(1, 256), "N", "the most draft tokens per round, cost stopping off"] = None
    verify_cost: A[str, "C", "cost of drafts: cpu, free16, measured, a number, or c(0),c(1),..."] = "cpu"
    temperature: A[float, Range(0, 100), "T", "temperature of the log: the initial trust of db in its drafts"] = 0.0
    eos: A[int | None, Range(0, 2**21), "ID", "end-of-text token id (default: the tokenizer's)"] = None
    databases: A[Path | None, "DIR", "use these databases (default: the shipped ones, for their tokenizer)"] = None
    build_databases: A[Path | None, "DIR", "build databases here from the first part of the log, judge the rest"] = None
    train_share: A[float, Range(0.01, 0.99), "S", "the part of the log that databases are built from"] = 0.5
    suite: A[str | None, "S", "the questions of an answer file: a suite or a file"] = None
    limit: A[int | None, Range(1, 10**9), "N", "replay at most N requests"] = None
    strict: A[bool, "stop at a broken record instead of counting it"] = False
    include_text: A[bool, "list the start of prompts and outputs in the report"] = False
    restart: A[bool, "do not resume an interrupted replay"] = False


def replay(
    log: A[Path, "LOG", "a file of requests with their outputs"],
    *,
    drafter: A[tuple[str, ...], "NAME", "a draft source, as in a stack; may be repeated (default: seven)"] = (),
    options: Replay,
    json_: A[Path | None, "OUT", "write the report; makes the replay resumable"] = None,
    html: Html = None,
    ray: Ray = None,
) -> int:
    """Count what drafters would have brought on a log, without a model."""
    from hsd_viz.logs import report as logs

    arguments.check_outputs(json_, html)
    if options.databases is not None and options.build_databases is not None:
        raise ValueError("--databases and --build-databases exclude each other: use one of them")
    given: dict[str, Any] = asdict(options) | ({"drafters": list(drafter)} if drafter else {})
    given["state_file"] = None if json_ is None else json_.with_name(f"{json_.name}.partial")
    run = logs.replay if ray is None else partial(logs.replay_sharded, address=ray)
    with progress_bar() as update:
        report = run(log, progress=update, **given)
    print(report)
    _write(json_, html, report.to_dict(), f"Replay of {log.name}", report.introduction(), report.tables())
    if not report.complete:
        arguments.say("interrupted" + (": the same command resumes" if json_ else ""))
    return 0 if report.complete else 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to a server."""

    prompt: A[str | None, "TEXT", "the prompt"] = None
    chat: A[bool, "send it as a user message of a chat"] = False
    model: A[str | None, "M", "the model, for servers with several"] = None
    max_new_tokens: A[int, Range(1, 100_000), "N", "token limit"] = 128
    temperature: A[float, Range(0, 100), "T", "temperature"] = 0.0
    api_key: A[str | None, "SECRET", "sent to the server as its bearer token"] = None


def import_(
    record: A[str, "RECORD", "responses, a log or a copy of /metrics; or the address of a server, with --prompt"],
    *,
    engine: A[
        Literal["vllm", "sglang", "llama.cpp", "tensorrt-llm", "aiperf"] | None, "the engine (default: any)"
    ] = None,
    save: A[Path | None, "FILE", "write one trace; several requests are added up"] = None,
    request: Request,
) -> int:
    """Convert records of vLLM, SGLang, llama.cpp, TensorRT-LLM or AIPerf to traces."""
    from hsd_viz.adapters.read import import_records, pooled, summary
    from hsd_viz.trace.trace import checked_name

    arguments.check_outputs(save)
    if save is not None:
        checked_name(save)
    code, is_live = 0, "://" in record
    if is_live:
        code, traces = _live(record, request)
    elif request.prompt is not None:
        raise ValueError(f"--prompt needs the address of a server, such as http://127.0.0.1:8080, not '{record}'")
    else:
        with arguments.reading(record):
            traces = import_records(Path(record), engine)
    print(summary(traces), file=sys.stderr if is_live else sys.stdout)
    if save is not None:
        with arguments.writing(save):
            print(pooled(traces).save(save))
    return code


def _live(url: str, request: Request) -> tuple[int, list[Trace]]:
    """Send one request, print its text as it arrives, and return the exit code and its trace."""
    from hsd_viz.adapters.live import LiveRequest, lines, printable

    if request.prompt is None:
        raise ValueError("a request to a server needs --prompt TEXT")
    options: dict[str, Any] = {"max_tokens": request.max_new_tokens, "temperature": request.temperature}
    if request.model is not None:
        options["model"] = request.model
    live, code = LiveRequest(url, request.prompt, request.chat, request.api_key, options), 0
    try:
        for text in live:
            sys.stdout.write(printable(text))
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    print()
    for line in lines(live):
        print(line, file=sys.stderr)
    return code, [live.trace()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of the run."""

    batch: A[int, Range(1, 4096), "N", "requests per batch of the run"] = 1
    method: A[str | None, "M", "draft, eagle, eagle3, mtp, dflash, medusa, ngram or suffix (default: the record's)"] = (
        None
    )
    draft_model: A[str | None, "NAME", "the draft model in the settings to paste"] = None
    speed: A[float | None, Range(1e-6, 1e9), "R", "tokens per second of a request with speculation"] = None
    plain_speed: A[float | None, Range(1e-6, 1e9), "R", "tokens per second of a request without speculation"] = None
    step_ms: A[float | None, Range(0, 1e6), "MS", "time of a plain step of the target"] = None
    verify_ms: A[float | None, Range(0, 1e6), "MS", "time of the target's forward pass over a draft"] = None
    draft_ms: A[float | None, Range(0, 1e6), "MS", "time of drafting per round"] = None
    overhead_ms: A[float | None, Range(0, 1e6), "MS", "other time per round"] = None


def doctor(
    record: A[Path | None, "FILE", "a trace, a bench report or a record of another engine"] = None,
    *,
    measure: A[str | None, "STACK", "measure a few short decodes with this stack instead"] = None,
    target: A[str, "M", "the target of --measure"] = "target",
    acceptance: A[str | None, "A", "instead of a record: accepted / drafted, a length, or rates: 0.8,0.6"] = None,
    lookahead: A[int | None, Range(1, 64), "K", "draft tokens per round, with --acceptance"] = None,
    stack: A[str | None, "S", "the row of a bench report (default: the first with a drafter)"] = None,
    known: Known,
    gpu: A[str | None, "NAME", "the GPU, as in H100: fill in unknown times, and answer for other batches"] = None,
    models: A[str | None, "T,D", "with --gpu: the target and its draft model: names or config.json paths"] = None,
    tp: A[int, Range(1, 64), "N", "GPUs that share each model"] = 1,
    context: A[int, Range(1, 10_000_000), "N", "tokens cached per request"] = 2048,
    weights: A[Literal["bf16", "fp8", "int8", "int4"], "format of the weights"] = "bf16",
    profile: A[Path | None, "OUT", "write acceptance by position as speculation_profile.json"] = None,
    json_: Json = None,
    html: Html = None,
) -> None:
    """Explain why speculative decoding is not faster, and what to set."""
    from hsd_viz.logs import observe
    from hsd_viz.logs.doctor import diagnose, roofline_of

    if sum(one is not None for one in (record, measure, acceptance)) != 1:
        raise ValueError("give one of FILE, --measure STACK and --acceptance A")
    if (gpu is None) != (models is None):
        raise ValueError("--gpu and --models belong together: name the GPU and the models on it")
    arguments.check_outputs(json_, html)
    roofline = None
    if gpu is not None and models is not None:
        roofline = roofline_of(gpu, models.split(","), tp, context=context, weights=weights)
    if measure is not None:
        run = observe.measure(target, measure)
    elif acceptance is not None:
        run = observe.from_figures(_rates(acceptance), lookahead)
    else:
        with arguments.reading(str(record)):
            run = observe.observe(record, stack)
    run = observe.with_times(run, **{name.removesuffix("_ms"): value for name, value in asdict(known).items()})
    diagnosis = diagnose(run, roofline)
    if profile is not None:
        with arguments.writing(profile):
            observe.profile_of(run).save(profile)
    parts: list[Any] = diagnosis.lines()
    for table in diagnosis.tables():
        parts += ["", f"{table.title}: {table.note}" if table.note else table.title]
        parts += [table.rows] if table.rows else []
    # On lines of their own, to be pasted.
    settings = [f"  {engine}: {text}" for engine, text in diagnosis.flags.items()]
    show([*parts, *(["", f"{diagnosis.settings().title}:", *settings] if settings else [])])
    tables = [*diagnosis.tables(), diagnosis.settings()]
    _write(json_, html, diagnosis.to_dict(), f"Diagnosis of {run.source}", diagnosis.lines(), tables)


def _rates(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--acceptance {text!r} is not readable: use a number, or rates as in 0.8,0.6,0.5") from None


def _write(
    json: Path | None, html: Path | None, data: Any, title: str, lines: Iterable[str], tables: Iterable[Any]
) -> None:
    """Write the files of --json and --html."""
    arguments.write_json(json, data)
    if html is not None:
        from hsd_viz.tables import page

        arguments.write_text(html, page(title, lines, tables))
