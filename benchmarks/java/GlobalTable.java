import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/**
 * A Kafka Streams GlobalKTable: restores a topic, then counts, samples and, when asked, reads it.
 *
 * <pre>GlobalTable memory|rocksdb TOPIC STATE_DIR KEYS_DRAWN SAMPLE_STEP READS name=value...</pre>
 *
 * The last arguments are Kafka Streams settings. Writes one line of JSON. Ready means: {@code start()} was
 * called, the state is RUNNING and the store answers a query.
 */
public final class GlobalTable {
    private static final String STORE = "table";
    private static final long TIMEOUT_MINUTES = 10;

    public static void main(String[] args) throws Exception {
        boolean memory = args[0].equals("memory");
        int keysDrawn = Integer.parseInt(args[3]);
        RestoreClock restore = new RestoreClock();
        long started = System.nanoTime();
        try (KafkaStreams streams = new KafkaStreams(topology(args[1], memory), settings(args))) {
            CountDownLatch running = new CountDownLatch(1);
            streams.setStateListener((now, before) -> {
                if (now == KafkaStreams.State.RUNNING) running.countDown();
            });
            streams.setGlobalStateRestoreListener(restore);
            streams.start();
            if (!running.await(TIMEOUT_MINUTES, TimeUnit.MINUTES)) throw new IllegalStateException("not RUNNING in time");
            ReadOnlyKeyValueStore<String, byte[]> store = streams.store(
                StoreQueryParameters.fromNameAndType(STORE, QueryableStoreTypes.<String, byte[]>keyValueStore()));
            store.get(key(0));
            double readySeconds = (System.nanoTime() - started) / 1e9;
            double readyAt = System.currentTimeMillis() / 1e3;
            long residentBytes = memoryBytes("VmRSS:");
            long peakBytes = memoryBytes("VmHWM:");
            double getsPerSecond = readsPerSecond(store, keysDrawn, Integer.parseInt(args[5]));
            System.out.printf(
                "{\"ready_s\": %.6f, \"ready_at\": %.3f, \"restore_s\": %.6f, \"records\": %d, \"keys\": %d, "
                    + "\"checksum\": \"%016x\", \"rss_bytes\": %d, \"peak_rss_bytes\": %d, \"gets_per_s\": %.0f}%n",
                readySeconds, readyAt, restore.seconds(), restore.records.get(), count(store),
                sampleChecksum(store, keysDrawn, Integer.parseInt(args[4])), residentBytes, peakBytes, getsPerSecond);
        }
    }

    private static org.apache.kafka.streams.Topology topology(String topic, boolean memory) {
        StreamsBuilder builder = new StreamsBuilder();
        Materialized<String, byte[], KeyValueStore<Bytes, byte[]>> materialized =
            Materialized.<String, byte[], KeyValueStore<Bytes, byte[]>>as(STORE)
                .withKeySerde(Serdes.String())
                .withValueSerde(Serdes.ByteArray());
        builder.globalTable(
            topic,
            Consumed.with(Serdes.String(), Serdes.ByteArray()),
            materialized.withStoreType(memory ? Materialized.StoreType.IN_MEMORY : Materialized.StoreType.ROCKS_DB));
        return builder.build();
    }

    private static Properties settings(String[] args) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "benchmark");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        for (int i = 6; i < args.length; i++) {
            String[] nameAndValue = args[i].split("=", 2);
            settings.put(nameAndValue[0], nameAndValue[1]);
        }
        return settings;
    }

    private static String key(int id) {
        return String.format("user-%07d", id);
    }

    private static long count(ReadOnlyKeyValueStore<String, byte[]> store) {
        long count = 0;
        try (KeyValueIterator<String, byte[]> rows = store.all()) {
            for (; rows.hasNext(); rows.next()) count++;
        }
        return count;
    }

    private static long sampleChecksum(ReadOnlyKeyValueStore<String, byte[]> store, int keysDrawn, int step) {
        long checksum = 0;
        for (int id = 0; id < keysDrawn; id += step) {
            byte[] value = store.get(key(id));
            if (value != null) checksum ^= fnv1a(value);
        }
        return checksum;
    }

    private static long fnv1a(byte[] bytes) {
        long hash = 0xcbf29ce484222325L;
        for (byte each : bytes) hash = (hash ^ (each & 0xff)) * 0x100000001b3L;
        return hash;
    }

    /**
     * Random reads of keys that were drawn, per second of this thread's CPU time. The second of two rounds counts, so
     * that the JIT has compiled it.
     */
    private static double readsPerSecond(ReadOnlyKeyValueStore<String, byte[]> store, int keysDrawn, int reads) {
        if (reads == 0) return 0;
        Random random = new Random(11);
        String[] keys = new String[reads];
        for (int i = 0; i < reads; i++) keys[i] = key(random.nextInt(keysDrawn));
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        long started = 0;
        long found = 0;
        for (int round = 0; round < 2; round++) {
            started = clock.getCurrentThreadCpuTime();
            for (String key : keys) if (store.get(key) != null) found++;
        }
        double seconds = (clock.getCurrentThreadCpuTime() - started) / 1e9;
        if (found == 0) throw new IllegalStateException("no key was found");
        return reads / seconds;
    }

    private static long memoryBytes(String name) throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"), StandardCharsets.US_ASCII)) {
            if (line.startsWith(name)) return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
        }
        return 0;
    }

    /** From the first partition's start to the last one's end. */
    private static final class RestoreClock implements StateRestoreListener {
        private final AtomicLong first = new AtomicLong(Long.MAX_VALUE);
        private final AtomicLong last = new AtomicLong(Long.MIN_VALUE);
        private final AtomicLong records = new AtomicLong();

        @Override
        public void onRestoreStart(TopicPartition partition, String store, long start, long end) {
            first.accumulateAndGet(System.nanoTime(), Math::min);
        }

        @Override
        public void onBatchRestored(TopicPartition partition, String store, long end, long count) {}

        @Override
        public void onRestoreEnd(TopicPartition partition, String store, long total) {
            last.accumulateAndGet(System.nanoTime(), Math::max);
            records.addAndGet(total);
        }

        double seconds() {
            return Math.max(0, last.get() - first.get()) / 1e9;
        }
    }
}
