"""``hsd-viz import``, ``replay``, ``doctor`` and ``audit``: runs, logs and decoders of other
programs.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated as A
from typing import Any

from hsd_viz.cli import shared
from hsd_viz.cli.arguments import Out, Save
from hsd_viz.cli.shared import Html, Json, RuleOption
from hsd_viz.disk import writing
from hsd_viz.errors import UserError, first_line, parsing
from hsd_viz.measure.case import Case
from hsd_viz.terminal import progress_bar, status
from hsd_viz.words import MAX_BUDGET


def replay(
    log: A[Path, "LOG", "a file of requests with their outputs"],
    *,
    drafter: A[
        tuple[str, ...], "NAME", "a draft source, as in a stack; may be repeated (default: seven)"
    ] = (),
    tokenizer: A[
        str | None,
        "T",
        "the log's tokenizer: a family or model, a hub id, a "
        "folder, a tokenizer.json or a GGUF file",
    ] = None,
    budget: A[
        int | None, (1, MAX_BUDGET), "N", "the most draft tokens per round, cost stopping off"
    ] = None,
    verify_cost: A[str, "C", "cost of drafts: cpu, free16, a number, or c(0),c(1),..."] = "cpu",
    temperature: A[
        float | None, (0, 100), "T", "of the sampling (default: of each request, else 0)"
    ] = None,
    databases: A[
        Path | None, "DIR", "use these databases (default: the shipped ones, for their tokenizer)"
    ] = None,
    limit: A[int | None, (1, 10**9), "N", "replay at most N requests"] = None,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Count what drafters would have brought on a log, without a model."""
    from hsd_viz.measure import replay as logs
    from hsd_viz.results.result import show

    with progress_bar() as update:
        report = logs.replay(
            log,
            drafters=drafter or logs.DRAFTERS,
            tokenizer=tokenizer,
            budget=budget,
            verify_cost=verify_cost,
            temperature=temperature,
            databases=databases,
            limit=limit,
            progress=update,
        )
    return show(report, json=json_, html=html)


def import_(
    record: A[Path, "RECORD", "responses, a log, a stream, a summary or a copy of /metrics"],
    *,
    engine: A[str | None, "ENGINE", "the engine, as in vllm (default: any)"] = None,
    model: A[str | None, "NAME", "of a record of several models: save this one"] = None,
    since: A[
        Path | None, "BEFORE", "an earlier copy of /metrics: count from it, not from the start"
    ] = None,
    save: A[Save | None, "FILE", "write one trace; several requests are added up"] = None,
    json_: Json = None,
) -> int:
    """Convert records of vLLM, SGLang, llama.cpp, TensorRT-LLM and others to traces."""
    from hsd_viz.records.imported import import_records
    from hsd_viz.records.traces import trace_of
    from hsd_viz.results.result import show

    with parsing(record):
        imported = import_records(record, engine, since)
    code = show(imported, json=json_)
    if save is not None:
        trace = trace_of(imported.reading.one(model))
        with writing(save):
            print(trace.save(save))
    return code


def doctor(
    *,
    profile: A[
        Out | None, "OUT", "write acceptance by position as speculation_profile.json"
    ] = None,
    fail_below: A[
        float | None, (0, 1000), "X", "exit with 1 if the speed-up is below X, or collapsed"
    ] = None,
    json_: Json = None,
    html: Html = None,
    case: Case,
) -> int:
    """Explain why speculative decoding is not faster, and what to set."""
    from hsd_viz.measure.doctor import below, explain
    from hsd_viz.measure.profile import profile_of
    from hsd_viz.results.result import show

    diagnosis = explain(case)
    shared.write_json(profile, profile_of(diagnosis.observation) if profile else None)
    code = show(diagnosis, json=json_, html=html)
    if fail_below is not None and (why := below(diagnosis, fail_below)):
        print(f"failed: {why}", file=sys.stderr)
        return 1
    return code


