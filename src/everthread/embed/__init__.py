"""Sentence vectors, made on this machine: no download, nothing loaded before the first text."""
