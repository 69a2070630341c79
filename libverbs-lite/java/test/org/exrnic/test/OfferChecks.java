// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

import static org.exrnic.test.Checks.await;
import static org.exrnic.test.Checks.require;
import static org.exrnic.test.Checks.requireEqual;
import static org.exrnic.test.Checks.requireThrows;
import static org.exrnic.test.Checks.start;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.Future;
import org.exrnic.Interrupt;
import org.exrnic.PCIe;
import org.exrnic.PCIeServer;
import org.exrnic.RemoteInterrupt;
import org.exrnic.Segment;

/** How connections begin, and who says something else meanwhile. */
final class OfferChecks {
  private OfferChecks() {}

  static void run(Checks checks) {
    checks.check("who says something else to a port is passed over", OfferChecks::strangers);
    checks.check(
        "offers of who has gone do not keep others from a server", OfferChecks::staleOffers);
    checks.check("a server closes soon, although somebody has offered a connection and is silent",
        OfferChecks::silentOffers);
    checks.check("who has offered a connection and is silent keeps nobody else from a server",
        OfferChecks::silentOffersHoldNobody);
    checks.check(
        "who connects takes the answer to its own offer, and no other", OfferChecks::answers);
    checks.check("a server accepts nobody who has given up meanwhile", OfferChecks::gaveUp);
    checks.check("who connects offers again, from other ends, when a server has given it up",
        OfferChecks::offersAgain);
    checks.check("an end that lies of what it sends is found out", OfferChecks::liar);
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
      ByteBuffer asked = offerAt(port);
      try (RemoteInterrupt client = fullOf(asked)) {
        int word = asked.getInt(28);
        client.trigger(ByteBuffer.allocate(4));
        client.trigger(offer(node, 4242, 1, 1, 64, 1, word + 1));
        client.trigger(offer(node, segment.id(), full.number(), free.number(), 64, 1, word));
        sends(await(connected), segment);
      }
    }
  }

  private static void gaveUp() throws Exception {
    int node = Connected.nodeOf(1);
    try (PCIeServer server = new PCIeServer(1, -1, 64, 1);
        RemoteInterrupt port =
            RemoteInterrupt.connectWithData(0, node, server.port(), Checks.LIMIT)) {
      Future<PCIe> accepted = start(server::accept);
      try (Segment segment = Segment.init(0, Segment.ANY_ID, 64);
          Interrupt full = Interrupt.createWithData(0, Interrupt.ANY_NUMBER);
          Interrupt free = Interrupt.create(0, Interrupt.ANY_NUMBER)) {
        port.trigger(offer(segment.node(), segment.id(), full.number(), free.number(), 64, 1));
        full.await(ByteBuffer.allocate(32), Checks.LIMIT);
      }
      try (PCIe client = PCIe.connect(0, node, server.port(), 64, 1, Checks.LIMIT);
          PCIe other = await(accepted)) {
        client.send(1);
        requireEqual(1, other.receive(Checks.LIMIT).remaining());
      }
    }
  }

  private static void offersAgain() throws Exception {
    try (Interrupt port = Interrupt.createWithData(1, Interrupt.ANY_NUMBER);
        Segment segment = Segment.init(1, Segment.ANY_ID, 64);
        Interrupt full = Interrupt.createWithData(1, Interrupt.ANY_NUMBER);
        Interrupt free = Interrupt.create(1, Interrupt.ANY_NUMBER)) {
      int node = segment.node();
      Future<PCIe> connected =
          start(() -> PCIe.connect(0, node, port.number(), 64, 1, Checks.LIMIT));
      ByteBuffer first = offerAt(port);
      ByteBuffer second = offerAt(port);
      for (int place : new int[] {8, 12, 16, 28}) { // segment, full, free, word
        require(first.getInt(place) != second.getInt(place), "the second has other ends");
      }
      requireThrows(IOException.class, () -> fullOf(first).close());
      try (RemoteInterrupt client = fullOf(second)) {
        client.trigger(
            offer(node, segment.id(), full.number(), free.number(), 64, 1, second.getInt(28)));
        sends(await(connected), segment);
      }
    }
  }

  private static void sends(PCIe made, Segment segment) throws IOException {
    try (made) {
      made.sendBuffer().putInt(0, 42);
      made.send(4);
      requireEqual(42, segment.cachingBuf().getInt(0));
    }
  }

  private static ByteBuffer offerAt(Interrupt port) throws IOException {
    ByteBuffer asked = ByteBuffer.allocate(32);
    port.await(asked, Checks.LIMIT);
    return asked;
  }

  /** By which the one that offers is told. */
  private static RemoteInterrupt fullOf(ByteBuffer asked) throws IOException {
    return RemoteInterrupt.connectWithData(1, asked.getInt(4), asked.getInt(12), 1000);
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
      ByteBuffer own = offer(segment.node(), segment.id(), full.number(), free.number(), 64, 1);
      port.trigger(own.duplicate());
      ByteBuffer answer = ByteBuffer.allocate(4096);
      full.await(answer, Checks.LIMIT);
      try (RemoteInterrupt news =
               RemoteInterrupt.connectWithData(0, node, answer.getInt(12), Checks.LIMIT)) {
        news.trigger(own);
        try (PCIe honest = await(accepted)) {
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
}
