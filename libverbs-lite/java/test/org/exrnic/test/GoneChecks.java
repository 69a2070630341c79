// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

import static org.exrnic.test.Checks.LIMIT;
import static org.exrnic.test.Checks.require;
import static org.exrnic.test.Checks.requireEqual;
import static org.exrnic.test.Checks.requireThrows;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.exrnic.PCIe;
import org.exrnic.PCIeChannel;
import org.exrnic.PCIeServer;
import org.exrnic.Segment;
import org.exrnic.SisciException;

/**
 * What the VM of node 1 has written, which then halts, is read at node 0. Arguments: the own node;
 * "end" if the output is ended before. The other end is started with the same.
 */
public final class GoneChecks {
  private static final int PORT = 7;
  private static final int BYTES = 8;
  private static final int BUFFERS = 4;
  private static final String TEXT = "all of it, and more";

  private GoneChecks() {}

  /** Ends with an exception, or says what holds. */
  public static void main(String[] words) throws Exception {
    boolean ends = words.length > 1;
    if (words[0].equals("1")) {
      writes(ends);
    }
    reads(ends);
    System.out.println("ok: what has come is read although the writer has gone");
    System.exit(0);
  }

  private static void writes(boolean ends) throws Exception {
    try (Segment here = Segment.init(0, PORT, 1);
        PCIeChannel out = new PCIeChannel(PCIe.connect(0, 0, PORT, BYTES, BUFFERS, LIMIT))) {
      here.waitClient(LIMIT);
      out.write(ByteBuffer.wrap(TEXT.getBytes(StandardCharsets.UTF_8)));
      if (ends) {
        out.shutdownOutput();
      }
      Runtime.getRuntime().halt(0);
    }
  }

  private static void reads(boolean ends) throws Exception {
    try (PCIeServer server = new PCIeServer(0, PORT, BYTES, BUFFERS);
        PCIeChannel in = new PCIeChannel(server.accept(LIMIT));
        Segment mirror = Segment.initPrivate(0, 1)) {
      mirror.connect(1, PORT, LIMIT);
      while (!mirror.isLost()) {
        Checks.pause(10);
      }
      ByteBuffer got = ByteBuffer.allocate(TEXT.length() + 1);
      while (got.position() < TEXT.length()) {
        require(in.read(got) > 0, "some come");
      }
      require(StandardCharsets.UTF_8.decode(got.flip()).toString().equals(TEXT), "it is the text");
      expectTheEnd(in, ends);
      expectTheEnd(in, ends);
    }
  }

  private static void expectTheEnd(PCIeChannel in, boolean ends) throws Exception {
    ByteBuffer more = ByteBuffer.allocate(1);
    if (ends) {
      requireEqual(-1, in.read(more));
      return;
    }
    SisciException told = requireThrows(SisciException.class, () -> in.read(more));
    requireEqual(SisciException.NOT_CONNECTED, told.code());
  }
}
