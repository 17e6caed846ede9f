"""What a trace says of its run as a whole: the object ``meta`` of a trace file."""

from __future__ import annotations

from typing import Any, TypedDict


class ModelMeta(TypedDict, total=False):
    """A model of a run.

    Attributes:
        level: the level of the model; 0 is the lowest.
        name: the name in the stack.
        model: the name of the model itself, or its path.
        lookahead: the lookahead; ``None`` for the target.
        confidence: the probability below which its drafts end.
        parameters: the number of parameters.
        weights: the hash of the weights.
        runtime: what computes its forward passes.
        bridge: the facts about the bridge between its vocabulary and the target's.
    """

    level: int
    name: str
    model: str
    lookahead: int | None
    confidence: float | None
    parameters: int | None
    weights: str | None
    runtime: str
    bridge: dict[str, int | str]


class SamplingMeta(TypedDict, total=False):
    """The settings of the sampling (:class:`hsd_viz.decoding.options.Sampling`); those of a later
    version are kept.
    """

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int
    rule: str


class PlainMeta(TypedDict, total=False):
    """Plain decoding, measured with the run.

    Attributes:
        tokens: the number of tokens.
        tokens_per_second: its speed.
        load_average: the load of the machine.
        cores: the number of cores of the machine.
        speedups: the speed-ups of pairs of runs, if they were repeated.
    """

    tokens: int
    tokens_per_second: float | None
    load_average: float
    cores: int | None
    speedups: list[float]


class TraceMeta(TypedDict, total=False):
    """The description of a run. Which keys there are depends on the engine, and on the version that
    recorded it; :data:`hsd_viz.trace.file.REQUIRED_META` are in each file. The types are those of a
    decode: an imported trace has ``None`` where its record has no value.

    Attributes:
        stack: the stack as it was asked for.
        stack_resolved: the stack with all lookaheads and databases.
        bottom: the draft source below the models.
        prompt: the prompt as text.
        prompt_ids: its token ids.
        models: the models, lowest level first.
        family: the family of the models.
        databases: the folder of databases in place of the family's.
        sampling: the settings of the sampling.
        rule_words: of a verification rule of another package, its own description.
        chat: whether the prompt passed the chat template.
        max_new_tokens: the token limit.
        prefill_ns: the time of the prefill.
        wall_ns: the time of the whole run.
        decode_ns: of an imported run, the time after the prefill.
        stop_reason: ``eos``, ``length``, ``context`` or ``cancelled``.
        cancelled: whether the run was cancelled.
        detailed: whether probabilities and likely tokens are recorded.
        created: the time of the run, in ISO 8601.
        device: the device of the models.
        device_name: the name of the processor.
        dtype: the number type of the weights.
        threads: the number of threads of forward passes.
        runtime: the runtime of the models.
        runtime_note: why it is not the fastest one.
        versions: the versions of packages by name.
        costs: where the costs of verification are from.
        fastest_of: the number of runs of which this is the fastest.
        plain: plain decoding, measured with the run.
        parent: the run and the token from which this one branches off.
        counts: the sums of an imported run.
        imported: the facts of an import.
        clock: the origin of the times of an imported run.
    """

    stack: str
    stack_resolved: str
    bottom: str | None
    prompt: str
    prompt_ids: list[int]
    models: list[ModelMeta]
    family: str
    databases: str
    sampling: SamplingMeta
    rule_words: str
    chat: bool
    max_new_tokens: int
    prefill_ns: int
    wall_ns: int
    decode_ns: int | None
    stop_reason: str
    cancelled: bool
    detailed: bool
    created: str
    device: str
    device_name: str | None
    dtype: str
    threads: int
    runtime: str
    runtime_note: str | None
    versions: dict[str, str]
    costs: str
    fastest_of: int
    plain: PlainMeta | None
    parent: dict[str, Any]
    counts: dict[str, Any]
    imported: dict[str, Any]
    clock: str
