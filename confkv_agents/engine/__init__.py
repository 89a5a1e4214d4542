"""One loaded model, many sessions: load, read in chunks, decode, reuse."""
