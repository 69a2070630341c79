// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

import static org.exrnic.test.Checks.LIMIT;
import static org.exrnic.test.Checks.await;
import static org.exrnic.test.Checks.require;
import static org.exrnic.test.Checks.requireEqual;
import static org.exrnic.test.Checks.requireThrows;
import static org.exrnic.test.Checks.start;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.exrnic.Segment;
import org.exrnic.SisciException;

/** Segments of adapters 0 and 1. */
final class SegmentChecks {
  private static final int BYTES = 8192;

  private SegmentChecks() {}

  static void run(Checks checks) {
    checks.check("bytes go to another segment and back, without copies", SegmentChecks::transfers);
    checks.check(
        "who waits for a client is told which node has connected", SegmentChecks::waitsForClient);
    checks.check("a segment that was taken away is lost for others", SegmentChecks::takenAway);
    checks.check("wrong ranges, sizes and buffers of segments are refused with a sentence",
        SegmentChecks::wrong);
    checks.check(
        "a closed segment says so, and its buffers can still be used", SegmentChecks::closed);
    checks.check("many threads on one segment are told that a transfer is under way",
        SegmentChecks::threads);
    checks.check("a segment that is closed in the middle of transfers does no harm",
        SegmentChecks::closedMeanwhile);
    checks.check("memory of segments goes when the last buffer does", SegmentChecks::memory);
    checks.check("memory of many segments goes without being asked for", SegmentChecks::muchMemory);
    checks.check("a segment that is forgotten ends", SegmentChecks::forgotten);
  }

  /** Connects a segment of adapter 0 to one of adapter 1. */
  private static void connect(Segment from, Segment to) throws IOException {
    from.connect(Connected.nodeOf(1), to.id(), LIMIT);
  }

  private static void transfers() throws Exception {
    try (Segment here = Segment.initPrivate(0, BYTES);
        Segment there = Segment.init(1, Segment.ANY_ID, 2 * BYTES)) {
      connect(here, there);
      requireEqual(2 * BYTES, here.remoteSize());
      ByteBuffer own = here.cachingBuf();
      for (int i = 0; i < BYTES; ++i) {
        own.put(i, (byte) (i * 5));
      }
      here.send(1, BYTES - 1, BYTES);
      here.sendDone();
      ByteBuffer theirs = there.cachingBuf();
      require(theirs.slice(BYTES, BYTES - 1).equals(own.slice(1, BYTES - 1)), "they are there");
      here.send(own.slice(100, 10), 0);
      here.sendDone();
      require(theirs.slice(0, 10).equals(own.slice(100, 10)), "the slice is there");
      theirs.putLong(2 * BYTES - 8, 4711);
      here.receive(16, 8, 2 * BYTES - 8);
      requireEqual(4711, own.getLong(16));
      here.receive(own.duplicate().position(24).limit(32), 2 * BYTES - 8);
      requireEqual(4711, own.getLong(24));
      here.disconnect();
      here.disconnect();
      requireThrows(IllegalStateException.class, () -> here.send(0, 1, 0));
      connect(here, there);
      here.send(0, 1, 0);
      here.sendDone();
      requireThrows(IllegalStateException.class, () -> connect(here, there));
    }
  }

  private static void waitsForClient() throws Exception {
    try (Segment there = Segment.init(1, Segment.ANY_ID, BYTES);
        Segment here = Segment.initPrivate(0, BYTES)) {
      requireThrows(SisciException.class, () -> there.waitClient(1));
      Future<Integer> client = start(() -> there.waitClient(LIMIT));
      connect(here, there);
      requireEqual(Connected.nodeOf(0), await(client));
    }
  }

  private static void takenAway() throws Exception {
    try (Segment here = Segment.initPrivate(0, BYTES);
        Segment there = Segment.init(1, Segment.ANY_ID, BYTES)) {
      connect(here, there);
      require(!here.isLost(), "it is there");
      there.cachingBuf().putLong(0, 7);
      there.terminate();
      for (int i = 0; i < 200 && !here.isLost(); ++i) {
        Checks.pause(50);
      }
      require(here.isLost(), "it is lost");
      requireThrows(SisciException.class, () -> {
        here.send(0, 8, 0);
        here.sendDone();
      });
      requireEqual(7, there.cachingBuf().getLong(0));
    }
  }

