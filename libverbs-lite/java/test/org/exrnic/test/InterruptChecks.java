// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

import static org.exrnic.test.Checks.LIMIT;
import static org.exrnic.test.Checks.await;
import static org.exrnic.test.Checks.require;
import static org.exrnic.test.Checks.requireEqual;
import static org.exrnic.test.Checks.requireThrows;
import static org.exrnic.test.Checks.start;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.exrnic.Interrupt;
import org.exrnic.RemoteInterrupt;
import org.exrnic.Segment;
import org.exrnic.SisciException;

/** Interrupts of adapter 1, triggered by adapter 0. */
final class InterruptChecks {
  private static final int NOSPC = 0x40000904;
  private static final int LAST = 0x1a57;

  private InterruptChecks() {}

  static void run(Checks checks) {
    checks.check("each of many threads waits for its own interrupt", InterruptChecks::manyThreads);
    checks.check("several threads wait for one interrupt, and each that comes wakes one",
        InterruptChecks::shared);
    checks.check("interrupts are counted while nobody waits", InterruptChecks::counted);
    checks.check("an interrupt brings its bytes, to buffers of any kind", InterruptChecks::data);
    checks.check("a buffer whose memory has gone crashes no VM", InterruptChecks::goneBuffers);
    checks.check("a buffer that another thread moves crashes no VM", InterruptChecks::movedBuffers);
    checks.check("who waits for an interrupt that is closed, or is interrupted, is told",
        InterruptChecks::ends);
    checks.check(
        "numbers that nobody has chosen are far from each other", InterruptChecks::numbers);
    checks.check("wrong numbers, kinds and sizes of interrupts are refused with a sentence",
        InterruptChecks::wrong);
  }

  private static RemoteInterrupt connect(Interrupt interrupt) throws Exception {
    return RemoteInterrupt.connect(0, Connected.nodeOf(1), interrupt.number(), LIMIT);
  }

  private static void manyThreads() throws Exception {
    int rounds = 50;
    List<Future<Void>> threads = new ArrayList<>();
    for (int i = 0; i < 16; ++i) {
      threads.add(start(() -> {
        try (Interrupt own = Interrupt.create(1, Interrupt.ANY_NUMBER);
            RemoteInterrupt remote = connect(own)) {
          for (int round = 0; round < rounds; ++round) {
            remote.trigger();
            own.await(LIMIT);
          }
          requireThrows(SisciException.class, () -> own.await(1));
        }
        return null;
      }));
    }
    for (Future<Void> thread : threads) {
      await(thread);
    }
  }

  private static void shared() throws Exception {
    try (Interrupt own = Interrupt.create(1, Interrupt.ANY_NUMBER);
        RemoteInterrupt remote = connect(own)) {
      List<Future<Void>> threads = new ArrayList<>();
      for (int i = 0; i < 8; ++i) {
        threads.add(start(() -> {
          own.await(LIMIT);
          return null;
        }));
      }
      for (int i = 0; i < 8; ++i) {
        remote.trigger();
      }
      for (Future<Void> thread : threads) {
        await(thread);
      }
      requireThrows(SisciException.class, () -> own.await(0));
    }
  }

  private static void counted() throws Exception {
    try (Interrupt own = Interrupt.create(1, Interrupt.ANY_NUMBER);
        RemoteInterrupt remote = connect(own)) {
      for (int i = 0; i < 500; ++i) {
        remote.trigger();
      }
      for (int i = 0; i < 500; ++i) {
        own.await(LIMIT);
      }
      requireThrows(SisciException.class, () -> own.await(10));
    }
  }

