import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.AbstractDeserializationSchema;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Side: Flink in one process with one slot; state on the heap, checkpoints to the local disk every second. */
public final class FlinkSide {
    public static final class Packet {
        public String src;
        public String dst;
        public String proto;
        public int bytes;
        public int dport;
    }

    public static final class Slim {
        public String src;
        public String peer;
        public int bytes;
        public int port;
    }

    public static final class Totals {
        public String src;
        public long n;
        public long bytes;
    }

    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("state.backend.type", "hashmap");
        settings.setString("execution.checkpointing.dir", "file://" + arguments[5]);
        settings.setString("pipeline.object-reuse", "true");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1, settings);
        environment.enableCheckpointing(1000);
        KafkaSource<Packet> source =
                KafkaSource.<Packet>builder()
                        .setBootstrapServers(arguments[0])
                        .setTopics(arguments[2])
                        .setGroupId(arguments[4])
                        .setStartingOffsets(OffsetsInitializer.earliest())
                        .setValueOnlyDeserializer(new PacketReader())
                        .build();
        DataStream<Packet> packets = environment.fromSource(source, WatermarkStrategy.noWatermarks(), "packets");
        if (arguments[1].equals("count-sum")) {
            packets.keyBy(packet -> packet.src)
                    .process(new CountSum())
                    .sinkTo(sink(arguments, totals -> totals.src.getBytes(StandardCharsets.UTF_8)));
        } else {
            packets.filter(packet -> packet.proto.equals("tcp") && packet.bytes > 0)
                    .map(FlinkSide::slim)
                    .sinkTo(sink(arguments, slim -> slim.src.getBytes(StandardCharsets.UTF_8)));
        }
        environment.execute(arguments[4]);
    }

    private static Slim slim(Packet packet) {
        Slim slim = new Slim();
        slim.src = packet.src;
        slim.peer = packet.dst;
        slim.bytes = packet.bytes;
        slim.port = packet.dport;
        return slim;
    }

    public static final class CountSum extends KeyedProcessFunction<String, Packet, Totals> {
        private transient ValueState<Totals> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("totals", Totals.class));
        }

        @Override
        public void processElement(Packet packet, Context context, Collector<Totals> results) throws IOException {
            Totals before = state.value();
            Totals totals = new Totals();
            totals.src = packet.src;
            totals.n = before == null ? 1 : before.n + 1;
            totals.bytes = packet.bytes + (before == null ? 0 : before.bytes);
            state.update(totals);
            results.collect(totals);
        }
    }

    private static <T> KafkaSink<T> sink(String[] arguments, SerializationSchema<T> key) {
        return KafkaSink.<T>builder()
                .setBootstrapServers(arguments[0])
                .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
                .setRecordSerializer(
                        KafkaRecordSerializationSchema.<T>builder()
                                .setTopic(arguments[3])
                                .setKeySerializationSchema(key)
                                .setValueSerializationSchema(new JsonWriter<T>())
                                .build())
                .build();
    }

    public static final class PacketReader extends AbstractDeserializationSchema<Packet> {
        private transient ObjectReader reader;

        @Override
        public void open(InitializationContext context) {
            reader = new ObjectMapper()
                    .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false)
                    .readerFor(Packet.class);
        }

        @Override
        public Packet deserialize(byte[] raw) throws IOException {
            return reader.readValue(raw);
        }
    }

    public static final class JsonWriter<T> implements SerializationSchema<T> {
        private transient ObjectWriter writer;

        @Override
        public void open(InitializationContext context) {
            writer = new ObjectMapper().writer();
        }

        @Override
        public byte[] serialize(T value) {
            try {
                return writer.writeValueAsBytes(value);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
