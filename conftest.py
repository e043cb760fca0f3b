"""What pytest leaves alone."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib.util

# Its example needs the extra `embeddings`, which not every Python has a wheel of.
collect_ignore = (
    []
    if importlib.util.find_spec("wordllama")
    else ["src/fewlabels/preprocessing/_embeddings.py"]
)
