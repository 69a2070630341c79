// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.Objects;

/**
 * A connection to another node, like a Socket. In place of streams it has a send buffer and receive
 * buffers: what is sent goes by one DMA from the one into the next of the others, in order, and is
 * copied nowhere else.
 *
 * <pre>{@code
 * try (PCIe peer = PCIe.connect(1, 7)) {
 *   peer.sendBuffer().putInt(42);
 *   peer.send(4);
 *   ByteBuffer answer = peer.receive();
 *   ...
 *   peer.receiveDone();
 * }
 * }</pre>
 *
 * <p>One thread sends while another one receives. Two that send, or two that receive, have to take
 * turns: the second one gets an IllegalStateException.
 */
public final class PCIe implements Closeable {
  /** As a buffer's size: 1 MiB. */
  public static final int DEFAULT_BUFFER_BYTES = 1 << 20;

  /** Receive buffers of a connection. */
  public static final int DEFAULT_BUFFERS = 4;

  /** More than these it cannot have. */
  public static final int MAX_BUFFERS = Offer.MAX_BUFFERS;

  /** Milliseconds that connecting takes at most, where nothing else is said. */
  public static final int DEFAULT_TIMEOUT = 10_000;

  private static final String NOTHING = "nothing was sent";
  private static final int LENGTH_BYTES = 4;

  /** Milliseconds between two looks at what is to be discarded. */
  private static final int DISCARD_SLICE = 10;

  private final Ends ends;
  private final int bufferBytes;
  private final int buffers;
  private final Segment received;
  private final Interrupt full;
  private final Interrupt free;
  private final Segment sent;
  private final ByteBuffer sendBuffer;
  private final RemoteInterrupt peerFull;
  private final RemoteInterrupt peerFree;
  private final Offer peer;
  private final ByteBuffer news = ByteBuffer.allocateDirect(Offer.BYTES);
  private final ByteBuffer length = ByteBuffer.allocateDirect(LENGTH_BYTES);
  private final Turn sending = new Turn("sends on");
  private final Turn receiving = new Turn("receives from");
  private int nextSent;
  private int underWay;
  private boolean ended;
  private int nextReceived;
  private boolean held;
  private boolean peerEnded;
  private boolean endSeen;
  private volatile boolean closed;

  /** The two have met. */
  private PCIe(Ends ends) {
    this.ends = ends;
    bufferBytes = ends.bufferBytes;
    buffers = ends.buffers;
    received = ends.received;
    full = ends.full;
    free = ends.free;
    sent = ends.sent();
    sendBuffer = sent.cachingBuf();
    peerFull = ends.peerFull();
    peerFree = ends.peerFree();
    peer = ends.peer();
  }

  /** Connects to the server at that port of a node, by the first RNIC, with the usual buffers. */
  public static PCIe connect(int node, int port) throws IOException {
    return connect(0, node, port, DEFAULT_BUFFER_BYTES, DEFAULT_BUFFERS, DEFAULT_TIMEOUT);
  }

  /**
   * Connects to a server, which may be made later.
   *
   * @param adapter which RNIC: 0 is what VL_DEVICE names, else exrnic0
   * @param bufferBytes size of each receive buffer, and of the send buffer unless those of the
   *     other end are smaller
   * @param buffers how many receive buffers: so many are sent without being taken
   * @param timeout milliseconds, or -1
   */
  public static PCIe connect(int adapter, int node, int port, int bufferBytes, int buffers,
      int timeout) throws IOException {
    Waiting waiting =
        new Waiting("port " + port + " of node " + node + " has not answered", timeout);
    return new PCIe(Ends.connect(adapter, node, port, bufferBytes, buffers, waiting));
  }

  /** The server's end: the other one has made an offer, and waits for the answer. */
  static PCIe accept(int adapter, Offer offer, int bufferBytes, int buffers, Waiting waiting)
      throws IOException {
    return new PCIe(Ends.accept(adapter, offer, bufferBytes, buffers, waiting));
  }

  /** The other node. */
  public int peer() {
    return peer.node;
  }

  /**
   * The memory that is sent from; it is always the same buffer, which no call waits for. Its
   * capacity is what one send() takes at most.
   */
  public ByteBuffer sendBuffer() {
    return sendBuffer;
  }

