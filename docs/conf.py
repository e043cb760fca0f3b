"""Configuration of the documentation."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import sys
import warnings
from pathlib import Path

from docutils import nodes

from fewlabels import __version__

sys.path.insert(0, str(Path(__file__).parent))

from site_versions import folder_of

project = "fewlabels"
author = "the fewlabels developers"
copyright = "2026, the fewlabels developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx.ext.mathjax",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "auto_examples/*.ipynb"]
templates_path = ["_templates"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
# What is inherited from scikit-learn refers to scikit-learn's own pages.
suppress_warnings = ["ref.ref", "ref.term"]
autodoc_typehints = "none"  # numpydoc describes the types in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# :doi:`10.1000/1` becomes a link.
extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "plot_",
    "within_subsection_order": "gallery.NewcomersFirst",
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "fewlabels"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Pages with wide tables give them the room of the contents on the left.
html_sidebars: dict[str, list[str]] = {
    page: []
    for page in [
        "index",
        "automatic_measured",
        "laplacian_paper",
        "s2rlsc_paper",
        "benchmarks",
        "evidence",
        "peers",
        "reliability",
        "textbook",
    ]
}
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_end": ["theme-switcher"],
}
if "GITHUB_REF_NAME" in os.environ:  # part of a site with other versions beside it
    html_theme_options |= {
        "navbar_start": ["navbar-logo", "version-switcher"],
        "switcher": {
            "json_url": "../switcher.json",
            "version_match": folder_of(os.environ["GITHUB_REF_NAME"]),
        },
        "check_switcher": False,
        "show_version_warning_banner": True,
    }


def strip_code(app, doctree):
    """Remove the blank line that ends an example in the source of a page."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # code, and no markup within it
            block.rawsource = block.rawsource.rstrip("\n")
            block.children = [nodes.Text(block.rawsource)]


def setup(app):
    """Connect what this configuration adds to Sphinx."""
    app.connect("doctree-read", strip_code)
