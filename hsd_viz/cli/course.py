"""``hsd-viz course``: the lessons as notebooks."""

from __future__ import annotations

import argparse

from hsd_viz.cli import arguments

_EPILOG = """\
examples:
  hsd-viz course copy my-course
  hsd-viz course copy solved --solutions
  hsd-viz course build course-editions --edition otter --edition nbgrader

The lessons need neither PyTorch nor a network. `copy` never overwrites a notebook.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    text = "copy the lessons as notebooks"
    parser = commands.add_parser("course", help=text, description=f"{text.capitalize()}.", epilog=_EPILOG)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    text = "copy the notebooks into a folder"
    copy = actions.add_parser("copy", help=text, description=f"{text.capitalize()}; it is created if missing.")
    copy.add_argument("folder", type=arguments.folder_name, metavar="DIR", help="the folder; existing notebooks stay")
    copy.add_argument("--solutions", action="store_true", help="only the solved notebooks, instead of the exercises")
    copy.set_defaults(run=_copy)
    text = "build the editions of the course"
    build = actions.add_parser("build", help=text, description=f"{text.capitalize()}, for teachers.")
    help_text = "each edition is written to a folder of its name in DIR; files are replaced"
    build.add_argument("folder", type=arguments.folder_name, metavar="DIR", help=help_text)
    help_text = "student, solution, otter or nbgrader; repeat for several (default: all)"
    names = ("student", "solution", "otter", "nbgrader")
    build.add_argument("--edition", action="append", choices=names, metavar="NAME", help=help_text)
    build.set_defaults(run=_build)


def _copy(args: argparse.Namespace) -> int:
    from hsd_viz.exercises import editions

    for path in editions.write(args.folder, "solution" if args.solutions else "student"):
        print(path)
    return 0


def _build(args: argparse.Namespace) -> int:
    from hsd_viz.exercises import editions

    for path in editions.build(args.folder, args.edition or list(editions.EDITIONS)):
        print(path)
    return 0
