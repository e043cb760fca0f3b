"""Examples are not looked for in modules whose library is not installed."""

# SPDX-License-Identifier: BSD-3-Clause

from importlib.util import find_spec

MADE_OF = {"torch": ["_torch", "_triton"], "triton": ["_kernels"]}

collect_ignore = [
    f"fewlabels/_backend/{module}.py"
    for library, modules in MADE_OF.items()
    if find_spec(library) is None
    for module in modules
]
