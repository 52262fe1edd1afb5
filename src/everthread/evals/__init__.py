"""Test conversations with exact answers, by which a long-term memory is judged."""
