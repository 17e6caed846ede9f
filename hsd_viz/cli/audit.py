"""``hsd-viz audit``: is a decoder lossless?"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, number, option
from hsd_viz.decoding.settings import DEFAULT_RULE
from hsd_viz.trace.tables import RULES

if TYPE_CHECKING:
    from hsd_viz.audit import ExactAudit, StatisticalAudit

_EPILOG = """\
examples:
  hsd-viz audit --stack "nano:2 > target" --stack "nano:1 > small:2 > target"
  hsd-viz audit --exact my_decoder.py:decode --models 2 --html audit.html
  hsd-viz audit --speculative http://127.0.0.1:8000/v1 --plain http://127.0.0.1:8001/v1 --model m --suite heldout

Exact: the output law of a decoder over toy models, by enumeration of its random decisions; the first wrong conditional
is named, and matched with six known faults. --stack audits this project's loop in the shape of a stack, --exact any
Python function decode(task); see hsd_viz.audit.exact.
Statistical: two OpenAI-style completions endpoints of one model, with and without speculation. Sampled pairs go
through a sequential test whose rate of false alarms is at most --alpha; greedy texts are compared up to their first
divergence, a near-tie or a bug.

Exit code 0: lossless, or no difference found; 1: not lossless; 2: bad usage or input; 130: interrupted.
"""


def add(commands: argparse._SubParsersAction) -> None:
    parser = arguments.add_command(commands, "audit", "test whether a decoder is lossless", run, epilog=_EPILOG)
    add = partial(option, parser.add_argument_group("exact"))
    add("--stack S", "audit the loop of this stack; may be repeated", action="append", default=[])
    add("--rule", f"verification rule of --stack (default {DEFAULT_RULE})", choices=RULES, default=DEFAULT_RULE)
    add("--exact MODULE:FUNCTION", "audit this function: a module or a file, and the name in it")
    add("--models N", "toy models of --exact (default 2)", number(1, 4), default=2)
    add("--vocabulary N", "size of the toy vocabulary, 2-6 (default 3)", number(2, 6), default=3)
    add("--tokens N", "tokens per output (default 3)", number(1, 8), default=3)
    text = "probabilities that differ by less are equal; 1e-5 for decoders in float32 (default 1e-9)"
    add("--tolerance E", text, number(0.0, 0.1, float), default=1e-9)
    add = partial(option, parser.add_argument_group("statistical"))
    add("--speculative URL", "the endpoint with speculation, up to and including /v1")
    add("--plain URL", "the endpoint without speculation")
    add("--model M", "the model to request from both", default="")
    add("--api-key-env NAME", "environment variable with the API key")
    add("--suite NAME|PATH", "prompts: a suite or a file (default heldout)", default="heldout")
    add("--limit N", "prompts (default 8)", number(1, 10_000), default=8)
    add("--samples N", "most pairs (default 400)", number(0, 1_000_000), default=400)
    add("--sample-tokens N", "tokens of each (default 8)", number(1, 512), default=8)
    add("--temperature T", "default 1", number(0.01, 10.0, float), default=1.0)
    add("--alpha A", "default 0.001", number(1e-9, 0.5, float), default=0.001)
    text = "difference of log probabilities that rounding may explain, in nats (default 0.05)"
    add("--near-tie D", text, number(0.0, 10.0, float), default=0.05)
    option(parser, "--html OUT", "write the report as a page", file_name)


def run(args: argparse.Namespace) -> int:
    """Audit and return the exit code. Raises ValueError for invalid input."""
    endpoints = args.speculative is not None or args.plain is not None
    if not (args.stack or args.exact or endpoints):
        raise ValueError("nothing to audit: give --stack, --exact, or --speculative and --plain")
    if endpoints and None in (args.speculative, args.plain):
        raise ValueError("a statistical audit compares two endpoints: give both --speculative and --plain")
    arguments.check_outputs(args.html)
    from hsd_viz.audit import page

    found: dict[str, Any] = {}
    for name, decode, models in _decoders(args):
        arguments.status(f"enumerating {name}")
        found[name] = _exact(args, decode, models)
        _show(name, found[name])
    if endpoints:
        found[args.speculative] = _statistical(args)
        _show(args.speculative, found[args.speculative])
    if args.html is not None:
        arguments.write_text(args.html, page(found))
    verdicts = [getattr(audit, "verdict", None) for audit in found.values()]
    if "not lossless" in verdicts or any(getattr(audit, "lossless", True) is False for audit in found.values()):
        return 1
    return 130 if "unfinished" in verdicts else 0


def _decoders(args: argparse.Namespace) -> list[tuple[str, Any, int]]:
    found = []
    if args.stack:
        from hsd_viz.audit.stacks import loop_decoder, models_in

        found += [(stack, loop_decoder(stack, args.rule), models_in(stack)) for stack in args.stack]
    if args.exact:
        found.append((args.exact, _function(args.exact), args.models))
    return found


def _exact(args: argparse.Namespace, decode: Any, models: int) -> ExactAudit:
    from hsd_viz.audit import exact

    sizes = {"models": models, "vocabulary": args.vocabulary, "new_tokens": args.tokens}
    return exact(decode, **sizes, tolerance=args.tolerance)


def _statistical(args: argparse.Namespace) -> StatisticalAudit:
    from hsd_viz.audit import Endpoint, statistical
    from hsd_viz.prompts.suites import load_suite

    key = None if args.api_key_env is None else os.environ.get(args.api_key_env)
    return statistical(
        Endpoint(args.speculative, args.model, key),
        Endpoint(args.plain, args.model, key),
        [prompt.text for prompt in load_suite(args.suite).limited(args.limit).prompts],
        samples=args.samples,
        tokens=args.sample_tokens,
        temperature=args.temperature,
        alpha=args.alpha,
        near_tie=args.near_tie,
        progress=lambda done, total, what: arguments.status(f"{done}/{total}  {what}"),
    )


def _show(name: str, found: ExactAudit | StatisticalAudit) -> None:
    arguments.status()
    print(f"{name}: {found}")


def _function(text: str) -> Any:
    """Return the function that ``MODULE:FUNCTION`` or ``FILE.py:FUNCTION`` names."""
    where, _, name = text.rpartition(":")
    if not where or not name.isidentifier():
        raise ValueError(f"'{text}' does not name a function: write MODULE:FUNCTION or FILE.py:FUNCTION")
    path = Path(where)
    sys.path.insert(0, str(path.parent.resolve() if where.endswith(".py") else Path.cwd()))
    try:
        module = importlib.import_module(path.stem if where.endswith(".py") else where)
    except ImportError as error:
        raise ValueError(f"cannot import {where}: {error}") from None
    finally:
        sys.path.pop(0)
    if not callable(found := getattr(module, name, None)):
        raise ValueError(f"{where} has no function {name}")
    return found
