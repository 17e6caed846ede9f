"""``hsd-viz audit``: is a decoder lossless?"""

import importlib
import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated as A
from typing import Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import Html, Rule


def audit(
    *,
    stack: A[tuple[str, ...], "S", "audit the loop of this stack; may be repeated"] = (),
    rule: Rule = "block",
    exact: A[str | None, "MODULE:FUNCTION", "audit this function: a module or a file, and the name in it"] = None,
    models: A[int, (1, 4), "N", "toy models of --exact"] = 2,
    speculative: A[str | None, "URL", "the endpoint with speculation, up to and including /v1"] = None,
    plain: A[str | None, "URL", "the endpoint without speculation"] = None,
    model: A[str, "M", "the model to request from both"] = "",
    api_key_env: A[str | None, "NAME", "environment variable with the API key"] = None,
    suite: A[str, "NAME|PATH", "prompts: a suite or a file"] = "heldout",
    limit: A[int, (1, 10_000), "N", "prompts"] = 8,
    tolerance: A[float, (0, 0.1), "E", "probabilities that differ by less are equal; 1e-5 for float32"] = 1e-9,
    samples: A[int, (0, 1_000_000), "N", "most pairs"] = 400,
    temperature: A[float, (0.01, 10), "T", "temperature of the samples"] = 1.0,
    alpha: A[float, (1e-9, 0.5), "A", "the largest rate of false alarms"] = 0.001,
    near_tie: A[float, (0, 10), "D", "difference of log probabilities that rounding may explain, in nats"] = 0.05,
    html: Html = None,
) -> int:
    """Test whether a decoder is lossless."""
    if not (stack or exact or speculative or plain):
        raise ValueError("nothing to audit: give --stack, --exact, or --speculative and --plain")
    if bool(speculative) != bool(plain):
        raise ValueError("a statistical audit compares two endpoints: give both --speculative and --plain")
    from hsd_viz import audit as audits
    from hsd_viz import tables
    from hsd_viz.audit.stacks import loop_decoder
    from hsd_viz.prompts.suites import load_suite
    from hsd_viz.stack import parse

    decoders = [(one, loop_decoder(one, rule), len(parse(one).models)) for one in stack]
    decoders += [] if exact is None else [(exact, _function(exact), models)]
    audited = [(name, partial(audits.exact, run, models=n, tolerance=tolerance)) for name, run, n in decoders]
    if speculative and plain:
        key = None if api_key_env is None else os.environ.get(api_key_env)
        prompts = [prompt.text for prompt in load_suite(suite).limited(limit).prompts]
        ends = audits.Endpoint(speculative, model, key), audits.Endpoint(plain, model, key)
        given = {"samples": samples, "temperature": temperature, "alpha": alpha, "near_tie": near_tie}
        compared = partial(audits.statistical, *ends, prompts, progress=arguments.status, **given)
        audited.append((speculative, compared))
    done: dict[str, Any] = {}
    for name, run in audited:
        arguments.status(f"auditing {name}")
        done[name] = run()
        arguments.status()
        print(f"{name}: {done[name]}")
    rows = [["decoder", "result"], *([name, str(result)] for name, result in done.items())]
    page = tables.page("Audit of losslessness", [], [tables.Table("Decoders", rows)])
    arguments.write_text(html, page)
    verdicts = {result.verdict for result in done.values()}
    return 1 if "not lossless" in verdicts else 130 if "unfinished" in verdicts else 0


def _function(text: str) -> Any:
    """Return the function that ``MODULE:FUNCTION`` or ``FILE.py:FUNCTION`` names."""
    where, _, name = text.rpartition(":")
    if not where or not name.isidentifier():
        raise ValueError(f"'{text}' does not name a function: write MODULE:FUNCTION or FILE.py:FUNCTION")
    path, is_file = Path(where), where.endswith(".py")
    sys.path.insert(0, str(path.parent.resolve() if is_file else Path.cwd()))
    try:
        module = importlib.import_module(path.stem if is_file else where)
    except ImportError as error:
        raise ValueError(f"cannot import {where}: {error}") from None
    finally:
        sys.path.pop(0)
    if not callable(function := getattr(module, name, None)):
        raise ValueError(f"{where} has no function {name}")
    return function
