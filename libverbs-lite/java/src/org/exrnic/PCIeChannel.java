// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.ClosedChannelException;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A connection as a stream of bytes, like a SocketChannel that blocks, for buffers of any kind;
 * with java.nio.channels.Channels it is an InputStream and an OutputStream.
 *
 * <p>Bytes are copied into the send buffer and out of the receive buffers: who wants to avoid that
 * uses
 * {@link PCIe} itself. Threads take turns; one may read while another one writes.
 */
public final class PCIeChannel implements ByteChannel {
  /** Milliseconds that close() waits for the other end to take what was written. */
  public static final int LINGER = 5_000;

  private final PCIe connection;
  private final ReentrantLock reading = new ReentrantLock();
  private final ReentrantLock writing = new ReentrantLock();
  private final ReentrantLock closing = new ReentrantLock();
  private ByteBuffer received;
  private boolean ended;
  private volatile boolean closed;

  /** Of a connection, which it closes. */
  public PCIeChannel(PCIe connection) {
    this.connection = Objects.requireNonNull(connection, "the connection is null");
  }

  /** Connects to the server at that port of a node. */
  public static PCIeChannel open(int node, int port) throws IOException {
    return new PCIeChannel(PCIe.connect(node, port));
  }

  /**
   * Waits for bytes, and takes what has come and there is room for.
   *
   * @return how many; -1: the other end has ended its output
   */
  @Override
  public int read(ByteBuffer into) throws IOException {
    Objects.requireNonNull(into, "the buffer is null");
    if (into.isReadOnly()) {
      throw new IllegalArgumentException("the buffer is for reading alone");
    }
    lock(reading, "nothing was read");
    try {
      checkOpen();
      if (!into.hasRemaining()) {
        return 0;
      }
      giveBack(); // if a call before has failed to
      if (received == null) {
        received = connection.receive(this::checkOpen);
        if (received == null) {
          return -1;
        }
      }
      int bytes = take(into);
      try {
        giveBack();
      } catch (IOException problem) {
        // The bytes are there. The next call tries again.
      }
      return bytes;
    } finally {
      reading.unlock();
    }
  }

  private int take(ByteBuffer into) {
    int bytes = Math.min(into.remaining(), received.remaining());
    into.put(into.position(), received, received.position(), bytes);
    into.position(into.position() + bytes);
    received.position(received.position() + bytes);
    return bytes;
  }

  /** If all of it was taken. */
  private void giveBack() throws IOException {
    if (received != null && !received.hasRemaining()) {
      connection.receiveDone();
      received = null;
    }
  }

  /** Writes all that remains in the buffer; returns when the other node has it. */
  @Override
  public int write(ByteBuffer from) throws IOException {
    Objects.requireNonNull(from, "the buffer is null");
    lock(writing, "nothing was written");
    try {
      checkOpen();
      if (ended) {
        throw new Closed("the output was shut down");
      }
      int whole = from.remaining();
      while (from.hasRemaining()) {
        ByteBuffer buffer = connection.sendBuffer().duplicate().clear();
        int bytes = Math.min(buffer.capacity(), from.remaining());
        buffer.put(0, from, from.position(), bytes);
        connection.send(bytes);
        from.position(from.position() + bytes);
      }
      return whole;
    } finally {
      writing.unlock();
    }
  }

  /** Tells the other end that nothing more comes: after all bytes it reads -1. */
  public void shutdownOutput() throws IOException {
    lock(writing, "the output was not shut down");
    try {
      checkOpen();
      connection.terminate();
      ended = true;
    } finally {
      writing.unlock();
    }
  }

  private static void lock(ReentrantLock lock, String what) throws InterruptedIOException {
    try {
      if (!lock.tryLock()) {
        lock.lockInterruptibly();
      }
    } catch (InterruptedException interrupted) {
      throw interrupted(what);
    }
  }

  private static InterruptedIOException interrupted(String what) {
    Thread.currentThread().interrupt();
    return new InterruptedIOException(what + " until the thread was interrupted");
  }

  private void checkOpen() throws ClosedChannelException {
    if (!isOpen()) {
      throw new Closed("the connection is closed");
    }
  }

  @Override
  public boolean isOpen() {
    return !closed && connection.isOpen();
  }

  /**
   * Ends the output, waits for {@link #LINGER} at most until the other end has taken all of it, and
   * closes the connection. What comes meanwhile is discarded. Who reads is told at once that it is
   * closed; where another thread writes, nothing is waited for. A second thread that closes it
   * waits for the first one.
   */
  @Override
  public void close() throws IOException {
    closed = true;
    closing.lock();
    try {
      if (connection.isOpen() && writing.tryLock()) {
        try {
          Waiting waiting = new Waiting("the other end has not taken all", LINGER);
          connection.terminate(waiting);
          linger(waiting);
        } finally {
          writing.unlock();
        }
      }
    } catch (SisciException | ClosedChannelException gone) {
      // Who has gone, or takes nothing, does not want it; or somebody has closed the connection.
    } finally {
      connection.close();
      closing.unlock();
    }
  }

  private void linger(Waiting waiting) throws IOException {
    try {
      // Who has it is told that all is closed, and goes.
      if (!reading.tryLock(LINGER, TimeUnit.MILLISECONDS)) {
        return;
      }
    } catch (InterruptedException interrupted) {
      throw interrupted("the other end has not taken all");
    }
    try {
      received = null;
      connection.sendDoneDiscarding(waiting);
    } finally {
      reading.unlock();
    }
  }
}
