"""Signs of misconfiguration, and their findings in a record."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of misconfiguration.

    Attributes:
        name: the name of the sign.
        threads: addresses of public threads that describe the case.
        check: what to check, as the rest of "Check ...".
    """

    name: str
    threads: str
    check: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A sign detected in a record.

    Attributes:
        sign: the sign.
        evidence: the figures of the record.
        confidence: ``high`` or ``medium``.
    """

    sign: Sign
    evidence: str
    confidence: str = "high"

    @property
    def words(self) -> str:
        """The finding in one line."""
        return (
            f"Possible misconfiguration ({self.confidence} confidence): {self.evidence}. "
            f"Check {self.sign.check}. See {self.sign.threads}"
        )

    def to_dict(self) -> dict[str, str]:
        """Return the finding as JSON data."""
        return {
            "rule": self.sign.name,
            "evidence": self.evidence,
            "confidence": self.confidence,
            "thread": self.sign.threads,
            "check": self.sign.check,
        }
