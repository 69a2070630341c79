// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.Future;
import org.exrnic.PCIe;
import org.exrnic.PCIeServer;
import org.exrnic.Segment;

/** Two ends of a connection: adapter 0 has connected, adapter 1 has accepted. */
final class Connected implements Closeable {
  static final int BYTES = 4096;
  final PCIe client;
  final PCIe server;

  Connected() throws Exception {
    this(BYTES, 2);
  }

  Connected(int bufferBytes, int buffers) throws Exception {
    try (PCIeServer listener = new PCIeServer(1, -1, bufferBytes, buffers)) {
      Future<PCIe> accepted = Checks.start(listener::accept);
      client = PCIe.connect(0, nodeOf(1), listener.port(), bufferBytes, buffers, Checks.LIMIT);
      server = Checks.await(accepted);
    }
  }

  static int nodeOf(int adapter) throws IOException {
    try (Segment segment = Segment.initPrivate(adapter, 1)) {
      return segment.node();
    }
  }

  @Override
  public void close() throws IOException {
    client.close();
    server.close();
  }
}
