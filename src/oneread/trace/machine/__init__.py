"""A machine of warps: lanes, memory, races, counts. Knows nothing of the source language."""