  private static void wrong() throws Exception {
    requireThrows(IllegalArgumentException.class, () -> Segment.init(0, 5, 0));
    requireThrows(IllegalArgumentException.class, () -> Segment.init(0, 5, -1));
    requireThrows(IllegalArgumentException.class, () -> Segment.init(0, -2, 64));
    requireThrows(IllegalArgumentException.class, () -> Segment.init(-1, 5, 64));
    requireThrows(SisciException.class, () -> Segment.init(12, 5, 64));
    try (Segment here = Segment.init(0, 5, BYTES);
        Segment there = Segment.init(1, Segment.ANY_ID, BYTES)) {
      requireThrows(SisciException.class, () -> Segment.init(1, 5, 64));
      requireThrows(IllegalStateException.class, () -> here.send(0, 1, 0));
      requireThrows(SisciException.class, () -> here.connect(Connected.nodeOf(1), 4321, 20));
      requireThrows(SisciException.class, () -> here.connect(-1, 4321, 20));
      connect(here, there);
      requireThrows(IllegalArgumentException.class, () -> here.send(0, 0, 0));
      requireThrows(IllegalArgumentException.class, () -> here.send(0, -1, 0));
      requireThrows(IndexOutOfBoundsException.class, () -> here.send(-1, 1, 0));
      requireThrows(IndexOutOfBoundsException.class, () -> here.send(1, BYTES, 0));
      requireThrows(IndexOutOfBoundsException.class, () -> here.send(0, Integer.MAX_VALUE, 0));
      requireThrows(IndexOutOfBoundsException.class, () -> here.send(Integer.MAX_VALUE, 2, 0));
      requireThrows(IndexOutOfBoundsException.class, () -> here.send(0, 1, BYTES));
      requireThrows(IndexOutOfBoundsException.class, () -> here.send(0, 1, -1));
      requireThrows(IndexOutOfBoundsException.class, () -> here.receive(0, 1, Long.MAX_VALUE));
      requireThrows(NullPointerException.class, () -> here.send(null, 0));
      requireThrows(IllegalArgumentException.class, () -> here.send(ByteBuffer.allocate(8), 0));
      requireThrows(
          IllegalArgumentException.class, () -> here.send(ByteBuffer.allocateDirect(8), 0));
      requireThrows(IllegalArgumentException.class, () -> here.send(there.cachingBuf(), 0));
      requireThrows(IllegalArgumentException.class, () -> here.receive(ByteBuffer.allocate(8), 0));
      requireThrows(IllegalArgumentException.class,
          () -> here.receive(here.cachingBuf().asReadOnlyBuffer(), 0));
    }
  }

  private static void closed() throws Exception {
    Segment here = Segment.initPrivate(0, BYTES);
    Segment there = Segment.init(1, Segment.ANY_ID, BYTES);
    connect(here, there);
    ByteBuffer own = here.cachingBuf();
    Future<Integer> waiter = start(() -> there.waitClient(LIMIT) + there.waitClient(LIMIT));
    Checks.pause(50);
    here.close();
    there.close();
    here.close();
    requireThrows(ClosedChannelException.class, () -> await(waiter));
    requireThrows(ClosedChannelException.class, () -> here.send(0, 1, 0));
    requireThrows(ClosedChannelException.class, () -> here.receive(0, 1, 0));
    requireThrows(ClosedChannelException.class, here::sendDone);
    requireThrows(ClosedChannelException.class, here::isLost);
    requireThrows(ClosedChannelException.class, here::remoteSize);
    requireThrows(ClosedChannelException.class, here::node);
    requireThrows(ClosedChannelException.class, here::terminate);
    requireThrows(ClosedChannelException.class, () -> here.connect(1, 1, 10));
    requireThrows(ClosedChannelException.class, () -> there.waitClient(10));
    here.disconnect();
    requireEqual(BYTES, here.size());
    own.putInt(0, 3);
    requireEqual(3, here.cachingBuf().getInt(0));
  }

