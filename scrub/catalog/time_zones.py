# SPDX-License-Identifier: Apache-2.0
"""The `time_zone:` of a catalog or a table, which its expressions are evaluated in."""

import zoneinfo

from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean

# Names without a city that every engine knows. Others, like EST or localtime, mean an offset to
# one engine and rules to another, or whatever a machine is set to.
_WITHOUT_CITY = ("UTC", "GMT")


def read_time_zone(section: Section, default: str) -> str:
    """The zone that a section names; the default if it names none or an unknown one."""
    name = section.text("time_zone")
    if name is None or name in _WITHOUT_CITY:
        return name or default
    known = zoneinfo.available_timezones()
    if name in known and "/" in name:
        return name
    if not known:
        message = f"'{name}' cannot be looked up: this machine has no list of time zones"
        section.add("time_zone", message, "install one: pip install tzdata")
        return default
    hint = did_you_mean(name, (zone for zone in known if "/" in zone), "time zones")
    if not hint.startswith("did you mean"):
        hint = "write a name of the IANA list, e.g. time_zone: Europe/Berlin"
    section.add("time_zone", f"'{name}' is not the name of a time zone", hint)
    return default
