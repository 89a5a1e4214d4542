"""Benchmarks of cache policies: needle retrieval, perplexity, latency; `confkv-agent bench`.

A benchmark is one file with one class that says what its items are, measures one, and sums up (`suite.Bench`);
`suite.run_bench` does the rest: it loads, resumes, shows progress and writes the results.
"""
