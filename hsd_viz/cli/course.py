"""``hsd-viz course``: the lessons as notebooks."""

import argparse

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, folder_name, number, option

_EPILOG = """\
examples:
  hsd-viz course copy my-course
  hsd-viz course copy solved --solutions
  hsd-viz course slides lecture.html --lesson 2 --lesson 3
  hsd-viz course build course-editions --edition otter --edition nbgrader

The lessons need neither PyTorch nor a network. `copy` never overwrites a notebook.
"""


def add(commands: argparse._SubParsersAction) -> None:
    command = arguments.add_command
    parser = command(commands, "course", "copy the lessons as notebooks", epilog=_EPILOG)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    text = "copy the notebooks into a folder"
    copy = command(actions, "copy", text, _copy, about=f"{text.capitalize()}; it is created if missing.")
    option(copy, "folder DIR", "the folder; existing notebooks stay", folder_name)
    option(copy, "--solutions", "only the solved notebooks, instead of the exercises", action="store_true")
    text = "build the editions of the course"
    build = command(actions, "build", text, _build, about=f"{text.capitalize()}, for teachers.")
    help_text = "each edition is written to a folder of its name in DIR; files are replaced"
    option(build, "folder DIR", help_text, folder_name)
    help_text = "student, solution, otter or nbgrader; repeat for several (default: all)"
    names = ("student", "solution", "otter", "nbgrader")
    option(build, "--edition NAME", help_text, action="append", choices=names)
    help_text = "store the figures in the student edition, which web pages then show without running it"
    option(build, "--figures", help_text, action="store_true")
    text = "write slides of the lessons to an HTML file"
    about = "Write slides of the lessons to an HTML file: figures, recorded runs and questions, offline in any browser."
    slides = command(actions, "slides", text, _slides, about=about)
    option(slides, "file FILE.html", "the file; it is replaced", file_name)
    help_text = "only this lesson, 1 to 8; repeat for several (default: all)"
    option(slides, "--lesson N", help_text, number(1, 8), action="append")


def _copy(args: argparse.Namespace) -> int:
    from hsd_viz.exercises import editions

    for path in editions.write(args.folder, "solution" if args.solutions else "student"):
        print(path)
    return 0


def _build(args: argparse.Namespace) -> int:
    from hsd_viz.exercises import editions

    for path in editions.build(args.folder, args.edition or list(editions.EDITIONS)):
        master = next((master for master in editions.masters() if master.stem == path.stem), None)
        if args.figures and master and path.parent.name == "student":
            from hsd_viz.views.lessons import add_figures

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
