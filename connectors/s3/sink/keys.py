"""The keys of the sink: Confluent's names, meanings and defaults; Aiven's names are accepted as well."""

from __future__ import annotations

import re
from typing import Final

from connect import settings
from connect.settings import WithoutEffect
from connectors.objects.sink import named_keys
from connectors.objects.sink.keys import NAMES, ObjectOptions
from connectors.objects.sink.named_keys import UPLOADS
from connectors.s3.bucket.keys import BucketOptions, problems
from connectors.s3.sink.store import S3Store

_MEMORY: Final = "memory is allocated as records arrive. s3.memory.bytes limits it"


def _tags(_: str, value: list[str]) -> None:
    if wrong := [pair for pair in value if not re.fullmatch(r"[^:]{1,128}:[^:]{0,256}", pair)]:
        raise ValueError(f'"{wrong[0]}" is not a tag. Write key:value, with commas between tags.')


class S3SinkOptions(
    BucketOptions,
    ObjectOptions,
    aliases={
        "aws.s3.prefix": "file.name.prefix",
        "aws_s3_prefix": "file.name.prefix",
    },
    without_effect={
        "storage.class": WithoutEffect(
            "this sink writes to S3 only", unless=("io.confluent.connect.s3.storage.S3Storage",)
        ),
        "s3.elastic.buffer.enable": WithoutEffect(_MEMORY, unless=("true",)),
        "s3.elastic.buffer.init.capacity": _MEMORY,
        # Not another name of it: a file that the clock ends is no larger than a part.
        "aws.s3.part.size.bytes": "s3.part.size says how large parts are",
        "aws.s3.fetch.page.size": "it belongs to the source",
        "aws.s3.fetch.buffer.size": "it belongs to the source",
    },
):
    """The keys as values."""

    problems = staticmethod(problems)
    compression_type = named_keys.compression_type("s3.compression.type")
    compression_level = named_keys.compression_level("s3.compression.level")
    part_size = named_keys.part_size("s3.part.size", S3Store.smallest_part)
    memory = named_keys.memory("s3.memory.bytes", "s3.spill.dir", S3Store.smallest_part)
    spill_folder = named_keys.spill_folder("s3.spill.dir", "s3.part.size")
    threads = named_keys.threads("s3.upload.threads")
    digest = settings.Boolean(
        "s3.send.digest",
        default=False,
        importance="LOW",
        group=UPLOADS,
        doc="Whether each upload carries its MD5, which buckets with object lock require.",
    )
    s3_object_tagging = settings.Boolean(
        "s3.object.tagging",
        default=False,
        importance="LOW",
        group=UPLOADS,
        doc="Whether objects get the tags startOffset, endOffset and recordCount, and those of "
        "s3.object.tagging.key.value.pairs.",
    )
    s3_object_tagging_key_value_pairs = settings.List(
        "s3.object.tagging.key.value.pairs",
        default=[],
        importance="LOW",
        group=UPLOADS,
        validator=_tags,
        doc="Further tags: key:value, separated by commas.",
    )
    tags_must = settings.String(
        "s3.object.behavior.on.tagging.error",
        default="ignore",
        importance="LOW",
        group=UPLOADS,
        validator=settings.one_of("ignore", "fail", ignore_case=True),
        convert=lambda word: word.lower() == "fail",
        doc="Whether a tag that the store refuses fails the task.",
    )
    s3_schema_partition_affix_type = settings.String(
        "s3.schema.partition.affix.type",
        default="NONE",
        importance="LOW",
        group=NAMES,
        validator=settings.one_of("none", ignore_case=True),
        doc="Only NONE: schema names do not become folders.",
    )
