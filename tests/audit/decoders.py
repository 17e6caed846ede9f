"""Decoders to audit: a small speculative decoder of any number of models, and the same with one of six faults."""

from __future__ import annotations

import numpy as np

from hsd_viz.audit import Task


class Decoder:
    """Chain drafting with at least ``lookaheads[i]`` tokens from model i; ``fault`` is one of the six, made at each
    level where it is possible.
    """

    def __init__(self, lookaheads: list[int], fault: int = 0) -> None:
        self.lookaheads, self.fault = lookaheads, fault

    def __call__(self, task: Task) -> list[int]:
        text, top = list(task.prompt), len(task.logits) - 1
        while not task.ended(text):
            tokens, _ = self.round(task, top, text)
            for token in tokens:
                if not task.ended(text):
                    text.append(token)
        return text[len(task.prompt) :]

    def draft(self, task: Task, level: int, text: list[int]) -> tuple[list[int], list[np.ndarray]]:
        tokens, rows = [], []
        while len(tokens) < self.lookaheads[level]:
            if level:
                more, handed = self.round(task, level, text + tokens)
            else:
                row = task.row(0, text + tokens)
                more = [int(row.argmax()) if self.fault == 6 else task.random.choice(len(row), p=row)]
                handed = [task.row(0, text + tokens, 1.0) if self.fault == 5 else row]
            tokens, rows = tokens + more, rows + handed
        if self.fault == 4 and level == 0 and rows[-1][tokens[-1]] < 0.3:
            tokens, rows = tokens[:-1], rows[:-1]
        return tokens, rows

    def round(self, task: Task, level: int, text: list[int]) -> tuple[list[int], list[np.ndarray]]:
        drafted, q = self.draft(task, level - 1, text) if level else ([], [])
        rows = []
        for k, token in enumerate(drafted):
            p = task.row(level, text + drafted[:k])
            if task.random.random() * q[k][token] < p[token]:
                rows.append(q[k] if self.fault == 3 else p)
                continue
            left = np.maximum(p - q[k], 0)
            left = left / left.sum()
            own = task.random.choice(len(p), p=p if self.fault == 1 else left)
            return [*drafted[:k], own], [*rows, left if self.fault == 2 else p]
        p = task.row(level, text + drafted)
        return [*drafted, task.random.choice(len(p), p=p)], [*rows, p]
