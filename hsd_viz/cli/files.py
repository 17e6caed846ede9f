"""``hsd-viz export``, ``site``, ``course``, ``databases`` and ``ladder``: what is made of recorded
runs, and drafted from.
"""

import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from typing import Annotated as A

from hsd_viz.cli import shared
from hsd_viz.cli.arguments import Out
from hsd_viz.declare import Setting
from hsd_viz.disk import followed, writing
from hsd_viz.errors import UserError
from hsd_viz.options import MAX_NEW_TOKENS
from hsd_viz.terminal import status

if TYPE_CHECKING:
    from hsd_viz.trace import Trace

ROOT = Path(__file__).resolve().parents[2]


def export(
    traces: A[
        tuple[Path, ...],
        Setting(
            metavar="TRACE",
            help="a trace of decode --save; several with --html, to compare, with --aiperf or with --costs",
        ),
    ],
    *,
    html: A[
        Out | None,
        Setting(
            metavar="FILE",
            help="write a self-contained page",
        ),
    ] = None,
    perfetto: A[
        Out | None,
        Setting(
            metavar="FILE",
            help="write the timeline as Chrome trace events, for ui.perfetto.dev",
        ),
    ] = None,
    csv: A[
        Path | None,
        Setting(
            metavar="DIR",
            help="write the tables to this folder; it is created if missing",
        ),
    ] = None,
    aiperf: A[
        Out | None,
        Setting(
            metavar="FILE",
            help="write AIPerf's records of speculative decoding, one line per trace",
        ),
    ] = None,
    costs: A[
        Out | None,
        Setting(
            metavar="FILE",
            help="write the costs of the target's verifications by batch, as llama.cpp takes them",
        ),
    ] = None,
) -> None:
    """Write a saved trace as a page, a timeline, tables or costs."""
    from hsd_viz.trace import Trace
    from hsd_viz.trace.export import aiperf_record, chrome_trace, write_csv

    if not (html or perfetto or csv or aiperf or costs):
        raise UserError(
            "no output given: use --html FILE, --perfetto FILE, --csv "
            "DIR, --aiperf FILE or --costs FILE"
        )
    if len(traces) > 1 and (perfetto or csv):
        raise UserError(
            "--perfetto and --csv write one trace: give one TRACE, "
            "or only --html to compare several"
        )
    runs = [Trace.load(path) for path in traces]
    if perfetto and (source := runs[0].meta.get("imported")):
        raise UserError(
            f"{traces[0]} was imported from {source['engine']}, without "
            "calls: use --html, --csv or --aiperf"
        )
    tables: list[Path] = []
    if costs:
        shared.write_text(costs, _costs(runs) + "\n")
    if html:
        from hsd_viz.views.export import MOST_RUNS, run_page

        if len({run.prompt for run in runs}) > 1 and len(runs) <= MOST_RUNS:
            raise UserError("these runs have different prompts: compare runs of the same prompt")
        shared.write_text(html, run_page(*runs))
    if perfetto:
        shared.write_text(perfetto, json.dumps(chrome_trace(runs[0]), separators=(",", ":")) + "\n")
    if csv:
        with writing(csv):
            tables = write_csv(runs[0], csv)
    if aiperf:
        records = (aiperf_record(run, number) for number, run in enumerate(runs))
        shared.write_text(aiperf, "".join(json.dumps(record) + "\n" for record in records))
    _print(html, perfetto, *tables, aiperf, costs)


def _costs(runs: Sequence["Trace"]) -> str:
    """Return llama.cpp's setting of what the runs' target takes to verify 1, 2, ... tokens.

    Raises:
        UserError: if the runs do not have one target, or none verified one token alone, of which
            the others are multiples.
    """
    from hsd_viz.latency.traced import names_of
    from hsd_viz.latency.traced_costs import times_of
    from hsd_viz.records.settings import batch_costs

    levels = [names for names, _ in map(names_of, runs) if names]
    targets = {names[max(names)] for names in levels}
    if len(targets) != 1:
        kind = f"of several targets ({', '.join(sorted(targets))})" if targets else "without times"
        raise UserError(f"--costs needs timed runs of one target: these are {kind}")
    (target,) = targets
    verified = []
    for run in runs:
        for call in run.call_rows:
            if call.name == target and call.kind == "verify":
                verified.append(call)
    if not any(call.fed == 1 for call in verified):
        raise UserError(
            f"no run verifies one token alone: add a trace of plain decoding (--stack {target})"
        )
    models, _, _ = times_of(runs)
    return batch_costs(models[target].forward)


def _print(*paths: Path | str | None) -> None:
    status()
    for path in filter(None, paths):
        print(path)


def build_site(
    out: A[
        Path,
        Setting(
            metavar="OUT",
            help="a new or empty folder, or an earlier site",
        ),
    ],
    *,
    family: A[
        tuple[str, ...],
        Setting(
            metavar="NAME",
            help="also offer the models of this family, which readers may download; repeatable",
        ),
    ] = (),
) -> None:
    """Write the site to a folder, to open from there or to upload to a static host."""
    from hsd_viz.views.site import build

    with writing(out):
        size = build(out, status, family)
    _print(f"{out / 'index.html'} ({size / 1e6:.1f} MB)")


