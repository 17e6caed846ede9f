"""``python -m tools.record``: record the bundled traces; :mod:`tools.record.traces`."""

import argparse

from tools.record.traces import record_side_by_side, record_traces


def main() -> None:
    """Record what the command line asks for, and print the files."""
    parser = argparse.ArgumentParser(
        "python -m tools.record", description="Record the bundled traces."
    )
    parser.add_argument(
        "--side-by-side", action="store_true", help="record one prompt with several stacks"
    )
    record = record_side_by_side if parser.parse_args().side_by_side else record_traces
    for path in record(progress=print):
        print(path)


if __name__ == "__main__":
    main()
