"""Configuration of the documentation."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import re
import sys
import warnings
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

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
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
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

# Formulas that browsers show by themselves, without a network.
html_math_renderer = "mathml"
# Copied without prompts and outputs.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "fewlabels"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Pages with wide tables give them the room of the contents on the left.
html_sidebars: dict[str, list[str]] = {
    page: []
    for page in [
        "index",
        "evidence",
        "reports/**",
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


def show_formula(self, node):
    """Write a formula as MathML, in the commands that docutils knows."""
    formula = re.sub(r"\\[bB]ig(?![a-z])", "", node.astext())  # fences stretch anyway
    formula = re.sub(r"\\dots(?![a-z])", r"\\ldots", formula)
    # Digits side by side would be read as one number: the 12 of \frac12.
    formula = re.sub(r"(frac)(\d)(\d)", r"\1{\2}{\3}", formula)
    is_block = isinstance(node, nodes.math_block)
    self.body.append(tex2mathml(formula, as_block=is_block))
    raise nodes.SkipNode


def copy_reports(app):
    """Bring the reports into the site, with links that lead there from its pages."""
    target = Path(__file__).parent / "reports"
    target.mkdir(exist_ok=True)
    for path in (Path(__file__).parents[1] / "benchmarks" / "reports").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        text = text.replace("(../results/", "(../../benchmarks/results/")
        (target / path.name).write_text(text.replace("(../../docs/", "(../"), "utf-8")


def link_reports(app, docname, source):
    """Let pages link the reports where they lie in the repository."""
    source[0] = source[0].replace("(../benchmarks/reports/", "(reports/")


def setup(app):
    """Connect what this configuration adds to Sphinx."""
    renderer = (show_formula, None)
    app.add_html_math_renderer("mathml", renderer, renderer)
    app.connect("builder-inited", copy_reports)
    app.connect("source-read", link_reports)
    app.connect("doctree-read", strip_code)
