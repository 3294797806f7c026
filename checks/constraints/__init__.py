# SPDX-License-Identifier: Apache-2.0
"""The constraint check: how each constraint of a table is planned, and carried out."""