  private static void data() throws Exception {
    try (Interrupt own = Interrupt.createWithData(1, Interrupt.ANY_NUMBER);
        RemoteInterrupt remote =
            RemoteInterrupt.connectWithData(0, Connected.nodeOf(1), own.number(), LIMIT)) {
      for (int bytes : new int[] {1, 56, 57, Interrupt.MAX_DATA}) {
        ByteBuffer sent = ByteBuffer.allocate(bytes);
        for (int i = 0; i < bytes; ++i) {
          sent.put(i, (byte) (i * 3 + bytes));
        }
        remote.trigger(sent.duplicate());
        remote.trigger(ByteBuffer.allocateDirect(bytes).put(sent.duplicate()).flip());
        if (bytes > 1) {
          SisciException full = requireThrows(
              SisciException.class, () -> own.await(ByteBuffer.allocate(bytes - 1), LIMIT));
          requireEqual(NOSPC, full.code());
        }
        ByteBuffer heap = ByteBuffer.allocate(Interrupt.MAX_DATA);
        requireEqual(bytes, own.await(heap, LIMIT));
        require(heap.flip().equals(sent), "they are the same");
        ByteBuffer direct = ByteBuffer.allocateDirect(Interrupt.MAX_DATA);
        requireEqual(bytes, own.await(direct, LIMIT));
        require(direct.flip().equals(sent), "they are the same");
      }
      // More than are kept: who triggers waits.
      Future<Void> eager = start(() -> {
        for (int i = 0; i < 200; ++i) {
          remote.trigger(ByteBuffer.allocate(4).putInt(0, i));
        }
        return null;
      });
      Checks.pause(200);
      require(!eager.isDone(), "200 have no room");
      for (int i = 0; i < 200; ++i) {
        ByteBuffer got = ByteBuffer.allocate(4);
        own.await(got, LIMIT);
        requireEqual(i, got.getInt(0));
      }
      await(eager);
    }
  }

  private static void goneBuffers() throws Exception {
    try (Interrupt own = Interrupt.createWithData(1, Interrupt.ANY_NUMBER);
        RemoteInterrupt remote =
            RemoteInterrupt.connectWithData(0, Connected.nodeOf(1), own.number(), LIMIT)) {
      for (int round = 0; round < 4; ++round) {
        ByteBuffer gone = mapped(true);
        mayBeRefused(() -> remote.trigger(gone.duplicate()));
        untilLast(own, remote);
        remote.trigger(ByteBuffer.allocate(8));
        mayBeRefused(() -> own.await(gone.duplicate(), LIMIT));
        untilLast(own, remote);
      }
    }
  }

  private static void movedBuffers() throws Exception {
    try (Interrupt own = Interrupt.createWithData(1, Interrupt.ANY_NUMBER);
        RemoteInterrupt remote =
            RemoteInterrupt.connectWithData(0, Connected.nodeOf(1), own.number(), LIMIT)) {
      ByteBuffer shared = mapped(false);
      AtomicBoolean stop = new AtomicBoolean();
      Future<Void> mover = start(() -> {
        while (!stop.get()) {
          shared.clear().position(Interrupt.MAX_DATA - 1);
          shared.clear();
        }
        return null;
      });
      try {
        for (int round = 0; round < 30; ++round) {
          mayBeRefused(() -> remote.trigger(shared));
          untilLast(own, remote);
          remote.trigger(ByteBuffer.allocate(8));
          mayBeRefused(() -> own.await(shared, LIMIT));
          untilLast(own, remote);
        }
      } finally {
        stop.set(true);
      }
      await(mover);
    }
  }

  /**
   * By any exception, or by the error that the VM makes of a fault, perhaps later: so in a thread
   * of its own.
   */
  private static void mayBeRefused(Checks.Body body) throws Exception {
    Thread thread = new Thread(() -> {
      try {
        body.run();
      } catch (Exception told) {
        // The VM lives.
      }
    });
    thread.setUncaughtExceptionHandler((of, told) -> {});
    thread.start();
    thread.join();
  }

  /** Takes what has come, whatever it is, until what this sends. */
  private static void untilLast(Interrupt own, RemoteInterrupt remote) throws Exception {
    remote.trigger(ByteBuffer.allocate(4).putInt(0, LAST));
    ByteBuffer got = ByteBuffer.allocate(Interrupt.MAX_DATA);
    do {
      own.await(got.clear(), LIMIT);
    } while (got.position() != 4 || got.getInt(0) != LAST);
  }

