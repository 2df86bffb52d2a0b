import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Answers what a transformation of the Java world makes of a record. Schemas and values are written as Oracle has them.
 *
 * One question a line: {"class", "config", "record": {"topic", "key_schema", "key", "value_schema", "value", "headers"}},
 * one answer a line: {"record": null or the same}, or {"error", "message"}.
 */
public class Transform {
    static final Map<String, Transformation<SinkRecord>> MADE = new HashMap<>();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Oracle.JSON.getFactory().configure(com.fasterxml.jackson.core.JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
        String line;
        while ((line = in.readLine()) != null) {
            ObjectNode answer = Oracle.JSON.createObjectNode();
            try {
                JsonNode question = Oracle.JSON.readTree(line);
                answer.set("record", described(made(question).apply(record(question.get("record")))));
            } catch (Throwable e) {
                answer.removeAll();
                answer.put("error", e.getClass().getSimpleName());
                answer.put("message", String.valueOf(e.getMessage()));
            }
            out.println(Oracle.JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    @SuppressWarnings("unchecked")
    static Transformation<SinkRecord> made(JsonNode question) throws Exception {
        String key = question.get("class") + "|" + question.get("config");
        Transformation<SinkRecord> made = MADE.get(key);
        if (made == null) {
            Map<String, String> config = new HashMap<>();
            question.get("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().textValue()));
            made = (Transformation<SinkRecord>) Class.forName(question.get("class").textValue())
                .getDeclaredConstructor().newInstance();
            made.configure(config);
            MADE.put(key, made);
        }
        return made;
    }

    static SinkRecord record(JsonNode node) {
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : node.get("headers")) {
            headers.add(header.get(0).textValue(), Oracle.value(header.get(2)), Oracle.schema(header.get(1)));
        }
        return new SinkRecord(node.get("topic").textValue(), 0,
            Oracle.schema(node.get("key_schema")), Oracle.value(node.get("key")),
            Oracle.schema(node.get("value_schema")), Oracle.value(node.get("value")),
            7L, 1_700_000_000_000L, TimestampType.CREATE_TIME, headers);
    }

    static JsonNode described(SinkRecord record) {
        if (record == null) {
            return Oracle.JSON.nullNode();
        }
        ObjectNode node = Oracle.JSON.createObjectNode();
        node.put("topic", record.topic());
        node.set("key_schema", Oracle.describe(record.keySchema()));
        node.set("key", Oracle.describeValue(record.key()));
        node.set("value_schema", Oracle.describe(record.valueSchema()));
        node.set("value", Oracle.describeValue(record.value()));
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(Oracle.describe(header.schema()))
                .add(Oracle.describeValue(header.value()));
        }
        return node;
    }
}
