# SPDX-License-Identifier: Apache-2.0
"""scrub inside Great Expectations: its checks as expectations, suites and Data Docs.

Nothing else imports this package, since importing Great Expectations takes seconds. Its analytics
are switched off here, before any module of this package can import it.
"""

import os

os.environ["GX_ANALYTICS_ENABLED"] = "false"
