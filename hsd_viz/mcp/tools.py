"""The tools of ``hsd-viz mcp``, which return the results of commands to a chat.

No tool writes a file, decodes with models other than the shipped ones, reads a file outside the
folder of the server, or makes a network request.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as A

from hsd_viz.engine.access import model_outside
from hsd_viz.errors import INVALID_JSON, UserError
from hsd_viz.mcp.folder import Folder
from hsd_viz.mcp.protocol import Server, Tool, ToolAnswer
from hsd_viz.mcp.schemas import Limits, tool_of
from hsd_viz.measure.doctor.options import DoctorOptions, Hardware, Known
from hsd_viz.measure.shared_settings import Tp, WeightsFormat
from hsd_viz.models.families import CODE, FAMILIES, Family, find_family
from hsd_viz.records.lines import RESPONSE_FIELDS
from hsd_viz.results.result import Result
from hsd_viz.settings.declare import Setting, settings_of
from hsd_viz.settings.ranges import MAX_BATCH, MAX_CONTEXT, Range
from hsd_viz.stack import MAX_LOOKAHEAD, TARGET
from hsd_viz.trace.tables import observed

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine
    from hsd_viz.trace import Trace

#: Maximum number of tokens of a decode, of characters of a prompt, and of requests of a replay.
MAX_TOKENS = 256
MAX_PROMPT = 20_000
MAX_REQUESTS = 200
#: Maximum length of the first line of a log that is examined, in bytes.
MAX_LINE = 2**20
File = A[str, Setting("a file of the server's folder"), Limits(length=1000)]
Gpu = A[str, Setting("the GPU, as in H100")]
Models = A[
    Sequence[str],
    Setting("the target, as in llama-8b, then its draft models, as in eagle3"),
    Limits(items=4),
]
#: The settings of a diagnosis, and of the known figures of its run.
_DOCTOR = settings_of(DoctorOptions)
_KNOWN = settings_of(Known)
INSTRUCTIONS = (
    "Tools of hsd_viz, which measures speculative decoding: a cheap drafter proposes tokens, the "
    "target model verifies them in one forward pass. `doctor` explains a run that is not faster, "
    "`predict` estimates hardware that is not at hand, `replay` counts what drafters would bring "
    "on a log, `decode` runs the small shipped models. All are read-only. Files are named relative "
    "to the folder of the server; `list_files` lists them."
)


def make_server(folder: Path | None = None) -> Server:
    """Return the server whose tools may read the files of ``folder``.

    Raises:
        UserError: if it is not a folder.
    """
    tools = FolderTools(Folder.of(folder))
    return Server(tools.tools(), INSTRUCTIONS)


def check_name(name: str) -> str:
    """Return the name of a model after checking that it is not a path, as the command line allows.

    Raises:
        UserError: if it may be a path.
    """
    is_hub = name.count("/") == 1 and not Path(name).exists()
    if name.endswith(".json") or name.startswith((".", "/", "~")) or "\\" in name:
        raise UserError(f"{name!r} is not the name of a model: paths are not read")
    if "/" in name and not is_hub:
        raise UserError(f"{name!r} is not the name of a model: paths are not read")
    return name


class FolderTools:
    """The tools that may read the files of a folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def tools(self) -> list[Tool]:
        """Return the tools with their schemas."""
        return [
            tool_of(self.list_files, "List files"),
            tool_of(self.doctor, "Why is it not faster?"),
            tool_of(self.predict, "Predict other hardware"),
            tool_of(self.replay, "Replay a log"),
            tool_of(self.decode, "Decode"),
        ]

    def list_files(self) -> ToolAnswer:
        """List the files that doctor and replay can read."""
        names = self.folder.names()
        shown = "\n".join(names) or "The server has no folder, or the folder is empty."
        return ToolAnswer(shown, {"files": names})

    def doctor(
        self,
        file: File = "",
        acceptance: A[
            Sequence[float],
            Setting(
                "in place of a file: accepted / drafted, a mean acceptance length, or acceptance "
                "by position",
                range=Range(0, MAX_LOOKAHEAD),
            ),
            Limits(items=MAX_LOOKAHEAD),
        ] = (),
        lookahead: A[int | None, _DOCTOR["lookahead"]] = None,
        model: A[str | None, _DOCTOR["model"]] = None,
        engine: A[str | None, _DOCTOR["engine"]] = None,
        method: A[str | None, _KNOWN["method"]] = None,
        batch: A[int | None, _KNOWN["batch"]] = None,
        speed: A[float | None, _KNOWN["speed"]] = None,
        plain_speed: A[float | None, _KNOWN["plain_speed"]] = None,
        step_ms: A[float | None, _KNOWN["step_ms"]] = None,
        verify_ms: A[float | None, _KNOWN["verify_ms"]] = None,
        draft_ms: A[float | None, _KNOWN["draft_ms"]] = None,
        overhead_ms: A[float | None, _KNOWN["overhead_ms"]] = None,
        gpu: Gpu = "",
        models: Models = (),
        tp: Tp = 1,
        weights: WeightsFormat = "bf16",
    ) -> ToolAnswer:
        """Explain why speculative decoding is not faster, and what to set: from a record of vLLM,
        SGLang, llama.cpp, TensorRT-LLM or others, a trace of hsd_viz, or figures.
        """
        from hsd_viz.measure.doctor.api import doctor

        if bool(file) == bool(acceptance):
            raise UserError("give one of file and acceptance")
        if bool(gpu) != bool(models):
            raise UserError("gpu and models belong together")
        path = self.folder.find(file) if file else None
        if path is not None and is_log_of_texts(path):
            raise UserError(
                f"{file!r} is a log of texts, without counts of draft tokens: `replay` reads it"
            )
        known = Known(
            batch=batch,
            method=method,
            speed=speed,
            plain_speed=plain_speed,
            step_ms=step_ms,
            verify_ms=verify_ms,
            draft_ms=draft_ms,
            overhead_ms=overhead_ms,
        )
        names = [check_name(name) for name in models]
        diagnosis = doctor(
            path,
            acceptance=acceptance,
            lookahead=lookahead,
            model=model,
            engine=engine,
            known=known,
            hardware=Hardware(gpu, names, tp=tp, weights=weights),
        )
        return _answer(diagnosis)

    def predict(
        self,
        gpu: Gpu,
        models: Models,
        batch: A[
            Sequence[int], Setting("sequences decoded together", range=Range(1, MAX_BATCH))
        ] = (1,),
        context: A[
            Sequence[int], Setting("tokens cached per sequence", range=Range(1, MAX_CONTEXT))
        ] = (2048,),
        acceptance: A[
            float | None,
            Setting("accepted / examined of all pairs", range=Range(0, 1)),
        ] = None,
        tp: Tp = 1,
        weights: WeightsFormat = "bf16",
    ) -> ToolAnswer:
        """Predict plain decoding, single drafts and hierarchies on a GPU that is not here."""
        from hsd_viz.measure.predict.api import predict

        return _answer(
            predict(
                gpu,
                [check_name(name) for name in models],
                batch=batch or (1,),
                context=context or (2048,),
                acceptance=acceptance,
                tp=tp,
                weights=weights,
            )
        )

    def replay(
        self,
        file: File,
        drafters: A[
            Sequence[str], Setting("draft sources of a stack: lookup, suffix, db"), Limits(items=8)
        ] = (),
        tokenizer: A[
            str,
            Setting("the log's tokenizer: a file of the server's folder, or target (default)"),
            Limits(length=1000),
        ] = TARGET,
        limit: A[int, Setting("the most requests", range=Range(1, MAX_REQUESTS))] = MAX_REQUESTS,
    ) -> ToolAnswer:
        """Count what drafters that need no model would have brought on a log of requests."""
        from hsd_viz.measure.replay.api import DRAFTERS, replay

        own = tokenizer if tokenizer in CODE.names else self.folder.find(tokenizer)
        return _answer(
            replay(
                self.folder.find(file), drafters=drafters or DRAFTERS, tokenizer=own, limit=limit
            )
        )

    def decode(
        self,
        prompt: A[str, Setting("the text to continue"), Limits(length=MAX_PROMPT)],
        stack: A[
            str,
            Setting(
                "the drafters and the target, as in 'db > target', 'nano:4 > target' or "
                "'db > nano:6 > small:8 > target' (default: db > target)"
            ),
        ] = "db > target",
        max_new_tokens: A[
            int, Setting("the most new tokens (default 64)", range=Range(1, MAX_TOKENS))
        ] = 64,
        temperature: A[float, Setting("0 is greedy decoding (default)", range=Range(0, 2))] = 0.0,
        seed: A[int, Setting("of the random numbers", range=Range(0, 2**31 - 1))] = 0,
        family: A[str, Setting("the family of models"), Limits(choices=tuple(FAMILIES))] = (
            CODE.name
        ),
    ) -> ToolAnswer:
        """Continue a text with the small shipped models (code: Python; smollm2: English) and report
        which drafter supplied which tokens.
        """
        models = find_family(family)
        check_shipped(stack, models)
        trace = engine_of(family).run(
            prompt,
            stack,
            chat=models.is_chat,
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            seed=seed,
        )
        return ToolAnswer(_described(trace), _facts(trace))


