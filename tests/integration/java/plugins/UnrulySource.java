/** A source of a user's own, whose tasks end their JVM or fill it where a file tells them to; and a transformation. */
package x;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.*;
import org.apache.kafka.connect.source.*;
import org.apache.kafka.connect.transforms.Transformation;
public class UnrulySource extends SourceConnector {
    private Map<String, String> config;
    public String version() { return "1.0"; }
    public void start(Map<String, String> config) { this.config = config; }
    public Class<? extends Task> taskClass() { return UnrulyTask.class; }
    public List<Map<String, String>> taskConfigs(int most) {
        List<Map<String, String>> configs = new ArrayList<>();
        for (int i = 0; i < most; i++) {
            Map<String, String> one = new HashMap<>(config);
            one.put("number", "" + i);
            configs.add(one);
        }
        return configs;
    }
    public void stop() { }
    public ConfigDef config() {
        return new ConfigDef().define(
            "folder", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "Where files tell tasks what to do.")
            .define("word", ConfigDef.Type.PASSWORD, "", ConfigDef.Importance.LOW, "What tasks tell everybody.");
    }
    private static void exitAfter(int milliseconds) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try { Thread.sleep(milliseconds); } catch (InterruptedException e) { }
        }));
        System.exit(3);
    }
    public static class UnrulyTask extends SourceTask {
        private Path exit, hang, leak; private String word;
        public String version() { return "1.0"; }
        public void start(Map<String, String> config) {
            exit = Path.of(config.get("folder"), "exit-" + config.get("number"));
            hang = Path.of(config.get("folder"), "hang-" + config.get("number"));
            leak = Path.of(config.get("folder"), "leak-" + config.get("number"));
            word = config.get("word");
            if (word != null) System.out.println("my word is " + word);
        }
        public List<SourceRecord> poll() throws InterruptedException {
            if (Files.exists(exit)) exitAfter(1_000);
            if (Files.exists(hang)) exitAfter(1_000_000);
            List<long[]> all = new ArrayList<>();
            while (Files.exists(leak)) all.add(new long[1 << 20]);
            if (word != null) throw new IllegalStateException("cannot log in with " + word);
            Thread.sleep(20);
            return null;
        }
        public void stop() { }
    }
    public static class Shout implements Transformation<SourceRecord> {
        public SourceRecord apply(SourceRecord r) {
            String loud = ((String) r.value()).toUpperCase();
            return r.newRecord(r.topic(), r.kafkaPartition(), null, r.key(), null, loud, r.timestamp());
        }
        public ConfigDef config() { return new ConfigDef(); }
        public void configure(Map<String, ?> config) { }
        public void close() { }
    }
}
