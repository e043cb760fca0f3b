"""What pytest leaves alone."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib.util

# Needs the extras `embeddings` and `gpu`, which not every Python has wheels of.
collect_ignore_glob = [
    pattern
    for module, pattern in (
        ("wordllama", "src/fewlabels/preprocessing/_embeddings.py"),
        ("triton", "src/fewlabels/_gpu_loops/*.py"),
    )
    if not importlib.util.find_spec(module)
]
