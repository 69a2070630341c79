// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.Closeable;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;

/**
 * Waits for connections, like a ServerSocket. Its port is the number of an interrupt with data: no
 * other process of the node has it.
 *
 * <p>Any number of threads may accept() at once.
 */
public final class PCIeServer implements Closeable {
  /** Milliseconds that an end that has offered a connection has to answer, all in all. */
  private static final int MEETING = 3_000;

  private final int adapter;
  private final int bufferBytes;
  private final int buffers;
  private final Interrupt offers;

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
    PCIe.checkBuffers(bufferBytes, buffers);
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
   * @param timeout milliseconds, or -1. Who has offered a connection before is still answered
   */
  public PCIe accept(int timeout) throws IOException {
    Waiting waiting = new Waiting("nobody has connected to port " + port(), timeout);
    ByteBuffer came = ByteBuffer.allocateDirect(Interrupt.MAX_DATA);
    PCIe[] made = new PCIe[1];
    waiting.until(slice -> {
      int bytes = offers.dataComes(came.clear(), slice);
      made[0] = bytes < 0 ? null : connected(came.limit(bytes));
      return made[0] != null;
    });
    return made[0];
  }

  /** Null: the other end is none. */
  private PCIe connected(ByteBuffer came) throws IOException {
    try {
      Waiting waiting =
          new Waiting("who has offered a connection has not answered", MEETING, offers::checkOpen);
      return PCIe.accept(adapter, Offer.of(came), bufferBytes, buffers, waiting);
    } catch (InterruptedIOException interrupted) {
      throw interrupted;
    } catch (SisciException problem) {
      if (problem.isOfThisNode()) {
        throw problem;
      }
      return null;
    } catch (IOException problem) {
      return null;
    }
  }

  /** Ends it; connections stay. */
  @Override
  public void close() throws IOException {
    offers.close();
  }
}
