"""The exact audit: enumerates the distribution of a decoder's output over toy models, and compares
it with the target's.

>>> def plain(task):
...     text = list(task.prompt)
...     while not task.ended(text):
...         text.append(task.random.choice(task.vocabulary, p=task.row(-1, text)))
...     return text[len(task.prompt):]
>>> exact(plain).lossless
True
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hsd_viz.errors import UserError
from hsd_viz.measure.audit.enumeration import (
    MAX_ENUMERATED_RUNS,
    EnumeratedChoices,
    Text,
    law,
    plain_law,
)
from hsd_viz.measure.audit.faults import FAULTS, Row, WrongConditional, recognize
from hsd_viz.measure.audit.options import TOLERANCE, TOY_MODELS
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table, Value
from hsd_viz.settings.ranges import MAX_TOY_MODELS, check_range

Decoder = Callable[["Task"], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Task:
    """The input of a decoder: toy models over a small vocabulary.

    The decoder returns at most ``new_tokens`` tokens after ``prompt``. Its only source of random
    numbers is ``random``.

    Attributes:
        logits: the logits of each model, smallest first: a table ``[V, V, V]`` by next to last
            token, last token and next token.
        rows: the probabilities of each model, in the same form.
        prompt: the token ids of the prompt.
        new_tokens: the maximum number of returned tokens.
        temperature: the sampling temperature.
        eos: the tokens that end the text.
        random: the random numbers: ``random()``, ``choice(n, p)`` and ``choices(values, weights)``.
    """

    logits: tuple[np.ndarray, ...]
    rows: tuple[np.ndarray, ...]
    prompt: tuple[int, ...]
    new_tokens: int
    temperature: float
    eos: frozenset[int]
    random: EnumeratedChoices

    @property
    def vocabulary(self) -> int:
        return self.logits[0].shape[-1]

    def row(self, model: int, text: Sequence[int], temperature: float | None = None) -> Row:
        """Return the probabilities ``[V]`` after ``text`` by ``model`` (-1: the target)."""
        place = text[-2], text[-1]
        return (
            self.rows[model][place]
            if temperature is None
            else softmax(self.logits[model][place] / temperature)
        )

    def ended(self, text: Sequence[int]) -> bool:
        """Return whether ``text`` (prompt included) is complete: an end token, or the limit of new
        tokens.
        """
        new = text[len(self.prompt) :]
        return len(new) >= self.new_tokens or (len(new) > 0 and new[-1] in self.eos)


@dataclass(frozen=True, slots=True)
class ExactAudit(Result):
    """The result of :func:`exact`.

    Attributes:
        lossless: whether all outputs have the target's probabilities.
        error: the largest difference between the probability of an output and the target's.
        instances: the number of toy instances.
        outputs: the number of outputs of all instances.
        wrong: the first wrong conditional; ``None``: there is none.
        faults: the faults of :data:`FAULTS` that explain it.
        malformed: a description of an output that is not a valid text; ``None``: there is none.
    """

    lossless: bool
    error: float
    instances: int
    outputs: int
    wrong: WrongConditional | None = None
    faults: tuple[int, ...] = ()
    malformed: str | None = None

    title = "Audit of losslessness"
    noun = "audit"

    @property
    def verdict(self) -> str:
        """``lossless`` or ``not lossless``."""
        return "lossless" if self.lossless else "not lossless"

    @property
    def exit_code(self) -> int:
        """1 if the decoder is not lossless."""
        return 0 if self.lossless else 1

    def lines(self) -> list[str]:
        """Return the verdict with its cause."""
        return [str(self)]

    def tables(self) -> list[Table]:
        """Return the distribution of the first wrong token, else the largest error."""
        if self.wrong is None:
            counts: list[Value] = [self.verdict, self.error, self.outputs, self.instances]
            return [
                Table("Outputs", [["verdict", "largest error", "outputs", "instances"], counts])
            ]
        rows: list[list[Value]] = [["token", "probability", "of the target"]]
        pairs = zip(self.wrong.actual, self.wrong.expected, strict=True)
        for token, (actual, expected) in enumerate(pairs):
            rows.append([str(token), float(actual), float(expected)])
        prefix = list(self.wrong.prefix)
        return [Table("The first wrong law", rows, f"after {prefix}" if prefix else "")]

    def parts(self) -> list[str | Table]:
        """Return only the line of the verdict, which has the wrong distribution."""
        return list(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON data."""
        return {
            "verdict": self.verdict,
            "result": str(self),
            "error": self.error,
            "instances": self.instances,
            "outputs": self.outputs,
            "faults": list(self.faults),
        }

    def __str__(self) -> str:
        """Return the verdict in one line."""
        counts = f"{self.outputs} outputs, {self.instances} toy instances"
        if self.wrong is None:
            return (
                f"{self.verdict}: {self.malformed or f'largest error {self.error:.1e}'} ({counts})"
            )
        actual = _row_text(self.wrong.actual)
        true = _row_text(self.wrong.expected)
        where = f"after {list(self.wrong.prefix)}" if self.wrong.prefix else "of the first token"
        cause = (
            ", or ".join(f"fault {n}: {FAULTS[n]}" for n in self.faults)
            or "none of the six known faults"
        )
        return f"{self.verdict}: the law {where} is {actual}, not {true}; {cause} ({counts})"


