package org.apache.kafka.connect.mirror;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.source.SourceConnector;

/**
 * Answers what Apache Kafka's own MirrorMaker 2 makes of names, bytes and offsets. It lies in its package, where more may
 * be asked than from outside.
 *
 * One question a line on standard input, one answer a line on standard output, both JSON; bytes are base64.
 */
public class Mirror {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        JSON.getFactory().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer(JSON.readTree(line), answer);
            } catch (Throwable e) {
                answer = JSON.createObjectNode();
                answer.put("error", e.getClass().getSimpleName());
                answer.put("message", String.valueOf(e.getMessage()));
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    static void answer(JsonNode q, ObjectNode answer) throws Exception {
        switch (q.get("op").textValue()) {
            case "define":
                define(q, answer);
                break;
            case "policy":
                policy(q, answer);
                break;
            case "cycle":
                answer.put("wanted", connector(q).shouldReplicateTopic(q.get("topic").textValue()));
                break;
            case "notes":
                notes(q, answer);
                break;
            case "read":
                read(q, answer);
                break;
            case "choose":
                choose(q, answer);
                break;
            case "translate":
                translate(q, answer);
                break;
            case "client":
                client(q, answer);
                break;
            default:
                throw new IllegalArgumentException(q.toString());
        }
    }

    static void define(JsonNode q, ObjectNode answer) throws Exception {
        SourceConnector made = (SourceConnector) Class.forName(q.get("class").textValue()).getDeclaredConstructor().newInstance();
        ObjectNode keys = answer.putObject("keys");
        for (ConfigDef.ConfigKey key : made.config().configKeys().values()) {
            ObjectNode described = keys.putObject(key.name);
            described.put("type", key.type.name());
            described.put("importance", key.importance.name());
            described.put("required", !key.hasDefault());
            described.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
        }
    }

    static Map<String, String> config(JsonNode q) {
        Map<String, String> config = new HashMap<>();
        q.get("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().textValue()));
        return config;
    }

    static ReplicationPolicy policyOf(Map<String, String> config) throws Exception {
        Object made = Class.forName(config.get("replication.policy.class")).getDeclaredConstructor().newInstance();
        ((org.apache.kafka.common.Configurable) made).configure(config);
        return (ReplicationPolicy) made;
    }

    static void policy(JsonNode q, ObjectNode answer) throws Exception {
        ReplicationPolicy policy = policyOf(config(q));
        String topic = q.get("topic").textValue();
        answer.put("remote", policy.formatRemoteTopic("A", topic));
        answer.put("source", policy.topicSource(topic));
        answer.put("upstream", policy.upstreamTopic(topic));
        answer.put("original", policy.originalTopic(topic));
        answer.put("heartbeats", policy.isHeartbeatsTopic(topic));
        answer.put("internal", policy.isInternalTopic(topic));
        answer.put("syncs", policy.offsetSyncsTopic("A"));
        answer.put("checkpoints", policy.checkpointsTopic("A"));
    }

    static MirrorSourceConnector connector(JsonNode q) throws Exception {
        Map<String, String> config = config(q);
        SourceAndTarget way = new SourceAndTarget(config.get("source.cluster.alias"), config.get("target.cluster.alias"));
        DefaultTopicFilter filter = new DefaultTopicFilter();
        filter.configure(config);
        DefaultConfigPropertyFilter properties = new DefaultConfigPropertyFilter();
        properties.configure(config);
        return new MirrorSourceConnector(way, policyOf(config), filter, properties);
    }

    static TopicPartition place(JsonNode q) {
        return new TopicPartition(q.get("topic").textValue(), q.get("partition").intValue());
    }

    static String text(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    static void notes(JsonNode q, ObjectNode answer) {
        long upstream = q.get("upstream").longValue();
        long downstream = q.get("downstream").longValue();
        OffsetSync sync = new OffsetSync(place(q), upstream, downstream);
        Checkpoint checkpoint = new Checkpoint(q.get("group").textValue(), place(q), upstream, downstream, q.get("metadata").textValue());
        Heartbeat heartbeat = new Heartbeat(q.get("source").textValue(), q.get("target").textValue(), upstream);
        answer.putArray("sync").add(text(sync.recordKey())).add(text(sync.recordValue()));
        answer.putArray("checkpoint").add(text(checkpoint.recordKey())).add(text(checkpoint.recordValue()));
        answer.putArray("heartbeat").add(text(heartbeat.recordKey())).add(text(heartbeat.recordValue()));
        answer.set("partition", JSON.valueToTree(checkpoint.connectPartition()));
        answer.set("beat", JSON.valueToTree(heartbeat.connectPartition()));
    }

    static ConsumerRecord<byte[], byte[]> record(JsonNode pair) {
        Base64.Decoder decoder = Base64.getDecoder();
        return new ConsumerRecord<>("t", 0, 0, decoder.decode(pair.get(0).textValue()), decoder.decode(pair.get(1).textValue()));
    }

    static void read(JsonNode q, ObjectNode answer) {
        answer.put("sync", OffsetSync.deserializeRecord(record(q.get("sync"))).toString());
        answer.put("checkpoint", Checkpoint.deserializeRecord(record(q.get("checkpoint"))).toString());
        answer.put("heartbeat", Heartbeat.deserializeRecord(record(q.get("heartbeat"))).toString());
    }

    static void choose(JsonNode q, ObjectNode answer) {
        OffsetSyncWriter.PartitionState state = new OffsetSyncWriter.PartitionState(q.get("lag").longValue());
        ArrayNode chosen = answer.putArray("chosen");
        for (JsonNode pair : q.get("acknowledged")) {
            boolean yes = state.update(pair.get(0).longValue(), pair.get(1).longValue());
            chosen.add(yes);
            if (yes) {
                state.reset();
            }
        }
    }

    /** A store that is told of syncs by us, not by a topic. */
    static class Store extends OffsetSyncStore {
        @Override
        void backingStoreStart() {
        }
    }

    static void translate(JsonNode q, ObjectNode answer) {
        Store store = new Store();
        store.start(false);
        TopicPartition place = new TopicPartition("t", 0);
        for (JsonNode pair : q.get("syncs")) {
            OffsetSync sync = new OffsetSync(place, pair.get(0).longValue(), pair.get(1).longValue());
            store.handleRecord(new ConsumerRecord<>("syncs", 0, 0, sync.recordKey(), sync.recordValue()));
        }
        ArrayNode found = answer.putArray("found");
        for (JsonNode offset : q.get("offsets")) {
            found.add(store.translateDownstream("g", place, offset.longValue()).orElse(-1));
        }
    }

    static void client(JsonNode q, ObjectNode answer) throws Exception {
        Map<String, Object> config = new HashMap<>(config(q));
        answer.set("upstream", JSON.valueToTree(new TreeSet<>(RemoteClusterUtils.upstreamClusters(config))));
        answer.set("heartbeats", JSON.valueToTree(new TreeSet<>(RemoteClusterUtils.heartbeatTopics(config))));
        answer.set("checkpoints", JSON.valueToTree(new TreeSet<>(RemoteClusterUtils.checkpointTopics(config))));
        answer.put("hops", RemoteClusterUtils.replicationHops(config, q.get("alias").textValue()));
        ObjectNode offsets = answer.putObject("offsets");
        Map<TopicPartition, OffsetAndMetadata> found = RemoteClusterUtils.translateOffsets(
            config, q.get("alias").textValue(), q.get("group").textValue(), Duration.ofSeconds(20));
        found.forEach((place, offset) -> offsets.put(place.toString(), offset.offset()));
    }
}
