// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

import static org.exrnic.test.Checks.await;
import static org.exrnic.test.Checks.require;
import static org.exrnic.test.Checks.requireEqual;
import static org.exrnic.test.Checks.requireThrows;
import static org.exrnic.test.Checks.start;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.exrnic.PCIe;
import org.exrnic.PCIeChannel;
import org.exrnic.PCIeServer;
import org.exrnic.SisciException;

/** PCIe and PCIeServer. */
final class ConnectionChecks {
  private static final int USED = 0x40000918;

  private ConnectionChecks() {}

  static void run(Checks checks) {
    checks.check("what is sent comes in order, in direct buffers", ConnectionChecks::sends);
    checks.check("who sends waits while the other end has all its buffers full",
        ConnectionChecks::waitsForRoom);
    checks.check("after terminate() the other end receives null, and nothing more is sent",
        ConnectionChecks::terminates);
    checks.check("an end is told that the other one has gone", ConnectionChecks::toldOfTheEnd);
    checks.check("close() ends the calls of other threads", ConnectionChecks::closeWakes);
    checks.check("a thread that is interrupted stops to wait, and stays interrupted",
        ConnectionChecks::interrupted);
    checks.check("a time limit is kept", ConnectionChecks::limits);
    checks.check("two threads at one end are told, or take turns", ConnectionChecks::twoThreads);
    checks.check(
        "wrong buffers and sizes are refused with a sentence", ConnectionChecks::wrongArguments);
    checks.check("buffers of a closed connection can still be read and written",
        ConnectionChecks::buffersOutlive);
    checks.check("a server has its port alone, and accepts many", ConnectionChecks::accepts);
  }

  private static void sends() throws Exception {
    try (Connected both = new Connected()) {
      for (int bytes : new int[] {1, 17, 1000, Connected.BYTES}) {
        ByteBuffer buffer = both.client.sendBuffer();
        require(buffer.isDirect(), "the send buffer is direct");
        for (int i = 0; i < bytes; ++i) {
          buffer.put(i, (byte) (i * 7 + bytes));
        }
        both.client.send(bytes);
        ByteBuffer got = both.server.receive();
        require(got.isDirect(), "a receive buffer is direct");
        requireEqual(bytes, got.remaining());
        for (int i = 0; i < bytes; ++i) {
          requireEqual((byte) (i * 7 + bytes), got.get(i));
        }
        both.server.receiveDone();
      }
      both.server.sendBuffer().putInt(100, 42);
      both.server.send(both.server.sendBuffer().duplicate().position(100).limit(104));
      requireEqual(42, both.client.receive().getInt(0));
      both.client.receiveDone();
      requireEqual(Connected.nodeOf(1), both.client.peer());
      requireEqual(Connected.nodeOf(0), both.server.peer());
    }
  }

  private static void waitsForRoom() throws Exception {
    try (Connected both = new Connected(64, 3)) {
      for (int i = 0; i < 3; ++i) {
        both.client.sendBuffer().putInt(0, i);
        both.client.send(4);
      }
      Future<Void> fourth = start(() -> {
        both.client.send(4);
        return null;
      });
      Checks.pause(300);
      require(!fourth.isDone(), "a fourth one has no room");
      for (int i = 0; i < 3; ++i) {
        requireEqual(i, both.server.receive().getInt(0));
        both.server.receiveDone();
      }
      await(fourth);
      requireThrows(SisciException.class, () -> both.client.sendDone(1));
      both.server.receive();
      both.server.receiveDone();
      both.client.sendDone();
    }
  }

  private static void terminates() throws Exception {
    try (Connected both = new Connected()) {
      both.client.send(8);
      both.client.terminate();
      both.client.terminate();
      require(both.server.receive() != null, "what was sent before");
      both.server.receiveDone();
      require(both.server.receive() == null, "the end");
      require(both.server.receive() == null, "the end, still");
      both.client.sendDone();
      requireThrows(IllegalStateException.class, () -> both.client.send(8));
      both.server.send(3);
      requireEqual(3, both.client.receive().remaining());
    }
  }

  private static void toldOfTheEnd() throws Exception {
    try (Connected both = new Connected()) {
      both.client.send(8);
      both.client.close();
      requireEqual(8, both.server.receive().remaining());
      both.server.receiveDone();
      SisciException told = requireThrows(SisciException.class, both.server::receive);
      requireEqual(SisciException.NOT_CONNECTED, told.code());
      requireThrows(SisciException.class, () -> {
        for (int i = 0; i < 3; ++i) {
          both.server.send(8);
        }
      });
    }
  }

  private static void closeWakes() throws Exception {
    Connected both = new Connected();
    PCIeServer server = new PCIeServer(1, -1, 64, 1);
    Future<ByteBuffer> receiver = start(both.server::receive);
    Future<PCIe> acceptor = start(server::accept);
    Checks.pause(100);
    both.server.close();
    server.close();
    requireThrows(ClosedChannelException.class, () -> await(receiver));
    requireThrows(ClosedChannelException.class, () -> await(acceptor));
    requireThrows(ClosedChannelException.class, both.server::receive);
    requireThrows(ClosedChannelException.class, () -> both.server.send(1));
    requireThrows(ClosedChannelException.class, both.server::receiveDone);
    requireThrows(ClosedChannelException.class, both.server::sendDone);
    requireThrows(ClosedChannelException.class, both.server::terminate);
    requireThrows(ClosedChannelException.class, server::accept);
    require(!both.server.isOpen(), "it is closed");
    both.close();
    both.close();
  }

