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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import org.exrnic.Interrupt;
import org.exrnic.PCIe;
import org.exrnic.PCIeChannel;
import org.exrnic.PCIeServer;
import org.exrnic.RemoteInterrupt;
import org.exrnic.Segment;
import org.exrnic.SisciException;

/** Sentences that hold between two nodes, 0 and 1, each with a VM. Argument: the own one. */
public final class GuestChecks {
  private static final int PORT = 7;
  private static final int BYTES = 1 << 18;
  private static final int THREADS = 8;
  private static final int ROUNDS = 10;

  private final int node;

  private GuestChecks(int node) {
    this.node = node;
  }

  /** Ends with an exception, or says what holds. */
  public static void main(String[] words) throws Exception {
    new GuestChecks(Integer.parseInt(words[0])).run();
    System.exit(0);
  }

  private void run() throws Exception {
    buffers();
    System.out.println("ok: buffers come whole and in order, both ways at once");
    stream();
    System.out.println("ok: a stream comes whole, and ends");
    interrupts();
    System.out.println("ok: each of " + THREADS + " threads waits for its own interrupt");
    theEnd();
    System.out.println("ok: an end is told that the other one has gone, and its buffers stay");
  }

  private PCIe connection(int port) throws IOException {
    if (node == 1) {
      return PCIe.connect(0, 0, PORT + port, BYTES, 2, LIMIT);
    }
    try (PCIeServer server = new PCIeServer(0, PORT + port, BYTES, 2)) {
      return server.accept(LIMIT);
    }
  }

  private static byte at(int seed, int i) {
    return (byte) (i * 7 + i / 256 + seed);
  }

  private void buffers() throws Exception {
    try (PCIe peer = connection(0)) {
      requireEqual(1 - node, peer.peer());
      Future<Void> sender = start(() -> {
        for (int round = 0; round < 3; ++round) {
          ByteBuffer buffer = peer.sendBuffer();
          for (int i = 0; i < BYTES; ++i) {
            buffer.put(i, at(round + node, i));
          }
          peer.send(BYTES);
        }
        peer.terminate();
        peer.sendDone(LIMIT);
        return null;
      });
      for (int round = 0; round < 3; ++round) {
        ByteBuffer got = peer.receive(LIMIT);
        requireEqual(BYTES, got.remaining());
        for (int i = 0; i < BYTES; ++i) {
          require(got.get(i) == at(round + 1 - node, i), "byte " + i + " of buffer " + round);
        }
        peer.receiveDone();
      }
      require(peer.receive(LIMIT) == null, "the end");
      await(sender);
    }
  }

  private void stream() throws Exception {
    byte[] all = new byte[BYTES * 2 + 12345];
    for (int i = 0; i < all.length; ++i) {
      all[i] = at(3, i);
    }
    CRC32 expected = new CRC32();
    expected.update(all);
    try (PCIeChannel peer = new PCIeChannel(connection(1))) {
      if (node == 1) {
        peer.write(ByteBuffer.wrap(all));
        return;
      }
      CRC32 found = new CRC32();
      ByteBuffer part = ByteBuffer.allocate(100_000);
      while (peer.read(part) >= 0) {
        found.update(part.flip());
        part.clear();
      }
      requireEqual(expected.getValue(), found.getValue());
    }
  }

  private void interrupts() throws Exception {
    List<Future<Void>> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; ++i) {
      int number = 100 + i;
      threads.add(start(() -> pingPong(number)));
    }
    for (Future<Void> thread : threads) {
      await(thread);
    }
  }

  private Void pingPong(int number) throws IOException {
    try (Interrupt own = Interrupt.create(0, number);
        RemoteInterrupt other = RemoteInterrupt.connect(0, 1 - node, number, LIMIT)) {
      for (int round = 0; round < ROUNDS; ++round) {
        if (node == 0) {
          other.trigger();
        }
        own.await(LIMIT);
        if (node == 1) {
          other.trigger();
        }
      }
      if (node == 1) {
        own.await(LIMIT); // the other end has had the last one
      } else {
        other.trigger();
      }
    }
    return null;
  }

  private void theEnd() throws Exception {
    PCIe peer = connection(2);
    peer.sendBuffer().putLong(0, 4711);
    peer.send(8);
    ByteBuffer got = peer.receive(LIMIT);
    if (node == 1) {
      peer.receiveDone();
      peer.sendDone(LIMIT);
      peer.close();
    } else {
      peer.receiveDone();
      SisciException gone = requireThrows(SisciException.class, peer::receive);
      requireEqual(SisciException.NOT_CONNECTED, gone.code());
      peer.close();
      requireThrows(ClosedChannelException.class, peer::receive);
    }
    System.gc();
    requireEqual(4711, got.getLong(0));
    requireThrows(IllegalArgumentException.class, () -> peer.send(ByteBuffer.allocate(8)));
    requireThrows(SisciException.class, () -> Segment.init(1, 5, 64));
  }
}
