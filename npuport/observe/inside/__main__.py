"""``python __main__.py CONFIG.json``: runs a script and watches it."""

import os
import sys


def main() -> None:
    """Take this folder off the path, lest its modules hide some of the script's."""
    sys.path.pop(0)
    try:
        import npuport.observe.inside  # noqa: F401
    except ModuleNotFoundError:
        # The script's interpreter is not the one that npuport is installed for.
        sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)))
    from npuport.observe.inside import script

    script.run(sys.argv[1])


if __name__ == "__main__":
    main()
