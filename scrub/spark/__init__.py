# SPDX-License-Identifier: Apache-2.0
"""The only bridge to a Spark session."""
