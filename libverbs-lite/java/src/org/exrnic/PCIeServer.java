// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Waits for connections, like a ServerSocket. Its port is the number of an interrupt with data: no
 * other process of the node has it.
 *
 * <p>Any number of threads may accept() at once. Who has offered a connection is answered by a
 * thread of the server, so that one that is silent then keeps nobody else waiting.
 */
public final class PCIeServer implements Closeable {
  /** Offers that are answered at a time; others wait. */
  private static final int MEETINGS = 16;

  /** Milliseconds between two looks for others while some are answered. */
  private static final int LOOK = 10;

  private final int adapter;
  private final int bufferBytes;
  private final int buffers;
  private final Interrupt offers;
  private final ExecutorService threads = Executors.newCachedThreadPool(PCIeServer::threadOf);
  private final CompletionService<PCIe> meetings = new ExecutorCompletionService<>(threads);
  private final AtomicInteger begun = new AtomicInteger();

  /** By the first RNIC, with the usual buffers. */
  public PCIeServer(int port) throws IOException {
    this(0, port, PCIe.DEFAULT_BUFFER_BYTES, PCIe.DEFAULT_BUFFERS);
  }

  /**
   * Makes a server.
   *
   * @param adapter which RNIC: 0 is what VL_DEVICE names, else exrnic0
   * @param port by which others find it, or -1: any that is free
   * @param bufferBytes of each connection, as for PCIe.connect()
   * @param buffers likewise
   */
  public PCIeServer(int adapter, int port, int bufferBytes, int buffers) throws IOException {
    Ends.checkBuffers(bufferBytes, buffers);
    this.adapter = adapter;
    this.bufferBytes = bufferBytes;
    this.buffers = buffers;
    offers = Interrupt.createWithData(adapter, port);
  }

  /** By which others find it. */
  public int port() {
    return offers.number();
  }

  /** Waits until somebody connects, however long that takes. */
  public PCIe accept() throws IOException {
    return accept(Interrupt.FOREVER);
  }

  /**
   * Waits until somebody connects. Who says something else, or is gone before the connection is
   * there, is passed over.
   *
   * @param timeout milliseconds, or -1. A connection that is being made then is the next call's
   */
  public PCIe accept(int timeout) throws IOException {
    Waiting waiting = new Waiting("nobody has connected to port " + port(), timeout);
    ByteBuffer came = ByteBuffer.allocateDirect(Interrupt.MAX_DATA);
    PCIe[] made = new PCIe[1];
    waiting.until(slice -> {
      boolean idle = begun.get() == 0;
      made[0] = idle ? null : ended(Math.min(slice, LOOK));
      if (made[0] == null && begun.get() < MEETINGS) {
        int bytes = offers.dataComes(came.clear(), idle ? slice : 0);
        if (bytes >= 0) {
          begin(came.limit(bytes));
        }
      } else {
        offers.checkOpen();
      }
      return made[0] != null;
    });
    return made[0];
  }

  private void begin(ByteBuffer came) throws IOException {
    Offer offer;
    try {
      offer = Offer.of(came);
    } catch (IOException problem) {
      return; // it is none
    }
    begun.incrementAndGet();
    try {
      meetings.submit(() -> connected(offer));
    } catch (RejectedExecutionException closed) {
      begun.decrementAndGet();
      offers.checkOpen();
    }
  }

  /**
   * A connection that was made. Null: none within so many milliseconds, or its other end is none.
   */
  private PCIe ended(int milliseconds) throws IOException {
    try {
      Future<PCIe> meeting = meetings.poll(milliseconds, TimeUnit.MILLISECONDS);
      if (meeting == null) {
        return null;
      }
      begun.decrementAndGet();
      return meeting.get();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt(); // who waits looks for that
      return null;
    } catch (ExecutionException problem) {
      if (problem.getCause() instanceof IOException ofThisNode) {
        throw ofThisNode;
      }
      throw new IllegalStateException("a connection was not made", problem.getCause());
    }
  }

  /** Null: the other end is none. */
  private PCIe connected(Offer offer) throws IOException {
    Waiting waiting = new Waiting(
        "who has offered a connection has not answered", Ends.MEETING, offers::checkOpen);
    try {
      return PCIe.accept(adapter, offer, bufferBytes, buffers, waiting);
    } catch (SisciException problem) {
      if (problem.isOfThisNode()) {
        throw problem;
      }
      return null;
    } catch (IOException problem) {
      return null;
    }
  }

  private static Thread threadOf(Runnable work) {
    Thread thread = new Thread(work, "exrnic-accept");
    thread.setDaemon(true);
    return thread;
  }

  /** Ends it; connections that were accepted stay. */
  @Override
  public void close() throws IOException {
    offers.close();
    threads.shutdownNow();
    for (Future<PCIe> meeting = meetings.poll(); meeting != null; meeting = meetings.poll()) {
      closeUnseen(meeting);
    }
  }

  private static void closeUnseen(Future<PCIe> meeting) throws IOException {
    try {
      PCIe made = meeting.get();
      if (made != null) {
        made.close();
      }
    } catch (InterruptedException | ExecutionException problem) {
      // It was not made; a future that has ended is not waited for.
    }
  }
}
