"""Any sequence of calls on two sessions that ought to agree."""

from __future__ import annotations

import random

import torch

from hsd_viz.backends.device import distribution, draw
from hsd_viz.decoding.settings import Sampling

SAMPLINGS = (Sampling(), Sampling(1.0), Sampling(0.7, 10, 0.9))


def compare(session, plain, vocabulary: int, steps: int, seed: int, close) -> None:
    """Chains, trees, roll-backs, drafts in one launch: ``session`` (which launches) gives the rows of ``plain`` (which need not)."""
    rng = random.Random(seed)
    some = lambda n: [rng.randrange(vocabulary) for _ in range(n)]
    text = some(11)
    assert close(session.forward(text, 11), plain.forward(text, 11))
    for step in range(steps):
        kind = rng.choice(["chain", "chain", "tree", "back", "draft"]) if step != 20 else "long"
        tokens = some(300 if kind == "long" else rng.choice([1, 1, 2, 3, 5, 9, 20, 40]))
        base = session.length
        if kind in ("chain", "long"):
            rows = rng.randint(1, len(tokens))
            assert close(session.forward(tokens, rows), plain.forward(tokens, rows))
        elif kind == "tree":
            # Bushy, or one long branch beside a short one: there positions differ from places further than a window reaches.
            bushy = rng.random() < 0.5
            parents = [rng.randint(-1, k - 1) if bushy else k - 1 if k > 1 else -1 for k in range(len(tokens))]
            assert close(session.forward(tokens, len(tokens), parents), plain.forward(tokens, len(tokens), parents))
            path, node = [], len(tokens) - 1
            while node >= 0:
                path.insert(0, base + node)
                node = parents[node]
            session.keep(base, path)
            plain.keep(base, path)
        elif kind == "back":
            length = rng.randint(max(1, base - 12), base + 2)
            session.truncate(length)
            plain.truncate(length)
        else:
            _compare_draft(session, plain, tokens[:4], rng, close)
        assert session.length == plain.length


def _compare_draft(session, plain, tokens, rng, close):
    base, n, sampling = session.length, rng.randint(1, 6), rng.choice(SAMPLINGS)
    chances = [] if sampling.greedy else [rng.random() for _ in range(n)]
    ids, rows = session.sample(tokens, n, sampling, chances, frozenset())
    assert session.length == base + len(tokens) + n - 1
    expected, drawn, fed = [], [], tokens
    for k in range(n):
        logits = plain.forward(fed, 1)
        if sampling.greedy:
            expected.append(int(logits.argmax(-1)))
        else:
            drawn.append(distribution(logits, sampling))
            number = torch.tensor(chances[k : k + 1], dtype=torch.float64, device=logits.device)
            expected.append(int(draw(drawn[-1], number)))
        fed = expected[-1:]
    assert (ids if isinstance(ids, list) else ids.tolist()) == expected
    assert rows is None if sampling.greedy else close(rows, torch.cat(drawn))
    # A verifier may be handed the ids on the device; what it feeds is as if the host had known them.
    ids = torch.as_tensor(ids, device=logits.device)
    session.truncate(base)
    plain.truncate(base)
    assert close(session.forward(tokens[:1], n + 1, tail=ids), plain.forward(tokens[:1] + expected, n + 1))
