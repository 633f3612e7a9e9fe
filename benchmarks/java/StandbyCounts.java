import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * One of two instances that count records by key, each with a standby of the other's partitions.
 *
 * <pre>StandbyCounts TOPIC name=value...</pre>
 *
 * The last arguments are Kafka Streams settings. Answers each line of the standard input with a line of JSON: {@code owns}
 * gives the partitions that it counts and those of which it has a standby; {@code take PARTITION KEY} asks for the key and
 * sends records with it until both are answered from here, and gives the milliseconds since 1970 of the first answer of
 * any copy, of the first one of the partition's new owner, and of the first record that was counted.
 */
public final class StandbyCounts {
    private static final String STORE = "counts";
    private static final long GIVE_UP_MS = 120_000;

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        for (int i = 1; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[0], Consumed.with(Serdes.String(), Serdes.String()))
            .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.as(STORE));
        try (KafkaStreams streams = new KafkaStreams(builder.build(), settings);
             KafkaProducer<String, String> producer = producer(settings);
             BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            streams.start();
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                if (words[0].equals("owns")) System.out.println(owns(streams));
                else System.out.println(take(streams, producer, args[0], Integer.parseInt(words[1]), words[2]));
            }
        }
    }

    private static KafkaProducer<String, String> producer(Properties settings) {
        Map<String, Object> own = Map.of("bootstrap.servers", settings.getProperty("bootstrap.servers"));
        return new KafkaProducer<>(own, new StringSerializer(), new StringSerializer());
    }

    private static String owns(KafkaStreams streams) {
        Set<Integer> active = new TreeSet<>();
        Set<Integer> standby = new TreeSet<>();
        streams.metadataForLocalThreads().forEach(thread -> {
            thread.activeTasks().forEach(task -> active.add(task.taskId().partition()));
            thread.standbyTasks().forEach(task -> standby.add(task.taskId().partition()));
        });
        boolean running = streams.state() == KafkaStreams.State.RUNNING;
        return String.format("{\"running\": %s, \"active\": %s, \"standby\": %s}", running, active, standby);
    }

    private static String take(
        KafkaStreams streams, KafkaProducer<String, String> producer, String topic, int partition, String key) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(3);
        try {
            long before = count(streams, partition, key, true);
            Future<Long> any = threads.submit(() -> first(() -> count(streams, partition, key, true) > 0));
            Future<Long> owner = threads.submit(() -> first(() -> count(streams, partition, key, false) > 0));
            Future<Long> counted = threads.submit(() -> first(() -> {
                producer.send(new ProducerRecord<>(topic, key, "again")).get();
                return count(streams, partition, key, false) > before;
            }));
            return String.format(
                "{\"any_ms\": %d, \"owner_ms\": %d, \"counted_ms\": %d}", any.get(), owner.get(), counted.get());
        } finally {
            threads.shutdownNow();
        }
    }

    private static long first(Callable<Boolean> attempt) throws Exception {
        long deadline = System.currentTimeMillis() + GIVE_UP_MS;
        while (System.currentTimeMillis() < deadline) {
            if (attempt.call()) return System.currentTimeMillis();
            Thread.sleep(5);
        }
        throw new IllegalStateException("nothing within " + GIVE_UP_MS + " ms");
    }

    /** 0 while the partition is not here. */
    private static long count(KafkaStreams streams, int partition, String key, boolean standby) {
        try {
            StoreQueryParameters<ReadOnlyKeyValueStore<String, Long>> wanted =
                StoreQueryParameters.fromNameAndType(STORE, QueryableStoreTypes.<String, Long>keyValueStore()).withPartition(partition);
            Long found = streams.store(standby ? wanted.enableStaleStores() : wanted).get(key);
            return found == null ? 0 : found;
        } catch (org.apache.kafka.streams.errors.InvalidStateStoreException error) {
            return 0;
        }
    }
}
