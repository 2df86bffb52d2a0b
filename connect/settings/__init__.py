"""Configuration: definitions, property files, providers, the worker's and connectors' keys, secrets."""

from connect.settings.definition import Config, ConfigValue, Definition, define
from connect.settings.options import Options
from connect.settings.other_keys import Alias, WithoutEffect
from connect.settings.raw import comma_separated, prefixed
from connect.settings.setting import (
    REQUIRED,
    Boolean,
    Class,
    Double,
    Importance,
    Int,
    Kind,
    List,
    Listed,
    Long,
    Password,
    Recommender,
    Secret,
    Setting,
    Short,
    String,
    Validator,
    seconds,
)
from connect.settings.validators import at_least, between, non_empty, one_of, topic_name, topic_names

__all__ = [
    "REQUIRED",
    "Alias",
    "Boolean",
    "Class",
    "Config",
    "ConfigValue",
    "Definition",
    "Double",
    "Importance",
    "Int",
    "Kind",
    "List",
    "Listed",
    "Long",
    "Options",
    "Password",
    "Recommender",
    "Secret",
    "Setting",
    "Short",
    "String",
    "Validator",
    "WithoutEffect",
    "at_least",
    "between",
    "comma_separated",
    "define",
    "non_empty",
    "one_of",
    "prefixed",
    "seconds",
    "topic_name",
    "topic_names",
]
