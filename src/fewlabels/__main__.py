"""The command line: ``python -m fewlabels``, or ``fewlabels``."""

# SPDX-License-Identifier: BSD-3-Clause

import sys


def main() -> None:
    """Run the command line."""
    try:
        from fewlabels.cli import run
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit('The command line needs click: pip install "fewlabels[cli]".')
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
