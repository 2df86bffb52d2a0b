import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.DataException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.transforms.Transformation;

/** Fails for "never", fails at first for "twice", and takes everything else. */
public class Flaky<R extends ConnectRecord<R>> implements Transformation<R> {
    private int tries = 0;

    public R apply(R record) {
        String value = String.valueOf(record.value());
        if (value.equals("never")) throw new DataException("never");
        if (value.equals("twice") && tries++ < 2) throw new RetriableException("not yet");
        return record;
    }

    public ConfigDef config() { return new ConfigDef(); }
    public void close() { }
    public void configure(Map<String, ?> configs) { }
}
