import java.lang.ref.WeakReference;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Java's plug-ins in a chain of Python: a batch crosses as one block of bytes, each way. The other end, and what the
 * bytes are, is crossing/block.py and, for values without an Arrow form, crossing/packed.py.
 *
 * Janino compiles this file on first use (https://janino-compiler.github.io/janino/), so that nobody needs a JDK. It
 * knows no lambda and erases generics, hence the casts.
 */
public final class Crossing {
    static final int TYPED = 0;
    static final int PACKED = 1;
    static final int FIELDS = 2;
    static final int CONSTANT = 3;

    /** The extensions of MessagePack. */
    static final int DECIMAL = 1;
    static final int TIMESTAMP = 2;
    static final int DATE = 3;
    static final int TIME = 4;
    static final int PAIRS = 5;

    /** The moments that Python has. */
    static final long FIRST_MS = -62135596800000L;
    static final long LAST_MS = 253402300799999L;

    static final int MOST_DIGITS = 38;
    static final BigInteger TOO_LARGE = BigInteger.TEN.pow(MOST_DIGITS);

    private Crossing() {
    }

    /** What a plug-in made of a batch: up to the first record at which it threw. */
    public static final class Outcome {
        public byte[] bytes;
        public Throwable failure;
        /** The row of that record; the number of rows if there was none. */
        public int stopped;
    }

    // What Python calls.

    public static Outcome transform(Transformation transformation, ByteBuffer block) {
        In in = new In(block);
        ConnectRecord[] records = in.records();
        ConnectRecord[] results = new ConnectRecord[records.length];
        Outcome outcome = new Outcome();
        int row = 0;
        try {
            for (; row < records.length; row++) {
                results[row] = (ConnectRecord) transformation.apply(records[row]);
            }
        } catch (Throwable error) {
            outcome.failure = error;
        }
        outcome.stopped = row;
        try {
            outcome.bytes = new Out().results(in, records, results, row);
        } catch (DataException error) {
            // A record that cannot cross is as one at which the plug-in threw: the others go on.
            int bad = 0;
            while (bad < row && (results[bad] == null || Out.crosses(results[bad]))) {
                bad++;
            }
            if (bad == row) {
                throw error;
            }
            outcome.failure = error;
            outcome.stopped = bad;
            outcome.bytes = new Out().results(in, records, results, bad);
        }
        return outcome;
    }

    public static byte[] test(Predicate predicate, ByteBuffer block) {
        ConnectRecord[] records = new In(block).records();
        byte[] said = new byte[records.length];
        for (int row = 0; row < records.length; row++) {
            said[row] = (byte) (predicate.test(records[row]) ? 1 : 0);
        }
        return said;
    }

    public static byte[] toConnect(Converter converter, ByteBuffer block) {
        In in = new In(block);
        int rows = in.begin();
        Object[] topics = in.column(Schema.STRING_SCHEMA, rows);
        Object[] data = in.column(Schema.OPTIONAL_BYTES_SCHEMA, rows);
        RecordHeaders[] headers = in.rawHeaders(rows);
        Schema[] schemas = new Schema[rows];
        Object[] values = new Object[rows];
        for (int row = 0; row < rows; row++) {
            String topic = (String) topics[row];
            byte[] bytes = (byte[]) data[row];
            SchemaAndValue found = converter.toConnectData(topic, headers[row], bytes);
            schemas[row] = found.schema();
            values[row] = found.value();
        }
        Out out = new Out();
        out.values(schemas, values, rows);
        return out.done(rows);
    }

    public static byte[] fromConnect(Converter converter, ByteBuffer block) {
        In in = new In(block);
        int rows = in.begin();
        Object[] topics = in.column(Schema.STRING_SCHEMA, rows);
        Schema[] schemas = new Schema[rows];
        Object[] values = new Object[rows];
        in.values(schemas, values, rows);
        RecordHeaders[] headers = in.rawHeaders(rows);
        Object[] data = new Object[rows];
        RecordHeaders[] added = new RecordHeaders[rows];
        boolean changed = false;
        for (int row = 0; row < rows; row++) {
            RecordHeaders after = new RecordHeaders(headers[row]);
            data[row] = converter.fromConnectData((String) topics[row], after, schemas[row], values[row]);
            added[row] = after;
            changed |= !after.equals(headers[row]);
        }
        Out out = new Out();
        out.column(Schema.OPTIONAL_BYTES_SCHEMA, data, rows);
        out.rawHeaders(changed ? added : null, rows);
        return out.done(rows);
    }

    public static byte[] toHeaders(HeaderConverter converter, ByteBuffer block) {
        In in = new In(block);
        int rows = in.begin();
        Object[] topics = in.column(Schema.STRING_SCHEMA, rows);
        RecordHeaders[] raw = in.rawHeaders(rows);
        Headers[] made = new Headers[rows];
        for (int row = 0; row < rows; row++) {
            made[row] = new ConnectHeaders();
            for (org.apache.kafka.common.header.Header each : raw[row].toArray()) {
                made[row].add(each.key(), converter.toConnectHeader((String) topics[row], each.key(), each.value()));
            }
        }
        Out out = new Out();
        out.headers(made);
        return out.done(rows);
    }

    public static byte[] fromHeaders(HeaderConverter converter, ByteBuffer block) {
        In in = new In(block);
        int rows = in.begin();
        Object[] topics = in.column(Schema.STRING_SCHEMA, rows);
        Headers[] headers = in.headers(rows);
        RecordHeaders[] raw = new RecordHeaders[rows];
        for (int row = 0; row < rows; row++) {
            raw[row] = new RecordHeaders();
            for (Iterator each = headers[row].iterator(); each.hasNext();) {
                Header one = (Header) each.next();
                String topic = (String) topics[row];
                raw[row].add(one.key(), converter.fromConnectHeader(topic, one.key(), one.schema(), one.value()));
            }
        }
        Out out = new Out();
        out.rawHeaders(raw, rows);
        return out.done(rows);
    }

    /** A sink task, and of which batches it still has records, which it may report. */
    public static final class Sink {
        final SinkTask task;
        final List put = new ArrayList();

        public Sink(SinkTask task) {
            this.task = task;
        }

        /** `number`: of the batch, the same when it comes again; below 0 if no record of it can be reported. */
        public void put(long number, ByteBuffer block) {
            In in = new In(block);
            if (number >= 0) {
                in.batch = new Object();
                put.add(new Put(number, in.batch));
            }
            task.put(Arrays.asList(in.records()));
        }

        /** The numbers of the batches of which a record is still reachable. */
        public long[] kept() {
            List left = new ArrayList();
            for (Object each : put) {
                if (((Put) each).get() != null) {
                    left.add(each);
                }
            }
            put.clear();
            put.addAll(left);
            long[] numbers = new long[left.size()];
            for (int each = 0; each < numbers.length; each++) {
                numbers[each] = ((Put) left.get(each)).number;
            }
            return numbers;
        }
    }

    /** A batch that was put: nothing but its records holds it. */
    static final class Put extends WeakReference {
        final long number;

        Put(long number, Object batch) {
            super(batch);
            this.number = number;
        }
    }

    /** A record that holds its batch, and passes it on as Kafka Connect's own does the original record. */
    static final class RecordOfBatch extends SinkRecord {
        final Object batch;

        RecordOfBatch(SinkRecord record, Object batch) {
            super(
                record.topic(), record.kafkaPartition().intValue(), record.keySchema(), record.key(),
                record.valueSchema(), record.value(), record.kafkaOffset(), record.timestamp(),
                record.timestampType(), record.headers(), record.originalTopic(),
                record.originalKafkaPartition().intValue(), record.originalKafkaOffset());
            this.batch = batch;
        }

        public SinkRecord newRecord(
                String topic, Integer partition, Schema keySchema, Object key, Schema valueSchema, Object value,
                Long timestamp, Iterable headers) {
            return new RecordOfBatch(
                super.newRecord(topic, partition, keySchema, key, valueSchema, value, timestamp, headers), batch);
        }
    }

    /** A source task, and the records that Python has not told about yet. */
    public static final class Source {
        final SourceTask task;
        final boolean tells;
        final Map waiting = new ConcurrentHashMap(); // it is polled on one thread, and told on another
        List polled = Collections.emptyList();
        long next;

        /** `tells`: whether its task is to hear of each record. */
        public Source(SourceTask task) {
            this.task = task;
            this.tells = overrides(task, SourceRecord.class, RecordMetadata.class)
                || overrides(task, SourceRecord.class);
        }

        public boolean tells() {
            return tells;
        }

        /** The next records, numbered from `next` on; null if there are none. */
        public byte[] poll() throws InterruptedException {
            List found = task.poll();
            if (found == null) {
                return null;
            }
            polled = found;
            long first = next;
            next += found.size();
            for (int row = 0; tells && row < found.size(); row++) {
                waiting.put(Long.valueOf(first + row), found.get(row));
            }
            return new Out().source(found, first);
        }

        /** The row of a record that was polled last, by identity. */
        public int row(SourceRecord record) {
            for (int row = 0; row < polled.size(); row++) {
                if (polled.get(row) == record) {
                    return row;
                }
            }
            return -1;
        }

        /** Records were written: their numbers, topics, partitions and offsets; -2 as the offset of a dropped one. */
        public void written(long[] numbers, String[] topics, int[] topicOf, int[] partitions, long[] offsets)
                throws InterruptedException {
            for (int each = 0; each < numbers.length; each++) {
                SourceRecord record = (SourceRecord) waiting.remove(Long.valueOf(numbers[each]));
                if (record == null) {
                    continue;
                }
                if (offsets[each] < -1) {
                    task.commitRecord(record, null);
                } else {
                    long time = record.timestamp() == null ? -1L : record.timestamp().longValue();
                    TopicPartition place = new TopicPartition(topics[topicOf[each]], partitions[each]);
                    task.commitRecord(record, new RecordMetadata(place, offsets[each], 0, time, -1, -1));
                }
            }
        }

        static boolean overrides(SourceTask task, Class... arguments) {
            try {
                return task.getClass().getMethod("commitRecord", arguments).getDeclaringClass() != SourceTask.class;
            } catch (NoSuchMethodException error) {
                return false;
            }
        }
    }

    // Schemas: crossing/schemas.py.

    static final class Schemas {
        static final int MOST = 10000;
        static final ObjectMapper MAPPER = new ObjectMapper();
        static final JsonConverter JSON = new JsonConverter();
        static final Map TEXTS = new HashMap();
        static final Map BY_TEXT = new HashMap();

        static {
            JSON.configure(Collections.emptyMap(), false);
        }

        static synchronized String text(Schema schema) {
            String known = (String) TEXTS.get(schema);
            if (known != null) {
                return known;
            }
            try {
                boolean some = hasDefaults(schema);
                JsonNode node = JSON.asJsonSchema(some ? rebuilt(schema, null) : schema);
                if (some) {
                    node = node.deepCopy(); // the converter keeps its own for other schemas
                    writeDefaults(schema, node);
                }
                String made = MAPPER.writeValueAsString(node);
                keep(TEXTS, schema, made);
                return made;
            } catch (com.fasterxml.jackson.core.JsonProcessingException error) {
                throw new DataException(error);
            }
        }

        static synchronized Schema of(String text) {
            Schema known = (Schema) BY_TEXT.get(text);
            if (known != null) {
                return known;
            }
            try {
                JsonNode node = MAPPER.readTree(text);
                JsonNode bare = node.deepCopy();
                boolean some = removeDefaults(bare);
                Schema made = JSON.asConnectSchema(bare);
                made = some ? rebuilt(made, node) : made;
                keep(BY_TEXT, text, made);
                return made;
            } catch (com.fasterxml.jackson.core.JsonProcessingException error) {
                throw new DataException(error);
            }
        }

        static boolean hasDefaults(Schema schema) {
            boolean some = schema.defaultValue() != null;
            switch (schema.type()) {
                case ARRAY:
                    return some || hasDefaults(schema.valueSchema());
                case MAP:
                    return some || hasDefaults(schema.keySchema()) || hasDefaults(schema.valueSchema());
                case STRUCT:
                    for (Object each : schema.fields()) {
                        some |= hasDefaults(((Field) each).schema());
                    }
                    return some;
                default:
                    return some;
            }
        }

        /** Puts the defaults of a schema into its JSON. */
        static void writeDefaults(Schema schema, JsonNode node) {
            if (schema.defaultValue() != null) {
                Out out = new Out();
                out.buffer.order(ByteOrder.BIG_ENDIAN);
                out.pack(schema, schema.defaultValue());
                byte[] packed = Arrays.copyOf(out.buffer.array(), out.buffer.position());
                ((ObjectNode) node).put("default", Base64.getEncoder().encodeToString(packed));
            }
            switch (schema.type()) {
                case ARRAY:
                    writeDefaults(schema.valueSchema(), node.get("items"));
                    break;
                case MAP:
                    writeDefaults(schema.keySchema(), node.get("keys"));
                    writeDefaults(schema.valueSchema(), node.get("values"));
                    break;
                case STRUCT:
                    for (Object each : schema.fields()) {
                        Field field = (Field) each;
                        writeDefaults(field.schema(), node.get("fields").get(field.index()));
                    }
                    break;
                default:
                    break;
            }
        }

        /** Takes the defaults from the JSON of a schema; returns whether there were any. */
        static boolean removeDefaults(JsonNode node) {
            boolean some = ((ObjectNode) node).remove("default") != null;
            String[] inner = {"items", "keys", "values"};
            for (int each = 0; each < inner.length; each++) {
                some |= node.has(inner[each]) && removeDefaults(node.get(inner[each]));
            }
            for (int each = 0; node.has("fields") && each < node.get("fields").size(); each++) {
                some |= removeDefaults(node.get("fields").get(each));
            }
            return some;
        }

        /** The schema with the defaults in its JSON; without any if that is null. */
        static Schema rebuilt(Schema schema, JsonNode node) {
            SchemaBuilder builder;
            switch (schema.type()) {
                case ARRAY:
                    builder = SchemaBuilder.array(
                        rebuilt(schema.valueSchema(), node == null ? null : node.get("items")));
                    break;
                case MAP:
                    builder = SchemaBuilder.map(
                        rebuilt(schema.keySchema(), node == null ? null : node.get("keys")),
                        rebuilt(schema.valueSchema(), node == null ? null : node.get("values")));
                    break;
                case STRUCT:
                    builder = SchemaBuilder.struct();
                    for (Object each : schema.fields()) {
                        Field field = (Field) each;
                        JsonNode own = node == null ? null : node.get("fields").get(field.index());
                        builder.field(field.name(), rebuilt(field.schema(), own));
                    }
                    break;
                default:
                    builder = new SchemaBuilder(schema.type());
                    break;
            }
            if (schema.isOptional()) {
                builder.optional();
            }
            if (schema.name() != null) {
                builder.name(schema.name());
            }
            if (schema.version() != null) {
                builder.version(schema.version());
            }
            if (schema.doc() != null) {
                builder.doc(schema.doc());
            }
            if (schema.parameters() != null) {
                builder.parameters(schema.parameters());
            }
            if (node != null && node.has("default")) {
                byte[] packed = Base64.getDecoder().decode(node.get("default").asText());
                builder.defaultValue(new Unpacker(packed).value(builder)); // a struct has the builder as its schema
            }
            return builder.build();
        }

        static void keep(Map map, Object key, Object value) {
            if (map.size() >= MOST) {
                map.clear();
            }
            map.put(key, value);
        }

        /** Whether the values of a schema have an Arrow type: as arrow_type in connect/data/arrow.py. */
        static boolean typed(Schema schema) {
            String name = schema.name();
            Schema.Type type = schema.type();
            if (isDate(name)) {
                return type == (isTimestamp(name) ? Schema.Type.INT64 : Schema.Type.INT32);
            }
            if (isDecimal(name)) {
                int scale = scale(schema);
                return 0 <= scale && scale <= MOST_DIGITS;
            }
            if (type == Schema.Type.STRUCT) {
                for (Object each : schema.fields()) {
                    if (!typed(((Field) each).schema())) {
                        return false;
                    }
                }
                return !schema.fields().isEmpty();
            }
            if (type == Schema.Type.ARRAY) {
                return typed(schema.valueSchema());
            }
            return type != Schema.Type.MAP;
        }

        /** Whether it says what its lists and maps hold: Kafka Connect's Values makes some of [] that do not. */
        static boolean complete(Schema schema) {
            if (schema == null) {
                return false;
            }
            switch (schema.type()) {
                case ARRAY:
                    return complete(schema.valueSchema());
                case MAP:
                    return complete(schema.keySchema()) && complete(schema.valueSchema());
                case STRUCT:
                    for (Object each : schema.fields()) {
                        if (!complete(((Field) each).schema())) {
                            return false;
                        }
                    }
                    return true;
                default:
                    return true;
            }
        }

        static boolean isDecimal(String name) {
            return "org.apache.kafka.connect.data.Decimal".equals(name);
        }

        static boolean isTimestamp(String name) {
            return "org.apache.kafka.connect.data.Timestamp".equals(name);
        }

        static boolean isDate(String name) {
            return isTimestamp(name) || "org.apache.kafka.connect.data.Date".equals(name)
                || "org.apache.kafka.connect.data.Time".equals(name);
        }

        static int scale(Schema schema) {
            Object scale = schema.parameters() == null ? null : schema.parameters().get("scale");
            try {
                return scale == null ? -1 : Integer.parseInt((String) scale);
            } catch (NumberFormatException error) {
                return -1;
            }
        }
    }

    /** A block that is read. */
    static final class In {
        static final long DAY_MS = 86400000L;
        final ByteBuffer buffer;
        Schema[] schemas;
        /** What the records of a sink are to hold. */
        Object batch;
        /** Whether a record of the block has headers. Known when they are read. */
        boolean hadHeaders;

        In(ByteBuffer buffer) {
            this.buffer = buffer.order(ByteOrder.LITTLE_ENDIAN);
        }

        /** Reads the schemas; returns how many rows the block has. */
        int begin() {
            int rows = buffer.getInt();
            schemas = new Schema[buffer.getInt()];
            for (int each = 0; each < schemas.length; each++) {
                schemas[each] = Schemas.of(text());
            }
            align();
            return rows;
        }

        /** The records once more, as they came. */
        ConnectRecord[] again() {
            buffer.rewind();
            return records();
        }

        ConnectRecord[] records() {
            int rows = begin();
            boolean sink = buffer.getInt() != 0;
            Object[] topics = column(Schema.STRING_SCHEMA, rows);
            Object[] partitions = column(Schema.OPTIONAL_INT32_SCHEMA, rows);
            Object[] timestamps = column(Schema.OPTIONAL_INT64_SCHEMA, rows);
            Schema[] keySchemas = new Schema[rows];
            Object[] keys = new Object[rows];
            values(keySchemas, keys, rows);
            Schema[] schemas = new Schema[rows];
            Object[] values = new Object[rows];
            values(schemas, values, rows);
            ConnectHeaders[] headers = headers(rows);
            ConnectRecord[] records = new ConnectRecord[rows];
            if (!sink) {
                for (int row = 0; row < rows; row++) {
                    records[row] = new SourceRecord(
                        Collections.emptyMap(), Collections.emptyMap(), (String) topics[row], (Integer) partitions[row],
                        keySchemas[row], keys[row], schemas[row], values[row], (Long) timestamps[row], headers[row]);
                }
                return records;
            }
            Object[] offsets = column(Schema.INT64_SCHEMA, rows);
            Object[] types = column(Schema.STRING_SCHEMA, rows);
            Object[] originalTopics = column(Schema.STRING_SCHEMA, rows);
            Object[] originalPartitions = column(Schema.INT32_SCHEMA, rows);
            for (int row = 0; row < rows; row++) {
                long offset = ((Long) offsets[row]).longValue();
                SinkRecord record = new SinkRecord(
                    (String) topics[row], ((Integer) partitions[row]).intValue(), keySchemas[row], keys[row],
                    schemas[row], values[row], offset, (Long) timestamps[row],
                    TimestampType.forName((String) types[row]), headers[row], (String) originalTopics[row],
                    ((Integer) originalPartitions[row]).intValue(), offset);
                records[row] = batch == null ? record : new RecordOfBatch(record, batch);
            }
            return records;
        }

        void values(Schema[] ofRow, Object[] values, int rows) {
            int groups = buffer.getInt();
            for (int group = 0; group < groups; group++) {
                int index = buffer.getInt();
                Schema schema = index < 0 ? null : schemas[index];
                boolean nulls = buffer.getInt() != 0;
                int count = buffer.getInt();
                int[] places = groups == 1 ? null : places(count);
                Object[] found = nulls ? null : column(schema, count);
                for (int each = 0; each < count; each++) {
                    int row = places == null ? each : places[each];
                    ofRow[row] = schema;
                    values[row] = found == null ? null : found[each];
                }
            }
        }

        int[] places(int count) {
            int[] places = new int[count];
            for (int each = 0; each < count; each++) {
                places[each] = buffer.getInt();
            }
            return places;
        }

        ConnectHeaders[] headers(int rows) {
            ConnectHeaders[] headers = new ConnectHeaders[rows];
            boolean some = buffer.getInt() != 0;
            hadHeaders = some;
            Unpacker packed = some ? packed() : null;
            if (some) {
                packed.size();
            }
            for (int row = 0; row < rows; row++) {
                ConnectHeaders made = new ConnectHeaders();
                for (int left = some ? packed.size() : 0; left > 0; left--) {
                    packed.size();
                    String key = (String) packed.value(null);
                    int index = ((Long) packed.value(null)).intValue();
                    Schema schema = index < 0 ? null : schemas[index];
                    made.add(key, new SchemaAndValue(schema, packed.value(schema)));
                }
                headers[row] = made;
            }
            return headers;
        }

        RecordHeaders[] rawHeaders(int rows) {
            Unpacker packed = buffer.getInt() == 0 ? null : packed();
            if (packed != null) {
                packed.size();
            }
            RecordHeaders[] headers = new RecordHeaders[rows];
            for (int row = 0; row < rows; row++) {
                headers[row] = new RecordHeaders();
                for (int left = packed == null ? 0 : packed.size(); left > 0; left--) {
                    packed.size();
                    String key = (String) packed.value(null);
                    headers[row].add(key, (byte[]) packed.value(null));
                }
            }
            return headers;
        }

        Object[] column(Schema schema, int rows) {
            int form = buffer.getInt();
            if (form == CONSTANT) {
                Object[] same = new Object[rows];
                Arrays.fill(same, packed().value(schema));
                return same;
            }
            if (form == PACKED) {
                Unpacker packed = packed();
                Object[] values = new Object[packed.size()];
                for (int row = 0; row < rows; row++) {
                    values[row] = packed.value(schema);
                }
                return values;
            }
            return form == FIELDS ? structs(schema, rows, null) : typed(schema, rows);
        }

        Object[] structs(Schema schema, int rows, byte[] valid) {
            List fields = schema.fields();
            Struct[] made = new Struct[rows];
            for (int row = 0; row < rows; row++) {
                made[row] = isValid(valid, row) ? new Struct(schema) : null;
            }
            for (Object each : fields) {
                Field field = (Field) each;
                Object[] values = column(field.schema(), rows);
                for (int row = 0; row < rows; row++) {
                    if (values[row] != null && made[row] != null) {
                        made[row].put(field, values[row]);
                    }
                }
            }
            return made;
        }

        /** A column as Arrow lays it out: validity, and the buffers of its type. */
        Object[] typed(Schema schema, int rows) {
            byte[] valid = buffer.getInt() == 0 ? null : bytes((rows + 7) / 8);
            Object[] values = new Object[rows];
            String name = schema.name();
            if (Schemas.isDecimal(name)) {
                int scale = Schemas.scale(schema);
                align();
                byte[] number = new byte[16];
                for (int row = 0; row < rows; row++) {
                    for (int each = 15; each >= 0; each--) {
                        number[each] = buffer.get();
                    }
                    values[row] = isValid(valid, row) ? new BigDecimal(new BigInteger(number), scale) : null;
                }
                return values;
            }
            switch (schema.type()) {
                case STRUCT:
                    return structs(schema, rows, valid);
                case ARRAY: {
                    int[] ends = ends(rows);
                    Object[] items = column(schema.valueSchema(), ends[rows]);
                    for (int row = 0; row < rows; row++) {
                        if (isValid(valid, row)) {
                            values[row] = new ArrayList(Arrays.asList(items).subList(ends[row], ends[row + 1]));
                        }
                    }
                    return values;
                }
                case STRING: {
                    int[] ends = ends(rows);
                    byte[] data = bytes(ends[rows]);
                    for (int row = 0; row < rows; row++) {
                        if (isValid(valid, row)) {
                            values[row] =
                                new String(data, ends[row], ends[row + 1] - ends[row], StandardCharsets.UTF_8);
                        }
                    }
                    return values;
                }
                case BYTES: {
                    int[] ends = ends(rows);
                    byte[] data = bytes(ends[rows]);
                    for (int row = 0; row < rows; row++) {
                        if (isValid(valid, row)) {
                            values[row] = Arrays.copyOfRange(data, ends[row], ends[row + 1]);
                        }
                    }
                    return values;
                }
                case BOOLEAN: {
                    byte[] bits = bytes((rows + 7) / 8);
                    for (int row = 0; row < rows; row++) {
                        if (isValid(valid, row)) {
                            values[row] = Boolean.valueOf(isValid(bits, row));
                        }
                    }
                    return values;
                }
                default:
                    numbers(schema, rows, valid, values);
                    return values;
            }
        }

        void numbers(Schema schema, int rows, byte[] valid, Object[] values) {
            align();
            boolean date = Schemas.isDate(schema.name());
            long unit = "org.apache.kafka.connect.data.Date".equals(schema.name()) ? DAY_MS : 1L;
            for (int row = 0; row < rows; row++) {
                Object value;
                switch (schema.type()) {
                    case INT8:
                        value = Byte.valueOf(buffer.get());
                        break;
                    case INT16:
                        value = Short.valueOf(buffer.getShort());
                        break;
                    case INT32: {
                        int number = buffer.getInt();
                        value = date ? (Object) new Date(number * unit) : (Object) Integer.valueOf(number);
                        break;
                    }
                    case INT64: {
                        long number = buffer.getLong();
                        value = date ? (Object) new Date(number) : (Object) Long.valueOf(number);
                        break;
                    }
                    case FLOAT32:
                        value = Float.valueOf(buffer.getFloat());
                        break;
                    default:
                        value = Double.valueOf(buffer.getDouble());
                        break;
                }
                values[row] = isValid(valid, row) ? value : null;
            }
        }

        Unpacker packed() {
            byte[] data = new byte[buffer.getInt()];
            buffer.get(data);
            return new Unpacker(data);
        }

        String text() {
            byte[] data = new byte[buffer.getInt()];
            buffer.get(data);
            return new String(data, StandardCharsets.UTF_8);
        }

        int[] ends(int rows) {
            align();
            int[] ends = new int[rows + 1];
            for (int each = 0; each <= rows; each++) {
                ends[each] = buffer.getInt();
            }
            return ends;
        }

        byte[] bytes(int length) {
            align();
            byte[] data = new byte[length];
            buffer.get(data);
            return data;
        }

        void align() {
            buffer.position((buffer.position() + 7) & ~7);
        }

        static boolean isValid(byte[] bits, int row) {
            return bits == null || (bits[row >> 3] >> (row & 7) & 1) != 0;
        }
    }

    /** Reads values in MessagePack. */
    static final class Unpacker {
        final byte[] data;
        final ByteBuffer buffer;
        final String[] names = new String[256];

        Unpacker(byte[] data) {
            this.data = data;
            this.buffer = ByteBuffer.wrap(data);
        }

        /** The size of the list that begins here. */
        int size() {
            int head = buffer.get() & 0xff;
            return head < 0xa0 ? head & 0x0f : head == 0xdc ? buffer.getShort() & 0xffff : buffer.getInt();
        }

        Object value(Schema schema) {
            int head = buffer.get();
            if (head >= -0x20) {
                return whole(schema, head);
            }
            head &= 0xff;
            if (head < 0x90) {
                return map(schema, head & 0x0f);
            }
            if (head < 0xa0) {
                return list(schema, head & 0x0f);
            }
            if (head < 0xc0) {
                return text(head & 0x1f);
            }
            switch (head) {
                case 0xc0:
                    return null;
                case 0xc2:
                    return Boolean.FALSE;
                case 0xc3:
                    return Boolean.TRUE;
                case 0xc4:
                    return bytes(buffer.get() & 0xff);
                case 0xc5:
                    return bytes(buffer.getShort() & 0xffff);
                case 0xc6:
                    return bytes(buffer.getInt());
                case 0xc7:
                    return extension(schema, buffer.get() & 0xff);
                case 0xc8:
                    return extension(schema, buffer.getShort() & 0xffff);
                case 0xc9:
                    return extension(schema, buffer.getInt());
                case 0xcb: {
                    double number = buffer.getDouble();
                    boolean single = schema != null && schema.type() == Schema.Type.FLOAT32;
                    return single ? (Object) Float.valueOf((float) number) : (Object) Double.valueOf(number);
                }
                case 0xcc:
                    return whole(schema, buffer.get() & 0xff);
                case 0xcd:
                    return whole(schema, buffer.getShort() & 0xffff);
                case 0xce:
                    return whole(schema, buffer.getInt() & 0xffffffffL);
                case 0xcf:
                    return unsigned(schema, buffer.getLong());
                case 0xd0:
                    return whole(schema, buffer.get());
                case 0xd1:
                    return whole(schema, buffer.getShort());
                case 0xd2:
                    return whole(schema, buffer.getInt());
                case 0xd3:
                    return whole(schema, buffer.getLong());
                case 0xd6:
                    return extension(schema, 4);
                case 0xd7:
                    return extension(schema, 8);
                case 0xd8:
                    return extension(schema, 16);
                case 0xd9:
                    return text(buffer.get() & 0xff);
                case 0xda:
                    return text(buffer.getShort() & 0xffff);
                case 0xdb:
                    return text(buffer.getInt());
                case 0xdc:
                    return list(schema, buffer.getShort() & 0xffff);
                case 0xdd:
                    return list(schema, buffer.getInt());
                case 0xde:
                    return map(schema, buffer.getShort() & 0xffff);
                case 0xdf:
                    return map(schema, buffer.getInt());
                default:
                    throw new DataException("MessagePack has no " + head + " here.");
            }
        }

        String text(int length) {
            int start = buffer.position();
            buffer.position(start + length);
            return new String(data, start, length, StandardCharsets.UTF_8);
        }

        byte[] bytes(int length) {
            byte[] found = new byte[length];
            buffer.get(found);
            return found;
        }

        Object extension(Schema schema, int length) {
            int kind = buffer.get();
            if (kind == PAIRS) {
                return map(schema, size() / 2);
            }
            if (kind == DECIMAL) {
                int scale = buffer.getInt();
                return new BigDecimal(new BigInteger(bytes(length - 4)), scale);
            }
            return new Date(buffer.getLong());
        }

        List list(Schema schema, int size) {
            Schema of = schema == null ? null : schema.valueSchema();
            List list = new ArrayList(size);
            for (int each = 0; each < size; each++) {
                list.add(value(of));
            }
            return list;
        }

        Object map(Schema schema, int size) {
            if (schema != null && schema.type() == Schema.Type.STRUCT) {
                Struct struct = new Struct(schema);
                for (int each = 0; each < size; each++) {
                    Field field = schema.field((String) name());
                    Object value = value(field.schema());
                    if (value != null) { // a Struct refuses null for a default, which it gives for an unset field
                        struct.put(field, value);
                    }
                }
                return struct;
            }
            Schema ofKeys = schema == null ? null : schema.keySchema();
            Schema ofValues = schema == null ? null : schema.valueSchema();
            Map map = new LinkedHashMap(size * 2);
            for (int each = 0; each < size; each++) {
                Object key = schema == null ? name() : value(ofKeys);
                map.put(key, value(ofValues));
            }
            return map;
        }

        /** A key. The same few are the names of all records. */
        Object name() {
            int start = buffer.position() + 1;
            int length = (data[start - 1] & 0xff) - 0xa0;
            if (length <= 0 || length > 31) {
                return value(null);
            }
            int slot = length * 7 + data[start] * 31 + data[start + length - 1] & names.length - 1;
            String known = names[slot];
            boolean same = known != null && known.length() == length;
            for (int each = 0; same && each < length; each++) {
                same = known.charAt(each) == data[start + each];
            }
            if (same) {
                buffer.position(start + length);
                return known;
            }
            return names[slot] = (String) value(null);
        }

        static Object unsigned(Schema schema, long number) {
            if (number < 0) {
                throw new DataException(Long.toUnsignedString(number) + " has more than 64 bits.");
            }
            return whole(schema, number);
        }

        static Object whole(Schema schema, long number) {
            if (schema == null) {
                return Long.valueOf(number);
            }
            switch (schema.type()) {
                case INT8:
                    return Byte.valueOf((byte) fitting(schema, number, (byte) number));
                case INT16:
                    return Short.valueOf((short) fitting(schema, number, (short) number));
                case INT32:
                    return Integer.valueOf((int) fitting(schema, number, (int) number));
                case FLOAT32:
                    return Float.valueOf((float) number);
                case FLOAT64:
                    return Double.valueOf((double) number);
                default:
                    return Long.valueOf(number);
            }
        }

        static long fitting(Schema schema, long number, long narrow) {
            if (number != narrow) {
                throw new DataException(number + " does not fit into " + schema.type() + ".");
            }
            return number;
        }
    }

    /** A block that is written. Its schemas are known in the end, and stand in front of it. */
    static final class Out {
        ByteBuffer buffer = allocate(1 << 16);
        final List schemas = new ArrayList();
        final Map indexes = new IdentityHashMap();
        final Map equal = new HashMap();

        static ByteBuffer allocate(int size) {
            return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
        }

        /** The block: rows, schemas, then what was written, at a multiple of eight bytes. */
        byte[] done(int rows) {
            Out front = new Out();
            front.integer(rows);
            front.integer(schemas.size());
            for (Object each : schemas) {
                front.text((String) each);
            }
            front.align();
            front.room(buffer.position());
            front.buffer.put(buffer.array(), 0, buffer.position());
            return Arrays.copyOf(front.buffer.array(), front.buffer.position());
        }

        /** Whether Python has everything that a record holds. */
        static boolean crosses(ConnectRecord record) {
            try {
                Out out = new Out();
                out.values(new Schema[] {record.keySchema()}, new Object[] {record.key()}, 1);
                out.values(new Schema[] {record.valueSchema()}, new Object[] {record.value()}, 1);
                out.headers(new Headers[] {record.headers()});
                return true;
            } catch (DataException error) {
                return false;
            }
        }

        byte[] results(In in, ConnectRecord[] records, ConnectRecord[] results, int rows) {
            int kept = 0;
            for (int row = 0; row < rows; row++) {
                if (results[row] != null) {
                    kept++;
                }
            }
            ConnectRecord[] before = new ConnectRecord[kept];
            ConnectRecord[] after = new ConnectRecord[kept];
            int[] came = new int[kept];
            integer(kept == rows ? 0 : 1);
            int next = 0;
            for (int row = 0; row < rows; row++) {
                if (results[row] != null) {
                    before[next] = records[row];
                    came[next] = row;
                    after[next++] = results[row];
                    if (kept != rows) {
                        integer(row);
                    }
                }
            }
            changes(in, before, came, after, kept);
            return done(kept);
        }

        byte[] source(List polled, long first) {
            int rows = polled.size();
            SourceRecord[] records = (SourceRecord[]) polled.toArray(new SourceRecord[rows]);
            Object[] topics = new Object[rows];
            Object[] partitions = new Object[rows];
            Object[] timestamps = new Object[rows];
            Schema[] keySchemas = new Schema[rows];
            Object[] keys = new Object[rows];
            Schema[] ofRow = new Schema[rows];
            Object[] values = new Object[rows];
            Object[] sources = new Object[rows];
            Object[] offsets = new Object[rows];
            for (int row = 0; row < rows; row++) {
                SourceRecord record = records[row];
                topics[row] = record.topic();
                partitions[row] = record.kafkaPartition();
                timestamps[row] = record.timestamp();
                keySchemas[row] = record.keySchema();
                keys[row] = record.key();
                ofRow[row] = record.valueSchema();
                values[row] = record.value();
                sources[row] = record.sourcePartition();
                offsets[row] = record.sourceOffset();
            }
            room(8);
            buffer.putLong(first);
            plain(Schema.OPTIONAL_STRING_SCHEMA, topics, rows);
            plain(Schema.OPTIONAL_INT32_SCHEMA, partitions, rows);
            plain(Schema.OPTIONAL_INT64_SCHEMA, timestamps, rows);
            values(keySchemas, keys, rows);
            values(ofRow, values, rows);
            plain(null, sources, rows);
            plain(null, offsets, rows);
            boolean some = false;
            for (int row = 0; row < rows; row++) {
                some |= !records[row].headers().isEmpty();
            }
            integer(some ? 1 : 0);
            if (some) {
                headers(headersOf(records, rows));
            }
            return done(rows);
        }

        /** A column, in the constant form if all of its values are equal. */
        void plain(Schema schema, Object[] values, int rows) {
            boolean constant = rows > 0;
            for (int row = 1; constant && row < rows; row++) {
                constant = same(values[0], values[row]);
            }
            if (constant) {
                integer(CONSTANT);
                int start = begin();
                pack(schema, values[0]);
                end(start);
            } else {
                column(schema, values, rows);
            }
        }

        /** Each column after a flag: whether it differs from what came, each record in its row. */
        void changes(In in, ConnectRecord[] before, int[] came, ConnectRecord[] after, int rows) {
            boolean topics = false;
            boolean partitions = false;
            boolean timestamps = false;
            boolean keys = false;
            boolean values = false;
            boolean headers = in.hadHeaders && rows > 0; // from which a plug-in may have removed the last one
            for (int row = 0; row < rows; row++) {
                ConnectRecord one = before[row];
                ConnectRecord other = after[row];
                if (one != other) {
                    topics |= !same(one.topic(), other.topic());
                    partitions |= !same(one.kafkaPartition(), other.kafkaPartition());
                    timestamps |= !same(one.timestamp(), other.timestamp());
                    keys |= one.key() != other.key() || one.keySchema() != other.keySchema();
                    values |= one.value() != other.value() || one.valueSchema() != other.valueSchema();
                }
                headers |= one.headers() != other.headers() || !other.headers().isEmpty();
            }
            boolean keysInPlace = !keys && someMutable(after, true, rows);
            boolean valuesInPlace = !values && someMutable(after, false, rows);
            if (keysInPlace || valuesInPlace) {
                // What a plug-in has changed in place differs only from what came, so that is read once more.
                ConnectRecord[] again = in.again();
                for (int row = 0; row < rows; row++) {
                    ConnectRecord one = again[came[row]];
                    keys |= keysInPlace && !Objects.deepEquals(one.key(), after[row].key());
                    values |= valuesInPlace && !Objects.deepEquals(one.value(), after[row].value());
                }
            }
            Object[] column = new Object[rows];
            integer(topics ? 1 : 0);
            if (topics) {
                for (int row = 0; row < rows; row++) {
                    column[row] = after[row].topic();
                }
                column(Schema.OPTIONAL_STRING_SCHEMA, column, rows);
            }
            integer(partitions ? 1 : 0);
            if (partitions) {
                for (int row = 0; row < rows; row++) {
                    column[row] = after[row].kafkaPartition();
                }
                column(Schema.OPTIONAL_INT32_SCHEMA, column, rows);
            }
            integer(timestamps ? 1 : 0);
            if (timestamps) {
                for (int row = 0; row < rows; row++) {
                    column[row] = after[row].timestamp();
                }
                column(Schema.OPTIONAL_INT64_SCHEMA, column, rows);
            }
            Schema[] ofRow = new Schema[rows];
            integer(keys ? 1 : 0);
            if (keys) {
                for (int row = 0; row < rows; row++) {
                    ofRow[row] = after[row].keySchema();
                    column[row] = after[row].key();
                }
                values(ofRow, column, rows);
            }
            integer(values ? 1 : 0);
            if (values) {
                for (int row = 0; row < rows; row++) {
                    ofRow[row] = after[row].valueSchema();
                    column[row] = after[row].value();
                }
                values(ofRow, column, rows);
            }
            integer(headers ? 1 : 0);
            if (headers) {
                headers(headersOf(after, rows));
            }
        }

        /** Whether a plug-in can have changed one of these keys, or values, without another object for it. */
        static boolean someMutable(ConnectRecord[] records, boolean keys, int rows) {
            for (int row = 0; row < rows; row++) {
                Object value = keys ? records[row].key() : records[row].value();
                boolean fixed = value instanceof String || value instanceof Number || value instanceof Boolean;
                if (value != null && !fixed) {
                    return true;
                }
            }
            return false;
        }

        static boolean same(Object one, Object other) {
            return one == other || one != null && one.equals(other);
        }

        static Headers[] headersOf(ConnectRecord[] records, int rows) {
            Headers[] headers = new Headers[rows];
            for (int row = 0; row < rows; row++) {
                headers[row] = records[row].headers();
            }
            return headers;
        }

        void headers(Headers[] headers) {
            int start = begin();
            list(headers.length);
            for (int row = 0; row < headers.length; row++) {
                list(headers[row].size());
                for (Iterator each = headers[row].iterator(); each.hasNext();) {
                    Header header = (Header) each.next();
                    list(3);
                    pack(null, header.key());
                    whole(index(header.schema()));
                    pack(header.schema(), header.value());
                }
            }
            end(start);
        }

        void rawHeaders(RecordHeaders[] headers, int rows) {
            integer(headers == null ? 0 : 1);
            if (headers == null) {
                return;
            }
            int start = begin();
            list(rows);
            for (int row = 0; row < rows; row++) {
                org.apache.kafka.common.header.Header[] pairs = headers[row].toArray();
                list(pairs.length);
                for (int each = 0; each < pairs.length; each++) {
                    list(2);
                    pack(null, pairs[each].key());
                    pack(null, pairs[each].value());
                }
            }
            end(start);
        }

        /** Values by groups of one schema; nulls are a group of their own. */
        void values(Schema[] ofRow, Object[] values, int rows) {
            Map groups = new LinkedHashMap();
            int[] groupOf = new int[rows];
            List keys = new ArrayList();
            List counts = new ArrayList();
            Schema last = null;
            int lastGroup = -1;
            boolean lastNull = false;
            for (int row = 0; row < rows; row++) {
                boolean isNull = values[row] == null;
                if (lastGroup < 0 || ofRow[row] != last || isNull != lastNull) {
                    last = ofRow[row];
                    lastNull = isNull;
                    Integer key = Integer.valueOf(index(last) * 2 + (isNull ? 1 : 0));
                    Integer known = (Integer) groups.get(key);
                    if (known == null) {
                        known = Integer.valueOf(keys.size());
                        groups.put(key, known);
                        keys.add(last);
                        counts.add(new int[] {isNull ? 1 : 0, 0});
                    }
                    lastGroup = known.intValue();
                }
                groupOf[row] = lastGroup;
                ((int[]) counts.get(lastGroup))[1]++;
            }
            integer(keys.size());
            for (int group = 0; group < keys.size(); group++) {
                int[] count = (int[]) counts.get(group);
                integer(index((Schema) keys.get(group)));
                integer(count[0]);
                integer(count[1]);
                Object[] part = keys.size() == 1 ? values : new Object[count[1]];
                if (keys.size() > 1) {
                    int next = 0;
                    for (int row = 0; row < rows; row++) {
                        if (groupOf[row] == group) {
                            integer(row);
                            part[next++] = values[row];
                        }
                    }
                }
                Schema schema = index((Schema) keys.get(group)) < 0 ? null : (Schema) keys.get(group);
                if (count[0] == 0 && schema != null && schema.type() == Schema.Type.STRUCT) {
                    integer(FIELDS);
                    fields(schema, part, count[1]);
                } else if (count[0] == 0) {
                    column(schema, part, count[1]);
                }
            }
        }

        int index(Schema schema) {
            if (schema == null) {
                return -1;
            }
            Integer known = (Integer) indexes.get(schema);
            if (known == null) {
                known = Schemas.complete(schema) ? (Integer) equal.get(schema) : Integer.valueOf(-1);
                if (known == null) {
                    known = Integer.valueOf(schemas.size());
                    schemas.add(Schemas.text(schema));
                    equal.put(schema, known);
                }
                indexes.put(schema, known);
            }
            return known.intValue();
        }

        void column(Schema schema, Object[] values, int rows) {
            if (schema != null && Schemas.typed(schema) && fits(schema, values, rows)) {
                integer(TYPED);
                typed(schema, values, rows);
            } else {
                integer(PACKED);
                int start = begin();
                list(rows);
                for (int row = 0; row < rows; row++) {
                    pack(schema, values[row]);
                }
                end(start);
            }
        }

        /** Whether decimals have their schema's scale, and so many digits as Arrow has. */
        static boolean fits(Schema schema, Object[] values, int rows) {
            if (Schemas.isDecimal(schema.name())) {
                int scale = Schemas.scale(schema);
                for (int row = 0; row < rows; row++) {
                    BigDecimal number = (BigDecimal) values[row];
                    if (number != null && (number.scale() != scale
                            || number.unscaledValue().abs().compareTo(TOO_LARGE) >= 0)) {
                        return false;
                    }
                }
            } else if (schema.type() == Schema.Type.STRUCT || schema.type() == Schema.Type.ARRAY) {
                return !holdsDecimal(schema);
            }
            return true;
        }

        static boolean holdsDecimal(Schema schema) {
            if (schema.type() == Schema.Type.ARRAY) {
                return holdsDecimal(schema.valueSchema());
            }
            if (schema.type() == Schema.Type.STRUCT) {
                for (Object each : schema.fields()) {
                    if (holdsDecimal(((Field) each).schema())) {
                        return true;
                    }
                }
                return false;
            }
            return Schemas.isDecimal(schema.name());
        }

        void fields(Schema schema, Object[] structs, int rows) {
            Object[] values = new Object[rows];
            for (Object each : schema.fields()) {
                Field field = (Field) each;
                boolean hasDefault = field.schema().defaultValue() != null;
                for (int row = 0; row < rows; row++) {
                    Struct struct = (Struct) structs[row];
                    values[row] = hasDefault ? struct.getWithoutDefault(field.name()) : struct.get(field);
                }
                column(field.schema(), values, rows);
            }
        }

        void typed(Schema schema, Object[] values, int rows) {
            valid(values, rows);
            if (Schemas.isDecimal(schema.name())) {
                decimals(values, rows);
                return;
            }
            switch (schema.type()) {
                case STRUCT:
                    nested(schema, values, rows);
                    break;
                case ARRAY:
                    lists(schema, values, rows);
                    break;
                case STRING: {
                    byte[][] data = new byte[rows][];
                    for (int row = 0; row < rows; row++) {
                        data[row] = values[row] == null ? null : ((String) values[row]).getBytes(StandardCharsets.UTF_8);
                    }
                    data(data, rows);
                    break;
                }
                case BYTES: {
                    byte[][] data = new byte[rows][];
                    for (int row = 0; row < rows; row++) {
                        data[row] = raw(values[row]);
                    }
                    data(data, rows);
                    break;
                }
                case BOOLEAN: {
                    byte[] bits = new byte[(rows + 7) / 8];
                    for (int row = 0; row < rows; row++) {
                        if (values[row] != null && ((Boolean) values[row]).booleanValue()) {
                            bits[row >> 3] |= (byte) (1 << (row & 7));
                        }
                    }
                    bytes(bits);
                    break;
                }
                default:
                    numbers(schema, values, rows);
                    break;
            }
        }

        void numbers(Schema schema, Object[] values, int rows) {
            align();
            room(8 * rows);
            boolean date = Schemas.isDate(schema.name());
            long unit = "org.apache.kafka.connect.data.Date".equals(schema.name()) ? In.DAY_MS : 1L;
            for (int row = 0; row < rows; row++) {
                Object value = values[row];
                Number number = value == null ? (Number) Integer.valueOf(0)
                    : date ? (Number) Long.valueOf(Math.floorDiv(((Date) value).getTime(), unit)) : (Number) value;
                switch (schema.type()) {
                    case INT8:
                        buffer.put(number.byteValue());
                        break;
                    case INT16:
                        buffer.putShort(number.shortValue());
                        break;
                    case INT32:
                        buffer.putInt(number.intValue());
                        break;
                    case INT64:
                        buffer.putLong(number.longValue());
                        break;
                    case FLOAT32:
                        buffer.putFloat(number.floatValue());
                        break;
                    default:
                        buffer.putDouble(number.doubleValue());
                        break;
                }
            }
        }

        void nested(Schema schema, Object[] structs, int rows) {
            Object[] values = new Object[rows];
            for (Object each : schema.fields()) {
                Field field = (Field) each;
                String name = field.name();
                for (int row = 0; row < rows; row++) {
                    Struct struct = (Struct) structs[row];
                    values[row] = struct == null ? null : struct.getWithoutDefault(name);
                }
                integer(TYPED);
                typed(field.schema(), values, rows);
            }
        }

        void lists(Schema schema, Object[] values, int rows) {
            List items = new ArrayList();
            align();
            room(4 * rows + 4);
            buffer.putInt(0);
            for (int row = 0; row < rows; row++) {
                if (values[row] != null) {
                    items.addAll((Collection) values[row]);
                }
                buffer.putInt(items.size());
            }
            integer(TYPED);
            typed(schema.valueSchema(), items.toArray(), items.size());
        }

        void decimals(Object[] values, int rows) {
            align();
            room(16 * rows);
            for (int row = 0; row < rows; row++) {
                BigInteger number = values[row] == null ? BigInteger.ZERO : ((BigDecimal) values[row]).unscaledValue();
                byte[] digits = number.toByteArray();
                for (int each = 0; each < 16; each++) {
                    int place = digits.length - 1 - each;
                    buffer.put(place >= 0 ? digits[place] : (byte) (number.signum() < 0 ? -1 : 0));
                }
            }
        }

        void valid(Object[] values, int rows) {
            byte[] bits = new byte[(rows + 7) / 8];
            boolean some = false;
            for (int row = 0; row < rows; row++) {
                if (values[row] == null) {
                    some = true;
                } else {
                    bits[row >> 3] |= (byte) (1 << (row & 7));
                }
            }
            integer(some ? 1 : 0);
            if (some) {
                bytes(bits);
            }
        }

        void data(byte[][] data, int rows) {
            align();
            room(4 * rows + 4);
            int end = 0;
            buffer.putInt(0);
            for (int row = 0; row < rows; row++) {
                end += data[row] == null ? 0 : data[row].length;
                buffer.putInt(end);
            }
            align();
            room(end);
            for (int row = 0; row < rows; row++) {
                if (data[row] != null) {
                    buffer.put(data[row]);
                }
            }
        }

        /** Begins values in MessagePack, which is big endian, with room for their length. */
        int begin() {
            integer(0);
            buffer.order(ByteOrder.BIG_ENDIAN);
            return buffer.position();
        }

        void end(int start) {
            buffer.order(ByteOrder.LITTLE_ENDIAN);
            buffer.putInt(start - 4, buffer.position() - start);
        }

        void pack(Schema schema, Object value) {
            room(16);
            if (value == null) {
                buffer.put((byte) 0xc0);
            } else if (value instanceof String) {
                string((String) value);
            } else if (value instanceof Boolean) {
                buffer.put((byte) (((Boolean) value).booleanValue() ? 0xc3 : 0xc2));
            } else if (value instanceof Long || value instanceof Integer || value instanceof Short
                    || value instanceof Byte) {
                whole(((Number) value).longValue());
            } else if (value instanceof Double || value instanceof Float) {
                buffer.put((byte) 0xcb).putDouble(((Number) value).doubleValue());
            } else if (value instanceof byte[] || value instanceof ByteBuffer) {
                byte[] data = raw(value);
                buffer.put((byte) 0xc6).putInt(data.length);
                room(data.length);
                buffer.put(data);
            } else if (value instanceof Collection) {
                Collection items = (Collection) value;
                Schema of = schema == null ? null : schema.valueSchema();
                list(items.size());
                for (Object item : items) {
                    pack(of, item);
                }
            } else if (value instanceof Map) {
                Map map = (Map) value;
                Schema ofKeys = schema == null ? null : schema.keySchema();
                Schema ofValues = schema == null ? null : schema.valueSchema();
                int pairs = keys(map) ? pairs(map.size()) : -1;
                if (pairs < 0) {
                    map(map.size());
                }
                for (Object each : map.entrySet()) {
                    pack(ofKeys, ((Map.Entry) each).getKey());
                    pack(ofValues, ((Map.Entry) each).getValue());
                }
                if (pairs >= 0) {
                    buffer.putInt(pairs, buffer.position() - pairs - 5);
                }
            } else if (value instanceof Struct) {
                Struct struct = (Struct) value;
                List fields = struct.schema().fields();
                map(fields.size());
                for (Object each : fields) {
                    Field field = (Field) each;
                    pack(null, field.name());
                    pack(field.schema(), struct.getWithoutDefault(field.name()));
                }
            } else if (value instanceof BigDecimal) {
                BigDecimal number = (BigDecimal) value;
                byte[] digits = number.unscaledValue().toByteArray();
                buffer.put((byte) 0xc9).putInt(4 + digits.length).put((byte) DECIMAL).putInt(number.scale());
                room(digits.length);
                buffer.put(digits);
            } else if (value instanceof Date) {
                String name = schema == null ? null : schema.name();
                boolean date = "org.apache.kafka.connect.data.Date".equals(name);
                boolean time = "org.apache.kafka.connect.data.Time".equals(name);
                int kind = date ? DATE : time ? TIME : TIMESTAMP;
                long moment = ((Date) value).getTime();
                if (time ? moment < 0 || moment >= In.DAY_MS : moment < FIRST_MS || moment > LAST_MS) {
                    String range = time ? "a day" : "the years 1 to 9999";
                    throw new DataException(moment + " ms is outside " + range + ".");
                }
                buffer.put((byte) 0xd7).put((byte) kind).putLong(moment);
            } else {
                throw new DataException("A " + value.getClass().getName() + " is no value of Kafka Connect's.");
            }
        }

        /** Whether keys of a map have no place in one of MessagePack's. Refuses two that are one to Python. */
        static boolean keys(Map map) {
            boolean extended = false;
            boolean texts = true;
            for (Object key : map.keySet()) {
                extended = extended || key instanceof Date || key instanceof BigDecimal;
                texts = texts && key instanceof String;
            }
            if (!texts && map.size() > 1) {
                HashSet seen = new HashSet();
                for (Object key : map.keySet()) {
                    if (!seen.add(asInPython(key))) {
                        throw new DataException("two keys that only Java tells apart, as 1 and true, cannot be the "
                                + "keys of a dict.");
                    }
                }
            }
            return extended;
        }

        /** A key that is equal to another one where Python's are. */
        static Object asInPython(Object key) {
            if (key instanceof Boolean) {
                return Double.valueOf(((Boolean) key).booleanValue() ? 1 : 0);
            }
            if (key instanceof byte[]) {
                return ByteBuffer.wrap((byte[]) key);
            }
            if (key instanceof BigDecimal) {
                return ((BigDecimal) key).stripTrailingZeros();
            }
            if (key instanceof Number) {
                double near = ((Number) key).doubleValue();
                boolean whole = key instanceof Long && (long) near != ((Long) key).longValue();
                return whole ? key : (Object) Double.valueOf(near + 0.0); // one zero
            }
            return key;
        }

        /** Begins a map as a list of keys and values by turns, and returns where its size is to stand. */
        int pairs(int size) {
            room(16);
            int start = buffer.position() + 1;
            buffer.put((byte) 0xc9).putInt(0).put((byte) PAIRS);
            list(2 * size);
            return start;
        }

        /** Begins a list of so many values. */
        void list(int size) {
            head(size, 0x90, 0xdc);
        }

        /** Begins a map of so many pairs. */
        void map(int size) {
            head(size, 0x80, 0xde);
        }

        void head(int size, int small, int middle) {
            room(16);
            if (size < 16) {
                buffer.put((byte) (small | size));
            } else if (size < 1 << 16) {
                buffer.put((byte) middle).putShort((short) size);
            } else {
                buffer.put((byte) (middle + 1)).putInt(size);
            }
        }

        void whole(long number) {
            room(9);
            if (number >= -0x20 && number < 0x80) {
                buffer.put((byte) number);
            } else if (number == (int) number) {
                buffer.put((byte) 0xd2).putInt((int) number);
            } else {
                buffer.put((byte) 0xd3).putLong(number);
            }
        }

        void string(String text) {
            byte[] data = text.getBytes(StandardCharsets.UTF_8);
            room(5 + data.length);
            if (data.length < 32) {
                buffer.put((byte) (0xa0 | data.length));
            } else {
                buffer.put((byte) 0xdb).putInt(data.length);
            }
            buffer.put(data);
        }

        static byte[] raw(Object value) {
            if (value instanceof ByteBuffer) {
                ByteBuffer copy = ((ByteBuffer) value).duplicate();
                byte[] data = new byte[copy.remaining()];
                copy.get(data);
                return data;
            }
            return (byte[]) value;
        }

        void integer(int number) {
            room(4);
            buffer.putInt(number);
        }

        void text(String text) {
            byte[] data = text.getBytes(StandardCharsets.UTF_8);
            room(4 + data.length);
            buffer.putInt(data.length);
            buffer.put(data);
        }

        void bytes(byte[] data) {
            align();
            room(data.length);
            buffer.put(data);
        }

        void align() {
            room(8);
            buffer.position((buffer.position() + 7) & ~7);
        }

        void room(int size) {
            if (buffer.remaining() < size) {
                ByteBuffer larger = allocate(Math.max(buffer.capacity() * 2, buffer.position() + size));
                larger.put(buffer.array(), 0, buffer.position());
                larger.order(buffer.order());
                buffer = larger;
            }
        }
    }
}
