"""Fixtures of all tests of the studio: a server here, or one for Chromium."""

# SPDX-License-Identifier: BSD-3-Clause

from tests.studio.browsing import chromium, pages, servers, wines
from tests.studio.served import browser, folder, studio

__all__ = [
    "browser",
    "chromium",
    "folder",
    "pages",
    "servers",
    "studio",
    "wines",
]