def copy_course(
    folder: A[
        Path,
        Setting(
            metavar="DIR",
            help="the folder; it is created if missing, existing notebooks stay",
        ),
    ],
    *,
    solutions: A[
        bool,
        Setting(
            help="only the solved notebooks, instead of the exercises",
        ),
    ] = False,
) -> None:
    """Copy the notebooks into a folder."""
    from hsd_viz.exercises import editions

    _print(*editions.write(folder, "solution" if solutions else "student"))


def build_course(
    folder: A[
        Path,
        Setting(
            metavar="DIR",
            help="each edition is written to a folder of its name in DIR; files are replaced",
        ),
    ],
    *,
    edition: A[
        tuple[Literal["student", "solution", "otter", "nbgrader"], ...],
        Setting(
            help="may be repeated (default: all)",
        ),
    ] = (),
    figures: A[
        bool,
        Setting(
            help="store the figures in the student edition, which web pages then show without running it",
        ),
    ] = False,
) -> None:
    """Build the editions of the course, for teachers."""
    from hsd_viz.exercises import editions

    for name in edition or editions.EDITIONS:
        for path in editions.write(folder, name, below=name, overwrite=True):
            master = next(
                (master for master in editions.masters() if master.stem == path.stem), None
            )
            if figures and master and name == "student":
                from hsd_viz.views.lessons import add_figures

                status(f"running {path.stem}")
                add_figures(path, master)
            _print(path)


def book(
    folder: A[
        Path,
        Setting(
            metavar="DIR",
            help="the folder; it is created if missing, its files are replaced",
        ),
    ],
    *,
    figures: A[
        bool,
        Setting(
            help="run the lessons and store their figures, which the book then shows",
        ),
    ] = False,
) -> None:
    """Write the course as a MyST book: the lessons and their table of contents, which `jupyter book
    build --html` in that folder makes into a site.
    """
    from hsd_viz.exercises import editions

    lessons = {master.stem: master for master in editions.masters()}
    for path in editions.write(folder, "student", overwrite=True):
        if figures and path.stem in lessons:
            from hsd_viz.views.lessons import add_figures

            status(f"running {path.stem}")
            add_figures(path, lessons[path.stem])
        _print(path)
    shared.write_text(folder / "myst.yml", editions.contents())
    _print(folder / "myst.yml")


def slides(
    file: A[
        Out,
        Setting(
            metavar="FILE.html",
            help="the file; it is replaced",
        ),
    ],
    *,
    lesson: A[
        tuple[int, ...],
        Setting(
            metavar="N",
            help="only this lesson; repeat for several (default: all)",
            low=1,
            high=9,
        ),
    ] = (),
) -> None:
    """Write slides of the lessons to an HTML file: figures, recorded runs and questions, offline in
    any browser.
    """
    from hsd_viz.exercises import editions
    from hsd_viz.views.lessons import deck

    status("running the lessons")
    masters = [path for path in editions.masters() if not lesson or int(path.stem[0]) in lesson]
    shared.write_text(file, deck(masters))
    _print(file)


def inspect(
    path: A[
        Path | None,
        Setting(
            metavar="PATH",
            help="a file, or a folder of them (default: all that are shipped)",
        ),
    ] = None,
    *,
    tokenizer: A[
        str | None,
        Setting(
            metavar="T",
            help="its tokenizer: a model, a folder or a file (default: the ladder's)",
        ),
    ] = None,
    top: A[
        int,
        Setting(
            metavar="N",
            help="show the N most used entries",
            low=0,
            high=1000,
        ),
    ] = 10,
    json_: A[
        bool,
        Setting(
            help="print JSON: one object for a file, else a list of them",
        ),
    ] = False,
) -> None:
    """Show what a database file contains."""
    from hsd_viz.drafting.index.build import describe
    from hsd_viz.drafting.make import vocabulary_hash
    from hsd_viz.engine.databases import find_tokenizer
    from hsd_viz.models.families import LADDER
    from hsd_viz.results.page import lines

    is_one_file = path is not None and not path.is_dir()
    if path is not None and is_one_file:
        paths = [path]
    else:
        paths = sorted((path or LADDER / "databases").glob("*.hsdb"))
    if not paths:
        none = "this installation contains no databases: build them with `hsd-viz databases build`"
        raise UserError(none if path is None else f"'{path}' contains no databases (.hsdb files)")
    databases = [describe(one, top) for one in paths]
    vocabulary = None
    try:
        encoder = find_tokenizer(tokenizer or "target")
        vocabulary = vocabulary_hash(encoder.get_vocab())
    except (ValueError, OSError, ModuleNotFoundError):
        if tokenizer is not None:
            raise
    for facts in databases:
        if facts["vocabulary_hash"] == vocabulary:
            for entry in facts["most_used"]:
                entry["text"] = [encoder.decode(entry["key"]), encoder.decode(entry["tokens"])]
        elif tokenizer is not None:
            raise UserError(
                f"'{Path(facts['path']).name}' was built with another tokenizer than '{tokenizer}'"
            )
    if json_:
        print(json.dumps(databases[0] if is_one_file else databases, default=str))
    else:
        print("\n\n".join("\n".join(lines("database.jinja", facts=facts)) for facts in databases))


