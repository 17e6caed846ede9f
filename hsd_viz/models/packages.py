"""Distributions of models: Python packages that contain weights and databases, but no code.

A checkout contains the models and databases that were made for this project. A wheel does not: each
family has a distribution of its own, so that a new version of the code is a small download. A
distribution names its package by an entry point of the group ``hsd_viz.models``. The package is
never imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: The group of entry points whose name is a family and whose value is its package.
GROUP = "hsd_viz.models"
#: The folder of the models within a package.
FOLDER = "weights"


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """A distribution of the models of a family.

    Attributes:
        family: the name of the family and of the entry point.
        distribution: the name of the distribution.
        version: the version that this code is tested with. Exactly this version is required,
            because texts depend on the weights.
        megabytes: the size of the download in MB.
        content: a short description of the contents.
    """

    family: str
    distribution: str
    version: str
    megabytes: int
    content: str

    @property
    def requirement(self) -> str:
        """The requirement for pip: the distribution with its version."""
        return f"{self.distribution}=={self.version}"

    @property
    def installed_version(self) -> str | None:
        """The installed version; ``None`` if the distribution is not installed."""
        import importlib.metadata

        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    def find(self) -> Path | None:
        """Return the folder of the models; ``None`` if the distribution is not installed."""
        # Imported here, because a checkout needs neither.
        import importlib.metadata
        import importlib.util

        for point in importlib.metadata.entry_points(group=GROUP, name=self.family):
            if point.dist is None or point.dist.name != self.distribution:
                continue
            spec = importlib.util.find_spec(point.value)
            if spec is None or not spec.submodule_search_locations:
                continue
            folder = Path(next(iter(spec.submodule_search_locations))) / FOLDER
            if folder.is_dir():
                return folder
        return None

    def folder(self, checkout: Path) -> Path:
        """Return the folder of the models: ``checkout`` if it exists, else that of the
        distribution.

        If neither exists, return ``checkout``.
        """
        if checkout.is_dir():
            return checkout
        return self.find() or checkout


#: The models of the family ``code``: three models, their tokenizer and their databases.
CODE_MODELS = ModelPackage(
    family="code",
    distribution="hsd-viz-models-code",
    version="1.0.0",
    megabytes=21,
    content="models and databases",
)
#: The draft models and databases for SmolLM2. The target is another distribution.
SMOLLM2_MODELS = ModelPackage(
    family="smollm2",
    distribution="hsd-viz-models-smollm2",
    version="1.0.0",
    megabytes=15,
    content="draft models and databases",
)
