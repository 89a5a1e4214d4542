"""What the sites under `envs/` have in common, for them and for sites of your own.

A site brings a schema, a function that fills it from a seed, pages and templates; from here come the database
with its instant reset, sessions, bounded forms and uploads, password hashes, the doors for tests, and tinted
pictures. Nothing here knows a browser, a task or a model.
"""

from confkv_agents.web.sitekit.database import Database, build_pristine
from confkv_agents.web.sitekit.doors import door_routes
from confkv_agents.web.sitekit.forms import Field, check, check_new_password, whole_number
from confkv_agents.web.sitekit.passwords import check_password, hash_password
from confkv_agents.web.sitekit.visit import Page, Upload, Visit, endpoint

__all__ = [
    "Database",
    "Field",
    "Page",
    "Upload",
    "Visit",
    "build_pristine",
    "check",
    "check_new_password",
    "check_password",
    "door_routes",
    "endpoint",
    "hash_password",
    "whole_number",
]
