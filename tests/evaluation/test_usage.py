"""Costs of model calls, read and added up."""

from __future__ import annotations

from langchain_core.messages import AIMessage

from confkv_agents.evaluation.usage import merge_usage, usage_of_message


def test_a_confkv_answer_tells_everything():
    message = AIMessage(
        "click [3]",
        usage_metadata={
            "input_tokens": 100,
            "output_tokens": 4,
            "total_tokens": 104,
            "input_token_details": {"cache_read": 60},
        },
        response_metadata={
            "finish_reason": "stop",
            "confkv": {
                "session": "s",
                "tokens_read": 40,
                "tokens_reused": 60,
                "tokens_generated": 4,
                "miss_at": None,
                "kv_bytes": 10,
                "peak_kv_bytes": 12,
                "full_kv_bytes": 20,
                "budget": {"min": 1, "mean": 2, "max": 3},
                "confidence": {"min": 0.1, "mean": 0.2, "max": 0.3},
                "steps": [(0.1, 3, 10)],
                "cache_trace": [{"position": 7}],
                "read_ms": 5.0,
                "decode_ms": 6.0,
            },
        },
    )
    usage = usage_of_message(message)
    assert (usage["tokens_read"], usage["tokens_reused"], usage["tokens_generated"]) == (40, 60, 4)
    assert (usage["kv_bytes"], usage["peak_kv_bytes"], usage["full_kv_bytes"]) == (10, 12, 20)
    assert usage["trace"] == [[0.1, 3, 10]]
    assert usage["cache_trace"] == [{"position": 7}]
    assert usage["finish_reason"] == "stop"


def test_another_models_answer_tells_its_tokens_and_the_rest_is_unknown():
    message = AIMessage(
        "hello",
        usage_metadata={
            "input_tokens": 100,
            "output_tokens": 4,
            "total_tokens": 104,
            "input_token_details": {"cache_read": 60},
        },
    )
    usage = usage_of_message(message)
    assert (usage["tokens_read"], usage["tokens_reused"], usage["tokens_generated"]) == (40, 60, 4)
    assert usage["kv_bytes"] is None
    silent = usage_of_message(AIMessage("hello"))
    assert silent["tokens_read"] is None
    assert silent["model_calls"] == 1


def test_calls_add_up_peaks_are_maxima_and_states_are_the_last():
    merged = merge_usage(
        [
            {
                "model_calls": 1,
                "tokens_read": 10,
                "tokens_reused": 0,
                "tokens_generated": 1,
                "kv_bytes": 5,
                "peak_kv_bytes": 9,
                "full_kv_bytes": 6,
                "budget": {"min": 4, "mean": 4, "max": 4},
                "trace": [[1]],
                "cache_trace": [{"position": 1}],
            },
            {
                "model_calls": 1,
                "tokens_read": 2,
                "tokens_reused": 11,
                "tokens_generated": 3,
                "kv_bytes": 7,
                "peak_kv_bytes": 8,
                "full_kv_bytes": 8,
                "budget": {"min": 2, "mean": 8, "max": 9},
                "trace": [[2]],
                "cache_trace": [{"position": 2}],
            },
        ]
    )
    assert merged["model_calls"] == 2
    assert merged["tokens_read"] == 12
    assert merged["tokens_reused"] == 11
    assert merged["kv_bytes"] == 7
    assert merged["peak_kv_bytes"] == 9
    assert merged["full_kv_bytes"] == 8
    assert merged["budget"] == {"min": 2, "mean": 7, "max": 9}
    assert merged["confidence"] is None
    assert merged["trace"] == [[1], [2]]
    assert merged["cache_trace"] == [{"position": 1}, {"position": 2}]


def test_nothing_known_stays_unknown():
    assert merge_usage([])["tokens_read"] is None
    assert merge_usage([{}, {"tokens_read": None}])["tokens_read"] is None
