"""Time the ops beside what a user would pick instead, and count what they read."""
