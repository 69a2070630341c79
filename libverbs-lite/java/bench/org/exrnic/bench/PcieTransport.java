// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.exrnic.PCIe;
import org.exrnic.PCIeServer;

/** By connections of this library. */
final class PcieTransport implements Transport {
  private static final int TIMEOUT = 60_000;
  private final int adapter;
  private final int node;

  /** The node: of the end that listens. */
  PcieTransport(int adapter, int node) {
    this.adapter = adapter;
    this.node = node;
  }

  @Override
  public Sender connect(int port, int bufferBytes) throws IOException {
    PCIe connection = PCIe.connect(adapter, node, port, bufferBytes, PCIe.DEFAULT_BUFFERS, TIMEOUT);
    return new Sender() {
      @Override
      public ByteBuffer buffer() {
        return connection.sendBuffer();
      }

      @Override
      public void send(int bytes) throws IOException {
        connection.send(bytes);
      }

      @Override
      public void finish() throws IOException {
        connection.terminate();
        connection.sendDone();
      }

      @Override
      public void close() throws IOException {
        connection.close();
      }
    };
  }

  @Override
  public Listener listen(int port, int bufferBytes) throws IOException {
    PCIeServer server = new PCIeServer(adapter, port, bufferBytes, PCIe.DEFAULT_BUFFERS);
    return new Listener() {
      @Override
      public Receiver accept() throws IOException {
        return receiver(server.accept());
      }

      @Override
      public void close() throws IOException {
        server.close();
      }
    };
  }

  private static Receiver receiver(PCIe connection) {
    return new Receiver() {
      @Override
      public ByteBuffer next(int bytes) throws IOException {
        return connection.receive();
      }

      @Override
      public void done() throws IOException {
        connection.receiveDone();
      }

      @Override
      public void close() throws IOException {
        connection.close();
      }
    };
  }
}
