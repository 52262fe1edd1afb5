"""A server under a mixed load for a long time: does anything grow that should not?"""
