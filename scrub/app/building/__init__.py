# SPDX-License-Identifier: Apache-2.0
"""Use cases: build indexes online, and keep Delta indexes up to date."""
