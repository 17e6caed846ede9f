"""``hsd-viz predict``: what speculative decoding would bring on hardware that is not at hand."""

from pathlib import Path
from typing import Annotated as A
from typing import Any

from hsd_viz.cli import arguments
from hsd_viz.cli.options import Numbers, Out


def predict(
    *,
    gpu: A[str, "NAME", "a GPU, as in H100; or any name with --bandwidth, --flops and --gpu-memory"],
    models: A[str, "A,B,C", "target first: names, paths of a config.json, or eagle3 for a draft head"],
    batch: A[Numbers, "N,N", "sequences decoded together"] = "1",
    context: A[Numbers, "N,N", "tokens cached per sequence, as in 2k,32k"] = "2k",
    acceptance: A[tuple[str, ...], "A", "of all pairs, or of one as in 'llama-1b > llama-70b=0.7'; repeatable"] = (),
    profile: A[Path | None, "F", "acceptance of the draft model from a speculation_profile.json"] = None,
    records: A[Path | None, "F", "the same from a record of another engine or a trace (see `hsd-viz doctor`)"] = None,
    calibrate: A[Numbers | None, "T1,T8", "measured ms of a step of the target with 1 and with 8 tokens"] = None,
    tp: A[int, "N", "GPUs that share each model"] = 1,
    weights: A[str, "FORMAT", "bf16, fp8, int8 or int4"] = "bf16",
    cache: A[str, "FORMAT", "format of the KV cache: bf16 or fp8"] = "bf16",
    temperature: A[float, "T", "0-2; lowers assumed acceptances"] = 0.0,
    bandwidth: A[float | None, "GB", "GB/s of an unknown GPU"] = None,
    flops: A[float | None, "TF", "dense 16-bit TFLOP/s of an unknown GPU"] = None,
    gpu_memory: A[float | None, "GB", "memory of an unknown GPU"] = None,
    json_: A[Out | None, "OUT", "write the whole prediction"] = None,
    html: A[Out | None, "OUT", "write a figure of the speed-ups"] = None,
) -> None:
    """Predict plain decoding, drafts and hierarchies on hardware that is not at hand."""
    from hsd_viz.bench.predict import predict, report_parts
    from hsd_viz.terminal import show

    if calibrate is not None and len(calibrate) != 2:
        raise ValueError("--calibrate needs two times in ms, as in 18.2,19.5")
    names = [name.strip() for name in models.split(",") if name.strip()]
    options: dict[str, Any] = {"batch": batch, "context": context, "calibrate": calibrate, "tp": tp, "cache": cache}
    options |= {"weights": weights, "temperature": temperature, "bandwidth": bandwidth, "flops": flops}
    found = predict(
        gpu, names, memory=gpu_memory, acceptance=_acceptance(names, acceptance, profile, records), **options
    )
    arguments.write_json(json_, found.to_dict())
    if html is not None:
        from hsd_viz import figures

        arguments.write_text(html, figures.prediction(found).to_html(include_plotlyjs=True))
    show(report_parts(found))


def _acceptance(models: list[str], given: tuple[str, ...], profile: Path | None, records: Path | None) -> Any:
    """Return the acceptance that the options give: one number, one per pair, or a profile; ``None``: none."""
    if profile is None and records is None:
        try:
            if len(given) == 1 and "=" not in given[0]:
                return float(given[0])
            pairs = dict(one.rsplit("=", 1) for one in given)
            return {" > ".join(p.strip() for p in key.split(">")): float(v) for key, v in pairs.items()} or None
        except ValueError:
            form = "use one number, or 'draft > verifier=0.7'"
            raise ValueError(f"--acceptance {' '.join(given)!r} is not readable: {form}") from None
    if given or None not in (profile, records):
        raise ValueError("--profile, --records and --acceptance exclude each other")
    if len(models) != 2:
        raise ValueError("a profile is of one draft model: name the target and that model in --models")
    from hsd_viz.logs.observe import observe
    from hsd_viz.logs.profile import edge_of, profile_of, read_profile

    with arguments.reading(str(records or profile)):
        return edge_of(read_profile(profile) if records is None else profile_of(observe(records)))
