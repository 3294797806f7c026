# SPDX-License-Identifier: Apache-2.0
"""One use case a module: the public Python API. Nothing here prints."""
