"""What is remembered, at a bounded cost."""
