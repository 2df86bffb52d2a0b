import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Answers what Apache Kafka Connect's own transformations and predicates make of records.
 *
 * One question a line on standard input, one answer a line on standard output, both JSON; schemas and values are written
 * as Oracle.java has them. A question names a class and a configuration, and
 *
 *   "apply"      gives records: the answer holds a result for each, or "configure", the error that configuring ended in
 *   "define"     the answer holds the keys of the class
 *   "validate"   the answer holds the value and the number of errors for each key
 */
public class Transforms {
    public static void main(String[] args) throws Exception {
        Oracle.JSON.getFactory().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            ObjectNode answer;
            try {
                answer = answer(Oracle.JSON.readTree(line));
            } catch (Throwable e) {
                answer = error(e);
            }
            out.println(Oracle.JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    static ObjectNode answer(JsonNode q) throws Exception {
        Object made = Class.forName(q.get("class").textValue()).getDeclaredConstructor().newInstance();
        switch (q.get("op").textValue()) {
            case "define":
                return define(definition(made));
            case "validate":
                return validate(definition(made), config(q));
            default:
                return apply(made, q);
        }
    }

    static Map<String, String> config(JsonNode q) {
        Map<String, String> config = new HashMap<>();
        q.get("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().textValue()));
        return config;
    }

    static ObjectNode error(Throwable e) {
        ObjectNode node = Oracle.JSON.createObjectNode();
        node.put("error", e.getClass().getSimpleName());
        node.put("message", String.valueOf(e.getMessage()));
        return node;
    }

    // Records.

    @SuppressWarnings({"unchecked", "rawtypes"})
    static ObjectNode apply(Object made, JsonNode q) {
        ObjectNode answer = Oracle.JSON.createObjectNode();
        try {
            if (made instanceof Predicate) {
                ((Predicate) made).configure(config(q));
            } else {
                ((Transformation) made).configure(config(q));
            }
        } catch (Throwable e) {
            answer.set("configure", error(e));
            return answer;
        }
        ArrayNode results = answer.putArray("results");
        for (JsonNode node : q.get("records")) {
            ConnectRecord record = record(node);
            try {
                ObjectNode result = Oracle.JSON.createObjectNode();
                if (made instanceof Predicate) {
                    result.put("test", ((Predicate) made).test(record));
                } else {
                    ConnectRecord changed = ((Transformation) made).apply(record);
                    result.set("record", changed == null ? Oracle.JSON.nullNode() : describe(changed));
                }
                results.add(result);
            } catch (Throwable e) {
                results.add(error(e));
            }
        }
        return answer;
    }

    static ConnectRecord<?> record(JsonNode node) {
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : node.get("headers")) {
            headers.add(header.get(0).textValue(), Oracle.value(header.get(2)), Oracle.schema(header.get(1)));
        }
        String topic = node.get("topic").textValue();
        Integer partition = node.hasNonNull("partition") ? node.get("partition").intValue() : null;
        Long timestamp = node.hasNonNull("timestamp") ? node.get("timestamp").longValue() : null;
        if (node.hasNonNull("offset")) {
            return new SinkRecord(topic, partition,
                Oracle.schema(node.get("keySchema")), Oracle.value(node.get("key")),
                Oracle.schema(node.get("valueSchema")), Oracle.value(node.get("value")),
                node.get("offset").longValue(), timestamp,
                TimestampType.forName(node.get("timestampType").textValue()), headers);
        }
        return new SourceRecord(Map.of("p", 1), Map.of("o", 1), topic, partition,
            Oracle.schema(node.get("keySchema")), Oracle.value(node.get("key")),
            Oracle.schema(node.get("valueSchema")), Oracle.value(node.get("value")), timestamp, headers);
    }

    static ObjectNode describe(ConnectRecord<?> record) {
        ObjectNode node = Oracle.JSON.createObjectNode();
        node.put("topic", record.topic());
        node.put("partition", record.kafkaPartition());
        node.put("timestamp", record.timestamp());
        node.set("keySchema", Oracle.describe(record.keySchema()));
        node.set("key", Oracle.describeValue(record.key()));
        node.set("valueSchema", Oracle.describe(record.valueSchema()));
        node.set("value", Oracle.describeValue(record.value()));
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key())
                .add(Oracle.describe(header.schema())).add(Oracle.describeValue(header.value()));
        }
        if (record instanceof SinkRecord) {
            SinkRecord sink = (SinkRecord) record;
            node.put("offset", sink.kafkaOffset());
            node.put("timestampType", sink.timestampType().toString());
            node.putArray("origin").add(sink.originalTopic()).add(sink.originalKafkaPartition())
                .add(sink.originalKafkaOffset());
        }
        return node;
    }

    // Configurations.

    static ConfigDef definition(Object made) {
        return made instanceof Predicate ? ((Predicate<?>) made).config() : ((Transformation<?>) made).config();
    }

    static ObjectNode define(ConfigDef definition) {
        ObjectNode answer = Oracle.JSON.createObjectNode();
        ArrayNode keys = answer.putArray("keys");
        definition.configKeys().values().forEach(key -> {
            ObjectNode node = keys.addObject();
            node.put("name", key.name);
            node.put("type", key.type.name());
            node.put("required", !key.hasDefault());
            node.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            node.put("importance", key.importance.name());
            node.put("group", key.group);
            node.put("order", key.orderInGroup);
            node.put("width", key.width.name());
            node.put("displayName", key.displayName);
            ArrayNode dependents = node.putArray("dependents");
            key.dependents.forEach(dependents::add);
        });
        return answer;
    }

    static ObjectNode validate(ConfigDef definition, Map<String, String> config) {
        ObjectNode answer = Oracle.JSON.createObjectNode();
        ArrayNode values = answer.putArray("values");
        for (ConfigValue value : definition.validate(config)) {
            ObjectNode node = values.addObject();
            node.put("name", value.name());
            ConfigDef.ConfigKey key = definition.configKeys().get(value.name());
            node.put("value", ConfigDef.convertToString(value.value(), key == null ? null : key.type));
            node.put("errors", value.errorMessages().size());
            node.put("message", String.join("; ", value.errorMessages()));
            node.put("visible", value.visible());
            ArrayNode recommended = node.putArray("recommended");
            value.recommendedValues().forEach(each -> recommended.add(String.valueOf(each)));
        }
        return answer;
    }
}
