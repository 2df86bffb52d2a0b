"""Finding plug-ins and loading them. Finding imports nothing of theirs; loading does, in the process that uses them."""

from connect.plugins.discovery import Plugins
from connect.plugins.loading import PluginLoadError, load, name_of
from connect.plugins.ref import CONVERTERS, PluginKind, PluginRef

__all__ = ["CONVERTERS", "PluginKind", "PluginLoadError", "PluginRef", "Plugins", "load", "name_of"]
