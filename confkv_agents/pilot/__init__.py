"""The package's own multimodal model, the pilot: how its parts are trained.

How they are put together lies in `engine` (`eyes`, `pilot_weights`), which loads it by the name "pilot". To load a
saved pilot with transformers' Auto classes alone, call `register` first. Nothing heavy is imported here.
"""


def register() -> None:
    """Make the pilot's eyes known to transformers' Auto classes; harmless when repeated."""
    from confkv_agents.engine.eyes import register as register_eyes

    register_eyes()
