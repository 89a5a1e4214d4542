"""Browser, observation, actions, tasks and evaluators; knows nothing of models."""
