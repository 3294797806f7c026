# SPDX-License-Identifier: Apache-2.0
"""The words all parts share: frozen dataclasses, standard library only."""