  /**
   * Sends that many bytes from the begin of the send buffer. When it returns they are in a receive
   * buffer of the other end, which is told, and the send buffer may be filled again. Waits while
   * all receive buffers of the other end are full.
   */
  public void send(int bytes) throws IOException {
    send(0, bytes);
  }

  /** Sends what is between position and limit of the send buffer, or of a buffer made of it. */
  public void send(ByteBuffer part) throws IOException {
    Objects.requireNonNull(part, "the buffer is null");
    send(sent.offsetOf(part), part.remaining());
  }

  private void send(int offset, int bytes) throws IOException {
    sending.take();
    try {
      checkOpen();
      if (ended) {
        throw new IllegalStateException("the connection was terminated: nothing more can be sent");
      }
      int room = sendBuffer.capacity() - offset;
      if (bytes < 1 || bytes > room) {
        throw new IllegalArgumentException(
            bytes + " bytes to send; there are 1 to " + room + " from there on");
      }
      awaitTaken(peer.buffers - 1, Interrupt.FOREVER);
      sent.sendNow(offset, bytes, (long) nextSent * peer.bufferBytes);
      tell(bytes, new Waiting("the other end takes nothing", Interrupt.FOREVER));
      nextSent = (nextSent + 1) % peer.buffers;
    } catch (ClosedChannelException problem) {
      throw explained(problem);
    } finally {
      sending.give();
    }
  }

  private void tell(int bytes, Waiting waiting) throws IOException {
    peerFull.triggerOwn(length.clear().putInt(bytes).flip(), waiting);
    ++underWay;
  }

  /** Until no more than so many have been sent and not taken. */
  private void awaitTaken(int most, int timeout) throws IOException {
    Waiting waiting = new Waiting("the other end has taken nothing", timeout);
    while (underWay > most) {
      waiting.until(slice -> free.comes(slice) || (isLost() && lastOf(free.comes(0))));
      --underWay;
    }
  }

  private boolean isLost() throws IOException {
    return sent.isLost();
  }

  /** What had come before the other end was lost counts. */
  private static boolean lastOf(boolean has) throws IOException {
    if (!has) {
      throw new SisciException(
          SisciException.NOT_CONNECTED, "the other end of the connection has gone");
    }
    return true;
  }

  /**
   * Waits until the other end has taken all that was sent: given back its receive buffers, and seen
   * the end if there was {@link #terminate()}.
   *
   * @param timeout milliseconds for all together, or -1
   */
  public void sendDone(int timeout) throws IOException {
    sending.take();
    try {
      checkOpen();
      awaitTaken(0, timeout);
    } catch (ClosedChannelException problem) {
      throw explained(problem);
    } finally {
      sending.give();
    }
  }

  /** Likewise, however long it takes. */
  public void sendDone() throws IOException {
    sendDone(Interrupt.FOREVER);
  }

  /**
   * Likewise in the time that somebody has for all he does, and gives back unseen what comes
   * meanwhile: so two ends that do this at once both see the end of the other one.
   */
  void sendDoneDiscarding(Waiting waiting) throws IOException {
    sending.take();
    try {
      while (underWay > 0) {
        waiting.until(slice -> {
          checkOpen();
          int pause = discards() ? 0 : Math.min(slice, DISCARD_SLICE);
          return free.comes(pause) || (isLost() && lastOf(free.comes(0)));
        });
        --underWay;
      }
      for (int i = 0; i < buffers && discards(); ++i) {
        // The end of the other one is behind as many at most.
      }
    } catch (ClosedChannelException problem) {
      throw explained(problem);
    } finally {
      sending.give();
    }
  }

  /** True: a buffer has come, and was given back. */
  private boolean discards() throws IOException {
    if (!receiving.tryTake()) {
      return false; // another thread receives
    }
    try {
      if (held || (!peerEnded && newsCome(0) && take() != null)) {
        giveBackHeld();
        return true;
      }
      return false;
    } finally {
      receiving.give();
    }
  }

  /** Tells the other end that nothing more comes. What it sends is still received. */
  public void terminate() throws IOException {
    terminate(new Waiting("the other end takes nothing", Interrupt.FOREVER));
  }

