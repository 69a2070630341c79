// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

import static org.exrnic.test.Checks.await;
import static org.exrnic.test.Checks.require;
import static org.exrnic.test.Checks.requireEqual;
import static org.exrnic.test.Checks.requireThrows;
import static org.exrnic.test.Checks.start;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.exrnic.Interrupt;
import org.exrnic.PCIe;
import org.exrnic.PCIeChannel;
import org.exrnic.PCIeServer;
import org.exrnic.RemoteInterrupt;
import org.exrnic.Segment;
import org.exrnic.SisciException;

/** PCIe, PCIeServer and PCIeChannel. */
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
    checks.check("who says something else to a port is passed over", ConnectionChecks::strangers);
    checks.check(
        "offers of who has gone do not keep others from a server", ConnectionChecks::staleOffers);
    checks.check("a server closes soon, although somebody has offered a connection and is silent",
        ConnectionChecks::silentOffers);
    checks.check("who has offered a connection and is silent keeps nobody else from a server",
        ConnectionChecks::silentOffersHoldNobody);
    checks.check(
        "who connects takes the answer to its own offer, and no other", ConnectionChecks::answers);
    checks.check("an end that lies of what it sends is found out", ConnectionChecks::liar);
    checks.check(
        "streams of java.io go through a channel, objects and all", ConnectionChecks::streams);
    checks.check("a channel takes buffers of any kind", ConnectionChecks::channels);
    checks.check("a channel writes whatever limit the send buffer has, and nothing after its end",
        ConnectionChecks::channelsOutput);
    checks.check("two channels of a connection that close at once do so soon",
        ConnectionChecks::channelsClose);
    checks.check(
        "a channel that closes wakes who reads, and closes once", ConnectionChecks::channelWakes);
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

  private static void strangers() throws Exception {
    try (PCIeServer server = new PCIeServer(1, -1, 64, 1);
        Segment small = Segment.init(0, Segment.ANY_ID, 127);
        RemoteInterrupt raw =
            RemoteInterrupt.connectWithData(0, Connected.nodeOf(1), server.port(), Checks.LIMIT)) {
      raw.trigger(ByteBuffer.allocate(1));
      raw.trigger(ByteBuffer.allocate(32));
      raw.trigger(ByteBuffer.allocate(4096));
      raw.trigger(offer(0, -1, 1, 1, 64, 1));
      raw.trigger(offer(0, 1, 1, 1, 64, 1 << 20));
      raw.trigger(offer(1 << 20, 1, 1, 1, 64, 1));
      raw.trigger(offer(small.node(), small.id(), 1, 1, 64, 2));
      Future<PCIe> accepted = start(server::accept);
      PCIe client = PCIe.connect(0, Connected.nodeOf(1), server.port(), 64, 1, Checks.LIMIT);
      PCIe other = await(accepted);
      client.send(1);
      requireEqual(1, other.receive(Checks.LIMIT).remaining());
      client.close();
      other.close();
    }
  }

  private static void staleOffers() throws Exception {
    int node = Connected.nodeOf(1);
    try (PCIeServer server = new PCIeServer(1, -1, 64, 1);
        Segment here = Segment.init(0, Segment.ANY_ID, 64);
        Interrupt full = Interrupt.createWithData(0, Interrupt.ANY_NUMBER);
        RemoteInterrupt raw =
            RemoteInterrupt.connectWithData(0, node, server.port(), Checks.LIMIT)) {
      for (int i = 0; i < 20; ++i) {
        raw.trigger(i % 2 == 0 ? offer(here.node(), 4242, 1, 1, 64, 1)
                               : offer(here.node(), here.id(), full.number(), 4242, 64, 1));
      }
      long begin = System.nanoTime();
      Future<PCIe> accepted = start(server::accept);
      PCIe client = PCIe.connect(0, node, server.port(), 64, 1, Checks.LIMIT);
      PCIe other = await(accepted);
      require(System.nanoTime() - begin < 2_000_000_000L, "the client has not waited for them");
      client.close();
      other.close();
    }
  }

  private static void silentOffers() throws Exception {
    PCIeServer server = new PCIeServer(1, -1, 64, 1);
    try (RemoteInterrupt raw =
             RemoteInterrupt.connectWithData(0, Connected.nodeOf(1), server.port(), Checks.LIMIT)) {
      for (int i = 0; i < 20; ++i) {
        raw.trigger(offer(7, 4242, 1, 1, 64, 1)); // there is no such node
      }
      Future<PCIe> accepted = start(server::accept);
      Checks.pause(200);
      long begin = System.nanoTime();
      server.close();
      requireThrows(ClosedChannelException.class, () -> await(accepted));
      require(System.nanoTime() - begin < 2_000_000_000L, "close() has ended accept() soon");
    }
  }

  private static void silentOffersHoldNobody() throws Exception {
    int node = Connected.nodeOf(1);
    try (PCIeServer server = new PCIeServer(1, -1, 64, 1);
        RemoteInterrupt raw =
            RemoteInterrupt.connectWithData(0, node, server.port(), Checks.LIMIT)) {
      for (int i = 0; i < 5; ++i) {
        raw.trigger(offer(7, 4242, 1, 1, 64, 1)); // there is no such node
      }
      long begin = System.nanoTime();
      Future<PCIe> accepted = start(server::accept);
      try (PCIe client = PCIe.connect(0, node, server.port(), 64, 1, Checks.LIMIT);
          PCIe other = await(accepted)) {
        require(System.nanoTime() - begin < 2_000_000_000L, "the client has not waited for them");
        client.send(1);
        requireEqual(1, other.receive(Checks.LIMIT).remaining());
      }
    }
  }

  private static void answers() throws Exception {
    try (Interrupt port = Interrupt.createWithData(1, Interrupt.ANY_NUMBER);
        Segment segment = Segment.init(1, Segment.ANY_ID, 64);
        Interrupt full = Interrupt.createWithData(1, Interrupt.ANY_NUMBER);
        Interrupt free = Interrupt.create(1, Interrupt.ANY_NUMBER)) {
      int node = segment.node();
      Future<PCIe> connected =
          start(() -> PCIe.connect(0, node, port.number(), 64, 1, Checks.LIMIT));
      ByteBuffer asked = ByteBuffer.allocate(32);
      port.await(asked, Checks.LIMIT);
      try (RemoteInterrupt client = RemoteInterrupt.connectWithData(
               1, asked.getInt(4), asked.getInt(12), Checks.LIMIT)) {
        int word = asked.getInt(28);
        client.trigger(ByteBuffer.allocate(4));
        client.trigger(offer(node, 4242, 1, 1, 64, 1, word + 1));
        client.trigger(offer(node, segment.id(), full.number(), free.number(), 64, 1, word));
        try (PCIe made = await(connected)) {
          made.sendBuffer().putInt(0, 42);
          made.send(4);
          requireEqual(42, segment.cachingBuf().getInt(0));
        }
      }
    }
  }

  private static ByteBuffer offer(
      int node, int segment, int full, int free, int bytes, int buffers) {
    return offer(node, segment, full, free, bytes, buffers, 0);
  }

  /** As Offer has it. */
  private static ByteBuffer offer(
      int node, int segment, int full, int free, int bytes, int buffers, int word) {
    ByteBuffer made = ByteBuffer.allocate(32).putInt(0x45584a31);
    for (int number : new int[] {node, segment, full, free, bytes, buffers, word}) {
      made.putInt(number);
    }
    return made.flip();
  }

  private static void liar() throws Exception {
    int node = Connected.nodeOf(1);
    try (PCIeServer server = new PCIeServer(1, -1, 64, 1);
        Segment segment = Segment.init(0, Segment.ANY_ID, 64);
        Interrupt full = Interrupt.createWithData(0, Interrupt.ANY_NUMBER);
        Interrupt free = Interrupt.create(0, Interrupt.ANY_NUMBER);
        RemoteInterrupt port =
            RemoteInterrupt.connectWithData(0, node, server.port(), Checks.LIMIT)) {
      Future<PCIe> accepted = start(server::accept);
      port.trigger(offer(segment.node(), segment.id(), full.number(), free.number(), 64, 1));
      try (PCIe honest = await(accepted)) {
        ByteBuffer answer = ByteBuffer.allocate(4096);
        full.await(answer, Checks.LIMIT);
        try (RemoteInterrupt news =
                 RemoteInterrupt.connectWithData(0, node, answer.getInt(12), Checks.LIMIT)) {
          for (int bytes : new int[] {65, Integer.MAX_VALUE, -1}) {
            news.trigger(ByteBuffer.allocate(4).putInt(0, bytes));
            requireThrows(IOException.class, () -> honest.receive(Checks.LIMIT));
          }
          news.trigger(ByteBuffer.allocate(3));
          requireThrows(IOException.class, () -> honest.receive(Checks.LIMIT));
          news.trigger(ByteBuffer.allocate(4000));
          requireThrows(IOException.class, () -> honest.receive(Checks.LIMIT));
        }
      }
    }
  }

  private static void streams() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel out = new PCIeChannel(both.client);
      PCIeChannel in = new PCIeChannel(both.server);
      Future<Void> writer = start(() -> {
        DataOutputStream data = new DataOutputStream(Channels.newOutputStream(out));
        for (int i = 0; i < 2000; ++i) {
          data.writeUTF("line " + i);
        }
        data.close();
        return null;
      });
      DataInputStream data = new DataInputStream(Channels.newInputStream(in));
      for (int i = 0; i < 2000; ++i) {
        require(data.readUTF().equals("line " + i), "line " + i);
      }
      requireEqual(-1, data.read());
      await(writer);
      require(!out.isOpen(), "it is closed");
      requireThrows(ClosedChannelException.class, () -> out.write(ByteBuffer.allocate(1)));
      requireThrows(ClosedChannelException.class, () -> out.read(ByteBuffer.allocate(1)));
    }
  }

  private static void channels() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel out = new PCIeChannel(both.client);
      PCIeChannel in = new PCIeChannel(both.server);
      int bytes = 3 * Connected.BYTES + 5;
      for (boolean direct : new boolean[] {false, true}) {
        ByteBuffer from = direct ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes);
        ByteBuffer into = direct ? ByteBuffer.allocate(bytes) : ByteBuffer.allocateDirect(bytes);
        for (int i = 0; i < bytes; ++i) {
          from.put(i, (byte) (i * 31));
        }
        Future<Integer> writer = start(() -> out.write(from.asReadOnlyBuffer()));
        while (into.hasRemaining()) {
          require(in.read(into) > 0, "some come");
        }
        requireEqual(bytes, await(writer));
        require(into.flip().equals(from), "they are the same");
      }
      requireEqual(0, in.read(ByteBuffer.allocate(0)));
      out.shutdownOutput();
      requireEqual(-1, in.read(ByteBuffer.allocate(1)));
    }
  }

  private static void channelsOutput() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel out = new PCIeChannel(both.client);
      both.client.sendBuffer().putInt(42).flip();
      requireEqual(20, out.write(ByteBuffer.allocate(20)));
      requireEqual(20, both.server.receive().remaining());
      both.server.receiveDone();
      requireEqual(4, both.client.sendBuffer().limit());
      out.shutdownOutput();
      requireThrows(ClosedChannelException.class, () -> out.write(ByteBuffer.allocate(1)));
      requireThrows(ClosedChannelException.class, () -> out.write(ByteBuffer.allocate(0)));
      both.server.send(1);
      requireEqual(1, out.read(ByteBuffer.allocate(9)));
    }
  }

  private static void channelsClose() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel one = new PCIeChannel(both.client);
      PCIeChannel other = new PCIeChannel(both.server);
      one.write(ByteBuffer.allocate(10)); // which nobody reads
      other.write(ByteBuffer.allocate(10));
      requireEqual(3, one.read(ByteBuffer.allocate(3)));
      long begin = System.nanoTime();
      Future<Void> closer = start(() -> {
        other.close();
        return null;
      });
      one.close();
      await(closer);
      require(System.nanoTime() - begin < 2_000_000_000L, "both have closed soon");
    }
  }

  private static void channelWakes() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel one = new PCIeChannel(both.client);
      PCIeChannel other = new PCIeChannel(both.server);
      Future<Integer> reader = start(() -> one.read(ByteBuffer.allocate(1)));
      one.write(ByteBuffer.wrap(new byte[] {7}));
      Checks.pause(100);
      long begin = System.nanoTime();
      Future<Void> closer = start(() -> {
        one.close();
        return null;
      });
      requireThrows(ClosedChannelException.class, () -> await(reader));
      require(System.nanoTime() - begin < 1_000_000_000L, "the reader is told soon");
      Future<Void> second = start(() -> {
        one.close();
        return null;
      });
      Checks.pause(100);
      require(!closer.isDone() && !second.isDone(), "the byte is still to be taken");
      requireEqual(1, other.read(ByteBuffer.allocate(9)));
      requireEqual(-1, other.read(ByteBuffer.allocate(9)));
      await(closer);
      await(second);
    }
  }
}
