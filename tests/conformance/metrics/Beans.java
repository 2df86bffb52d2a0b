import java.rmi.registry.LocateRegistry;
import java.util.TreeSet;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.rmi.RMIConnector;
import javax.management.remote.rmi.RMIServer;

/** Prints each attribute of a worker's beans: bean, name and value, with tabs between. */
public class Beans {
    public static void main(String[] args) throws Exception {
        // An address of JMX would be looked up through JNDI, which not every Java has for RMI.
        var registry = LocateRegistry.getRegistry("127.0.0.1", Integer.parseInt(args[0]));
        try (var connector = new RMIConnector((RMIServer) registry.lookup("jmxrmi"), null)) {
            connector.connect();
            MBeanServerConnection server = connector.getMBeanServerConnection();
            for (ObjectName bean : new TreeSet<>(server.queryNames(new ObjectName("kafka.connect:*"), null)))
                for (MBeanAttributeInfo attribute : server.getMBeanInfo(bean).getAttributes())
                    System.out.println(bean.getKeyPropertyListString() + "\t" + attribute.getName() + "\t"
                        + server.getAttribute(bean, attribute.getName()));
        }
    }
}
