"""Sampled chains verified inside of the native call: the verdicts of the rules in Python, and none where rounding decides."""

from __future__ import annotations

import random

import pytest
import torch
from models import VOCAB, ids, native

from hsd_viz.backends import default_build
from hsd_viz.backends.host import HostBackend, NativeBackend
from hsd_viz.decoding.log import Log
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.model import SampledDraft
from hsd_viz.decoding.record import Recorder
from hsd_viz.decoding.sampling import draw
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting import make_drafter
from hsd_viz.stack import DraftSource

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")


def sampled_chain(p: torch.Tensor, n: int, rng: random.Random) -> tuple[list[int], torch.Tensor]:
    """A draft of ``n`` tokens from rows between the verifier's own and random ones."""
    noise = torch.softmax(torch.randn(n, p.shape[1], generator=torch.Generator().manual_seed(rng.randrange(999))), -1)
    q = (0.6 * p[:n] + 0.4 * noise.to(p.dtype)).contiguous()
    return [draw(row.numpy(), rng.random()) for row in q], q


@pytest.mark.parametrize("rule", ["token", "block"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("sampling", [Sampling(0.7), Sampling(1.3, top_k=9), Sampling(1e-6)], ids=str)
def test_a_sampled_chain_is_judged_as_by_the_reference(dtype, sampling, rule):
    """The same tokens; probabilities, details, residuals and rows agree up to rounding."""
    model, rng, host, outcomes = native("llama", dtype), random.Random(2), HostBackend(), []
    for seed in range(40):
        n, text, session = rng.choice([1, 2, 4, 7]), ids(12, seed), model.session()
        session.forward(text[:-1], 1)
        # The rows depend on the draft: it is made token by token.
        tokens: list[int] = []
        q = torch.empty(0, VOCAB, dtype=dtype)
        for _ in range(n):
            row = host.rows(model.session().forward(text + tokens, 1), sampling)
            token, of = sampled_chain(row, 1, rng)
            tokens, q = tokens + token, torch.cat([q, of])
        u, r = ([rng.random() for _ in range(n + k)] for k in (0, 1))
        found = session.forward_verified(
            text[-1:] + tokens, n + 1, None, sampling, r, 5, SampledDraft(q, u, rule), keep_rows=True
        )
        p = host.rows(found.logits, sampling)
        expected, verdict = host.verify_chain(tokens, q, p, u, r, rule), found.verdict
        k = len(expected.accepted)
        assert (verdict.accepted, verdict.token, verdict.row) == (expected.accepted, expected.token, expected.row)
        assert (verdict.examined, verdict.u, verdict.tokens) == (expected.examined, expected.u, tokens)
        for name in ("p", "q", "h"):
            mine, theirs = (getattr(v, name) or [] for v in (verdict, expected))
            assert [-1 if v is None else v for v in mine] == pytest.approx(
                [-1 if v is None else v for v in theirs], rel=1e-4, abs=1e-6
            )
        assert torch.allclose(found.p[: k + 1], p[: k + 1], rtol=1e-5, atol=1e-9)
        emitted = [*tokens[:k], verdict.token]
        assert list(found.details) == pytest.approx(
            list(NativeBackend(default_build().library).describe(found.logits, range(k + 1), emitted))
        )
        if k < n:
            for mine, row in ((found.left, expected.residual), (found.q, q[k])):
                top, total = host.likeliest(row)
                assert mine[0] == pytest.approx(total, rel=1e-4)
                assert mine[2::2][: len(top)] == pytest.approx([share for _, share in top], rel=1e-4)
        outcomes.append(k == n)
    assert 3 < sum(outcomes) < 37


def test_a_chain_that_rounding_could_decide_is_left_open():
    model, text, sampling = native("llama"), ids(9), Sampling(1.0)
    session = model.session()
    p = HostBackend().rows(session.forward(text, 1), sampling)
    token, q = int(p[0].argmax()), torch.full((1, VOCAB), 1 / VOCAB)
    q[0, token] = 1.0
    edge = float(p[0, token]) / float(q[0, token])
    for rule in ("token", "block"):
        for u, is_open in [(edge, True), (edge - 1e-8, True), (edge / 2, False), ((1 + edge) / 2, False)]:
            session.truncate(8)
            draft = SampledDraft(q, [u], rule)
            found = session.forward_verified([text[-1], token], 2, None, sampling, [0.5, 0.5], 0, draft)
            assert (found.verdict is None) == is_open, (rule, u)


def test_rows_of_another_type_are_left_to_the_reference():
    session, draft = native("llama").session(), SampledDraft(torch.ones(1, VOCAB, dtype=torch.float64), [0.5], "token")
    found = session.forward_verified([1, 2], 2, None, Sampling(1.0), [0.5, 0.5], 0, draft)
    assert found.verdict is None and session.length == 2 and len(found.logits) == 2


def decoded(rule: str, in_call: bool, database: bool) -> tuple[list[int], list, int]:
    """Tokens and judgements of a decode of three levels, in the native calls or by the reference."""
    models = [native(name) for name in ("qwen2", "mistral", "llama")]
    levels = [Level(f"m{k}", model.session(), n) for k, (model, n) in enumerate(zip(models, (2, 4, None), strict=True))]
    drafter = make_drafter(DraftSource("db", ("context",)), costs=None) if database else None
    text, opened = ids(6) * 3, 0
    for level in levels:
        inner = level.model.forward_verified

        def forward_verified(*given, inner=inner):
            nonlocal opened
            found = inner(*given)
            opened += 1
            return found if in_call else type(found)(found.logits)

        level.model.forward_verified = forward_verified
    sampling = Sampling(2.5, seed=5, rule=rule)
    loop = Loop(levels[database:], drafter, sampling, text, backend=NativeBackend(default_build().library),
                max_new_tokens=60, log=Log())  # fmt: skip
    loop.in_one_call = False
    recorder = Recorder(loop, None, True)
    list(loop.prefill())
    drafts = [draft[3:] for verified in loop.rounds() for draft in recorder.step(verified).record[8]]
    return loop.text, drafts, opened


@pytest.mark.parametrize("database", [False, True])
@pytest.mark.parametrize("rule", ["token", "block"])
def test_a_decode_has_the_tokens_and_judgements_of_the_reference(rule, database):
    """Of all levels, with the same random numbers, whoever verifies."""
    text, drafts, calls = decoded(rule, True, database)
    same, expected, others = decoded(rule, False, database)
    assert text == same and calls == others > 20 and len(drafts) == len(expected) > 10
    assert any(len(accepted) < len(p) for p, *_, accepted, _ in drafts), "some drafts are rejected"
    flat = lambda rows: [-1 if v is None else v for row in rows for part in row for v in part or ()]
    assert flat(drafts) == pytest.approx(flat(expected), rel=1e-4, abs=1e-6)