  private static void threads() throws Exception {
    try (Segment here = Segment.initPrivate(0, 1 << 20);
        Segment there = Segment.init(1, Segment.ANY_ID, 1 << 20)) {
      connect(here, there);
      AtomicInteger done = new AtomicInteger();
      AtomicInteger told = new AtomicInteger();
      List<Future<Void>> threads = new ArrayList<>();
      for (int i = 0; i < 8; ++i) {
        threads.add(start(() -> {
          for (int round = 0; round < 10; ++round) {
            try {
              here.send(0, 1 << 20, 0);
              here.sendDone();
              done.incrementAndGet();
            } catch (SisciException problem) {
              require(problem.getMessage().contains("under way"), problem.getMessage());
              told.incrementAndGet();
            }
          }
          return null;
        }));
      }
      for (Future<Void> thread : threads) {
        await(thread);
      }
      require(done.get() > 0 && told.get() > 0, done + " were done and " + told + " told");
    }
  }

  private static void closedMeanwhile() throws Exception {
    for (int round = 0; round < 10; ++round) {
      Segment here = Segment.initPrivate(0, 1 << 20);
      Segment there = Segment.init(1, Segment.ANY_ID, 1 << 20);
      connect(here, there);
      List<Future<Void>> threads = new ArrayList<>();
      for (int i = 0; i < 4; ++i) {
        threads.add(start(() -> {
          for (;;) {
            try {
              here.send(0, 1 << 20, 0);
              here.sendDone();
            } catch (SisciException underWay) {
              Thread.yield();
            }
          }
        }));
      }
      Checks.pause(10 + round);
      (round % 2 == 0 ? here : there).close();
      Checks.pause(10);
      here.close();
      there.close();
      for (Future<Void> thread : threads) {
        requireThrows(ClosedChannelException.class, () -> await(thread));
      }
    }
  }

  /** How many segments of that size would be what the process has in memory. */
  private static long resident(int bytes) throws IOException {
    return Files.readAllLines(Path.of("/proc/self/statm"))
               .stream()
               .mapToLong(line -> Long.parseLong(line.split(" ")[1]))
               .sum()
        * 4096 / bytes;
  }

  private static void touch(ByteBuffer buffer) {
    for (int i = 0; i < buffer.capacity(); i += 4096) {
      buffer.put(i, (byte) 1);
    }
  }

  private static void memory() throws Exception {
    int bytes = 32 << 20;
    long before = resident(bytes);
    List<ByteBuffer> kept = new ArrayList<>();
    for (int i = 0; i < 16; ++i) {
      try (Segment segment = Segment.initPrivate(0, bytes)) {
        touch(segment.cachingBuf());
        ByteBuffer part = segment.cachingBuf().position(bytes / 2).slice();
        if (i == 3) {
          kept.add(part.duplicate().asReadOnlyBuffer());
        }
      }
    }
    long after = before + 16;
    for (int i = 0; i < 500 && after > before + 3; ++i) {
      System.gc();
      Checks.pause(20);
      after = resident(bytes);
    }
    require(after <= before + 3, "of 16 segments " + (after - before) + " are still there");
    requireEqual(1, kept.get(0).get(0));
  }

  private static void muchMemory() throws Exception {
    int bytes = 32 << 20;
    long before = resident(bytes);
    for (int i = 0; i < 40; ++i) {
      try (Segment segment = Segment.initPrivate(0, bytes)) {
        touch(segment.cachingBuf());
      }
    }
    long after = resident(bytes) - before;
    require(after <= 20, "of 40 segments " + after + " are still there");
  }

  private static void forget(int id) throws IOException {
    Segment.init(0, id, BYTES).cachingBuf().putInt(0, 1);
  }

  private static void forgotten() throws Exception {
    forget(1234);
    for (int i = 0;; ++i) {
      System.gc();
      Checks.pause(20);
      try (Segment again = Segment.init(0, 1234, BYTES)) {
        requireEqual(1234, again.id());
        return;
      } catch (SisciException used) {
        require(i < 500, "the id is free again");
      }
    }
  }
}
