import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Prints which versions of each API the classes of several `kafka-clients` jars list, as CSV.
 *
 * Arguments: what every jar needs to run, as a class path; then the jars. Columns: the jar's place among them, the kind
 * of listener (empty before 2.8, which has one kind), the API key, the lowest and the highest version.
 */
public class ListedVersions {
    public static void main(String[] arguments) throws Exception {
        for (int place = 1; place < arguments.length; place++) {
            List<URL> urls = new ArrayList<>();
            for (String file : (arguments[place] + File.pathSeparator + arguments[0]).split(File.pathSeparator)) {
                urls.add(new File(file).toURI().toURL());
            }
            try (URLClassLoader jar = new URLClassLoader(urls.toArray(new URL[0]), null)) {
                print(place - 1, jar);
            }
        }
    }

    private static void print(int place, ClassLoader jar) throws Exception {
        Class<?> keys = jar.loadClass("org.apache.kafka.common.protocol.ApiKeys");
        Object[] listeners = {null};
        Method isOn = null;
        if (has(jar, "org.apache.kafka.common.message.ApiMessageType$ListenerType")) {
            Class<?> type = jar.loadClass("org.apache.kafka.common.message.ApiMessageType$ListenerType");
            listeners = type.getEnumConstants();
            isOn = keys.getMethod("inScope", type);
        }
        for (Object listener : listeners) {
            for (Object api : keys.getEnumConstants()) {
                if (listener == null || (Boolean) isOn.invoke(api, listener)) {
                    int[] versions = versions(jar, keys, api);
                    if (versions != null) {
                        String name = listener == null ? "" : listener.toString().toLowerCase();
                        int key = ((Number) keys.getField("id").get(api)).intValue();
                        System.out.println(place + "," + name + "," + key + "," + versions[0] + "," + versions[1]);
                    }
                }
            }
        }
    }

    /** The stable versions of an API, by what each release has for it; null if it has none. */
    private static int[] versions(ClassLoader jar, Class<?> keys, Object api) throws Exception {
        if (has(keys, "toApiVersion", boolean.class)) {
            Optional<?> range = (Optional<?>) keys.getMethod("toApiVersion", boolean.class).invoke(api, false);
            return range.isEmpty() ? null : new int[] {number(range.get(), "minVersion"), number(range.get(), "maxVersion")};
        }
        if (has(keys, "oldestVersion")) {
            return new int[] {number(api, "oldestVersion"), number(api, "latestVersion")};
        }
        int key = ((Number) keys.getField("id").get(api)).intValue();
        Class<?> protocol = jar.loadClass("org.apache.kafka.common.protocol.Protocol");
        return new int[] {element(protocol, "MIN_VERSIONS", key), element(protocol, "CURR_VERSION", key)};
    }

    private static int element(Class<?> in, String array, int index) throws Exception {
        Field field = in.getDeclaredField(array);
        field.setAccessible(true);
        return ((short[]) field.get(null))[index];
    }

    private static int number(Object from, String method) throws Exception {
        return ((Number) from.getClass().getMethod(method).invoke(from)).intValue();
    }

    private static boolean has(Class<?> in, String method, Class<?>... parameters) {
        try {
            in.getMethod(method, parameters);
            return true;
        } catch (NoSuchMethodException absent) {
            return false;
        }
    }

    private static boolean has(ClassLoader jar, String name) {
        try {
            jar.loadClass(name);
            return true;
        } catch (ClassNotFoundException absent) {
            return false;
        }
    }
}
