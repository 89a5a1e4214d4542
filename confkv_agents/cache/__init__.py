"""The CONF-KV cache: storage, ranking, confidence, attention."""
