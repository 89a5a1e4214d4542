"""`ChatConfKV`: a local model with a bounded KV cache as a LangChain chat model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput, ModelProfile
from langchain_core.language_models.chat_models import BaseChatModel, LangSmithParams
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import ConfigDict, model_validator

from confkv_agents._version import __version__
from confkv_agents.chat_engine import EngineAccess
from confkv_agents.chat_errors import langchain_errors_raised
from confkv_agents.chat_fields import ChatFields
from confkv_agents.chat_options import IDENTIFYING, build_request, merged
from confkv_agents.chat_profile import model_profile, profile_of
from confkv_agents.chat_results import chat_chunk, chat_result
from confkv_agents.chat_sessions import SessionAccess
from confkv_agents.chat_structured import Method, structured_output
from confkv_agents.chat_tools import tool_choice_name, tool_dicts
from confkv_agents.messages import to_turns


class ChatConfKV(EngineAccess, SessionAccess, ChatFields, BaseChatModel):
    """A local language model, text or text with pictures, whose KV cache stays within a memory bound.

    Setup:
        The default model, "embedded", is SmolLM2-135M-Instruct; fetch it once:
        `pip install confkv-agents`, then `confkv-agent weights fetch`.

    Key init args - completion params:
        model: "embedded", "pilot", a folder, or a hub id of a causal or image-text-to-text model.
        temperature: 0 (the default) is greedy.
        max_tokens: Most tokens of an answer.
        top_p, top_k, seed, stop: As usual.

    Key init args - client params:
        policy, budget: How the KV cache spends memory; `kv` takes a whole `CacheConfig`.
        kv_memory: Bound over all conversations of the loaded model, such as "1.5GiB".
        session_id: Name of the conversation; a name is never needed: the longest common prefix decides what is reused.
        reasoning: Whether a model that can is to think first; its template decides by default.
        timeout: Seconds per call.
        dtype, device_map, revision: How the weights are loaded.

    Instantiate:
        ```python
        from confkv_agents import ChatConfKV

        model = ChatConfKV(model="embedded", policy="confkv", budget=512, max_tokens=128)
        ```

        Construction takes milliseconds; the weights load at the first call and once per process.

    Invoke:
        ```python
        model.invoke([("system", "Answer in one word."), ("human", "What is the capital of France?")])
        ```

    Stream:
        ```python
        for chunk in model.stream("Count to five."):  # leaving the loop stops the model within one token
            print(chunk.text, end="")
        ```

    Async:
        ```python
        await model.ainvoke("Hello")  # and astream, abatch, astream_events
        ```

    Tool calling:
        ```python
        def add(a: int, b: int) -> int:
            '''Add two numbers.'''
            return a + b

        answer = model.bind_tools([add], tool_choice="any").invoke("What is 3 and 4?")
        answer.tool_calls  # [{"name": "add", "args": {"a": 3, "b": 4}, "id": "Gw2r8PTw7", "type": "tool_call"}]
        ```

        Calls are written as the model's template writes them (Hermes and Qwen, Llama 3, Mistral), else as
        `<tool_call>{"name", "arguments"}</tool_call>`, which the system turn then explains. With the extra
        `guidance` a call that is begun is always a valid one. What is no valid call is in `invalid_tool_calls`.
        Stop strings cut text, never the arguments of a call.

    Structured output:
        ```python
        model.with_structured_output(Person).invoke("Anna is 31 and likes tea.")
        ```

        Needs the extra: `pip install 'confkv-agents[guidance]'`. Without it `method="function_calling"` is left.

    JSON mode:
        `model.bind(response_format={"type": "json_object"})` gives one JSON object. `model.bind(grammar=...)` holds
        answers to a grammar of one's own, in llguidance's Lark dialect.

    Image input:
        ```python
        from langchain_core.messages import HumanMessage

        HumanMessage([
            {"type": "text", "text": "What is on this screen?"},
            {"type": "image", "base64": data, "mime_type": "image/png"},
        ])
        ```

        OpenAI's `image_url` blocks with `data:` addresses work too, also in tool messages. Pictures at http
        and file addresses are refused unless `allow_image_urls` or `allow_image_files` is set.

    Reasoning:
        The thought of a model that marks it (`<think>`, `[THINK]`) is no part of the text: it stands in
        `additional_kwargs["reasoning_content"]`, in `content_blocks` as a reasoning block, and is streamed as such.

    Token usage:
        ```python
        model.invoke("Hello").usage_metadata
        # {"input_tokens": 31, "output_tokens": 9, "total_tokens": 40,
        #  "input_token_details": {"cache_creation": 31, "cache_read": 0}}
        ```

        `cache_read` counts the prompt tokens that were found in the conversation's KV cache.

    Logprobs:
        `logprobs=True, top_logprobs=3` puts OpenAI's form into `response_metadata["logprobs"]`. They are of
        the raw distribution, before temperature and truncation.

    Response metadata:
        ```python
        {"model_name": "embedded", "model_provider": "confkv", "finish_reason": "stop",
         "confkv": {"session": "session-1", "tokens_read": 31, "tokens_reused": 0, "miss_at": None,
                    "miss_message": None, "miss_reason": None, "tokens_recomputed": 0,
                    "kv_bytes": 5898240, "peak_kv_bytes": 5898240, "full_kv_bytes": 1843200,
                    "budget": {"min": 256.0, "mean": 301.5, "max": 512.0},
                    "confidence": {"min": 0.31, "mean": 0.77, "max": 0.99},
                    "read_ms": 210.0, "decode_ms": 340.0, "tokens_generated": 9}}
        ```

        With `trace=True` there is also `steps`, one `[confidence, budget, kv_bytes]` per token; with `trace="cache"`
        also `cache_trace`, what the cache did at each step (the fields of `confkv_agents.cache.StepTrace`).

    Sessions:
        A conversation that grows reads only what is new. `model.sessions()` lists what is held,
        `model.drop_session("name")` forgets it, `model.save_session("name", path)` and `model.load_session(path)` keep
        it in a file, and `with model.session("name"):` names the session of the calls inside.

    Memory bound:
        The eight conversations used last are kept. With `kv_memory`, those not used for longest are forgotten
        when it would be exceeded, and a prompt that cannot fit raises `ChatPromptTooLongError` before it is
        read.
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True, populate_by_name=True, extra="forbid", protected_namespaces=()
    )

    @model_validator(mode="after")
    def _set_confkv_version(self) -> Self:
        self._add_version("confkv-agents", __version__)
        return self

    @classmethod
    def from_model(cls, model: Any, tokenizer: Any, processor: Any = None, **options: Any) -> Self:
        """Use a model that is already loaded.

        Args:
            model: A transformers model; its text part's attention is set to the cache's.
            tokenizer: Its tokenizer.
            processor: Its processor, if it takes pictures.
            options: Fields of this class.

        Raises:
            UnsupportedModelError: The model's family cannot be used.
        """
        from confkv_agents.engine.engine import Engine
        from confkv_agents.engine.loading import prepare_model
        from confkv_agents.engine.thoughts import ThoughtMarks

        name = str(options.pop("model", None) or getattr(model.config, "name_or_path", "") or model.config.model_type)
        loaded = prepare_model(name, model, tokenizer, processor)
        config, urls = model.config.to_dict(), bool(options.get("allow_image_urls"))
        reasons = ThoughtMarks.of(loaded) is not None
        options.setdefault("profile", profile_of(name, config, options.get("max_tokens", 512), urls, reasons))
        return cls(model=name, engine=Engine(lambda: loaded, name), **options)

    # ---- LangChain's interface

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Answer a conversation; `config["configurable"]["thread_id"]` names its session."""
        return super().invoke(input, config, stop=stop, **self._with_session(config, kwargs))

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Answer a conversation without blocking the event loop."""
        return await super().ainvoke(input, config, stop=stop, **self._with_session(config, kwargs))

    def stream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        """Answer a conversation piece by piece; leaving the iteration stops the model within one token."""
        yield from super().stream(input, config, stop=stop, **self._with_session(config, kwargs))

    async def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """Answer a conversation piece by piece without blocking the event loop."""
        chunks = super().astream(input, config, stop=stop, **self._with_session(config, kwargs))
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await chunks.aclose()  # type: ignore[attr-defined]

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        with langchain_errors_raised():
            turns = to_turns(messages, self._access)
            return chat_result(self.model, self._engine().run(build_request(self, turns, stop, kwargs)))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        with langchain_errors_raised():
            turns = await self._aturns(messages)
            return chat_result(self.model, await self._engine().arun(build_request(self, turns, stop, kwargs)))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        with langchain_errors_raised():
            turns = to_turns(messages, self._access)
            stream = self._engine().submit(build_request(self, turns, stop, kwargs))
            try:
                for event in stream:
                    chunk = chat_chunk(self.model, event)
                    if chunk is not None:
                        yield chunk
            finally:
                stream.close()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        with langchain_errors_raised():
            turns = await self._aturns(messages)
            stream = self._engine().submit_async(build_request(self, turns, stop, kwargs))
            try:
                async for event in stream:
                    chunk = chat_chunk(self.model, event)
                    if chunk is not None:
                        yield chunk
            finally:
                stream.close()

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: Any = None,
        parallel_tool_calls: bool | None = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """A model that knows tools.

        Args:
            tools: Functions, LangChain tools, pydantic classes, typed dictionaries or JSON schemas; they stand in the
                prompt in this order.
            tool_choice: "auto" (the default) leaves it to the model; "any", "required" and `True` demand a call; a
                tool's name, or a dictionary that names one, demands that call; "none" forbids calls. A demand is
                kept by a grammar from the first token on; without llguidance only the call's beginning is forced.
            parallel_tool_calls: Whether one answer may hold several calls; `None` is yes where the model chooses,
                and no where a call is demanded.
            strict: Refuse parameter schemas that constrained decoding cannot hold entirely.
            kwargs: More call options.

        Raises:
            ValueError: No such choice, or a tool that runs on a server.
        """
        dicts = tool_dicts(tools, strict)
        options: dict[str, Any] = {"tools": dicts, **kwargs}
        if tool_choice is not None:
            options["tool_choice"] = tool_choice_name(tool_choice, [entry["function"]["name"] for entry in dicts])
        if parallel_tool_calls is not None:
            options["parallel_tool_calls"] = parallel_tool_calls
        if strict is not None:
            options["strict"] = strict
        return self.bind(**options)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,
        *,
        method: Method = "json_schema",
        include_raw: bool = False,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Any]:
        """A model that answers with an object.

        Args:
            schema: A pydantic class, a typed dictionary, or a JSON schema; a pydantic class gives its instances,
                anything else dictionaries.
            method: "json_schema" holds the answer to the schema by a grammar, and says it in the prompt;
                "function_calling" asks for a tool call; "json_mode" says no more than that JSON is wanted where the
                schema cannot be held. The first and the last need llguidance.
            include_raw: Return `{"raw": message, "parsed": object, "parsing_error": error}` and raise nothing.
            strict: `True` refuses a schema that cannot be held entirely; `False` leaves out what cannot.
            kwargs: Unknown ones are refused.

        Raises:
            ValueError: An unknown method or argument.
        """
        if kwargs:
            raise ValueError(f"with_structured_output does not know the arguments {', '.join(sorted(kwargs))}")
        if method not in ("json_schema", "function_calling", "json_mode"):
            raise ValueError(f"method must be 'json_schema', 'function_calling' or 'json_mode', got {method!r}")
        return structured_output(self, schema, method, include_raw, strict)

    @property
    def _llm_type(self) -> str:
        return "chat-confkv"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        params = {name: getattr(self, name) for name in IDENTIFYING}
        params |= {"device_map": repr(self.device_map), "kv": None if self.kv is None else repr(self.kv)}
        return params if self.engine is None else params | {"engine": self.engine.identity}

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Key of LangChain's answer cache; the session's name does not change an answer."""
        return super()._get_llm_string(stop=stop, **{k: v for k, v in kwargs.items() if k != "session_id"})

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = LangSmithParams(
            ls_provider="confkv",
            ls_model_name=str(kwargs.get("model", self.model)),
            ls_model_type="chat",
            ls_temperature=kwargs.get("temperature", self.temperature),
        )
        max_tokens = kwargs.get("max_tokens", self.max_tokens)
        if max_tokens is not None:
            params["ls_max_tokens"] = max_tokens
        with langchain_errors_raised():
            stops = merged(self.stop, stop)
        if stops:
            params["ls_stop"] = stops
        return params

    def _resolve_model_profile(self) -> ModelProfile | None:
        return None if self.engine is not None else model_profile(self.model, self.max_tokens, self.allow_image_urls)
