# SPDX-License-Identifier: Apache-2.0
"""What an entry is known by.

It is there (ACTUAL), or a row asks for it (EXPECTED). A PARTIAL row lacks the pair of a family: its
columns are NULL, unless the pair is one that could not be read. A DOUBTFUL row has a value that
cannot be, in a column that the index uses, and proves nothing: only which row it is is told, and
once more (OTHERWISE) where its key and its value say different things about that.
"""

ACTUAL, EXPECTED, PARTIAL, DOUBTFUL, OTHERWISE = range(5)
