# SPDX-License-Identifier: Apache-2.0
"""The functions of the Python API, with the options of the commands of the same names."""
