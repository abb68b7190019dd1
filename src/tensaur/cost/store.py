"""Measured prices on disk: an SQLite file in the user's cache directory.

Holds prices by signature, with their spread and what the roofline estimated, and the machine's calibration,
all for one runtime, processor and number of threads; and how many kernels a runtime runs for kinds of small
graphs. Safe for several processes at once. Does not measure. A store that cannot be opened is replaced by
one in memory, with one warning: losing a cache is never an error.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3  # heavy: imported when used

_LOG = logging.getLogger("tensaur")
_VERSION = 4
_BUSY_SECONDS = 30.0
# The columns that hold a `Stored` and an `Entry`, in the order of their fields.
_STORED = "nanoseconds, fault, spread, estimate, measured_at"
_ENTRY = f"signature, threads, runtime, processor, {_STORED}"
_PLACES = "?, ?, ?, ?, ?, ?, ?, ?, ?"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS prices (
  signature TEXT NOT NULL, threads INTEGER NOT NULL, runtime TEXT NOT NULL, processor TEXT NOT NULL,
  nanoseconds INTEGER, fault TEXT NOT NULL, spread REAL NOT NULL, estimate INTEGER NOT NULL,
  measured_at REAL NOT NULL,
  PRIMARY KEY (signature, threads, runtime, processor)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS machines (
  threads INTEGER NOT NULL, runtime TEXT NOT NULL, processor TEXT NOT NULL, calibration TEXT NOT NULL,
  PRIMARY KEY (threads, runtime, processor)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fusions (
  kind TEXT NOT NULL, runtime TEXT NOT NULL, kernels INTEGER NOT NULL, PRIMARY KEY (kind, runtime)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Context:
    """What a measurement holds for: threads, runtime with version, processor."""

    threads: int
    runtime: str
    processor: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored measurement: nanoseconds, or None and the fault if the signature cannot be measured.

    `spread` is that between repeated measurements, as a share of the price; `estimate` what the roofline
    said, in nanoseconds; `measured_at` the time of measuring, in seconds since 1970.
    """

    nanoseconds: int | None
    fault: str = ""
    spread: float = 0.0
    estimate: int = 0
    measured_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A measurement with what it is of and what it holds for."""

    signature: str
    context: Context
    stored: Stored


@dataclass(frozen=True, slots=True)
class Calibration:
    """The text that a machine's calibration is kept as, with what it holds for."""

    context: Context
    text: str


