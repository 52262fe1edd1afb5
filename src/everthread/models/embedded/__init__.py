"""The embedded model: its weights, the process that runs them, and how it is asked."""
