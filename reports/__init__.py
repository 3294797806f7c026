# SPDX-License-Identifier: Apache-2.0
"""Reports render: results in, text out; no store, no session."""
