"""A coordinator and two workers on this machine."""

import os, pathlib, pwd, re, signal, subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

NODES = {"coordinator": 5600, "one": 5601, "two": 5602}
# What Citus refuses, and what is wrong in a statement: not what a killed node leaves behind.
REFUSED = (
    "not supported", "not allowed", "must not be", "cannot be called", "syntax error", "no parameter", "could not find valid",
    "cannot execute a distributed", "cannot perform", "unsupported", "could not run distributed", "cannot plan", "does not exist",
    "unrecognized", "multi-shard", "not immutable", "cache lookup",
)


class Cluster:
    """Its nodes run as the user postgres where this runs as root."""

    def __init__(self, home):
        self.home, self.seen, self.bin = home, {}, subprocess.check_output(["pg_config", "--bindir"], text=True).strip()
        self.lent = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if self.lent:
            os.chown(home, self.lent.pw_uid, self.lent.pw_gid)
        for node, port in NODES.items():
            self.run("initdb", "-D", f"{home}/{node}", "-U", "postgres", "-A", "trust", "-E", "UTF8")
            with open(f"{home}/{node}/postgresql.conf", "a") as settings:
                settings.write(
                    f"shared_preload_libraries = 'citus'\nport = {port}\nlisten_addresses = '127.0.0.1'\n"
                    f"unix_socket_directories = '{home}'\nwal_level = logical\nmax_connections = 300\n"
                    "max_worker_processes = 64\nmax_prepared_transactions = 300\nmax_replication_slots = 30\n"
                    "max_wal_senders = 30\nlog_min_error_statement = error\n"
                )
            self.start(node)
            self.ask("create database listen", node, "postgres")
            self.ask("create extension citus", node)
        self.ask(f"select citus_set_coordinator_host('127.0.0.1', {NODES['coordinator']})")
        for node in ("one", "two"):
            self.ask(f"select citus_add_node('127.0.0.1', {NODES[node]})")

    def run(self, program, *words):
        lent = {"user": self.lent.pw_uid, "group": self.lent.pw_gid, "extra_groups": []} if self.lent else {}
        # Nodes connect to each other, and look for certificates at home.
        home = {**os.environ, "HOME": self.home, "LC_ALL": "C"}
        subprocess.run([f"{self.bin}/{program}", *words], check=True, stdout=subprocess.DEVNULL, cwd="/", env=home, **lent)

    def start(self, node):
        self.run("pg_ctl", "-D", f"{self.home}/{node}", "-w", "-t", "120", "-l", f"{self.home}/{node}.log", "start")

    def kill(self, node):
        number = int(pathlib.Path(f"{self.home}/{node}/postmaster.pid").read_text().split()[0])
        os.kill(number, signal.SIGKILL)

    def stop(self):
        for node in NODES:
            subprocess.run([f"{self.bin}/pg_ctl", "-D", f"{self.home}/{node}", "-m", "immediate", "stop"], user=self.lent and self.lent.pw_uid, capture_output=True)

    def ask(self, sql, node="coordinator", database="listen"):
        url = f"postgresql://postgres@127.0.0.1:{NODES[node]}/{database}"
        asked = subprocess.run(["psql", url, "-XqAtc", sql], capture_output=True, text=True)
        if asked.returncode:
            raise SystemExit(f"{node} refused {sql}: {asked.stderr}")
        return asked.stdout.strip()

    def placed(self, shard):
        found = self.ask(f"select shardid, nodeport from citus_shards where table_name = 'listen_{shard:04}.users'::regclass")
        return found.split("|")

    def holder(self, shard):
        return next(node for node, port in NODES.items() if port == int(self.placed(shard)[1]))

    def move(self, shard):
        """To the other worker."""
        number, port = self.placed(shard)
        to = next(other for node, other in NODES.items() if node != "coordinator" and other != int(port))
        self.ask(f"select citus_move_shard_placement({number}, '127.0.0.1', {port}, '127.0.0.1', {to})")

    def refusals(self):
        """Each as the server's log has it, with its statement."""
        refused = []
        for node in NODES:
            with open(f"{self.home}/{node}.log") as log:
                log.seek(self.seen.get(node, 0))
                lines = log.read().splitlines()
            for at, line in enumerate(lines):
                if "ERROR:" in line and any(word in line for word in REFUSED):
                    said = [after for after in lines[at + 1:at + 6] if "STATEMENT:" in after][:1]
                    refused.append(" | ".join([node, line.split("ERROR:")[1].strip(), *(one.split("STATEMENT:")[1].strip() for one in said)]))
        return refused

    def forget_refusals(self):
        self.seen = {node: pathlib.Path(f"{self.home}/{node}.log").stat().st_size for node in NODES}

    def undo_newest_migration(self, shard):
        """So that `listen migrate` does the newest that makes an index or a table again."""
        schema = f"listen_{shard:04}"
        for file in sorted((ROOT / "migrations").glob("*.sql"), reverse=True):
            sql = file.read_text()
            indexes = re.findall(r"create (?:unique )?index (?:concurrently )?(\w+)", sql)
            tables = re.findall(r"create table (\w+)", sql)
            if indexes or tables:
                break
        for index in indexes:
            self.ask(f"drop index {schema}.{index}")
        for table in tables:
            self.ask(f"drop table {schema}.{table}")
        self.ask(f"delete from {schema}._sqlx_migrations where version = {file.name.split('_')[0]}")

    def backed_up_and_restored(self, processes, shards):
        """Each shard's schema into a plain database of another name, where `listen verify` must be clean."""
        url = f"postgresql://postgres@127.0.0.1:{NODES['coordinator']}"
        self.ask("create database restored", database="postgres")
        environment = {**processes.environment, "DATABASE_URL": f"{url}/restored?sslmode=disable"}
        for shard in range(shards):
            dumped = subprocess.run([f"{self.bin}/pg_dump", f"{url}/listen", "-n", f"listen_{shard:04}"], capture_output=True)
            if dumped.returncode:
                return f"backup of shard {shard}: {dumped.stderr.decode()[-300:]}"
            restored = subprocess.run([f"{self.bin}/psql", f"{url}/restored", "-Xq", "-v", "ON_ERROR_STOP=1"], input=dumped.stdout, capture_output=True)
            if restored.returncode:
                return f"restore of shard {shard}: {restored.stderr.decode()[-300:]}"
        listen = os.environ.get("LISTEN", str(ROOT / "target/debug/listen"))
        said = [subprocess.run([listen, *words], env=environment, capture_output=True, text=True) for words in (("migrate",), ("verify",))]
        jobs = [self.ask("select " + " + ".join(f"(select count(*) from listen_{shard:04}.finalization_jobs)" for shard in range(shards)), database=name) for name in ("listen", "restored")]
        return f"restored from dumps: migrate exit {said[0].returncode}, verify exit {said[1].returncode}, jobs {jobs[0]} and {jobs[1]}"