  /** A page of a file, which may be gone. */
  private static ByteBuffer mapped(boolean gone) throws IOException {
    Path path = Files.createTempFile("exrnic", ".mapped");
    try (FileChannel file =
             FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      ByteBuffer page = file.map(FileChannel.MapMode.READ_WRITE, 0, Interrupt.MAX_DATA);
      if (gone) {
        file.truncate(0);
      }
      return page;
    } finally {
      Files.delete(path);
    }
  }

  private static void ends() throws Exception {
    Interrupt own = Interrupt.create(1, Interrupt.ANY_NUMBER);
    RemoteInterrupt remote = connect(own);
    Future<Void> waiter = start(() -> {
      own.await(Interrupt.FOREVER);
      return null;
    });
    Checks.pause(100);
    own.close();
    requireThrows(ClosedChannelException.class, () -> await(waiter));
    requireThrows(ClosedChannelException.class, () -> own.await(1));
    remote.trigger(); // nobody
    remote.close();
    requireThrows(ClosedChannelException.class, remote::trigger);
    own.close();
    remote.close();
    try (Interrupt other = Interrupt.create(1, Interrupt.ANY_NUMBER)) {
      Thread here = Thread.currentThread();
      Future<Void> interrupter = start(() -> {
        Checks.pause(100);
        here.interrupt();
        return null;
      });
      requireThrows(InterruptedIOException.class, () -> other.await(Interrupt.FOREVER));
      require(Thread.interrupted(), "it is still interrupted");
      await(interrupter);
    }
  }

  private static void numbers() throws Exception {
    int near = 0;
    int last = 0;
    for (int i = 0; i < 8; ++i) {
      try (Interrupt interrupt = Interrupt.create(0, Interrupt.ANY_NUMBER);
          Interrupt data = Interrupt.createWithData(0, Interrupt.ANY_NUMBER);
          Segment segment = Segment.init(0, Segment.ANY_ID, 64)) {
        for (int number : new int[] {interrupt.number(), data.number(), segment.id()}) {
          require(number >= 1 << 30, "it is beyond those that programs choose");
          near += Math.abs(number - last) < 1 << 16 ? 1 : 0;
          last = number;
        }
      }
    }
    require(near < 4, near + " of 24 are near to the one before");
  }

  private static void wrong() throws Exception {
    requireThrows(IllegalArgumentException.class, () -> Interrupt.create(-1, 5));
    requireThrows(IllegalArgumentException.class, () -> Interrupt.create(0, -2));
    requireThrows(SisciException.class, () -> Interrupt.create(15, 5));
    requireThrows(SisciException.class, () -> RemoteInterrupt.connect(0, 0, 54321, 20));
    requireThrows(SisciException.class, () -> RemoteInterrupt.connect(0, 1 << 20, 5, 20));
    try (Interrupt plain = Interrupt.create(1, Interrupt.ANY_NUMBER);
        Interrupt data = Interrupt.createWithData(1, Interrupt.ANY_NUMBER);
        RemoteInterrupt remote =
            RemoteInterrupt.connectWithData(0, Connected.nodeOf(1), data.number(), LIMIT)) {
      requireThrows(IllegalStateException.class, () -> plain.await(ByteBuffer.allocate(8), 0));
      requireThrows(IllegalStateException.class, () -> data.await(0));
      requireThrows(NullPointerException.class, () -> data.await(null, 0));
      requireThrows(IllegalArgumentException.class, () -> plain.await(-2));
      requireThrows(IllegalArgumentException.class,
          () -> data.await(ByteBuffer.allocate(8).asReadOnlyBuffer(), 0));
      requireThrows(IllegalStateException.class, remote::trigger);
      requireThrows(NullPointerException.class, () -> remote.trigger(null));
      requireThrows(IllegalArgumentException.class, () -> remote.trigger(ByteBuffer.allocate(0)));
      requireThrows(
          IllegalArgumentException.class, () -> remote.trigger(ByteBuffer.allocate(4097)));
    }
  }
}
