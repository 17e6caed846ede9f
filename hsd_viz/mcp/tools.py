"""The tools of ``hsd-viz mcp``, which return the results of commands to a chat.

No tool writes a file, decodes with models other than the shipped ones, reads a file outside the
folder of the server, or makes a network request.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from hsd_viz.engine.access import model_outside
from hsd_viz.errors import INVALID_JSON, UserError
from hsd_viz.mcp.folder import Folder
from hsd_viz.mcp.protocol import Server, Tool, ToolAnswer
from hsd_viz.mcp.schemas import FILE, GPU, MODELS, figure, number, several, text, whole
from hsd_viz.measure.doctor.options import DoctorOptions, Hardware, Known, Weights
from hsd_viz.models.families import CODE, FAMILIES, Family, find_family
from hsd_viz.results.result import Result
from hsd_viz.settings.ranges import MAX_CONTEXT, MAX_GPUS
from hsd_viz.stack import TARGET
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
    return Server(tools.declared(), INSTRUCTIONS)


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

    def declared(self) -> list[Tool]:
        """Return the tools with their schemas."""
        return [
            self._listing_tool(),
            self._doctor_tool(),
            self._prediction_tool(),
            self._replay_tool(),
            self._decode_tool(),
        ]

    def _listing_tool(self) -> Tool:
        return Tool(
            "list_files",
            "List files",
            "List the files that doctor and replay can read.",
            {},
            (),
            self.list_files,
        )

    def _doctor_tool(self) -> Tool:
        return Tool(
            "doctor",
            "Why is it not faster?",
            "Explain why speculative decoding is not faster, and what to set: from a record of "
            "vLLM, SGLang, llama.cpp, TensorRT-LLM or others, a trace of hsd_viz, or figures.",
            {
                "file": FILE,
                "acceptance": several(
                    number("", 0, 64),
                    "in place of a file: accepted / drafted, a mean acceptance length, or "
                    "acceptance by position",
                    64,
                ),
                "lookahead": figure(
                    DoctorOptions, "lookahead", "draft tokens per round, with acceptance"
                ),
                "method": text("draft, eagle, eagle3, mtp, medusa, lookup or suffix"),
                "batch": figure(Known, "batch", "requests per batch"),
                "gpu": GPU,
                "models": MODELS,
                "speed": figure(Known, "speed", "tokens per second with speculation"),
                "plain_speed": figure(
                    Known, "plain_speed", "tokens per second without speculation"
                ),
            },
            (),
            self.doctor,
        )

    def _prediction_tool(self) -> Tool:
        counts = several(whole("", 1, MAX_CONTEXT), "", 16)
        return Tool(
            "predict",
            "Predict other hardware",
            "Predict plain decoding, single drafts and hierarchies on a GPU that is not here.",
            {
                "gpu": GPU,
                "models": MODELS,
                "batch": {**counts, "description": "sequences decoded together"},
                "context": {**counts, "description": "tokens cached per sequence"},
                "acceptance": number("accepted / examined of all pairs", 0, 1),
                "tensor_parallel": whole("GPUs that share each model", 1, MAX_GPUS),
                "weights": text("the format of the weights", enum=list(get_args(Weights))),
            },
            ("gpu", "models"),
            self.predict,
        )

    def _replay_tool(self) -> Tool:
        return Tool(
            "replay",
            "Replay a log",
            "Count what drafters that need no model would have brought on a log of requests.",
            {
                "file": FILE,
                "drafters": several(text("as in a stack"), "as in lookup, suffix, db", 8),
                "tokenizer": text(
                    "the log's tokenizer: a file of the server's folder, or target (default)",
                    1000,
                ),
                "limit": whole("the most requests", 1, MAX_REQUESTS),
            },
            ("file",),
            self.replay,
        )

    def _decode_tool(self) -> Tool:
        return Tool(
            "decode",
            "Decode",
            "Continue a text with the small shipped models (code: Python; smollm2: English) "
            "and report which drafter supplied which tokens.",
            {
                "prompt": text("the text to continue", MAX_PROMPT),
                "stack": text(
                    "the drafters and the target, as in 'db > target', 'nano:4 > target' or "
                    "'db > nano:6 > small:8 > target' (default: db > target)"
                ),
                "max_new_tokens": whole("the most new tokens (default 64)", 1, MAX_TOKENS),
                "temperature": number("0 is greedy decoding (default)", 0, 2),
                "seed": whole("of the random numbers", 0, 2**31 - 1),
                "family": text("the family of models", enum=list(FAMILIES)),
            },
            ("prompt",),
            self.decode,
        )

    def list_files(self) -> ToolAnswer:
        """List the files of the folder."""
        names = self.folder.names()
        shown = "\n".join(names) or "The server has no folder, or the folder is empty."
        return ToolAnswer(shown, {"files": names})

    def doctor(
        self,
        file: str = "",
        acceptance: Sequence[float] = (),
        lookahead: int | None = None,
        method: str | None = None,
        batch: int | None = None,
        gpu: str = "",
        models: Sequence[str] = (),
        speed: float | None = None,
        plain_speed: float | None = None,
    ) -> ToolAnswer:
        """Explain a record, or figures."""
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
        return _answer(
            doctor(
                path,
                acceptance=acceptance,
                lookahead=lookahead,
                known=Known(method=method, batch=batch, speed=speed, plain_speed=plain_speed),
                hardware=Hardware(gpu, [check_name(name) for name in models]),
            )
        )

    def predict(
        self,
        gpu: str,
        models: Sequence[str],
        batch: Sequence[int] = (1,),
        context: Sequence[int] = (2048,),
        acceptance: float | None = None,
        tensor_parallel: int = 1,
        weights: str = "bf16",
    ) -> ToolAnswer:
        """Predict speeds on a GPU."""
        from hsd_viz.measure.predict.api import predict

        return _answer(
            predict(
                gpu,
                [check_name(name) for name in models],
                batch=batch or (1,),
                context=context or (2048,),
                acceptance=acceptance,
                tp=tensor_parallel,
                weights=weights,
            )
        )

    def replay(
        self,
        file: str,
        drafters: Sequence[str] = (),
        tokenizer: str = TARGET,
        limit: int = MAX_REQUESTS,
    ) -> ToolAnswer:
        """Replay a log."""
        from hsd_viz.measure.replay.api import DRAFTERS, replay

        own = tokenizer if tokenizer in CODE.names else self.folder.find(tokenizer)
        return _answer(
            replay(
                self.folder.find(file), drafters=drafters or DRAFTERS, tokenizer=own, limit=limit
            )
        )

    def decode(
        self,
        prompt: str,
        stack: str = "db > target",
        max_new_tokens: int = 64,
        temperature: float = 0.0,
        seed: int = 0,
        family: str = CODE.name,
    ) -> ToolAnswer:
        """Decode with the shipped models."""
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
    return {"prompt", "output"} == entry.keys() or {"prompt_ids", "output_ids"} == entry.keys()


def _answer(result: Result) -> ToolAnswer:
    return ToolAnswer(result.text(), result.to_dict())


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
