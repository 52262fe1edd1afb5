"""One file for each command; each has a `register` that teaches the parser about it."""

import argparse
from typing import TypeAlias

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
