"""`python -m everthread` and the `everthread` command."""

from everthread.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
