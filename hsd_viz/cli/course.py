"""``hsd-viz course``: the lessons as notebooks, editions for teachers, a book and slides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as A
from typing import Literal

from hsd_viz.cli.shared import print_paths, write_output
from hsd_viz.disk import write_text
from hsd_viz.settings.argument_types import Output
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import Range
from hsd_viz.terminal import status


def copy_course(
    folder: A[
        Path,
        Setting("the folder; it is created if missing, existing notebooks stay", CliOption("DIR")),
    ],
    *,
    solutions: A[bool, Setting("only the solved notebooks, instead of the exercises")] = False,
) -> None:
    """Copy the notebooks into a folder."""
    from hsd_viz.exercises import editions

    print_paths(*editions.write(folder, "solution" if solutions else "student"))


def build_course(
    folder: A[
        Path,
        Setting(
            "each edition is written to a folder of its name in DIR; files are replaced",
            CliOption("DIR"),
        ),
    ],
    *,
    edition: A[
        tuple[Literal["student", "solution", "otter", "nbgrader"], ...],
        Setting("an edition (default: all)"),
    ] = (),
    figures: A[
        bool,
        Setting(
            "store the figures in the student edition, which web pages then show without running it"
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
            print_paths(path)


def book(
    folder: A[
        Path,
        Setting("the folder; it is created if missing, its files are replaced", CliOption("DIR")),
    ],
    *,
    figures: A[
        bool, Setting("run the lessons and store their figures, which the book then shows")
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
        print_paths(path)
    write_text(folder / "myst.yml", editions.contents())
    print_paths(folder / "myst.yml")


def slides(
    file: A[
        Path,
        Setting("the file; it is replaced; - prints the page", CliOption("FILE.html", type=Output)),
    ],
    *,
    lesson: A[
        tuple[int, ...],
        Setting("only this lesson (default: all)", CliOption("N"), Range(1, 9)),
    ] = (),
) -> None:
    """Write slides of the lessons to an HTML file: figures, recorded runs and questions, offline in
    any browser.
    """
    from hsd_viz.exercises import editions
    from hsd_viz.views.lessons import deck

    status("running the lessons")
    masters = [path for path in editions.masters() if not lesson or int(path.stem[0]) in lesson]
    write_output(file, deck(masters))
    print_paths(file)
