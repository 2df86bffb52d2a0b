import java.util.TreeSet;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Prints each attribute of a worker's beans: bean, name and value, with tabs between. */
public class Beans {
    public static void main(String[] args) throws Exception {
        String url = "service:jmx:rmi:///jndi/rmi://127.0.0.1:" + args[0] + "/jmxrmi";
        try (JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(url))) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            for (ObjectName bean : new TreeSet<>(server.queryNames(new ObjectName("kafka.connect:*"), null)))
                for (MBeanAttributeInfo attribute : server.getMBeanInfo(bean).getAttributes())
                    System.out.println(bean.getKeyPropertyListString() + "\t" + attribute.getName() + "\t"
                        + server.getAttribute(bean, attribute.getName()));
        }
    }
}
