"""What a draft model learns from: the target's text with its probabilities, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hsd_viz.errors import UserError
from training.smollm2.rows import load_rows, rows_path
from training.smollm2.text import is_kept_aside, load, shards

#: Texts that are sorted by length at a time.
NEAR = 64


@dataclass(frozen=True, slots=True)
class Lesson:
    """A conversation with the target's probabilities before each token that it wrote.

    Attributes:
        number: The number of its request.
        tokens: Token ids ``[n]``.
        places: The places ``[m]`` after which the target wrote.
        row_tokens: The likeliest tokens there ``[m, MAX_TOKENS]``.
        row_logs: The logarithms of their probabilities ``[m, MAX_TOKENS]``; -inf: no token.
    """

    number: int
    tokens: np.ndarray
    places: np.ndarray
    row_tokens: np.ndarray
    row_logs: np.ndarray


def read_lessons(text: Path, rows: Path) -> list[Lesson]:
    """Return the lessons of all shards that have rows."""
    lessons = []
    for path in shards(text):
        beside = rows_path(rows, int(path.stem))
        if not beside.exists():
            continue
        row_tokens, row_logs = load_rows(beside)
        start = 0
        for each in load(path):
            places = np.flatnonzero(each.written) - 1
            end = start + len(places)
            lessons.append(
                Lesson(
                    number=each.number,
                    tokens=each.tokens.astype(np.int64),
                    places=places,
                    row_tokens=row_tokens[start:end],
                    row_logs=row_logs[start:end],
                )
            )
            start = end
    return lessons


def split(lessons: Sequence[Lesson]) -> tuple[list[Lesson], list[Lesson]]:
    """Return the lessons to train on, and those to measure on, a twentieth of all."""
    train = []
    heldout = []
    for lesson in lessons:
        if is_measured(lesson.number):
            heldout.append(lesson)
        else:
            train.append(lesson)
    return train, heldout


def is_measured(number: int) -> bool:
    """Return whether no draft model learns from a conversation; databases never have it either."""
    return is_kept_aside(number) and number // 12 % 10 == 0


def frequent_tokens(lessons: Sequence[Lesson], vocabulary: int, count: int) -> Tensor:
    """Return the tokens with the most probability over all rows, rising."""
    mass = np.zeros(vocabulary)
    for lesson in lessons:
        np.add.at(mass, lesson.row_tokens.ravel(), np.exp(lesson.row_logs).ravel())
    frequent = np.sort(np.argsort(-mass, kind="stable")[:count])
    return torch.from_numpy(frequent)


@dataclass(frozen=True, slots=True)
class LessonBatch:
    """Several lessons, padded at their ends.

    Attributes:
        tokens: Token ids ``[texts, longest]``.
        texts: The text of each place ``[m]`` after which the target wrote.
        places: The places ``[m]``.
        row_tokens: The likeliest tokens there ``[m, MAX_TOKENS]``.
        row_logs: The logarithms of their probabilities ``[m, MAX_TOKENS]``.
    """

    tokens: Tensor
    texts: Tensor
    places: Tensor
    row_tokens: Tensor
    row_logs: Tensor


def batch_of(lessons: Sequence[Lesson]) -> LessonBatch:
    """Return lessons as a batch."""
    longest = max(len(lesson.tokens) for lesson in lessons)
    tokens = np.zeros((len(lessons), longest), np.int64)
    counts = []
    places = []
    row_tokens = []
    row_logs = []
    for row, lesson in enumerate(lessons):
        tokens[row, : len(lesson.tokens)] = lesson.tokens
        counts.append(len(lesson.places))
        places.append(lesson.places)
        row_tokens.append(lesson.row_tokens)
        row_logs.append(lesson.row_logs)
    return LessonBatch(
        tokens=torch.from_numpy(tokens),
        texts=torch.from_numpy(np.repeat(np.arange(len(lessons)), counts)),
        places=torch.from_numpy(np.concatenate(places)),
        row_tokens=torch.from_numpy(np.concatenate(row_tokens).astype(np.int64)),
        row_logs=torch.from_numpy(np.concatenate(row_logs)),
    )


def groups(lessons: Sequence[Lesson], most_tokens: int, seed: int) -> list[list[Lesson]]:
    """Return all lessons once, in groups of a batch each: a random order, like lengths together.

    A batch has at most ``most_tokens`` places, padding included.
    """
    order = np.random.default_rng(seed)
    shuffled = [lessons[place] for place in order.permutation(len(lessons))]
    batches: list[list[Lesson]] = []
    # Of a few batches at a time the texts are sorted, so that little is padding.
    for start in range(0, len(shuffled), NEAR):
        by_length = sorted(shuffled[start : start + NEAR], key=lambda lesson: len(lesson.tokens))
        group: list[Lesson] = []
        for lesson in by_length:
            if group and (len(group) + 1) * len(lesson.tokens) > most_tokens:
                batches.append(group)
                group = []
            group.append(lesson)
        batches.append(group)
    return [batches[place] for place in order.permutation(len(batches))]


def endless(
    lessons: Sequence[Lesson], most_tokens: int, *, begin: int = 0, seed: int = 1
) -> Iterator[LessonBatch]:
    """Yield batches without end, all lessons once before any comes again; ``begin``: skip so
    many.

    Raises:
        UserError: if there are no lessons.
    """
    if not lessons:
        raise UserError("there are no lessons: are the rows those of the data?")
    skipped = begin
    for epoch in count(seed):
        of_epoch = groups(lessons, most_tokens, epoch)
        for group in of_epoch[skipped:]:
            yield batch_of(group)
        skipped = max(0, skipped - len(of_epoch))
