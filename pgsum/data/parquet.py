"""Parquet to rows of named values, a bounded batch at a time.

A row whose text is no UTF-8 comes out as a `BadRow`. Knows no column by name.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pgsum.data.files import check_file, visible
from pgsum.data.rows import BadRow, Row, check_names
from pgsum.errors import DataError

_BATCH_BYTES = 16 * 1024 * 1024
_BATCH_ROWS = 1_000


def read_parquet(path: Path) -> Iterator[Row | BadRow]:
    """The rows of a Parquet file.

    Raises DataError where it is damaged, cut short, compressed once more, or has two columns of
    one name.
    """
    check_file(path)  # a Parquet file begins at its end, which no pipe has yet
    if path.suffix.lower() == ".gz":
        raise DataError(
            "Parquet is compressed inside, and is not read from a .gz file.",
            where=str(path),
            hint=f"unpack it: gunzip {path.name}",
        )
    number = 0
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            check_names(file.schema_arrow.names, where=str(path))
            for batch in file.iter_batches(_rows_at_once(file.metadata)):
                for values in _values(batch):
                    number += 1
                    where = f"{path}, row {number}"
                    if values is None:
                        yield BadRow(number, where, "The row holds text that is not UTF-8.")
                    else:
                        yield Row(number, where, values)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = visible(str(error).partition("\n")[0], limit=120)
        after = f" after row {number:,}" if number else ""
        raise DataError(
            f"The Parquet file is damaged or cut short{after}: {reason.rstrip('.')}.",
            where=str(path),
            hint="copy it again",
        ) from None


def _rows_at_once(metadata: pq.FileMetaData) -> int:
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    bytes_a_row = max((g.total_byte_size / max(g.num_rows, 1) for g in groups), default=0)
    return max(1, min(_BATCH_ROWS, int(_BATCH_BYTES / max(bytes_a_row, 1))))


def _values(batch: pa.RecordBatch) -> Iterator[dict[str, Any] | None]:
    """The values of each row as JSON would give them; None for one with text that is not UTF-8.

    What JSON has no form for, such as bytes and dates, stays as Arrow holds it.
    """
    if _is_sound(batch):
        columns = [
            column.to_pylist() if _is_plain(column.type) else list(column) for column in batch
        ]
        names = batch.schema.names
        yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
    elif len(batch) == 1:
        yield None
    else:
        half = len(batch) // 2
        yield from _values(batch.slice(0, half))
        yield from _values(batch.slice(half))


def _is_sound(batch: pa.RecordBatch) -> bool:
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(kind) or types.is_list(kind) or types.is_large_list(kind):
        return _is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(_is_plain(kind.field(place).type) for place in range(kind.num_fields))
    return any(
        test(kind)
        for test in (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_integer,
            types.is_floating,
            types.is_boolean,
            types.is_null,
        )
    )
