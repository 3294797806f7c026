# SPDX-License-Identifier: Apache-2.0
"""What pg_amcheck and the check of own indexes report of the same real damage.

    python -m benchmarks.amcheck --bin /usr/lib/postgresql/15/bin

The server is one of its own, made from the programs in that directory and gone afterwards. They
must include pg_amcheck, and the extension amcheck must be installed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg import conninfo
from tabulate import tabulate

from tests.postgres_server import Database
from tests.scrub.stores.postgres.own_indexes.own_index_ground import (
    EDITS,
    ODD_CLASS,
    ROOT_OF_THOUSAND,
    Edit,
    blind,
    compare_by_rest,
    edit_page,
    lower_separator,
    table_for_edits,
)

CHECKUNIQUE_SINCE = 17
CHECKSUMS_SINCE = 18  # unless initdb is told otherwise; edited pages would not be read
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Damage:
    """A table and what happens to the index on its column k."""

    name: str
    label: str
    statements: tuple[str, ...] = ()  # run while the index does not see writes, if it is blind
    is_blind: bool = True
    edit: Edit | None = None
    page: int = 1
    rows: int = 50
    index: str | None = None  # in place of the usual one


def without_unique(*statements: str) -> tuple[str, ...]:
    update = "UPDATE pg_index SET indisunique = {} WHERE indexrelid = '{}'::regclass"
    index = "clash_known_k"
    return (update.format("false", index), *statements, update.format("true", index))


def adding(table: str, number: int) -> str:
    """A function for an index on that table."""
    return (
        f"CREATE OR REPLACE FUNCTION public.of_{table}(int) RETURNS int IMMUTABLE LANGUAGE sql "
        f"AS 'SELECT $1 + {number}'"
    )


def reversing() -> str:
    """Replace the comparison of the class that has only this of its own."""
    return OWN_CLASS[0].replace("CREATE", "CREATE OR REPLACE").replace("($1, $2)", "($2, $1)")


OWN_CLASS = (
    "CREATE FUNCTION public.own_cmp(int, int) RETURNS int IMMUTABLE LANGUAGE sql "
    "AS 'SELECT btint4cmp($1, $2)'",
    "CREATE OPERATOR CLASS own FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, "
    "OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 public.own_cmp(int, int)",
)
"""An operator class with the operators of the usual one."""

DAMAGES = (
    Damage("sound", "none"),
    Damage(
        "unseen", "entries missing", ("INSERT INTO unseen VALUES (51, 510, 51), (52, 520, 52)",)
    ),
    Damage(
        "left_over",
        "entries left over from deleted rows",
        ("DELETE FROM left_over WHERE id IN (7, 8)", "VACUUM left_over"),
    ),
    Damage("swapped", "two row pointers swapped", edit=EDITS["swapped"]),
    Damage("astray", "a row pointer that leads nowhere", edit=EDITS["astray"]),
    Damage("beyond", "a row pointer beyond the table's end", edit=EDITS["beyond"]),
    Damage(
        "copied",
        "a second entry of a row",
        ("DELETE FROM copied WHERE id = 21", "VACUUM copied"),  # its entry becomes the second one
        edit=EDITS["copied"],
    ),
    Damage("rekeyed", "an entry's key changed", edit=EDITS["rekeyed"]),
    Damage("stored", "an INCLUDE value changed", edit=EDITS["stored"]),
    Damage("disordered", "two entries in each other's place", edit=EDITS["disordered"]),
    Damage(
        "odd",
        "the comparison function changed",
        (compare_by_rest(100),),
        index="CREATE INDEX odd_k ON odd (k odd) INCLUDE (s)",
    ),
    Damage(
        "borrowed",
        "the same, of a class with the usual operators",
        (reversing(),),
        index="CREATE INDEX borrowed_k ON borrowed (k own) INCLUDE (s)",
    ),
    Damage(
        "replaced",
        "a function replaced, values still in order",
        (adding("replaced", 2),),
        index="CREATE INDEX replaced_k ON replaced (public.of_replaced(k))",
    ),
    Damage(
        "covered",
        "the same, of an index that holds the argument",
        (adding("covered", 2),),
        index="CREATE INDEX covered_k ON covered (public.of_covered(k)) INCLUDE (k)",
    ),
    Damage(
        "clash_unseen",
        "a unique key twice, one entry missing",
        ("INSERT INTO clash_unseen VALUES (51, 200, 51)",),
    ),
    Damage(
        "clash_known",
        "a unique key twice, both entries there",
        without_unique("INSERT INTO clash_known VALUES (51, 200, 51)"),
        is_blind=False,
    ),
    Damage(
        "separator",
        "an inner page's separator changed",
        edit=lower_separator,
        page=ROOT_OF_THOUSAND,
        rows=1000,
    ),
)


class Server:
    """A server made from somebody's programs, without checksums."""

    def __init__(self, programs: Path, directory: Path) -> None:
        self.programs, self.data = programs, directory / "data"
        self.prefix: list[str] = []
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(directory, "postgres")
            self.prefix = ["runuser", "-u", "postgres", "--"]
        self.version = _version(programs)
        options = ["--no-data-checksums"] if self.version[0] >= CHECKSUMS_SINCE else []
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", *options)
        url = conninfo.make_conninfo(host=str(directory), user="postgres", dbname="postgres")
        self.database = Database(url)
        self.options = f"-c listen_addresses='' -c unix_socket_directories={directory}"

    def run(self, program: str, *arguments: object) -> None:
        command = [*self.prefix, str(self.programs / program), *map(str, arguments)]
        # A server that is started keeps what it got as output, so that is no pipe.
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    def start(self) -> None:
        log = self.data.parent / "log"
        self.run("pg_ctl", "-D", self.data, "-w", "-l", log, "-o", self.options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self.database.run("CHECKPOINT")
        self.stop()
        yield
        self.start()


def _version(programs: Path) -> tuple[int, str]:
    """The major version, and all of it."""
    command = [str(programs / "postgres"), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)\S*", said)
    assert found, said
    return int(found[1]), found[0]


def damage_all(server: Server) -> None:
    """Make all tables, and damage their indexes."""
    database = server.database
    database.run(*ODD_CLASS, *OWN_CLASS, adding("replaced", 1), adding("covered", 1))
    for damage in DAMAGES:
        database.run(*table_for_edits(damage.name, damage.rows))
        if damage.index:
            database.run(f"DROP INDEX {damage.name}_k", damage.index)
        index = f"{damage.name}_k"
        with blind(database, index) if damage.is_blind else nullcontext():
            database.run(*damage.statements)
        database.run(f"VACUUM ANALYZE {damage.name}")
    edits = [(damage, damage.edit) for damage in DAMAGES if damage.edit]
    query = "SELECT pg_relation_filepath('{}_k')"
    files = {d.name: server.data / database.rows(query.format(d.name))[0][0] for d, _ in edits}
    with server.stopped():
        for damage, edit in edits:
            edit_page(files[damage.name], edit, damage.page)


def make_roles(database: Database) -> None:
    """One that may only read the tables, and one that may only call the functions of amcheck."""
    database.run(
        "CREATE SCHEMA tools",
        "CREATE EXTENSION amcheck SCHEMA tools",
        "CREATE ROLE reader LOGIN",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
        "CREATE ROLE checker LOGIN",
        "GRANT USAGE ON SCHEMA tools TO checker, reader",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA tools TO checker",
    )


def amcheck(server: Server, index: str, role: str, *options: str) -> str:
    """What pg_amcheck tells of an index: its first error, at which it stops."""
    url = conninfo.make_conninfo(server.database.url, user=role)
    command = [str(server.programs / "pg_amcheck"), "--index", index, *options, url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    said = done.stdout + done.stderr
    if done.returncode == 0:
        return NOTHING
    found = re.search(r"ERROR: +(.*)", said)
    return found[1] if found else said.strip()


def levels(major: int) -> dict[str, tuple[str, ...]]:
    """The options of pg_amcheck that are compared."""
    unique = ("--checkunique",) if major >= CHECKUNIQUE_SINCE else ()
    everything = ("--parent-check", "--heapallindexed", "--rootdescend", *unique)
    return {
        " ".join(("pg_amcheck", *options)): options
        for options in ((), ("--heapallindexed",), everything)
    }


def write_catalog(directory: Path, database: Database) -> Path:
    """All tables, as the role that only reads them sees them."""
    columns = {name: {"type": "int"} for name in ("id", "k", "s")}
    tables = {
        damage.name: {
            "store": "shop",
            "columns": columns,
            "primary_key": ["id"],
            "indexes": {f"{damage.name}_k": {"own": True, "unique": not damage.index}},
        }
        for damage in DAMAGES
    }
    stores = {"shop": {"kind": "postgres", "url": _url_of_reader(database)}}
    path = directory / "scrub.yaml"
    path.write_text(json.dumps({"version": 1, "stores": stores, "tables": tables}))
    return path


def _url_of_reader(database: Database) -> str:
    host = conninfo.conninfo_to_dict(database.url)["host"]
    return f"postgresql://reader@/postgres?host={host}"


def scrub(catalog: Path, table: str) -> str:
    """What the command tells: each defect with its keys, or why there is none."""
    program = str(Path(sys.executable).parent / "scrub")
    options = ("--catalog", str(catalog), "--format", "json")
    done = subprocess.run(
        [program, "check", "table", table, *options], capture_output=True, text=True, check=False
    )
    if not done.stdout:
        return done.stderr.strip()
    result = json.loads(done.stdout)
    if result["status"] == "clean":
        return NOTHING
    found = [_defect(defect) for defect in result["defects"]]
    (outcome,) = (check for table in result["tables"] for check in table["checks"])
    return "; ".join([*found, *filter(None, [outcome.get("reason")])])


def _defect(defect: dict[str, Any]) -> str:
    keys = (defect.get("primary_key") or {}) | (defect.get("index_key") or {})
    if defect["kind"] == "wrong_stored_value":
        keys |= {"s": (defect.get("actual") or {}).get("s")}
    return f"{defect['kind']} " + ", ".join(f"{name}={value}" for name, value in keys.items())


def compare(server: Server, catalog: Path) -> list[list[str]]:
    """A line for each damage. The check comes last: following dead entries marks them."""
    lines = []
    for damage in DAMAGES:
        told = [
            amcheck(server, f"{damage.name}_k", "checker", *options)
            for options in levels(server.version[0]).values()
        ]
        lines.append([damage.label, *told, scrub(catalog, damage.name)])
    return lines


def print_all(server: Server, catalog: Path) -> None:
    """Look at all damage, then at who may look."""
    commands = levels(server.version[0])
    names = [*commands, "scrub check table"]
    print(f"PostgreSQL {server.version[1]}")
    print("pg_amcheck as a role that may call amcheck's functions and has no SELECT;")
    print("scrub as a role that has SELECT and nothing else.")
    for label, *told in compare(server, catalog):
        print(f"\n{label}\n{tabulate(zip(names, told, strict=True), tablefmt='plain')}")
    told = [amcheck(server, "sound_k", "reader", *options) for options in commands.values()]
    lines = tabulate(zip(commands, told, strict=True), tablefmt="plain")
    print(f"\nno damage, as the role of scrub\n{lines}")


def main() -> None:
    """Make a server, damage it, and print what is told of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=Path, required=True, help="where initdb and pg_amcheck are")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="scrub-amcheck-"))
    try:
        server = Server(arguments.bin.resolve(), directory)
        server.start()
        try:
            damage_all(server)
            make_roles(server.database)
            catalog = write_catalog(directory, server.database)
            print_all(server, catalog)
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