def build(
    *,
    out: A[
        Path,
        Setting(
            metavar="DIR",
            help="folder for the files",
        ),
    ],
    kind: A[
        Literal["model", "statistics"],
        Setting(
            help="the database to build",
        ),
    ],
    model: A[
        str,
        Setting(
            metavar="M",
            help="the model, or the model of the tokenizer",
        ),
    ] = "target",
    prompts: A[
        tuple[str, ...] | None,
        Setting(
            metavar="FILE",
            help="prompts for the model: files or suite names",
            in_a_row=True,
        ),
    ] = None,
    family: A[
        str,
        Setting(
            metavar="NAME",
            help="the family of --model and --stack: code or smollm2",
        ),
    ] = "code",
    max_new_tokens: A[
        int | None,
        Setting(
            metavar="N",
            help="token limit for each prompt (default 128)",
            low=1,
            high=MAX_NEW_TOKENS,
        ),
    ] = None,
    stack: A[
        str | None,
        Setting(
            metavar="S",
            help="decode with this stack: the same text, faster (default target)",
        ),
    ] = None,
    text: A[
        tuple[Path, ...] | None,
        Setting(
            metavar="PATH",
            help="text to count: files, or folders with their subfolders",
            in_a_row=True,
        ),
    ] = None,
    tokenizer: A[
        str | None,
        Setting(
            metavar="T",
            help="tokenizer instead of --model's: a model, a folder or a tokenizer.json",
        ),
    ] = None,
    max_key_length: A[
        int,
        Setting(
            metavar="N",
            help="longest keys in tokens",
            low=1,
            high=32,
        ),
    ] = 6,
    min_count: A[
        int,
        Setting(
            metavar="N",
            help="keep keys that occur at least N times",
            low=1,
            high=10**9,
        ),
    ] = 2,
    max_mb: A[
        float,
        Setting(
            metavar="MB",
            help="file size: the most useful keys are kept",
            low=0.001,
            high=2000,
        ),
    ] = 64.0,
) -> None:
    """Build a model database from the output of a model, or a statistics database from text."""
    decoding = {"prompts": prompts, "max-new-tokens": max_new_tokens, "stack": stack}
    other, given = (
        ("statistics", {"text": text, "tokenizer": tokenizer})
        if kind == "model"
        else ("model", decoding)
    )
    for name, value in given.items():
        if value is not None:
            raise UserError(f"--{name} is allowed only with --kind {other}")
    if not (prompts or text):
        needed = "--prompts: files or suites that the model continues"
        raise UserError(
            f"--kind {kind} needs "
            f"{needed if kind == 'model' else '--text: files or folders to count'}"
        )
    followed(out).mkdir(parents=True, exist_ok=True)
    from dataclasses import replace

    from hsd_viz.engine import databases
    from hsd_viz.engine.local import load_engine

    pruning = replace(databases.PRUNING, least=min_count, max_bytes=round(1e6 * max_mb))
    try:
        if text:
            paths = databases.build_text(
                text,
                databases.find_tokenizer(tokenizer or model, family),
                out,
                pruning=pruning,
                longest=max_key_length,
                progress=_show_share,
            )
        else:
            paths = databases.build_model(
                load_engine(model, family=family),
                prompts or (),
                out,
                pruning=pruning,
                longest=max_key_length,
                progress=_show_share,
                max_new_tokens=max_new_tokens or 128,
                stack=stack or "target",
            )
    finally:
        status()
    _print(*paths)


def _show_share(task: str, share: float) -> None:
    status(f"{task} {share:.0%}")


def info(
    *,
    json_: A[
        bool,
        Setting(
            help="print everything known as one JSON object",
        ),
    ] = False,
) -> None:
    """Show sizes, training and quality of the shipped models."""
    from hsd_viz import ladder
    from hsd_viz.results.page import lines

    facts = ladder.info()
    if json_:
        print(json.dumps(facts))
        return
    if not facts["models"]:
        raise UserError(
            "this installation contains no models: train them with `hsd-viz ladder train`"
        )
    print("\n".join(lines("ladder.jinja", facts=facts, evaluation=facts.get("evaluation", {}))))


def train(
    rest: A[
        tuple[str, ...],
        Setting(
            metavar="OPTION",
            help="as of python -m training train",
        ),
    ] = (),
) -> int:
    """Train a ladder: the target, then both drafts."""
    if not (ROOT / "training").is_dir():
        raise UserError(f"this needs a checkout of the project: {ROOT / 'training'} does not exist")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module("training.__main__").main(["train", *rest])