def exact(
    decode: Decoder,
    *,
    models: int = TOY_MODELS,
    vocabulary: int = 3,
    new_tokens: int = 3,
    instances: int = 3,
    temperature: float = 0.7,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    max_runs: int = MAX_ENUMERATED_RUNS,
) -> ExactAudit:
    """Enumerate the output distribution of ``decode`` over toy models and compare it with the
    target's.

    ``decode`` gets a :class:`Task` and returns the new tokens; it is called once for each outcome
    of its random decisions, so it must be a function of the task alone. ``models`` counts the
    target, too. Every second instance has an end token. Probabilities that differ by less than
    ``tolerance`` are equal; float32 needs 1e-5.

    Raises:
        UserError: if a number is out of range, or if there are more than ``max_runs`` outcomes.
    """
    check_range("the number of models", models, 1, MAX_TOY_MODELS)
    check_range("the vocabulary", vocabulary, 2, 6)
    check_range("the number of new tokens", new_tokens, 1, 8)
    check_range("the number of instances", instances, 1, 20)
    error = 0.0
    outputs = 0
    wrong: list[WrongConditional] = []
    for k in range(instances):
        toy = make_toy(models, vocabulary, new_tokens, temperature, seed + k, k % 2 == 1)
        actual = law(partial(_output, decode, toy), max_runs)
        outputs += len(actual)
        true = _true_law(toy)
        if malformed := [list(text) for text in actual.keys() - true.keys()]:
            form = f"{new_tokens} tokens below {vocabulary}, or fewer and an end token last"
            return ExactAudit(
                False, 1.0, k + 1, outputs, malformed=f"the output {min(malformed)} is not {form}"
            )
        # Outputs that never occur also count.
        error = max(error, *(abs(actual.get(text, 0.0) - weight) for text, weight in true.items()))
        wrong += _first_wrong(toy, actual, tolerance)
    faults = recognize(wrong) if wrong else ()
    lossless = not wrong and error < tolerance
    return ExactAudit(lossless, error, instances, outputs, wrong[0] if wrong else None, faults)


def _output(decode: Decoder, toy: Task, choices: EnumeratedChoices) -> tuple[int, ...]:
    """Return the output of a decoder for given random decisions.

    Raises:
        UserError: if it is not a valid output.
    """
    output = decode(replace(toy, random=choices))
    try:
        return tuple(output)
    except TypeError:
        raise UserError(
            f"the audited function returned {output!r:.60}: it must return a list of token ids"
        ) from None


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the probabilities of logits, along the last axis."""
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def make_toy(
    models: int, vocabulary: int, new_tokens: int, temperature: float, seed: int, eos: bool
) -> Task:
    """Return a task with random tables. Models of adjacent size are similar, so that drafts are
    often but not always accepted.
    """
    random = np.random.default_rng(seed)
    tables = [random.normal(size=(vocabulary,) * 3)]
    for _ in range(models - 1):
        tables.append(tables[-1] + 0.7 * random.normal(size=tables[0].shape))
    rows = tuple(softmax(table / temperature) for table in tables)
    end = frozenset({vocabulary - 1} if eos else ())
    return Task(
        tuple(tables), rows, (0, 1, 0, 0, 1), new_tokens, temperature, end, EnumeratedChoices([])
    )


def _true_law(toy: Task) -> dict[Text, float]:
    """Return the distribution of the outputs of the target, with those that never occur."""

    def row(text: Text) -> list[float]:
        return toy.row(-1, (*toy.prompt, *text)).tolist()

    def ended(text: Text) -> bool:
        return bool(text) and toy.ended((*toy.prompt, *text))

    return plain_law(row, ended, impossible=True)


def _first_wrong(
    toy: Task, actual: dict[tuple[int, ...], float], tolerance: float
) -> list[WrongConditional]:
    """Return the wrong conditionals after the shortest prefixes that have any."""
    counts: defaultdict[tuple[int, ...], Row] = defaultdict(lambda: np.zeros(toy.vocabulary))
    for text, weight in actual.items():
        for length, token in enumerate(text):
            counts[text[:length]][token] += weight
    wrong = []
    for prefix, seen in sorted(counts.items()):
        text = (*toy.prompt, *prefix)
        sampled = tuple(toy.row(model, text) for model in range(len(toy.rows)))
        wrong.append(WrongConditional(prefix, sampled, toy.row(0, text, 1.0), seen / seen.sum()))
    wrong = [conditional for conditional in wrong if conditional.error >= tolerance]
    shortest = min((len(conditional.prefix) for conditional in wrong), default=0)
    return [conditional for conditional in wrong if len(conditional.prefix) == shortest]


def _row_text(row: Row) -> str:
    """Format probabilities."""
    return f"[{', '.join(f'{p:.4f}' for p in row)}]"
