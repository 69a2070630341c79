// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionService;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Threads that send files, each its own, buffer by buffer. The end that sends prints a line of JSON
 * for each size of files and buffers. Its time begins after short messages, with which the VM
 * compiles what it runs, and ends when the other end has taken all. Begin and end of each buffer
 * are compared. exrnic-file-bench does the same in C++.
 */
public final class FileBench {
  private static final int WARM_BYTES = 2 * Long.BYTES;

  /** Milliseconds that compilers, which run beside, have to end what they have begun. */
  private static final int SETTLE = 200;

  private final Options options;
  private final Transport transport;

  private FileBench(Options options) {
    this.options = options;
    transport = options.tcp
        ? new TcpTransport(options.where)
        : new PcieTransport(options.adapter, options.listens ? 0 : Integer.parseInt(options.where));
  }

  /** See Options.USAGE. */
  public static void main(String[] words) throws Exception {
    Options options;
    try {
      options = new Options(words);
    } catch (IllegalArgumentException problem) {
      System.err.println(problem.getMessage() + "\n" + Options.USAGE);
      System.exit(2);
      return;
    }
    new FileBench(options).run();
  }

  private void run() throws Exception {
    int port = options.port;
    for (long whole : options.files) {
      long file = Math.max(1, whole / options.scale);
      for (long buffer : options.buffers) {
        int bytes = (int) Math.min(buffer, file);
        if (options.listens) {
          receive(port, bytes, file);
        } else {
          print(file, bytes, send(port, bytes, file));
        }
        ++port;
      }
    }
  }

  private void print(long file, int buffer, double seconds) {
    System.out.println(String.format(Locale.ROOT,
        "{\"bench\":\"files\",\"language\":\"java\",\"transport\":\"%s\",\"threads\":%d,"
            + "\"file\":%d,\"buffer\":%d,\"seconds\":%.9f,\"mbps\":%.1f}",
        options.tcp ? "tcp" : "pcie", options.threads, file, buffer, seconds,
        options.threads * file / seconds / 1e6));
  }

  // The end that sends.

  private double send(int port, int bytes, long file) throws Exception {
    List<Long> times = new ArrayList<>(); // when all have begun, and when all have ended
    CyclicBarrier all = new CyclicBarrier(options.threads, () -> times.add(System.nanoTime()));
    List<Callable<Void>> work = new ArrayList<>();
    for (int i = 0; i < options.threads; ++i) {
      int thread = i;
      work.add(() -> sendOne(thread, port, bytes, file, all));
    }
    inThreads(work);
    return (times.get(1) - times.get(0)) / 1e9;
  }

  private Void sendOne(int thread, int port, int bytes, long file, CyclicBarrier all)
      throws IOException, InterruptedException, BrokenBarrierException {
    try (Transport.Sender sender = transport.connect(port, bytes);
        FileChannel source = source(thread, file)) {
      int warmBytes = Math.min(WARM_BYTES, bytes);
      for (long i = 0; i < options.warm; ++i) {
        fill(sender.buffer(), null, warmBytes, i);
        sender.send(warmBytes);
      }
      Thread.sleep(SETTLE);
      all.await();
      for (long at = 0; at < file; at += bytes) {
        int part = (int) Math.min(bytes, file - at);
        fill(sender.buffer(), source, part, at);
        sender.send(part);
      }
      sender.finish();
      all.await();
    }
    return null;
  }

  /** Null: from memory. */
  private FileChannel source(int thread, long bytes) throws IOException {
    if (options.folder == null) {
      return null;
    }
    Path path = Path.of(options.folder, "exrnic-bench-" + thread);
    FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ,
        StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
    ByteBuffer zeroes = ByteBuffer.allocate(1 << 16);
    for (long at = 0; at < bytes; at += zeroes.capacity()) {
      file.write(zeroes.clear().limit((int) Math.min(zeroes.capacity(), bytes - at)), at);
    }
    return file.position(0);
  }

  private static void fill(ByteBuffer buffer, FileChannel source, int bytes, long at)
      throws IOException {
    buffer.clear().limit(bytes);
    while (source != null && buffer.hasRemaining()) {
      source.read(buffer);
    }
    buffer.clear();
    stamp(buffer, bytes, at);
  }

  private static void stamp(ByteBuffer buffer, int bytes, long at) {
    if (bytes >= 2 * Long.BYTES) {
      buffer.putLong(0, at).putLong(bytes - Long.BYTES, ~at);
    }
  }

  // The end that receives.

  private void receive(int port, int bytes, long file) throws Exception {
    try (Transport.Listener listener = transport.listen(port, bytes)) {
      List<Callable<Void>> work = new ArrayList<>();
      for (int i = 0; i < options.threads; ++i) {
        Transport.Receiver receiver = listener.accept();
        work.add(() -> receiveOne(receiver, bytes, file));
      }
      inThreads(work);
    }
  }

  private Void receiveOne(Transport.Receiver receiver, int bytes, long file) throws IOException {
    try (receiver) {
      for (long i = 0; i < options.warm; ++i) {
        check(receiver.next(Math.min(WARM_BYTES, bytes)), i);
        receiver.done();
      }
      long at = 0;
      for (ByteBuffer part = receiver.next(bytes); part != null; part = receiver.next(bytes)) {
        check(part, at);
        at += part.remaining();
        receiver.done();
      }
      if (at != file) {
        throw new IOException("of a file of " + file + " bytes " + at + " have come");
      }
    }
    return null;
  }

  private static void check(ByteBuffer part, long at) throws IOException {
    int bytes = part.remaining();
    if (bytes >= 2 * Long.BYTES
        && (part.getLong(0) != at || part.getLong(bytes - Long.BYTES) != ~at)) {
      throw new IOException("what has come at " + at + " is something else");
    }
  }

  /** The first that fails ends the others, which else wait for it. */
  private static void inThreads(List<Callable<Void>> work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(work.size());
    try {
      CompletionService<Void> ended = new ExecutorCompletionService<>(threads);
      for (Callable<Void> each : work) {
        ended.submit(each);
      }
      for (int i = 0; i < work.size(); ++i) {
        ended.take().get();
      }
    } catch (ExecutionException problem) {
      throw (Exception) problem.getCause();
    } finally {
      threads.shutdownNow();
    }
  }
}
