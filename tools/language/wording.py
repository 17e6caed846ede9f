"""Words that the project's texts do not use, each with what to write and why.

Texts are plain technical English, as the documentation of PyTorch or scikit-learn is. A space in a
pattern matches any white space, so that a line break hides nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Rule:
    """Words to replace.

    Attributes:
        pattern: the expression that finds them, whatever their case.
        instead: what to write.
        reason: why.
        example: a text with such words.
        allowed: a text that looks like it and is correct, or "".
    """

    pattern: str
    instead: str
    reason: str
    example: str
    allowed: str = ""

    @cached_property
    def expression(self) -> re.Pattern[str]:
        return re.compile(self.pattern.replace(" ", r"\s+"), re.IGNORECASE)


ARCHAIC = "archaic"
VAGUE = "vague: readers ask who or what"
OWN_TERM = "a term of this project alone: readers search for the field's"
PERSON = "programs are not persons"
AMBIGUOUS = "has several meanings"

_UNIT = (
    r"(?:tokens?|drafts?|forwards?|pass(?:es)?|launch(?:es)?|calls?"
    r"|seconds?|[mµn]s|microseconds?|milliseconds?|times"
    r"|once|bytes|[kKMG]B|nats|bits)"
)
_PER = (
    r"(?:round|line|token|step|second|minute|draft|prompt|forward|pass|row|layer|node|text|run"
    r"|stack|level|place|position|suite|machine)"
)

RULES = (
    # Who does what.
    Rule(
        r"\b(?:tell|tells|telling|told)\b",
        "report, detect, specify, show",
        PERSON,
        example="The log tells the batch.",
    ),
    Rule(
        r"\b(?:has|have) (?:its|their) say\b",
        "decides, contributes",
        PERSON,
        example="Each database has its say.",
    ),
    Rule(
        r"\b(?:no|some)body\b",
        "the passive voice, or the actor",
        VAGUE,
        example="A port that nobody uses.",
    ),
    Rule(
        r"\b(?:what|who)ever\b",
        "any, regardless of",
        VAGUE,
        example="The same text, whatever the batch.",
    ),
    Rule(
        r"\bof (?:your|our|one's) own\b",
        "your own, custom",
        "long",
        example="A drafter of your own.",
    ),
    # What is.
    Rule(
        r"(?<!there\s)\b(?:is|are) no\b(?! (?:longer|more|less|fewer|later|earlier|different)\b)",
        "is not a …",
        "read as 'there is no'",
        example="It is no list.",
        allowed="There is no GPU, and it is no longer needed.",
    ),
    Rule(
        r"\b(?:stands?|stood|standing)\b(?!-| for\b)",
        "is, appears, is stored",
        PERSON,
        example="The value stands here.",
        allowed="A stand-in; HD stands for Hierarchy Drafting.",
    ),
    Rule(r"\b(?:lies?|lain)\b", "is, is stored", AMBIGUOUS, example="The file lies there."),
    Rule(r"\bbeneath\b", "below, under", ARCHAIC, example="A database beneath a model."),
    Rule(
        r"\bwhat (?:became|becomes|came|comes) of\b",
        "the result of",
        ARCHAIC,
        example="It shows what became of a draft.",
    ),
    Rule(
        r"\b(?:one|clear|same) sentence\b|\bin words\b",
        "a one-line message",
        AMBIGUOUS,
        example="It is refused with one sentence.",
    ),
    # When and how much.
    Rule(
        r"\b(?:go|goes|going|gone|went) on\b",
        "continue, resume",
        AMBIGUOUS,
        example="The decode goes on.",
    ),
    Rule(r"\banew\b", "again, re-…", ARCHAIC, example="It is built anew."),
    Rule(r"\bseldom\b", "rarely", ARCHAIC, example="It seldom pays."),
    Rule(r"\bsooner\b", "faster, earlier", AMBIGUOUS, example="It ends sooner."),
    Rule(r"\bshall\b", "should, must", ARCHAIC, example="A test shall fail."),
    Rule(r"\b(?:hence|whence|thence)\b", "so, from where", ARCHAIC, example="It is hence exact."),
    Rule(r"\b(?:dear|dearer|dearest)\b", "expensive", AMBIGUOUS, example="A dear pass."),
    Rule(r"\blearnt\b", "learned", "the project writes American forms", example="A learnt row."),
    Rule(
        rf"\b{_UNIT} an? {_PER}\b(?! of\b)",
        "per …",
        "rates are per something",
        example="Four tokens a round.",
        allowed="A pass a layer of a model takes.",
    ),
    # Terms of speculative decoding.
    Rule(
        r"\bforwards\b(?!:)",
        "forward passes",
        "not a noun",
        example="Fewer forwards of the target.",
        allowed="The engine forwards: it adds nothing.",
    ),
    Rule(
        r"\b(?:a|one|each|every|per|single) forward\b"
        r"(?![-_(]| (?:pass|hook|method|call|function|step|graph))",
        "a forward pass",
        "not a noun",
        example="Each forward of the target.",
        allowed="Each forward pass, and a forward-only model.",
    ),
    Rule(
        r"\b(?:put|puts|putting) (?:\w+ )?up\b|\bhand(?:s|ed|ing)? (?:\w+ ){0,2}up\b",
        "propose, return",
        OWN_TERM,
        example="A level hands its tokens up.",
    ),
    Rule(
        r"\b(?:turn|turns|turned|turning) (?:\w+ )?down\b",
        "reject",
        OWN_TERM,
        example="The draft is turned down.",
    ),
    Rule(
        r"\b(?:keep|keeps|kept) (?:a|the|each|every|that|this|drafted|draft) "
        r"(?:draft(?:ed)? )?tokens?\b",
        "accept a token",
        OWN_TERM,
        example="The rule keeps the draft token.",
    ),
    Rule(
        r"\bdraft(?:ed)? tokens? (?:is|are|was|were|be) kept\b",
        "is accepted",
        OWN_TERM,
        example="A draft token is kept.",
    ),
    Rule(
        r"(?<![-\w])rivals?\b(?!-)",
        "baseline",
        OWN_TERM,
        example="Faster than its rivals.",
    ),
    Rule(
        r"\bgreedily\b",
        "with greedy decoding",
        "not a mode of decoding",
        example="It runs greedily.",
    ),
    # Terms of software.
    Rule(
        r"\bthe house\b|\b(?:rooms|this room|a room)\b|\barrows? (?:runs?|points?|between)\b",
        "layout, package, import direction",
        OWN_TERM,
        example="The rooms of the project.",
    ),
    Rule(
        r"\b(?:write|writes|wrote|written|writing) (?:\w+ )?down\b",
        "record",
        "long",
        example="It writes it down.",
    ),
)
