"""Lets ``python -m npuport`` stand for the command ``npuport``."""

from npuport.cli.main import main

if __name__ == "__main__":
    main()
