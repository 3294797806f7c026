# SPDX-License-Identifier: Apache-2.0
"""A repair as files of SQL or entries, for people who run it themselves."""
