import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A source that cannot start while its folder has the file fail-connector, as that of steady.py. */
public class Obedient extends SourceConnector {
    private Map<String, String> config;

    public void start(Map<String, String> props) {
        config = props;
        if (Files.exists(Path.of(props.get("folder"), "fail-connector")))
            throw new ConnectException("told to fail by fail-connector");
    }

    public List<Map<String, String>> taskConfigs(int maxTasks) { return List.of(config); }
    public Class<? extends Task> taskClass() { return Idle.class; }
    public void stop() { }
    public ConfigDef config() { return new ConfigDef(); }
    public String version() { return "1"; }

    public static class Idle extends SourceTask {
        public void start(Map<String, String> props) { }
        public List<SourceRecord> poll() throws InterruptedException { Thread.sleep(100); return null; }
        public void stop() { }
        public String version() { return "1"; }
    }
}
