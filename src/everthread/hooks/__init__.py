"""Webhooks: HTTP out, to where somebody else said (the Courier port)."""
