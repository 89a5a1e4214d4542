# ruff: noqa: E501 - a table
"""Fifty reports about other local chat models, and the tests that keep them from becoming ours.

Tests are named file::function, below `tests/`; this module checks that each of them exists.

 1 bound tools never reach the prompt         engine/test_tools.py::test_every_tool_stands_in_the_prompt_once
 2 calls stay text                            engine/test_tool_parsing.py::test_a_call_is_read_in_whatever_pieces_it_comes
 3 an agent does not see its tools            test_chat_agents.py::test_an_agent_reads_only_what_is_new
 4 bind_tools is not implemented              test_chat_agents.py::test_an_agent_reads_only_what_is_new
 5 binding tools takes more than a line       test_chat_tools.py::test_an_answer_with_text_and_calls
 6 the last message must be a person's        test_chat_tools.py::test_a_tool_loop_reads_only_what_is_new
 7 structured output never works              test_chat_tools.py::test_an_object_of_the_schema_comes_back
 8 no pydantic instances come back            test_chat_tools.py::test_an_object_of_the_schema_comes_back
 9 the profile claims what does not work      test_chat_tools.py::test_the_profile_says_what_can_be_asked
10 the prompt is echoed                       engine/test_engine.py::test_the_end_of_turn_token_ends_an_answer_and_is_not_shown
11 stop strings have no effect                test_chat_models.py::test_stop_strings_of_the_model_and_of_the_call_both_count
12 the call's stop strings are lost           test_chat_tools.py::test_stop_strings_cut_text_but_not_arguments
13 the chat template is ignored               engine/test_encoding.py::test_ids_equal_the_tokenizers_own_chat_template
14 an answer never ends                       engine/test_loading.py::test_the_token_that_the_template_writes_after_an_answer_ends_a_turn
15 max_tokens is not honoured                 test_chat_models.py::test_call_options_override_fields_and_unknown_ones_are_refused
16 a call's temperature has no effect         test_chat_reports.py::test_sampling_options_of_a_call_count
17 a model id is not enough to construct      test_chat_options.py::test_the_same_folder_is_loaded_once
18 astream fails                              test_chat_models.py::test_async_calls_stream_and_batch
19 concurrent calls are unsafe                engine/test_engine.py::test_requests_that_run_together_equal_each_alone
20 a tokenizer used from several threads      test_chat_models.py::test_one_astream_and_twelve_ainvokes_finish
21 no streaming                               test_chat_models.py::test_streaming_and_invoking_give_the_same_text
22 an error in the thread hangs the stream    engine/test_engine_ends.py::test_an_error_of_the_model_reaches_the_caller_and_costs_only_its_session
23 closing a stream stops nothing             engine/test_engine_ends.py::test_leaving_while_a_prompt_is_read_stops_within_one_chunk
24 batches grow memory                        engine/test_engine.py::test_many_sessions_never_exceed_the_memory_bound
25 results keep caches alive                  engine/test_engine_ends.py::test_an_error_that_is_kept_holds_no_cache
26 weights load in twice their size           engine/test_loading.py::test_a_16_bit_checkpoint_stays_16_bit_only_where_the_processor_computes_it
27 device, device_map and .to() quarrel       - there is one argument, device_map, and nothing is moved; CI has no accelerator
28 a vision model loads as another class      test_chat_options.py::test_a_folder_with_a_vision_model_takes_pictures
29 list content breaks the template           test_chat_models.py::test_pictures_per_turn_are_read_once
30 a picture is dropped silently              test_messages.py::test_blocks_of_a_user_that_are_unknown_are_refused
31 text contains the picture's placeholder    engine/test_encoding.py::test_page_text_cannot_forge_a_picture
32 token counts are missing                   test_chat_models.py::test_invoke_says_what_was_read_and_held
33 input counts fall when tokens are reused   test_chat_models.py::test_a_growing_conversation_reads_only_new_tokens
34 no count of reused tokens                  test_chat_models.py::test_a_growing_conversation_reads_only_new_tokens
35 a prompt is cut off silently               test_chat_models.py::test_errors_are_langchains_too
36 why a prompt was read again is unknown     test_chat_sessions.py::test_one_warning_per_session_names_the_message_and_a_likely_reason
37 a cut-off call raises out of the agent     test_chat_agents.py::test_a_malformed_call_is_answered_and_the_agent_goes_on
38 streamed calls arrive as text              test_chat_tools.py::test_calls_stream_piece_by_piece_with_index_and_id_on_the_first
39 no choice among several tools              engine/test_tools.py::test_a_demanded_call_comes_whatever_the_model_wants_to_say
40 thoughts are lost between tool steps       engine/test_thoughts.py::test_own_thoughts_stay_in_the_prefix_whatever_the_template_does
41 thoughts are no blocks of their own        test_chat_sessions.py::test_thoughts_are_streamed_before_the_text
42 every picture counts as 85 tokens          test_chat_models.py::test_pictures_per_turn_are_read_once
43 a cached answer of another model           test_chat_tools.py::test_tools_and_formats_are_part_of_langchains_cache_key
44 the first token comes twice                engine/test_encoding.py::test_ids_equal_the_tokenizers_own_chat_template
45 streams lose spaces                        engine/test_text.py::test_pieces_add_up_to_the_whole_text
46 two pictures break the reuse               engine/test_engine.py::test_a_picture_per_turn_is_read_once_and_answers_equal_cold_ones
47 the same pictures are encoded every turn   test_chat_agents.py::test_pictures_that_a_tool_returns_are_read_once
48 pictures switch the reuse off              engine/test_engine.py::test_pictures_of_the_same_size_are_not_confused
49 reading more after a cache breaks          engine/test_engine.py::test_a_warm_answer_equals_a_cold_one
50 a stream and calls wait for each other     test_chat_models.py::test_one_astream_and_twelve_ainvokes_finish
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from confkv_agents.chat_models import ChatConfKV
from confkv_agents.engine import Engine
from tests.engine.tiny import tiny_llama

TESTS = Path(__file__).parent
ROWS = [match.groups() for match in re.finditer(r"^ ?(\d+) .*?(?:(\S+\.py)::(\w+)|- (\S.*))$", __doc__ or "", re.M)]


def test_every_report_is_told() -> None:
    assert [int(row[0]) for row in ROWS] == list(range(1, 51))
    assert sum(row[3] is not None for row in ROWS) == 1


@pytest.mark.parametrize("file", sorted({row[1] for row in ROWS if row[1]}))
def test_the_named_tests_exist(file: str) -> None:
    tree = ast.parse((TESTS / file).read_text())
    there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert {row[2] for row in ROWS if row[1] == file} <= there


def test_sampling_options_of_a_call_count() -> None:
    loaded = tiny_llama()
    with Engine(lambda: loaded, "tiny") as engine:
        model = ChatConfKV(model="tiny", engine=engine, policy="full", max_tokens=12)
        greedy = model.invoke([HumanMessage("Hi")]).text
        warm = {model.invoke([HumanMessage("Hi")], temperature=2.0, seed=seed).text for seed in range(4)}
        assert len(warm) == 4 and greedy not in warm
        assert model.invoke([HumanMessage("Hi")], temperature=2.0, seed=1, top_k=1).text == greedy
