"""``hsd-viz predict``: what speculative decoding would bring on hardware that is not at hand."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, option

_EPILOG = """\
examples:
  hsd-viz predict --gpu H100 --models llama-70b,llama-8b,llama-1b --tp 4 --weights fp8 --batch 1,8,32 --context 2k,32k
  hsd-viz predict --gpu H100 --models llama-8b,eagle3 --acceptance 0.6 --batch 32
  hsd-viz predict --gpu "RTX 4090" --models ./my-model/config.json,qwen3-0.6b --calibrate 18.2,19.5
  hsd-viz predict --gpu my-card --bandwidth 1200 --flops 300 --gpu-memory 48 --models qwen3-8b,qwen3-0.6b

Step times are max(bytes / bandwidth, FLOPs / peak) and a fixed part, with efficiencies fitted on published figures or on
two measured step times (--calibrate). Acceptances that are not given are assumed. Every assumption is listed.
"""


def add(commands: argparse._SubParsersAction) -> None:
    about = "Predict plain decoding, drafts and hierarchies on hardware that is not at hand."
    parser = arguments.add_command(
        commands, "predict", "predict speed-ups on other hardware", run, about=about, epilog=_EPILOG
    )
    add = partial(option, parser)
    add("--gpu NAME", "a GPU, as in H100; or any name with --bandwidth, --flops and --gpu-memory", required=True)
    add("--models A,B,C", "target first: names, paths of a config.json, or eagle3 for a draft head", required=True)
    add("--tp N", "GPUs that share each model (default 1)", int, default=1)
    add("--weights FORMAT", "bf16, fp8, int8 or int4 (default bf16)", default="bf16")
    add("--cache FORMAT", "format of the KV cache: bf16 or fp8 (default bf16)", default="bf16")
    add("--batch N,N", "sequences decoded together (default 1)", default="1")
    add("--context N,N", "tokens cached per sequence, as in 2k,32k (default 2k)", default="2k")
    add("--temperature T", "0-2; lowers assumed acceptances (default 0)", float, default=0.0)
    text = "acceptance of draft tokens for all pairs, or of one pair as in 'llama-1b > llama-70b=0.7'; may be repeated"
    add("--acceptance A", text, action="append", default=[])
    add("--profile F", "acceptance of the draft model from a speculation_profile.json", file_name)
    add("--records F", "the same from a record of another engine or a trace (see `hsd-viz doctor`)", Path)
    add("--calibrate T1,T8", "measured ms of a step of the target with 1 and with 8 tokens", default=None)
    add("--bandwidth GB", "GB/s of an unknown GPU", float)
    add("--flops TF", "dense 16-bit TFLOP/s of an unknown GPU", float)
    add("--gpu-memory GB", "memory of an unknown GPU", float)
    add("--json OUT", "write the whole prediction", file_name)
    add("--html OUT", "write a figure of the speed-ups", file_name)


def run(args: argparse.Namespace) -> int:
    """Predict and return the exit code; ``ValueError`` for bad input."""
    from hsd_viz.bench.predict import predict, report_lines

    found = predict(
        args.gpu,
        [name.strip() for name in args.models.split(",") if name.strip()],
        tp=args.tp,
        weights=args.weights,
        cache=args.cache,
        batch=numbers(args.batch, "--batch"),
        context=numbers(args.context, "--context"),
        temperature=args.temperature,
        acceptance=measured_acceptance(args),
        calibrate=None if args.calibrate is None else pair(args.calibrate),
        bandwidth=args.bandwidth,
        flops=args.flops,
        memory=args.gpu_memory,
    )
    arguments.check_outputs(args.json, args.html)
    if args.json is not None:
        arguments.write_json(args.json, found.to_dict())
    if args.html is not None:
        from hsd_viz.figures import prediction

        arguments.write_text(args.html, prediction(found).to_html(include_plotlyjs=True))
    from hsd_viz.terminal import show

    show(report_lines(found))
    return 0


def measured_acceptance(args: argparse.Namespace) -> Any:
    """Return the acceptance that the options give; ``None``: none."""
    if args.profile is None and args.records is None:
        return acceptances(args.acceptance)
    if args.acceptance or None not in (args.profile, args.records):
        raise ValueError("--profile, --records and --acceptance exclude each other")
    _, *drafts = [name.strip() for name in args.models.split(",")]
    if len(drafts) != 1:
        raise ValueError("a profile is of one draft model: name the target and that model in --models")
    if args.records is not None:
        from hsd_viz.logs.observe import observe, profile_of

        return profile_of(observe(args.records)).edge()
    from hsd_viz.calibration.profile import read_profile

    return read_profile(args.profile).edge()


def numbers(text: str, name: str) -> list[int]:
    """Read whole numbers, with k for 1024, separated by commas."""
    try:
        return [int(part[:-1]) * 1024 if part.lower().endswith("k") else int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} {text!r} is not readable: use whole numbers, as in 1,8,32 or 2k,32k") from None


def pair(text: str) -> tuple[float, float]:
    """Read two step times."""
    try:
        one, many = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--calibrate {text!r} is not readable: use two times in ms, as in 18.2,19.5") from None
    return one, many


def acceptances(given: list[str]) -> float | dict[str, float] | None:
    """Read acceptances: one number, or one per pair."""
    try:
        if len(given) == 1 and "=" not in given[0]:
            return float(given[0])
        read = dict(one.rsplit("=", 1) for one in given)
        return {" > ".join(p.strip() for p in key.split(">")): float(v) for key, v in read.items()} or None
    except ValueError:
        raise ValueError(
            f"--acceptance {' '.join(given)!r} is not readable: use one number, or 'draft > verifier=0.7'"
        ) from None