class Store:
    """Prices and calibrations, in a file or, with path None, in memory."""

    def __init__(self, path: Path | None) -> None:
        found = None if path is None else _open(path)
        self.path = None if found is None else path
        self._connection = found or _connect(None)

    def get(self, signature: str, context: Context) -> Stored | None:
        """Return what is stored for a signature."""
        row = self._one(
            f"SELECT {_STORED} FROM prices"
            " WHERE signature=? AND threads=? AND runtime=? AND processor=?",
            (signature, *_values(context)),
        )
        return None if row is None else Stored(*row)

    def put(self, signature: str, context: Context, stored: Stored) -> None:
        """Store a measurement, replacing an earlier one."""
        self.merge([Entry(signature, context, stored)], replace=True)

    def merge(self, entries: Sequence[Entry], *, replace: bool = False) -> int:
        """Store the entries that are new or newer than what is here, with `replace` all; return how many.

        All or none of them, in one transaction.
        """
        newer = "" if replace else " WHERE excluded.measured_at > prices.measured_at"
        changes = ", ".join(f"{name}=excluded.{name}" for name in _STORED.split(", "))
        return self._write_all(
            f"INSERT INTO prices ({_ENTRY}) VALUES ({_PLACES}) "
            f"ON CONFLICT DO UPDATE SET {changes}{newer}",
            [_row(entry) for entry in entries],
        )

    def entries(self) -> list[Entry]:
        """Return everything that is stored about signatures."""
        rows = self._all(f"SELECT {_ENTRY} FROM prices ORDER BY {_ENTRY}", ())
        return [Entry(row[0], Context(*row[1:4]), Stored(*row[4:])) for row in rows]

    def clear(self, runtime: str | None = None) -> int:
        """Forget everything about one runtime, or about all; return how many prices that were."""
        chosen, values = ("", ()) if runtime is None else (" WHERE runtime=?", (runtime,))
        for table in ("machines", "fusions"):
            self._write(f"DELETE FROM {table}{chosen}", values)
        return self._write(f"DELETE FROM prices{chosen}", values)

    def calibration(self, context: Context) -> str | None:
        """Return the stored calibration text of the machine."""
        row = self._one(
            "SELECT calibration FROM machines WHERE threads=? AND runtime=? AND processor=?",
            _values(context),
        )
        return None if row is None else str(row[0])

    def put_calibration(self, context: Context, text: str) -> None:
        """Store the calibration text of the machine."""
        self._write(
            "INSERT OR REPLACE INTO machines VALUES (?, ?, ?, ?)",
            (*_values(context), text),
        )

    def calibrations(self) -> list[Calibration]:
        """Return the calibrations of all machines."""
        names = "threads, runtime, processor, calibration"
        rows = self._all(f"SELECT {names} FROM machines ORDER BY {names}", ())
        return [Calibration(Context(*row[:3]), row[3]) for row in rows]

    def kernels(self, runtime: str) -> dict[str, int]:
        """Return how many kernels a runtime runs for each kind of small graph that it was asked about."""
        rows = self._all("SELECT kind, kernels FROM fusions WHERE runtime=?", (runtime,))
        return {str(kind): int(count) for kind, count in rows}

    def put_kernels(self, runtime: str, counts: Mapping[str, int]) -> None:
        """Store numbers of kernels by kind, replacing earlier ones."""
        self._write_all(
            "INSERT OR REPLACE INTO fusions VALUES (?, ?, ?)",
            [(kind, runtime, count) for kind, count in counts.items()],
        )

    def count(self) -> int:
        """Return how many prices are stored."""
        row = self._one("SELECT count(*) FROM prices", ())
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _one(self, query: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        return next(iter(self._all(query, values)), None)

    def _all(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        import sqlite3  # noqa: PLC0415  # heavy: imported when used

        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            self._fall_back(error)
            return []

    def _write(self, query: str, values: tuple[object, ...]) -> int:
        return self._write_all(query, [values])

    def _write_all(self, query: str, rows: Sequence[tuple[object, ...]]) -> int:
        """Run a query for every row, in one transaction; return how many rows of the table changed."""
        import sqlite3  # noqa: PLC0415  # heavy: imported when used

        try:
            with self._connection:
                return max(self._connection.executemany(query, rows).rowcount, 0)
        except sqlite3.DatabaseError as error:
            self._fall_back(error)
            return 0

    def _fall_back(self, error: Exception) -> None:
        """Go on in memory: the file broke, filled its disk, or stays locked."""
        _LOG.warning("cost store %s: %s; going on without it", self.path, error)
        self.path, self._connection = None, _connect(None)


def _values(context: Context) -> tuple[object, ...]:
    return context.threads, context.runtime, context.processor


def _row(entry: Entry) -> tuple[object, ...]:
    stored = entry.stored
    return (
        entry.signature,
        *_values(entry.context),
        stored.nanoseconds,
        stored.fault,
        stored.spread,
        stored.estimate,
        stored.measured_at,
    )


def default_path() -> Path:
    """Return where the store is unless the caller says otherwise."""
    import platformdirs  # noqa: PLC0415  # only where the place is not given

    return platformdirs.user_cache_path("tensaur") / "costs.sqlite"


def _open(path: Path) -> sqlite3.Connection | None:
    """Open and prepare the file; None, with a warning, if that is impossible."""
    import sqlite3  # noqa: PLC0415  # heavy: imported when used

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _connect(path)
    except (
        sqlite3.OperationalError
    ) as error:  # no permission, locked: the file itself is not at fault
        _LOG.warning("cost store %s: %s; measured prices are not kept", path, error)
    except sqlite3.DatabaseError as error:
        return _start_again(path, error)
    except OSError as error:
        _LOG.warning("cost store %s: %s; measured prices are not kept", path, error.strerror)
    return None


def _connect(path: Path | None) -> sqlite3.Connection:
    import sqlite3  # noqa: PLC0415  # heavy: imported when used

    connection = sqlite3.connect(path or ":memory:", timeout=_BUSY_SECONDS)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        _migrate(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, _VERSION):  # another Tensaur's layout: measure again rather than guess
        connection.executescript(
            "DROP TABLE IF EXISTS prices; DROP TABLE IF EXISTS machines;"
            "DROP TABLE IF EXISTS fusions;"
        )
    connection.executescript(_SCHEMA)
    if version != _VERSION:
        connection.execute(f"PRAGMA user_version={_VERSION}")
    connection.commit()


def _start_again(path: Path, error: Exception) -> sqlite3.Connection | None:
    """Move a file that is no database aside and begin a new one."""
    import sqlite3  # noqa: PLC0415  # heavy: imported when used

    aside = path.with_name(f"{path.name}.corrupt")
    _LOG.warning("cost store %s: %s; moved to %s", path, error, aside.name)
    try:
        os.replace(path, aside)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(f"{path}{suffix}")
        return _connect(path)
    except (OSError, sqlite3.Error) as second:
        _LOG.warning("cost store %s: %s; measured prices are not kept", path, second)
        return None