  /** Likewise, in the time that somebody has for all he does. */
  void terminate(Waiting waiting) throws IOException {
    sending.take();
    try {
      checkOpen();
      if (!ended) {
        tell(0, waiting);
        ended = true;
      }
    } catch (ClosedChannelException problem) {
      throw explained(problem);
    } finally {
      sending.give();
    }
  }

  /**
   * Waits for the next buffer that the other end has sent, however long it takes.
   *
   * @return the receive buffer itself, from 0 to the last byte that has come, until {@link
   *     #receiveDone()}; null: the other end has terminated
   */
  public ByteBuffer receive() throws IOException {
    return receive(Interrupt.FOREVER);
  }

  /**
   * Likewise.
   *
   * @param timeout milliseconds, or -1
   */
  public ByteBuffer receive(int timeout) throws IOException {
    return receive(new Waiting(NOTHING, timeout));
  }

  /** Likewise, until the condition fails. */
  ByteBuffer receive(Waiting.Condition condition) throws IOException {
    return receive(new Waiting(NOTHING, Interrupt.FOREVER, condition));
  }

  private ByteBuffer receive(Waiting waiting) throws IOException {
    receiving.take();
    try {
      checkOpen();
      if (held) {
        throw new IllegalStateException("a buffer was received already: receiveDone() first");
      }
      if (!peerEnded) {
        waiting.until(slice -> newsCome(slice) || (isLost() && lastOf(newsCome(0))));
      }
      return peerEnded ? theEnd() : take();
    } catch (ClosedChannelException problem) {
      throw explained(problem);
    } finally {
      receiving.give();
    }
  }

  private boolean newsCome(int slice) throws IOException {
    int bytes = full.dataComes(news.clear(), slice);
    if (bytes >= 0 && bytes != LENGTH_BYTES) {
      throw new IOException("the other end has told " + bytes + " bytes, which say nothing");
    }
    return bytes >= 0;
  }

  private ByteBuffer take() throws IOException {
    int bytes = news.getInt(0);
    if (bytes == 0) {
      peerEnded = true;
      return theEnd();
    }
    if (bytes < 0 || bytes > bufferBytes) {
      throw new IOException(
          "the other end says that it has sent " + bytes + " bytes; a buffer has " + bufferBytes);
    }
    held = true;
    return received.cachingBuf().slice(nextReceived * bufferBytes, bytes);
  }

  /** The other end is told once that this one has seen it. */
  private ByteBuffer theEnd() throws IOException {
    if (!endSeen) {
      giveBack();
      endSeen = true;
    }
    return null;
  }

  private void giveBackHeld() throws IOException {
    giveBack();
    held = false;
    nextReceived = (nextReceived + 1) % buffers;
  }

  /** Who has gone needs nothing back, and what it has sent before counts. */
  private void giveBack() throws IOException {
    try {
      peerFree.trigger();
    } catch (SisciException problem) {
      if (problem.code() != SisciException.NOT_CONNECTED) {
        throw problem;
      }
    }
  }

  /** Gives the buffer that was received back to the other end, which fills it again. */
  public void receiveDone() throws IOException {
    receiving.take();
    try {
      checkOpen();
      if (!held) {
        throw new IllegalStateException("no buffer was received: receive() first");
      }
      giveBackHeld();
    } catch (ClosedChannelException problem) {
      throw explained(problem);
    } finally {
      receiving.give();
    }
  }

  private void checkOpen() throws ClosedChannelException {
    if (closed) {
      throw new Closed("the connection is closed");
    }
  }

  private ClosedChannelException explained(ClosedChannelException problem) {
    return closed ? new Closed("the connection is closed") : problem;
  }

  /** False: close() has been called. */
  public boolean isOpen() {
    return !closed;
  }

  /**
   * Ends the connection at once. Who waits in one of its calls gets a ClosedChannelException; the
   * other end, that this one has gone. What it has not taken yet it may never see: sendDone() waits
   * for that. Buffers may still be read and written, and nobody sees it.
   */
  @Override
  public void close() throws IOException {
    closed = true;
    ends.close();
  }
}
