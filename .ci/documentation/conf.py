"""How Sphinx builds the documentation site from the pages that .ci/documentation/build.py lays out."""

from connect import __version__

project = "connect-runtime"
version = release = __version__
extensions = ["myst_parser"]
# The Markdown of code hosts and nothing of MyST's own: a page reads the same there and here.
myst_enable_extensions = ["linkify", "strikethrough", "tasklist"]
myst_disable_syntax = ["myst_role", "myst_target", "myst_block_break", "myst_line_comment", "front_matter"]
myst_heading_anchors = 6
exclude_patterns = ["home.md", "repository/**/*.md"]  # index.rst includes the one; the others are files to fetch
# Blocks without a language are output, or drawings; examples in JSON may leave something out.
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]
nitpicky = True

html_theme = "furo"
html_title = f"connect-runtime {version}"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_static_path = ["static"]
html_css_files = ["site.css"]
