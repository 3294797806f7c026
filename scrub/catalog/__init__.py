# SPDX-License-Identifier: Apache-2.0
"""What the catalog file says about tables, indexes and where they live."""

from scrub.catalog.load import Catalog, load_catalog

__all__ = ["Catalog", "load_catalog"]
