/** A user's own: a transformation with state, a predicate, converters, a source and a sink that note what they are told. */
package x;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.connect.connector.*;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.errors.*;
import org.apache.kafka.connect.sink.*;
import org.apache.kafka.connect.source.*;
import org.apache.kafka.connect.storage.*;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;
public class Chain {
    static ConfigDef text(String name) {
        return new ConfigDef().define(name, ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "What it says.");
    }
    /** KIP-877: whoever measures itself does so from its start on. */
    static void measure(PluginMetrics metrics) {
        metrics.addMetric(metrics.metricName("seen", "", new LinkedHashMap<>()), (Measurable) (config, now) -> 1);
    }
    /** Numbers the lines that it has seen: one that is given to it twice is counted twice. */
    public static class Numbered<R extends ConnectRecord<R>> implements Transformation<R>, Monitorable {
        private int seen; private String before; private PluginMetrics metrics;
        public void withPluginMetrics(PluginMetrics metrics) { this.metrics = metrics; measure(metrics); }
        public R apply(R r) {
            if (metrics == null) throw new DataException("it cannot measure");
            String line = (String) r.value();
            if (line.contains("drop")) return null;
            if (line.contains("bad")) throw new DataException("it is bad: " + line);
            String numbered = before + ++seen + " " + line;
            r.headers().addInt("length", line.length());
            return r.newRecord(r.topic(), r.kafkaPartition(), r.keySchema(), r.key(), r.valueSchema(), numbered, r.timestamp());
        }
        public ConfigDef config() { return text("before"); }
        public void configure(Map<String, ?> config) { before = (String) config.get("before"); }
        public void close() { }
    }
    /** Removes what is secret from the record's own objects. */
    public static class Censor<R extends ConnectRecord<R>> implements Transformation<R> {
        public R apply(R r) {
            r.headers().remove("secret");
            for (Object each : new Object[] {r.key(), r.value()}) {
                if (each instanceof Map) ((Map<?, ?>) each).remove("secret");
                else if (each instanceof Struct) ((Struct) each).put("secret", "");
                else if (each instanceof byte[]) Arrays.fill((byte[]) each, (byte) 0);
            }
            return r;
        }
        public ConfigDef config() { return new ConfigDef(); }
        public void configure(Map<String, ?> config) { }
        public void close() { }
    }
    /** Makes a map with a date, of a year that only Java has where the value is "far"; refuses what is "bad". */
    public static class Dated<R extends ConnectRecord<R>> implements Transformation<R> {
        public R apply(R r) {
            if (r.value().equals("bad")) throw new DataException("it is bad");
            Map<String, Object> dated = Map.of("at", new java.util.Date(r.value().equals("far") ? 1L << 60 : 0));
            return r.newRecord(r.topic(), r.kafkaPartition(), r.keySchema(), r.key(), null, dated, r.timestamp());
        }
        public ConfigDef config() { return new ConfigDef(); }
        public void configure(Map<String, ?> config) { }
        public void close() { }
    }
    public static class Has<R extends ConnectRecord<R>> implements Predicate<R> {
        private String wanted;
        public boolean test(R r) { return ((String) r.value()).contains(wanted); }
        public ConfigDef config() { return text("wanted"); }
        public void configure(Map<String, ?> config) { wanted = (String) config.get("wanted"); }
        public void close() { }
    }
    public static class Backwards implements Converter {
        public void configure(Map<String, ?> config, boolean isKey) { }
        private static String turn(String text) { return new StringBuilder(text).reverse().toString(); }
        public byte[] fromConnectData(String topic, Schema schema, Object value) {
            return turn(value.toString()).getBytes(StandardCharsets.UTF_8);
        }
        public byte[] fromConnectData(String topic, org.apache.kafka.common.header.Headers headers, Schema schema, Object value) {
            headers.add("by", "Backwards".getBytes());
            return fromConnectData(topic, schema, value);
        }
        public SchemaAndValue toConnectData(String topic, byte[] data) {
            String text = new String(data, StandardCharsets.UTF_8);
            if (text.startsWith("!")) throw new DataException("it begins with a mark: " + text);
            return new SchemaAndValue(Schema.STRING_SCHEMA, turn(text));
        }
    }
    /** Headers as texts with a mark. */
    public static class Marked implements HeaderConverter {
        public SchemaAndValue toConnectHeader(String topic, String key, byte[] data) {
            return new SchemaAndValue(Schema.STRING_SCHEMA, "<" + new String(data, StandardCharsets.UTF_8) + ">");
        }
        public byte[] fromConnectHeader(String topic, String key, Schema schema, Object value) {
            return ("[" + value + "]").getBytes(StandardCharsets.UTF_8);
        }
        public ConfigDef config() { return new ConfigDef(); }
        public void configure(Map<String, ?> config) { }
        public void close() { }
    }
    /** With a key that is not set. */
    static Map<String, String> one(Map<String, String> config) {
        Map<String, String> one = new HashMap<>(config);
        one.put("unset", null);
        return one;
    }
    static void note(String file, String line) {
        try {
            Files.writeString(Path.of(file), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (java.io.IOException error) { throw new ConnectException(error); }
    }
    /** Ten records a poll, with all that a record can have. */
    public static class Source extends SourceConnector {
        private Map<String, String> config;
        public String version() { return "2.0"; }
        public void start(Map<String, String> config) { this.config = config; measure(context().pluginMetrics()); }
        public Class<? extends Task> taskClass() { return SourceOf.class; }
        public List<Map<String, String>> taskConfigs(int most) { return List.of(one(config)); }
        public void stop() { }
        public ConfigDef config() {
            return text("told").define("count", ConfigDef.Type.LONG, ConfigDef.Importance.HIGH, "How many.")
                .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "Where to.")
                .define("patient", ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.LOW,
                    "Whether a poll waits until the records before it are written, and the last one until it stops.");
        }
        public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> config) { return ExactlyOnceSupport.SUPPORTED; }
    }
    public static class SourceOf extends SourceTask {
        static final Schema SCHEMA = SchemaBuilder.struct().name("x.Line").field("n", Schema.INT64_SCHEMA)
            .field("text", Schema.OPTIONAL_STRING_SCHEMA).field("at", Timestamp.SCHEMA)
            .field("tags", SchemaBuilder.map(Schema.STRING_SCHEMA, Schema.INT32_SCHEMA).build()).build();
        private long next, count; private String told, topic; private boolean failed, patient;
        private final Semaphore heard = new Semaphore(0), stopped = new Semaphore(0); private int polled;
        public String version() { return "2.0"; }
        public void start(Map<String, String> config) {
            measure(context.pluginMetrics());
            if (config.get("unset") != null) throw new ConnectException("it is set: " + config.get("unset"));
            patient = "true".equals(config.get("patient"));
            told = config.get("told"); topic = config.get("topic"); count = Long.parseLong(config.get("count"));
            Map<String, Object> stored = context.offsetStorageReader().offset(Map.of("of", "lines"));
            next = stored == null ? 0 : (Long) stored.get("n") + 1;
            note(told, "greeting " + System.getProperty("x.greeting"));
            note(told, "start " + next);
        }
        public List<SourceRecord> poll() throws InterruptedException {
            if (patient) { heard.acquire(polled); polled = 0; }
            if (next >= count && patient) stopped.acquire();
            if (next >= count) { Thread.sleep(50); return null; }
            if (next == 20 && !failed) { failed = true; throw new RetriableException("not now"); }
            List<SourceRecord> found = new ArrayList<>();
            for (int i = 0; i < 10 && next < count; i++, next++) {
                Struct value = new Struct(SCHEMA).put("n", next).put("text", next % 3 == 0 ? null : "line " + next)
                    .put("at", new java.util.Date(1700000000000L + next)).put("tags", Map.of("x", (int) next));
                SourceRecord record = new SourceRecord(Map.of("of", "lines"), Map.of("n", next), topic, 0,
                    Schema.STRING_SCHEMA, "k" + next, SCHEMA, value, 1600000000000L + next);
                record.headers().addLong("n", next);
                found.add(record);
            }
            polled = found.size();
            return found;
        }
        public void commitRecord(SourceRecord r, RecordMetadata m) {
            heard.release();
            note(told, "record " + r.sourceOffset().get("n") + (m == null ? " dropped" : " at " + m.topic() + " " + m.offset()));
        }
        public void commit() { note(told, "commit"); }
        public void stop() { note(told, "stop"); stopped.release(); }
    }
    /** Writes what it is given into a file, and reports what is poison. */
    public static class Sink extends SinkConnector {
        private Map<String, String> config;
        public String version() { return "2.0"; }
        public void start(Map<String, String> config) { this.config = config; }
        public Class<? extends Task> taskClass() { return SinkOf.class; }
        public List<Map<String, String>> taskConfigs(int most) { return List.of(one(config)); }
        public void stop() { }
        public ConfigDef config() { return text("file"); }
    }
    public static class SinkOf extends SinkTask {
        private String file; private boolean failed; private final Map<TopicPartition, Long> done = new HashMap<>();
        public String version() { return "2.0"; }
        public void start(Map<String, String> config) { file = config.get("file"); measure(context.pluginMetrics()); }
        public void open(Collection<TopicPartition> partitions) {
            note(file + ".calls", "open " + partitions + " of " + context.assignment().size());
        }
        public void put(Collection<SinkRecord> records) {
            for (SinkRecord r : records) {
                if (String.valueOf(r.value()).contains("later") && !failed) {
                    failed = true; context.timeout(100); throw new RetriableException("not now");
                }
                done.put(new TopicPartition(r.originalTopic(), r.originalKafkaPartition()), r.originalKafkaOffset() + 1);
            }
            for (SinkRecord r : records) {
                if (String.valueOf(r.value()).contains("poison")) {
                    context.errantRecordReporter().report(r, new DataException("it is poison"));
                } else {
                    note(file, r.topic() + " " + r.kafkaOffset() + " " + r.key() + " " + r.value() + " " + r.timestampType());
                }
            }
        }
        public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            Map<TopicPartition, OffsetAndMetadata> durable = new HashMap<>();
            done.forEach((place, offset) -> durable.put(place, new OffsetAndMetadata(offset)));
            return durable;
        }
        public void close(Collection<TopicPartition> partitions) { note(file + ".calls", "close " + partitions); }
        public void stop() { note(file + ".calls", "stop"); }
    }    /** A sink that keeps its own offsets, and one record to report later. */
    public static class Hoard extends SinkConnector {
        public String version() { return "2.0"; }
        public void start(Map<String, String> config) { }
        public Class<? extends Task> taskClass() { return HoardOf.class; }
        public List<Map<String, String>> taskConfigs(int most) { return List.of(Map.of()); }
        public void stop() { }
        public ConfigDef config() { return new ConfigDef(); }
    }
    public static class HoardOf extends SinkTask {
        private SinkRecord kept;
        public String version() { return "2.0"; }
        public void start(Map<String, String> config) { }
        public void put(Collection<SinkRecord> records) {
            for (SinkRecord r : records) {
                if (r.value().equals("keep")) kept = r;
                if (r.value().equals("report")) {
                    context.errantRecordReporter().report(kept.newRecord(
                        "other", 0, kept.keySchema(), kept.key(), kept.valueSchema(), "new", kept.timestamp()),
                        new DataException("it is late"));
                    kept = null;
                }
            }
        }
        public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            System.gc();
            return Map.of();
        }
        public void stop() { }
    }
}
