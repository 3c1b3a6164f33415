"""Every statement of the program, executed on a shard that is distributed: at the node that holds it and through the coordinator.

Each runs seven times, of which the last may be planned without the values, in a transaction that is rolled back. The values are made up
from the types of the parameters: a row that breaks a constraint is refused by PostgreSQL itself, and is no refusal of Citus.
"""

import os, pathlib, re, subprocess

from cluster import NODES, REFUSED

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Asked of PostgreSQL's own catalogs or of a schema that is not a shard's.
ELSEWHERE = {"pipeline/db/sql/shards/read_first.sql"}
ID = "'00000000-0000-0000-0000-000000000001'"
VALUES = {
    "text": ID, "uuid": ID, "character varying": ID, "timestamp with time zone": "now()", "timestamp without time zone": "now()", "date": "current_date",
    "bigint": "1", "integer": "1", "smallint": "1", "double precision": "1.5", "real": "1.5", "numeric": "1", "boolean": "true", "jsonb": "'{}'",
    "json": "'{}'", "interval": "'1 minute'", "bytea": "'x'", "regconfig": "'simple'", "tsquery": "'word'", "tsvector": "'word'",
    "name": "'users'", "oid": "1",
}


def all_of_them():
    files = sorted(path for folder in ("pipeline", "worker", "reconciler") for path in (ROOT / folder).glob("**/sql/**/*.sql"))
    return [(str(path.relative_to(ROOT)), path.read_text().rstrip().rstrip(";")) for path in files if str(path.relative_to(ROOT)) not in ELSEWHERE]


def value(of):
    if of.endswith("[]"):
        return f"array[{value(of[:-2])}]::{of}"
    return f"{VALUES.get(of, 'null')}::{of}"


def say(node, schema, script):
    url = f"postgresql://postgres@127.0.0.1:{NODES[node]}/listen"
    environment = {**os.environ, "PGOPTIONS": f"-c search_path={schema}"}
    said = subprocess.run(["psql", url, "-XqAt"], input=script, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return said.stdout


def parameters(node, schema, statements):
    """Their types, by the number of a statement; and what was said of those that could not be prepared."""
    script = "".join(f"\\echo @{number}\nprepare p{number} as {sql};\n" for number, (_, sql) in enumerate(statements))
    script += "\\echo @@\nselect name || '|' || array_to_string(parameter_types, '|') from pg_prepared_statements;\n"
    said, types = say(node, schema, script).split("\n@@\n")
    for line in types.splitlines():
        name, *of = line.split("|")
        yield int(name[1:]), [one for one in of if one]


def executed(cluster, shard):
    """How many ran, and a line for each that was refused."""
    statements, schema = all_of_them(), f"listen_{shard:04}"
    ran, refused = 0, []
    for node in (cluster.holder(shard), "coordinator"):
        types, script = dict(parameters(node, schema, statements)), ""
        for number, (place, sql) in enumerate(statements):
            if number not in types:
                refused.append(f"{node}: {place}: it could not be prepared")
                continue
            values = ", ".join(map(value, types[number]))
            if "regconfig" in sql:
                values = values.replace(ID, "'simple'")
            execute = "savepoint s;\nexecute p" + (f"({values})" if values else "") + ";\nrollback to s;\n"
            script += f"\\echo @@{number}\nprepare p as {sql};\nbegin;\n{execute * 7}rollback;\ndeallocate p;\n"
        for part in say(node, schema, "\\o /dev/null\n" + script).split("@@")[1:]:
            number, said = part.split("\n", 1)
            ran += 1
            lines = {line for line in said.splitlines() if "connection to server" in line or "ERROR:" in line and any(word in line for word in REFUSED)}
            refused += [f"{node}: {statements[int(number)][0]}: {line}" for line in lines]
    return ran, refused