def check_shipped(stack: str, family: Family) -> None:
    """Check that the models of a stack are those of a family.

    Raises:
        UserError: if a model is of another family.
    """
    other = model_outside(stack, family.names)
    if other is not None:
        allowed = ", ".join(family.names)
        raise UserError(f"'{other}' is not a shipped model of {family.name}: use {allowed}")


@cache
def engine_of(family: str) -> LocalEngine:
    """Return the engine of a family, loaded on first use."""
    from hsd_viz.engine.local import load_engine

    return load_engine(family=family, device="cpu")


def is_log_of_texts(path: Path) -> bool:
    """Return whether the first line of a file is a request with text and without counts."""
    try:
        with path.open("rb") as file:
            entry = json.loads(file.readline(MAX_LINE))
    except INVALID_JSON:
        return False
    if not isinstance(entry, dict):
        return False
    if "response" in entry or any(name in entry for name in RESPONSE_FIELDS):
        return False
    return {"prompt", "output"} <= entry.keys() or {"prompt_ids", "output_ids"} <= entry.keys()


def _answer(result: Result) -> ToolAnswer:
    return ToolAnswer(result.to_text(), result.to_dict())


def _facts(trace: Trace) -> dict[str, Any]:
    figures = trace.metrics()
    return {
        "text": trace.text,
        "token_ids": trace.token_ids,
        "stack": trace.stack,
        "stop_reason": trace.meta["stop_reason"],
        "tokens_per_forward_pass": figures["mean_acceptance_length"],
        "acceptance_rate": figures["acceptance_rate"],
        "tokens_per_second": figures["tokens_per_second"],
        "emitted_by_source": figures["emitted_by_source"],
        "repetition_share": figures["repetition_share"],
    }


def _described(trace: Trace) -> str:
    """Describe a run: its text, the tokens of each source, and its figures on one line."""
    sources = observed(trace.metrics()["emitted_by_source"])
    supplied = ", ".join(f"{name} {count}" for name, count in sources.items())
    figures = repr(trace).removeprefix("Trace(").removesuffix(")")
    return f"{trace.text}\n\nTokens by source: {supplied}.\nFigures of {figures}."
