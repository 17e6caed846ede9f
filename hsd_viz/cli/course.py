"""``hsd-viz course``: the lessons as notebooks."""

import argparse

from hsd_viz.cli import arguments

_EPILOG = """\
examples:
  hsd-viz course copy my-course
  hsd-viz course copy solved --solutions
  hsd-viz course slides lecture.html --lesson 2 --lesson 3
  hsd-viz course build course-editions --edition otter --edition nbgrader

The lessons need neither PyTorch nor a network. `copy` never overwrites a notebook.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    command = arguments.add_command
    parser = command(commands, "course", "copy the lessons as notebooks", epilog=_EPILOG)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    text = "copy the notebooks into a folder"
    copy = command(actions, "copy", text, _copy, about=f"{text.capitalize()}; it is created if missing.")
    copy.add_argument("folder", type=arguments.folder_name, metavar="DIR", help="the folder; existing notebooks stay")
    copy.add_argument("--solutions", action="store_true", help="only the solved notebooks, instead of the exercises")
    text = "build the editions of the course"
    build = command(actions, "build", text, _build, about=f"{text.capitalize()}, for teachers.")
    help_text = "each edition is written to a folder of its name in DIR; files are replaced"
    build.add_argument("folder", type=arguments.folder_name, metavar="DIR", help=help_text)
    help_text = "student, solution, otter or nbgrader; repeat for several (default: all)"
    names = ("student", "solution", "otter", "nbgrader")
    build.add_argument("--edition", action="append", choices=names, metavar="NAME", help=help_text)
    help_text = "store the figures in the student edition, which web pages then show without running it"
    build.add_argument("--figures", action="store_true", help=help_text)
    text = "write slides of the lessons to an HTML file"
    about = "Write slides of the lessons to an HTML file: figures, recorded runs and questions, offline in any browser."
    slides = command(actions, "slides", text, _slides, about=about)
    slides.add_argument("file", type=arguments.file_name, metavar="FILE.html", help="the file; it is replaced")
    help_text = "only this lesson, 1 to 8; repeat for several (default: all)"
    slides.add_argument("--lesson", action="append", type=arguments.number(1, 8), metavar="N", help=help_text)


def _copy(args: argparse.Namespace) -> int:
    from hsd_viz.exercises import editions

    for path in editions.write(args.folder, "solution" if args.solutions else "student"):
        print(path)
    return 0


def _build(args: argparse.Namespace) -> int:
    from hsd_viz.exercises import editions

    for path in editions.build(args.folder, args.edition or list(editions.EDITIONS)):
        if args.figures and path.parent.name == "student":
            from hsd_viz.views.lessons import add_figures

            master = next(master for master in editions.masters() if master.stem == path.stem)
            arguments.status(f"running {path.stem}")
            add_figures(path, master)
            arguments.status()
        print(path)
    return 0


def _slides(args: argparse.Namespace) -> int:
    from hsd_viz.exercises import editions
    from hsd_viz.views.lessons import deck

    arguments.check_outputs(args.file)
    masters = [path for path in editions.masters() if args.lesson is None or int(path.stem[0]) in args.lesson]
    arguments.status("running the lessons")
    arguments.write_text(args.file, deck(masters))
    arguments.status()
    print(args.file)
    return 0
