"""Everthread: a server for conversations that never end."""

__version__ = "0.1.0"