  private static void interrupted() throws Exception {
    try (Connected both = new Connected()) {
      Future<Boolean> waiter = start(() -> {
        Thread.currentThread().interrupt();
        requireThrows(InterruptedIOException.class, both.server::receive);
        return Thread.interrupted();
      });
      require(await(waiter), "it is still interrupted");
      both.client.send(5);
      requireEqual(5, both.server.receive().remaining());
    }
  }

  private static void limits() throws Exception {
    try (Connected both = new Connected(); PCIeServer server = new PCIeServer(1, -1, 64, 1)) {
      SisciException late = requireThrows(SisciException.class, () -> both.server.receive(20));
      requireEqual(SisciException.TIMEOUT, late.code());
      requireThrows(SisciException.class, () -> server.accept(0));
      int node = Connected.nodeOf(1);
      requireThrows(SisciException.class, () -> PCIe.connect(0, node, 999_999, 64, 1, 50));
      requireThrows(IllegalArgumentException.class, () -> both.server.receive(-2));
    }
  }

  private static void twoThreads() throws Exception {
    try (Connected both = new Connected()) {
      CountDownLatch begun = new CountDownLatch(1);
      Future<ByteBuffer> first = start(() -> {
        begun.countDown();
        return both.server.receive();
      });
      begun.await();
      Checks.pause(200);
      requireThrows(IllegalStateException.class, both.server::receive);
      both.client.send(1);
      await(first);
      requireThrows(IllegalStateException.class, both.server::receive);
      both.server.receiveDone();
      requireThrows(IllegalStateException.class, both.server::receiveDone);
      PCIeChannel out = new PCIeChannel(both.client);
      PCIeChannel in = new PCIeChannel(both.server);
      int threads = 4;
      int times = 50;
      for (int i = 0; i < threads; ++i) {
        start(() -> {
          for (int j = 0; j < times; ++j) {
            out.write(ByteBuffer.allocate(10));
          }
          return null;
        });
      }
      ByteBuffer all = ByteBuffer.allocate(threads * times * 10);
      while (all.hasRemaining()) {
        in.read(all);
      }
    }
  }

  private static void wrongArguments() throws Exception {
    requireThrows(IllegalArgumentException.class, () -> new PCIeServer(0, 1, 0, 1));
    requireThrows(IllegalArgumentException.class, () -> new PCIeServer(0, 1, 64, 33));
    requireThrows(IllegalArgumentException.class, () -> new PCIeServer(0, 1, 1 << 30, 4));
    requireThrows(IllegalArgumentException.class, () -> new PCIeServer(-1, 1, 64, 1));
    requireThrows(IllegalArgumentException.class, () -> new PCIeServer(0, -2, 64, 1));
    requireThrows(SisciException.class, () -> new PCIeServer(9, 1, 64, 1));
    requireThrows(IOException.class, () -> PCIe.connect(0, -5, 1, 64, 1, 100));
    try (Connected both = new Connected()) {
      PCIe client = both.client;
      requireThrows(NullPointerException.class, () -> client.send(null));
      requireThrows(IllegalArgumentException.class, () -> client.send(ByteBuffer.allocate(8)));
      requireThrows(
          IllegalArgumentException.class, () -> client.send(ByteBuffer.allocateDirect(8)));
      requireThrows(IllegalArgumentException.class, () -> client.send(0));
      requireThrows(IllegalArgumentException.class, () -> client.send(-1));
      requireThrows(IllegalArgumentException.class, () -> client.send(Connected.BYTES + 1));
      PCIeChannel channel = new PCIeChannel(client);
      requireThrows(NullPointerException.class, () -> channel.write(null));
      requireThrows(NullPointerException.class, () -> channel.read(null));
      requireThrows(IllegalArgumentException.class,
          () -> channel.read(ByteBuffer.allocate(8).asReadOnlyBuffer()));
    }
  }

  private static void buffersOutlive() throws Exception {
    Connected both = new Connected();
    both.client.sendBuffer().putLong(0, 42);
    both.client.send(8);
    ByteBuffer got = both.server.receive();
    ByteBuffer own = both.server.sendBuffer();
    both.close();
    both = null;
    for (int i = 0; i < 3; ++i) {
      System.gc();
      Checks.pause(20);
      requireEqual(42, got.getLong(0));
      own.putLong(0, i);
      requireEqual(i, own.getLong(0));
    }
  }

  private static void accepts() throws Exception {
    int node = Connected.nodeOf(1);
    try (PCIeServer server = new PCIeServer(1, 77, 64, 1)) {
      SisciException used = requireThrows(SisciException.class, () -> new PCIeServer(1, 77, 64, 1));
      requireEqual(USED, used.code());
      int clients = 8;
      AtomicInteger sum = new AtomicInteger();
      for (int i = 0; i < clients; ++i) {
        int own = i;
        start(() -> {
          try (PCIe client = PCIe.connect(0, node, 77, 64, 1, Checks.LIMIT)) {
            client.sendBuffer().putInt(0, own);
            client.send(4);
            client.sendDone();
          }
          return null;
        });
      }
      for (int i = 0; i < clients; ++i) {
        try (PCIe accepted = server.accept(Checks.LIMIT)) {
          sum.addAndGet(accepted.receive(Checks.LIMIT).getInt(0));
          accepted.receiveDone();
        }
      }
      requireEqual(clients * (clients - 1) / 2, sum.get());
    }
  }
}
