"""Of the keys of the connectors that ours stand in for, none is unknown: each is followed, an alias, or explained.

The lists are the configuration definitions of those projects, of the middle of 2026.
"""

from typing import Any

import pytest

from connect.settings.connector_keys import SINK, SOURCE
from connectors.datagen.connector import DatagenConnector
from connectors.elasticsearch.sink import ElasticsearchSinkConnector, OpenSearchSinkConnector
from connectors.elasticsearch.source import ElasticsearchSourceConnector
from connectors.file import FileStreamSinkConnector, FileStreamSourceConnector
from connectors.http.sink import HttpSinkConnector
from connectors.http.source import HttpSourceConnector
from connectors.jdbc.capture.connector import PostgresCdcSourceConnector
from connectors.jdbc.mysql_capture.connector import MySqlCdcSourceConnector
from connectors.jdbc.sink import JdbcSinkConnector
from connectors.jdbc.source import JdbcSourceConnector
from connectors.s3.sink import S3SinkConnector
from connectors.s3.source import S3SourceConnector
from connectors.twitter import TwitterSourceConnector
from spark_sink.iceberg.connector import IcebergSinkConnector
from spark_sink.sink.connector import SparkSinkConnector

ORIGINALS: dict[str, tuple[Any, str]] = {
    "Aiven's HTTP sink": (
        HttpSinkConnector,
        """http.url http.authorization.type http.headers.authorization http.headers.content.type http.headers.additional
        oauth2.access.token.url oauth2.grant.type oauth2.request.grant.type.property oauth2.client.id
        oauth2.request.client.id.property oauth2.client.secret oauth2.request.client.secret.property
        oauth2.client.authorization.mode oauth2.client.scope oauth2.response.token.property batching.enabled
        batch.max.size batch.prefix batch.suffix batch.separator max.retries retry.backoff.ms kafka.retry.backoff.ms
        http.timeout http.ssl.trust.all.certs http.proxy.host http.proxy.port decimal.format""",
    ),
    "Iceberg's sink, and Tabular's before it": (
        IcebergSinkConnector,
        """iceberg.tables iceberg.tables.dynamic-enabled iceberg.tables.route-field iceberg.tables.default-commit-branch
        iceberg.tables.default-id-columns iceberg.tables.default-partition-by iceberg.tables.auto-create-enabled
        iceberg.tables.schema-force-optional iceberg.tables.schema-case-insensitive iceberg.tables.evolve-schema-enabled
        iceberg.catalog iceberg.control.topic iceberg.control.group-id-prefix iceberg.connect.group-id
        iceberg.control.commit.interval-ms iceberg.control.commit.timeout-ms iceberg.control.commit.threads
        iceberg.coordinator.transactional.prefix iceberg.hadoop-conf-dir iceberg.hadoop.fs.defaultFS
        iceberg.coordinator-executor-keep-alive-timeout-ms iceberg.control.commit.max-consecutive-failures
        iceberg.kafka.bootstrap.servers iceberg.tables.upsert-mode-enabled iceberg.tables.cdc-field""",
    ),
    "castorm's HTTP source": (
        HttpSourceConnector,
        """http.timer http.timer.interval.millis http.timer.catchup.interval.millis http.client
        http.client.connection.timeout.millis http.client.read.timeout.millis http.client.connection.ttl.millis
        http.client.proxy.host http.client.proxy.port http.client.proxy.username http.client.proxy.password http.auth
        http.auth.type http.auth.user http.auth.password http.request.factory http.request.url http.request.method
        http.request.headers http.request.params http.request.body http.request.template.factory http.response.parser
        http.response.list.pointer http.response.record.pointer http.response.record.offset.pointer
        http.response.record.timestamp.parser http.record.filter.factory http.offset.initial kafka.topic""",
    ),
    "Kafka's file source": (FileStreamSourceConnector, "file topic batch.size"),
    "Kafka's file sink": (FileStreamSinkConnector, "file"),
    "Confluent's JDBC source": (
        JdbcSourceConnector,
        """connection.url connection.user connection.password jdbc.credentials.provider.class connection.attempts
        connection.backoff.ms table.whitelist table.blacklist table.include.list table.exclude.list catalog.pattern
        schema.pattern numeric.precision.mapping numeric.mapping dialect.name date.calendar.system mode
        incrementing.column.name timestamp.column.name timestamp.columns.mapping incrementing.column.mapping
        timestamp.initial validate.non.null query query.masked quote.sql.identifiers query.suffix
        transaction.isolation.mode query.retry.attempts table.types poll.interval.ms batch.max.rows max.buffer.size
        poll.linger.ms table.monitoring.startup.polling.limit.ms table.poll.interval.ms topic.prefix
        timestamp.delay.interval.ms db.timezone timestamp.granularity tables tables.fetched engine.shutdown.timeout""",
    ),
    "Aiven's JDBC source": (
        JdbcSourceConnector,
        """connection.url connection.user connection.password db.timezone dialect.name sql.quote.identifiers
        connection.attempts connection.backoff.ms table.whitelist table.blacklist catalog.pattern schema.pattern
        numeric.precision.mapping numeric.mapping table.names.qualify mode incrementing.column.name
        timestamp.column.name validate.non.null query timestamp.initial.ms incrementing.initial table.types
        poll.interval.ms batch.max.rows table.poll.interval.ms topic.prefix timestamp.delay.interval.ms""",
    ),
    "Confluent's JDBC sink": (
        JdbcSinkConnector,
        """connection.url connection.user connection.password jdbc.credentials.provider.class dialect.name
        connection.attempts connection.backoff.ms insert.mode batch.size delete.enabled table.types
        replace.null.with.default table.name.format pk.mode pk.fields fields.whitelist db.timezone date.timezone
        timestamp.fields.list timestamp.precision.mode date.calendar.system string.output.value.column.name auto.create
        auto.evolve quote.sql.identifiers mssql.use.merge.holdlock max.retries retry.backoff.ms trim.sensitive.log""",
    ),
    "Aiven's JDBC sink": (
        JdbcSinkConnector,
        """connection.url connection.user connection.password db.timezone dialect.name sql.quote.identifiers insert.mode
        batch.size delete.enabled table.name.format table.name.normalize topics.to.tables.mapping pk.mode pk.fields
        fields.whitelist auto.create auto.evolve max.retries retry.backoff.ms""",
    ),
    "Debezium's JDBC sink": (
        JdbcSinkConnector,
        """connection.url connection.username connection.password connection.provider connection.pool.min_size
        connection.pool.max_size connection.pool.acquire_increment connection.pool.timeout connection.restart.on.errors
        insert.mode delete.enabled truncate.enabled primary.key.mode primary.key.fields schema.evolution
        quote.identifiers use.time.zone database.time_zone collection.name.format collection.table.format
        table.name.format collection.naming.strategy table.naming.strategy column.naming.strategy field.include.list
        field.exclude.list batch.size keyed.message.batch.mode use.reduction.buffer flush.max.retries
        flush.retry.delay.ms dialect.postgres.postgis.schema dialect.postgres.unnest.insert.enabled
        dialect.sqlserver.identity.insert dialect.starrocks.catalog.name cloud.events.schema.name.pattern
        hibernate.c3p0.max_size""",
    ),
    "Debezium's PostgreSQL source": (
        PostgresCdcSourceConnector,
        """database.hostname database.port database.user database.password database.dbname database.sslmode
        database.sslcert database.sslkey database.sslpassword database.sslrootcert database.sslfactory
        database.tcpKeepAlive database.initial.statements topic.prefix topic.delimiter topic.heartbeat.prefix
        topic.transaction topic.cache.size topic.naming.strategy plugin.name slot.name slot.drop.on.stop slot.failover
        slot.stream.params slot.max.retries slot.retry.delay.ms slot.seek.to.known.offset.on.start
        create.slot.command.timeout publication.name publication.autocreate.mode publish.via.partition.root
        replica.identity.autoset.values schema.include.list schema.exclude.list table.include.list table.exclude.list
        table.ignore.builtin column.include.list column.exclude.list message.key.columns message.prefix.include.list
        message.prefix.exclude.list logical_decoding_message.prefix.include.list column.mask.hash.SHA-256.with.salt.x
        column.mask.with.5.chars column.truncate.to.5.chars column.propagate.source.type datatype.propagate.source.type
        snapshot.mode snapshot.mode.custom.name snapshot.mode.configuration.based.snapshot.data
        snapshot.include.collection.list snapshot.fetch.size snapshot.delay.ms snapshot.isolation.mode
        snapshot.lock.timeout.ms snapshot.locking.mode snapshot.locking.mode.custom.name snapshot.max.threads
        snapshot.query.mode snapshot.query.mode.custom.name snapshot.select.statement.overrides
        snapshot.select.statement.overrides.public.orders snapshot.tables.order.by.row.count
        snapshot.scan.all.columns.force streaming.delay.ms incremental.snapshot.chunk.size
        incremental.snapshot.allow.schema.changes incremental.snapshot.watermarking.strategy signal.data.collection
        signal.enabled.channels signal.poll.interval.ms notification.enabled.channels notification.sink.topic.name
        read.only xmin.fetch.interval.ms poll.interval.ms max.batch.size max.queue.size max.queue.size.in.bytes
        query.fetch.size status.update.interval.ms heartbeat.interval.ms heartbeat.topics.prefix heartbeat.action.query
        tombstones.on.delete decimal.handling.mode time.precision.mode binary.handling.mode hstore.handling.mode
        interval.handling.mode money.fraction.digits include.unknown.datatypes include.schema.changes
        include.schema.comments unavailable.value.placeholder skipped.operations skip.messages.without.change
        schema.name.adjustment.mode field.name.adjustment.mode schema.refresh.mode provide.transaction.metadata
        transaction.metadata.factory sourceinfo.struct.maker converters post.processors flush.lsn.source lsn.flush.mode
        lsn.flush.timeout.action lsn.flush.timeout.ms offset.mismatch.strategy log.position.check.enable
        errors.max.retries retriable.restart.connector.wait.ms custom.retriable.exception custom.metric.tags
        custom.sanitize.pattern event.processing.failure.handling.mode event.converting.failure.handling.mode
        connection.validation.timeout.ms executor.shutdown.timeout.ms extended.headers.enabled advanced.metrics.enable
        guardrail.collections.max guardrail.collections.limit.action openlineage.integration.enabled""",
    ),
    "Debezium's MySQL and MariaDB sources": (
        MySqlCdcSourceConnector,
        """database.hostname database.port database.user database.password database.server.id database.protocol
        database.jdbc.driver database.initial.statements database.query.timeout.ms database.ssl.mode
        database.ssl.keystore database.ssl.keystore.password database.ssl.truststore database.ssl.truststore.password
        driver.connectTimeout connect.timeout.ms connect.keep.alive connect.keep.alive.interval.ms topic.prefix
        topic.delimiter topic.heartbeat.prefix topic.transaction topic.cache.size topic.naming.strategy
        database.include.list database.exclude.list table.include.list table.exclude.list table.ignore.builtin
        column.include.list column.exclude.list message.key.columns column.mask.hash.v2.SHA-256.with.salt.x
        column.mask.with.5.chars column.truncate.to.5.chars column.propagate.source.type
        datatype.propagate.source.type gtid.source.includes gtid.source.excludes gtid.source.filter.dml.events
        binlog.buffer.size use.nongraceful.disconnect include.query include.schema.changes include.schema.comments
        schema.history.internal schema.history.internal.kafka.topic schema.history.internal.kafka.bootstrap.servers
        schema.history.internal.store.only.captured.tables.ddl schema.history.internal.skip.unparseable.ddl
        snapshot.mode snapshot.mode.custom.name snapshot.mode.configuration.based.snapshot.data snapshot.locking.mode
        snapshot.locking.mode.custom.name snapshot.include.collection.list snapshot.fetch.size snapshot.delay.ms
        snapshot.isolation.mode snapshot.lock.timeout.ms snapshot.max.threads snapshot.query.mode
        snapshot.query.mode.custom.name snapshot.select.statement.overrides
        snapshot.select.statement.overrides.shop.orders snapshot.tables.order.by.row.count snapshot.new.tables
        streaming.delay.ms min.row.count.to.stream.results incremental.snapshot.chunk.size
        incremental.snapshot.allow.schema.changes incremental.snapshot.watermarking.strategy signal.data.collection
        signal.enabled.channels signal.poll.interval.ms notification.enabled.channels notification.sink.topic.name
        read.only poll.interval.ms max.batch.size max.queue.size max.queue.size.in.bytes query.fetch.size
        heartbeat.interval.ms heartbeat.topics.prefix heartbeat.action.query tombstones.on.delete
        decimal.handling.mode bigint.unsigned.handling.mode time.precision.mode binary.handling.mode
        enable.time.adjuster unavailable.value.placeholder skipped.operations skip.messages.without.change
        schema.name.adjustment.mode field.name.adjustment.mode provide.transaction.metadata
        transaction.metadata.factory sourceinfo.struct.maker converters post.processors log.position.check.enable
        errors.max.retries retriable.restart.connector.wait.ms custom.retriable.exception custom.metric.tags
        custom.sanitize.pattern event.deserialization.failure.handling.mode event.processing.failure.handling.mode
        event.converting.failure.handling.mode inconsistent.schema.handling.mode connection.validation.timeout.ms
        executor.shutdown.timeout.ms extended.headers.enabled advanced.metrics.enable guardrail.collections.max
        guardrail.collections.limit.action openlineage.integration.enabled""",
    ),
    "Confluent's Elasticsearch sink": (
        ElasticsearchSinkConnector,
        """connection.url connection.username connection.password external.resource.usage
        topic.to.external.resource.mapping max.external.resource.mappings data.stream.type data.stream.dataset
        data.stream.namespace data.stream.timestamp.field batch.size bulk.size.bytes max.in.flight.requests
        max.buffered.records linger.ms flush.timeout.ms flush.synchronously max.retries retry.backoff.ms
        connection.compression max.connection.idle.time.ms connection.timeout.ms read.timeout.ms key.ignore
        schema.ignore compact.map.entries topic.key.ignore topic.schema.ignore drop.invalid.message
        behavior.on.null.values behavior.on.malformed.documents external.version.header write.method
        use.autogenerated.ids proxy.host proxy.port proxy.username proxy.password elastic.security.protocol
        kerberos.user.principal kerberos.keytab.path auto.create.indices.at.start type.name log.sensitive.data
        elastic.https.ssl.truststore.location elastic.https.ssl.keystore.password""",
    ),
    "Aiven's OpenSearch sink": (
        OpenSearchSinkConnector,
        """connection.url connection.username connection.password batch.size max.in.flight.requests max.buffered.records
        linger.ms flush.timeout.ms max.retries retry.backoff.ms connection.timeout.ms read.timeout.ms
        connection.ssl.protocol connection.ssl.cipher.suites connection.ssl.enabled.protocols
        connection.ssl.keystore.type connection.ssl.keystore.location connection.ssl.keystore.password
        connection.ssl.key.password connection.ssl.truststore.type connection.ssl.truststore.location
        connection.ssl.truststore.password connection.ssl.endpoint.identification.algorithm
        connection.trust.all.certificates existing.resource.type
        topic.to.existing.resource.mapping index.write.method key.ignore key.ignore.id.strategy schema.ignore
        compact.map.entries topic.key.ignore topic.schema.ignore drop.invalid.message behavior.on.null.values
        behavior.on.malformed.documents behavior.on.version.conflict routing.type routing.type.record.value.path
        data.stream.enabled data.stream.prefix data.stream.timestamp.field data.streams.existing.index.template.name
        aws.access_key_id aws.secret_access_key aws.sts.role.arn aws.sts.role.session.name
        aws.sts.role.session.duration aws.sts.role.external.id aws.region aws.service.signing.name""",
    ),
    "Balinzo's Elasticsearch source": (
        ElasticsearchSourceConnector,
        """es.host es.port es.scheme es.user es.password es.tls.truststore.location es.tls.truststore.password
        es.tls.keystore.location es.tls.keystore.password es.compatibility index.prefix index.names topic.prefix
        poll.interval.ms connection.attempts connection.backoff.ms incrementing.field.name
        incrementing.secondary.field.name fieldname_converter filters.whitelist filters.blacklist filters.json_cast""",
    ),
    "Confluent's S3 sink": (
        S3SinkConnector,
        """s3.bucket.name s3.object.tagging s3.object.tagging.key.value.pairs s3.object.behavior.on.tagging.error
        s3.region s3.part.size s3.credentials.provider.class aws.access.key.id aws.secret.access.key s3.ssea.name
        s3.sse.customer.key s3.sse.kms.key.id s3.acl.canned s3.wan.mode s3.compression.type s3.compression.level
        json.decimal.format s3.part.retries s3.retry.backoff.ms format.bytearray.extension format.bytearray.separator
        s3.proxy.url s3.proxy.user s3.proxy.password s3.http.send.expect.continue behavior.on.null.values
        report.null.values.to.dlq max.write.duration.ms rotate.file.on.partition.change tombstone.encoded.partition
        s3.schema.partition.affix.type s3.send.digest enable.conditional.writes max.files.scan.limit store.kafka.keys
        store.kafka.headers keys.format.class headers.format.class s3.path.style.access.enabled
        s3.elastic.buffer.enable s3.elastic.buffer.init.capacity partitioner.max.open.files format.class flush.size
        rotate.interval.ms rotate.schedule.interval.ms schemas.cache.config enhanced.avro.schema.support
        connect.meta.data retry.backoff.ms shutdown.timeout.ms filename.offset.zero.pad.width avro.codec
        allow.optional.map.keys schema.compatibility parquet.codec storage.class topics.dir store.url directory.delim
        file.delim partitioner.class partition.field.name partition.duration.ms path.format locale timezone
        timestamp.extractor timestamp.field""",
    ),
    "Aiven's S3 sink": (
        S3SinkConnector,
        """aws.s3.backoff.delay.ms aws.s3.backoff.max.delay.ms aws.s3.backoff.max.retries aws.access.key.id
        aws.secret.access.key aws.credentials.provider aws.s3.bucket.name aws.s3.sse.algorithm aws.s3.endpoint
        aws.s3.region aws.s3.prefix aws.s3.fetch.page.size aws.s3.fetch.buffer.size aws.sts.role.arn
        aws.sts.role.session.name aws.sts.role.session.duration aws.sts.role.external.id aws.sts.config.endpoint
        aws_access_key_id aws_secret_access_key aws_s3_bucket aws_s3_endpoint aws_s3_region aws_s3_prefix output_fields
        output_compression file.name.template file.prefix.template file.compression.type file.max.records
        file.name.timestamp.timezone file.name.timestamp.source format.output.type format.output.fields
        format.output.fields.value.encoding format.output.envelope kafka.retry.backoff.ms aws.s3.part.size.bytes""",
    ),
    "Aiven's S3 source": (
        S3SourceConnector,
        """aws.s3.backoff.delay.ms aws.s3.backoff.max.delay.ms aws.s3.backoff.max.retries aws.access.key.id
        aws.secret.access.key aws.credentials.provider aws.s3.bucket.name aws.s3.endpoint aws.s3.region aws.s3.prefix
        aws.s3.fetch.page.size aws.s3.fetch.buffer.size aws.sts.role.arn aws.sts.role.session.name
        aws.sts.role.session.duration aws.sts.role.external.id aws.sts.config.endpoint aws.s3.sse.algorithm
        ring.buffer.size max.poll.records topic distribution.type native.start.key schema.registry.url input.format
        transformer.max.buffer.size file.name.template file.compression.type kafka.retry.backoff.ms task.id""",
    ),
    "Confluent's S3 source": (
        S3SourceConnector,
        """s3.bucket.name s3.region store.url aws.access.key.id aws.secret.access.key s3.credentials.provider.class
        s3.ssea.name s3.sse.customer.key s3.part.retries s3.retry.backoff.ms s3.proxy.url s3.proxy.user
        s3.proxy.password s3.path.style.access.enabled s3.http.send.expect.continue storage.class format.class
        topics.dir directory.delim topic.regex.list mode schema.cache.size record.batch.max.size task.batch.size
        confluent.license confluent.topic.bootstrap.servers confluent.topic.replication.factor""",
    ),
    "Custenborder's Twitter source": (
        TwitterSourceConnector,
        """twitter.oauth.consumerKey twitter.oauth.consumerSecret twitter.oauth.accessToken
        twitter.oauth.accessTokenSecret filter.keywords filter.userIds kafka.status.topic kafka.delete.topic
        process.deletes queue.empty.ms queue.batch.size twitter.debug""",
    ),
    "Confluent's datagen": (
        DatagenConnector,
        """kafka.topic max.interval iterations schema.string schema.filename schema.keyfield quickstart random.seed
        generate.timeout""",
    ),
    "Iceberg's sink": (
        SparkSinkConnector,
        """iceberg.tables iceberg.tables.dynamic-enabled iceberg.tables.route-field iceberg.tables.default-commit-branch
        iceberg.tables.default-id-columns iceberg.tables.default-partition-by iceberg.tables.auto-create-enabled
        iceberg.tables.schema-force-optional iceberg.tables.schema-case-insensitive
        iceberg.tables.evolve-schema-enabled iceberg.catalog iceberg.catalog.uri iceberg.control.topic
        iceberg.control.group-id-prefix iceberg.connect.group-id iceberg.control.commit.interval-ms
        iceberg.control.commit.timeout-ms iceberg.control.commit.threads
        iceberg.control.commit.max-consecutive-failures iceberg.coordinator.transactional.prefix iceberg.hadoop-conf-dir
        iceberg.hadoop.fs iceberg.coordinator-executor-keep-alive-timeout-ms iceberg.kafka.x
        iceberg.tables.auto-create-props.x iceberg.tables.write-props.x iceberg.table.t.id-columns""",
    ),
}


@pytest.mark.parametrize("original", ORIGINALS)
def test_no_key_of_an_original_is_unknown(original: str) -> None:
    connector, keys = ORIGINALS[original]
    common = SINK if "ink" in connector.__name__ else SOURCE
    unknown = [key for key in keys.split() if not connector.settings.knows(key) and key not in common]
    assert unknown == []


def test_every_reason_is_a_clause_that_the_warning_ends() -> None:
    for connector in {connector for connector, _ in ORIGINALS.values()}:
        for key, why in connector.settings.others.without_effect.items():
            assert why.why, key
            assert not why.why.endswith("."), key


def test_no_key_of_the_runtime_is_said_to_do_nothing() -> None:
    for connector in {connector for connector, _ in ORIGINALS.values()}:
        for common in (SINK, SOURCE):
            written = {setting.name: "x" for setting in common}
            assert connector.settings.remarks(written) == [], connector
