"""What-if analysis: a database above the drafter of a record.

A record that reports each verification and the token ids of a request determines where each round
began and how many draft tokens were accepted. The rounds of a database, which drafts only from the
text, follow from the text. Here the database is asked first. It drafts if it expects more accepted
tokens than the mean of the recorded drafter; else the recorded drafter drafts.

After a round of the database, the next round of the recorded drafter may begin inside one of its
recorded rounds. Its proposal there is not recorded: it has at least the remaining accepted tokens,
and at most a full draft. The number of rounds therefore has a lower and an upper bound, which are
equal if this never occurs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.errors import Unsupported
from hsd_viz.measure.replay.text_replay import Text
from hsd_viz.records.sample import RecordedVerification


@dataclass(frozen=True, slots=True)
class Above:
    """The number of rounds of a request with a database above its drafter.

    Attributes:
        tokens: the number of tokens that rounds emitted, without the first one, which is that of
            the prefill.
        recorded: the number of recorded rounds.
        fewest: the lower bound: at unknown places, a full draft is accepted.
        most: the upper bound: at unknown places, only the rest of the recorded round is accepted.
        by_database: the number of rounds of ``most`` in which the database drafted.
    """

    tokens: int
    recorded: int
    fewest: int
    most: int
    by_database: int


@dataclass(frozen=True, slots=True)
class RecordedRounds:
    """The positions of the rounds of a request.

    Attributes:
        starts: the number of output tokens before each round.
        rounds: the drafted and accepted tokens of each round.
        end: the number of output tokens after the last round.
    """

    starts: tuple[int, ...]
    rounds: tuple[RecordedVerification, ...]
    end: int

    @classmethod
    def of(cls, rounds: Sequence[RecordedVerification], output: int) -> RecordedRounds:
        """Return the rounds of a request with ``output`` output tokens.

        Raises:
            Unsupported: if the rounds do not add up to the output, with or without the token of the
                prefill.
        """
        emitted = [verification.accepted + 1 for verification in rounds]
        first = output - sum(emitted)
        # An end token or the token limit may cut the last round.
        if first not in (0, 1) and not (first < 0 and -first < emitted[-1]):
            raise Unsupported(
                f"its rounds emitted {sum(emitted):,} tokens and its output has {output:,}"
            )
        first = max(first, 0)
        starts = tuple(accumulate(emitted, initial=first))
        return cls(starts[:-1], tuple(rounds), min(starts[-1], output))

    @property
    def mean_accepted(self) -> float:
        """Accepted draft tokens per round."""
        return sum(verification.accepted for verification in self.rounds) / len(self.rounds)

    def emitted_at(self, place: int) -> tuple[int, int]:
        """Return bounds of the number of tokens that a round of the drafter emits at a place."""
        number = bisect_right(self.starts, place) - 1
        round_ = self.rounds[number]
        within = place - self.starts[number]
        rest = round_.accepted + 1 - within
        if not within:
            return rest, rest
        return max(1, rest), max(1, rest, round_.drafted + 1)


def above(
    drafter: Drafter,
    text: Text,
    rounds: Sequence[RecordedVerification],
    budget: int,
    eos: frozenset[int] = frozenset(),
) -> Above:
    """Return the number of rounds of a request with ``drafter`` above its own drafter.

    Raises:
        Unsupported: if the rounds do not fit the text.
    """
    recorded = RecordedRounds.of(rounds, len(text.output))
    most, by_database = _rounds(drafter, text, recorded, budget, eos, most=False)
    fewest, _ = _rounds(drafter, text, recorded, budget, eos, most=True)
    return Above(
        tokens=recorded.end - recorded.starts[0],
        recorded=len(recorded.rounds),
        fewest=fewest,
        most=most,
        by_database=by_database,
    )


def _rounds(
    drafter: Drafter,
    text: Text,
    recorded: RecordedRounds,
    budget: int,
    eos: frozenset[int],
    most: bool,
) -> tuple[int, int]:
    """Return the number of rounds, and of those in which the database drafts. With ``most``, the
    recorded drafter emits the upper bound at unknown places.
    """
    at = recorded.starts[0]
    written = [*text.prompt, *text.output[:at]]
    drafter.start(written)
    rounds = 0
    by_database = 0
    while at < recorded.end:
        room = recorded.end - at - 1
        tree = drafter.draft(written, budget).within(room) if room else DraftTree()
        if tree.expected_tokens() > recorded.mean_accepted:
            emitted = _accepted(tree, text.output[at:], eos) + 1
            by_database += 1
        else:
            least_most = recorded.emitted_at(at)
            emitted = least_most[1] if most else least_most[0]
        new = text.output[at : min(at + emitted, recorded.end)]
        drafter.extend(new)
        written += new
        at += len(new)
        rounds += 1
    return rounds, by_database


def _accepted(tree: DraftTree, output: Sequence[int], eos: frozenset[int]) -> int:
    """Return the number of draft tokens that equal the output."""
    pairs = zip(tree.parents, tree.tokens, strict=True)
    nodes = {pair: node for node, pair in enumerate(pairs)}
    node = -1
    for count, token in enumerate(output[: len(tree)]):
        following = nodes.get((node, token))
        if following is None:
            return count
        node = following
        if token in eos:
            return count
    return min(len(tree), len(output))
