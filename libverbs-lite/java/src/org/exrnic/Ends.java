// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * What a connection is made of, and how two ends meet. Who connects offers its end, the server
 * answers with its own, and the first one repeats its offer: so a server has no connection to an
 * end that has given up.
 */
final class Ends implements Closeable {
  private static final SecureRandom WORDS = new SecureRandom();

  /** Milliseconds that an end has to connect to another one that it knows. */
  static final int MEETING = 5_000;

  /**
   * Who has offered a connection offers it anew behind so many milliseconds, then twice as many.
   */
  private static final int FIRST_ATTEMPT = MEETING + 1_000;

  private static final int LONGEST_ATTEMPT = 60_000;

  final int bufferBytes;
  final int buffers;
  final Segment received;

  /** That come here: with data, each time that one of ours is full; each time that one is free. */
  final Interrupt full;

  final Interrupt free;
  private final Deque<Closeable> parts = new ArrayDeque<>();

  // After the two have met.
  private Segment sent;
  private RemoteInterrupt peerFull;
  private RemoteInterrupt peerFree;
  private Offer peer;

  static void checkBuffers(int bufferBytes, int buffers) {
    if (buffers < 1 || buffers > Offer.MAX_BUFFERS) {
      throw new IllegalArgumentException(
          buffers + " receive buffers; a connection has 1 to " + Offer.MAX_BUFFERS);
    }
    if (bufferBytes < 1 || bufferBytes > Integer.MAX_VALUE / buffers) {
      throw new IllegalArgumentException("buffers of " + bufferBytes + " bytes; with " + buffers
          + " of them, each has 1 to " + Integer.MAX_VALUE / buffers);
    }
  }

  private Ends(int adapter, int bufferBytes, int buffers) throws IOException {
    checkBuffers(bufferBytes, buffers);
    this.bufferBytes = bufferBytes;
    this.buffers = buffers;
    try {
      received = keep(Segment.init(adapter, Segment.ANY_ID, bufferBytes * buffers));
      full = keep(Interrupt.createWithData(adapter, Interrupt.ANY_NUMBER));
      free = keep(Interrupt.create(adapter, Interrupt.ANY_NUMBER));
    } catch (IOException | RuntimeException | Error problem) {
      close();
      throw problem;
    }
  }

  /**
   * Meets a server, which may be made later. A server that is too slow gives an offer up and cannot
   * say so: it gets another one, of other ends.
   */
  static Ends connect(int adapter, int node, int port, int bufferBytes, int buffers,
      Waiting waiting) throws IOException {
    for (int limit = FIRST_ATTEMPT;; limit = Math.min(2 * limit, LONGEST_ATTEMPT)) {
      Ends made = new Ends(adapter, bufferBytes, buffers);
      try {
        made.offerTo(adapter, node, port, waiting, limit);
        return made;
      } catch (SisciException problem) {
        made.close();
        if (problem.code() != SisciException.TIMEOUT) {
          throw problem;
        }
        if (waiting.isOver()) {
          throw waiting.over();
        }
      } catch (IOException | RuntimeException | Error problem) {
        made.close();
        throw problem;
      }
    }
  }

  private void offerTo(int adapter, int node, int port, Waiting waiting, int limit)
      throws IOException {
    Waiting answered = waiting.attempt(limit);
    try (RemoteInterrupt server = RemoteInterrupt.connectWithData(adapter, node, port, answered)) {
      int word = WORDS.nextInt();
      server.triggerOwn(offer(word).bytes(), answered);
      ByteBuffer news = ByteBuffer.allocateDirect(Offer.BYTES);
      answered.until(slice -> answerComes(news, word, slice));
      Waiting met = waiting.attempt(MEETING);
      meet(adapter, Offer.of(news), met);
      peerFull.triggerOwn(offer(word).bytes(), met);
    }
  }

  /** Meets who has made an offer, answers, and waits until that one has met this end, too. */
  static Ends accept(int adapter, Offer offer, int bufferBytes, int buffers, Waiting waiting)
      throws IOException {
    Ends made = new Ends(adapter, bufferBytes, buffers);
    try {
      made.meet(adapter, offer, waiting);
      made.peerFull.triggerOwn(made.offer(offer.word).bytes(), waiting);
      ByteBuffer news = ByteBuffer.allocateDirect(Offer.BYTES);
      waiting.again().until(slice -> made.answerComes(news, offer.word, slice) || made.hasLost());
      return made;
    } catch (IOException | RuntimeException | Error problem) {
      made.close();
      throw problem;
    }
  }

  private boolean hasLost() throws IOException {
    if (sent.isLost()) {
      throw new SisciException(
          SisciException.NOT_CONNECTED, "who has offered a connection has gone");
    }
    return false;
  }

  private Offer offer(int word) throws IOException {
    return new Offer(
        received.node(), received.id(), full.number(), free.number(), bufferBytes, buffers, word);
  }

  /** Whatever else comes is passed over. */
  private boolean answerComes(ByteBuffer news, int word, int slice) throws IOException {
    int bytes = full.dataComes(news.clear(), slice);
    return bytes >= 0 && Offer.isAnswer(news.limit(bytes), word);
  }

  /** The other end has made all that it offers: what is not there has gone. */
  private void meet(int adapter, Offer offer, Waiting waiting) throws IOException {
    peer = offer;
    sent = keep(Segment.initPrivate(adapter, Math.min(bufferBytes, offer.bufferBytes)));
    sent.meet(offer.node, offer.segment, waiting);
    if (sent.remoteSize() < (long) offer.bufferBytes * offer.buffers) {
      throw new IOException("the other end has offered more buffers than its segment has");
    }
    peerFull = keep(RemoteInterrupt.meet(adapter, offer.node, offer.full, true, waiting));
    peerFree = keep(RemoteInterrupt.meet(adapter, offer.node, offer.free, false, waiting));
  }

  /** What is sent from. */
  Segment sent() {
    return sent;
  }

  /** Tells the other end that one of its buffers is full. */
  RemoteInterrupt peerFull() {
    return peerFull;
  }

  /** Tells the other end that one of ours is free. */
  RemoteInterrupt peerFree() {
    return peerFree;
  }

  /** Where the other end is. */
  Offer peer() {
    return peer;
  }

  private <T extends Closeable> T keep(T part) {
    synchronized (parts) {
      parts.push(part);
    }
    return part;
  }

  private Closeable last() {
    synchronized (parts) {
      return parts.poll();
    }
  }

  /** The last first; all of them, whatever one says. */
  @Override
  public void close() throws IOException {
    IOException first = null;
    for (Closeable part = last(); part != null; part = last()) {
      try {
        part.close();
      } catch (IOException problem) {
        first = first == null ? problem : first;
      }
    }
    if (first != null) {
      throw first;
    }
  }
}
