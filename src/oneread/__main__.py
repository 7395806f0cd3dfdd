"""Runs the command line as ``python -m oneread``."""

from oneread.cli.main import app

if __name__ == "__main__":
    app(prog_name="oneread")
