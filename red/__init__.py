"""Each promise is broken on purpose in a copy of the tree, and its test must see it."""
