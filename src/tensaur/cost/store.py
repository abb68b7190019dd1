"""Measured prices on disk: an SQLite file in the user's cache directory.

Holds prices by signature and the machine's calibration, both for one runtime, processor and number of
threads, and how many kernels a runtime runs for kinds of small graphs. Safe for several processes at once. Does not measure. A store that cannot be opened is replaced
by one in memory, with one warning: losing a cache is never an error.
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
_VERSION = 1
_BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS prices (
  signature TEXT NOT NULL, threads INTEGER NOT NULL, runtime TEXT NOT NULL, processor TEXT NOT NULL,
  nanoseconds INTEGER, fault TEXT NOT NULL DEFAULT '',
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
    """A stored measurement: nanoseconds, or None and the fault if the signature cannot be measured."""

    nanoseconds: int | None
    fault: str = ""


class Store:
    """Prices and calibrations, in a file or, with path None, in memory."""

    def __init__(self, path: Path | None) -> None:
        found = None if path is None else _open(path)
        self.path = None if found is None else path
        self._connection = found or _connect(None)

    def get(self, signature: str, context: Context) -> Stored | None:
        """Return what is stored for a signature."""
        row = self._one(
            "SELECT nanoseconds, fault FROM prices"
            " WHERE signature=? AND threads=? AND runtime=? AND processor=?",
            (signature, context.threads, context.runtime, context.processor),
        )
        return None if row is None else Stored(row[0], row[1])

    def put(self, signature: str, context: Context, stored: Stored) -> None:
        """Store a measurement, replacing an earlier one."""
        self._write(
            "INSERT OR REPLACE INTO prices VALUES (?, ?, ?, ?, ?, ?)",
            (
                signature,
                context.threads,
                context.runtime,
                context.processor,
                stored.nanoseconds,
                stored.fault,
            ),
        )

    def calibration(self, context: Context) -> str | None:
        """Return the stored calibration text of the machine."""
        row = self._one(
            "SELECT calibration FROM machines WHERE threads=? AND runtime=? AND processor=?",
            (context.threads, context.runtime, context.processor),
        )
        return None if row is None else str(row[0])

    def put_calibration(self, context: Context, text: str) -> None:
        """Store the calibration text of the machine."""
        self._write(
            "INSERT OR REPLACE INTO machines VALUES (?, ?, ?, ?)",
            (context.threads, context.runtime, context.processor, text),
        )

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

    def _write(self, query: str, values: tuple[object, ...]) -> None:
        self._write_all(query, [values])

    def _write_all(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        import sqlite3  # noqa: PLC0415  # heavy: imported when used

        try:
            with self._connection:
                self._connection.executemany(query, rows)
        except sqlite3.DatabaseError as error:
            self._fall_back(error)

    def _fall_back(self, error: Exception) -> None:
        """Go on in memory: the file broke, filled its disk, or stays locked."""
        _LOG.warning("cost store %s: %s; going on without it", self.path, error)
        self.path, self._connection = None, _connect(None)


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
