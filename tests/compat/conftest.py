"""The clients' own tests run in an environment of their own: `make clients`."""

collect_ignore = ["clients"]