def audit(
    *,
    stack: A[
        tuple[str, ...],
        "S",
        "audit the loop of this stack over toy models, in place of its own; may be repeated",
    ] = (),
    rule: RuleOption = "block",
    exact: A[
        str | None, "MODULE:FUNCTION", "audit this function: a module or a file, and the name in it"
    ] = None,
    models: A[int, (1, 4), "N", "toy models of --exact"] = 2,
    schedule: A[
        bool, "audit rules that end or shorten drafts, in fractions, and this project's own"
    ] = False,
    speculative: A[
        str | None, "URL", "the endpoint with speculation, up to and including /v1"
    ] = None,
    plain: A[str | None, "URL", "the endpoint without speculation"] = None,
    model: A[str, "M", "the model to request from both"] = "",
    body: A[
        str | None, "JSON", "further request parameters of both, as in '{\"min_p\": 0.05}'"
    ] = None,
    api_key_env: A[str | None, "NAME", "environment variable with the API key"] = None,
    suite: A[str, "NAME|PATH", "prompts: a suite or a file"] = "heldout",
    limit: A[int, (1, 10_000), "N", "prompts"] = 8,
    tolerance: A[
        float, (0, 0.1), "E", "probabilities that differ by less are equal; 1e-5 for float32"
    ] = 1e-9,
    samples: A[int, (0, 1_000_000), "N", "most pairs"] = 400,
    temperature: A[float, (0.01, 10), "T", "temperature of the samples"] = 1.0,
    alpha: A[float, (1e-9, 0.5), "A", "the largest rate of false alarms"] = 0.001,
    near_tie: A[
        float, (0, 10), "D", "difference of log probabilities that rounding may explain, in nats"
    ] = 0.05,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Test whether a decoder is lossless."""
    from hsd_viz.audit.result import AuditResult
    from hsd_viz.results.result import show

    if not (stack or exact or speculative or plain or schedule):
        raise UserError(
            "nothing to audit: give --stack, --exact, --schedule, or --speculative and --plain"
        )
    if schedule:
        if stack or exact or speculative or plain:
            raise UserError("--schedule audits its own rules: leave out the other decoders")
        from hsd_viz.audit.schedules import audit_schedules

        return show(audit_schedules(), json_, html)
    if bool(speculative) != bool(plain):
        raise UserError(
            "a statistical audit compares two endpoints: give both --speculative and --plain"
        )
    from hsd_viz import audit as audits
    from hsd_viz.audit.stacks import loop_decoder
    from hsd_viz.models.families import CODE
    from hsd_viz.prompts.suites import load_suite
    from hsd_viz.stack import parse

    check = partial(audits.exact, tolerance=tolerance)
    audited: dict[str, Callable[[], Any]] = {}
    for text in stack:
        levels = parse(text)
        for model_of_stack in levels.models:
            name = model_of_stack.name
            if "/" not in name and name not in CODE.names:
                raise UserError(
                    f"unknown model '{name}': toy models replace {', '.join(CODE.names)}, "
                    "hub ids and paths"
                )
        audited[text] = partial(check, loop_decoder(levels, rule), models=len(levels.models))
    if exact is not None:
        audited[exact] = partial(check, _function(exact), models=models)
    if speculative and plain:
        key = os.environ.get(api_key_env or "")
        prompts = [prompt.text for prompt in load_suite(suite).limited(limit).prompts]
        parameters = _body(body)
        audited[speculative] = partial(
            audits.statistical,
            audits.Endpoint(speculative, model, key, parameters),
            audits.Endpoint(plain, model, key, parameters),
            prompts,
            samples=samples,
            temperature=temperature,
            alpha=alpha,
            near_tie=near_tie,
            progress=status,
        )
    done = {}
    for name, run in audited.items():
        status(f"auditing {name}")
        done[name] = run()
        status()
    return show(AuditResult(done), json=json_, html=html)


def _body(text: str | None) -> dict[str, Any]:
    """Return request parameters.

    Raises:
        UserError: if they are not a JSON object.
    """
    if text is None:
        return {}
    try:
        parameters = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"--body is not JSON: {first_line(error)}") from None
    if not isinstance(parameters, dict):
        raise UserError(f'--body must be a JSON object, as in {{"min_p": 0.05}}, not {text[:40]}')
    return parameters


def _function(text: str) -> Any:
    """Return the function that ``MODULE:FUNCTION`` or ``FILE.py:FUNCTION`` names."""
    where, _, name = text.rpartition(":")
    if not where or not name.isidentifier():
        raise UserError(
            f"'{text}' does not name a function: write MODULE:FUNCTION or FILE.py:FUNCTION"
        )
    folder, module = (
        (Path(where).resolve().parent, Path(where).stem)
        if where.endswith(".py")
        else (Path.cwd(), where)
    )
    sys.path.insert(0, str(folder))
    try:
        function = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise UserError(f"cannot import {where}: {error}") from None
    finally:
        sys.path.pop(0)
    if not callable(function):
        raise UserError(f"{where} has no function {name}")

    def called(task: Any) -> Any:
        try:
            return function(task)
        except Exception as error:
            raise UserError(
                f"{text} failed: {type(error).__name__}: {first_line(error)}"
            ) from error

    return called
