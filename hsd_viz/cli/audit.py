"""``hsd-viz audit``: is a decoder lossless? An action for each kind of decoder."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Annotated as A
from typing import Any

from hsd_viz.cli.shared import Html, Json
from hsd_viz.decoding.options import DEFAULT_RULE, Sampling
from hsd_viz.errors import INVALID_JSON, UserError, first_line
from hsd_viz.measure.audit.options import (
    ALPHA,
    NEAR_TIE,
    SAMPLES,
    TEMPERATURE,
    TOLERANCE,
    TOY_MODELS,
    Alpha,
    NearTie,
    Samples,
    Temperature,
    Tolerance,
    ToyModels,
)
from hsd_viz.settings.declare import CliOption, Setting, settings_of
from hsd_viz.settings.ranges import Range
from hsd_viz.terminal import status

#: A function that runs an audit and returns its result.
Audit = Callable[[], Any]


def audit_stacks(
    stacks: A[
        tuple[str, ...],
        Setting("a stack; toy models take the place of its models", CliOption("STACK")),
    ],
    *,
    rule: A[str, settings_of(Sampling)["rule"]] = DEFAULT_RULE,
    tolerance: Tolerance = TOLERANCE,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Enumerate the decoding loop of stacks over toy models."""
    audits = {}
    for text in stacks:
        audits[text] = _audit_of_stack(text, rule, tolerance)
    return _print_audits(audits, json_, html)


def audit_functions(
    functions: A[
        tuple[str, ...],
        Setting(
            "a decoder: a module or a file, and the name of a function in it",
            CliOption("MODULE:FUNCTION"),
        ),
    ],
    *,
    models: ToyModels = TOY_MODELS,
    tolerance: Tolerance = TOLERANCE,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Enumerate the random decisions of functions over toy models."""
    from hsd_viz.measure.audit.exact import exact

    audits = {}
    for text in functions:
        audits[text] = partial(exact, _function(text), models=models, tolerance=tolerance)
    return _print_audits(audits, json_, html)


def audit_schedule(
    *,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Audit rules that end or shorten drafts, in fractions, and the stops of the own loop."""
    from hsd_viz.measure.audit.schedules import audit_schedules
    from hsd_viz.results.result import print_result

    return print_result(audit_schedules(), json=json_, html=html)


def audit_endpoint(
    *,
    speculative: A[
        str,
        Setting("the endpoint with speculation, up to and including /v1", CliOption("URL")),
    ],
    plain: A[str, Setting("the endpoint without speculation", CliOption("URL"))],
    model: A[str, Setting("the model to request from both", CliOption("M"))] = "",
    body: A[
        str | None,
        Setting("further request parameters of both, as in '{\"min_p\": 0.05}'", CliOption("JSON")),
    ] = None,
    api_key_env: A[
        str | None, Setting("environment variable with the API key", CliOption("NAME"))
    ] = None,
    suite: A[str, Setting("prompts: a suite or a file", CliOption("NAME|PATH"))] = "heldout",
    limit: A[int, Setting("prompts", CliOption("N"), Range(1, 10_000))] = 8,
    samples: Samples = SAMPLES,
    temperature: Temperature = TEMPERATURE,
    alpha: Alpha = ALPHA,
    near_tie: NearTie = NEAR_TIE,
    json_: Json = None,
    html: Html = None,
) -> int:
    """Compare an endpoint with speculation and one without by a sequential test."""
    from hsd_viz.measure.audit.endpoint import Endpoint
    from hsd_viz.measure.audit.statistical import audit_endpoints

    key = _api_key(api_key_env)
    parameters = _body(body)
    audit = partial(
        audit_endpoints,
        Endpoint(speculative, model, key, parameters),
        Endpoint(plain, model, key, parameters),
        _prompts(suite, limit),
        samples=samples,
        temperature=temperature,
        alpha=alpha,
        near_tie=near_tie,
        progress=status,
    )
    return _print_audits({speculative: audit}, json_, html)


def _print_audits(audits: Mapping[str, Audit], json: Path | None, html: Path | None) -> int:
    """Run the audits of decoders, print their results, and return the exit code."""
    from hsd_viz.measure.audit.result import AuditResult
    from hsd_viz.results.result import print_result

    results = {}
    for name, audit in audits.items():
        status(f"auditing {name}")
        results[name] = audit()
        status()
    return print_result(AuditResult(results), json=json, html=html)


def _audit_of_stack(text: str, rule: str, tolerance: float) -> Audit:
    """Return the audit of the loop of a stack.

    Raises:
        UserError: if the stack is invalid, or toy models cannot replace its models.
    """
    from hsd_viz.measure.audit.stacks import AuditedStack
    from hsd_viz.models.families import CODE

    audited = AuditedStack.of(text, rule)
    for model in audited.stack.models:
        if "/" not in model.name and model.name not in CODE.names:
            raise UserError(
                f"unknown model '{model.name}': toy models replace {', '.join(CODE.names)}, "
                "hub ids and paths"
            )
    return partial(audited.audit, tolerance)


def _prompts(suite: str, limit: int) -> list[str]:
    from hsd_viz.prompts.suites import load_suite

    return [prompt.text for prompt in load_suite(suite).limited(limit).prompts]


def _api_key(variable: str | None) -> str | None:
    """Return the API key in an environment variable; ``None`` if no variable is named.

    Raises:
        UserError: if the variable is not set, or empty.
    """
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise UserError(f"--api-key-env: the environment variable '{variable}' is not set")
    return key


def _body(text: str | None) -> dict[str, Any]:
    """Parse request parameters.

    Raises:
        UserError: if they are not a JSON object.
    """
    if text is None:
        return {}
    try:
        parameters = json.loads(text)
    except INVALID_JSON as error:
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
    function = getattr(_module(where), name, None)
    if not callable(function):
        raise UserError(f"{where} has no function {name}")

    def called(task: Any) -> Any:
        try:
            return function(task)
        except (Exception, SystemExit) as error:
            raise UserError(
                f"{text} failed: {type(error).__name__}: {first_line(error)}"
            ) from error

    return called


def _module(where: str) -> ModuleType:
    """Return the module of a name or a file. It finds modules of its folder, a named one those of
    the working directory.

    Raises:
        UserError: if it cannot be imported, or fails or exits while it is.
    """
    file = Path(where).resolve() if where.endswith(".py") else None
    folder = str(Path.cwd() if file is None else file.parent)
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(where) if file is None else _module_of_file(file)
    except (ImportError, FileNotFoundError) as error:
        raise UserError(f"cannot import {where}: {error}") from error
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise UserError(f"cannot import {where}: {reason}") from error
    finally:
        # The module may have inserted other folders before this one.
        with suppress(ValueError):
            sys.path.remove(folder)


def _module_of_file(file: Path) -> ModuleType:
    """Return the module of a file, under a name of its own: files of two folders may have the same
    name, or that of an imported module.
    """
    digest = hashlib.sha256(os.fsencode(file)).hexdigest()[:16]
    name = f"{file.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # the name of the file ends with .py
    module = importlib.util.module_from_spec(spec)
    # Registered first, because dataclasses look up the module that they belong to.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
