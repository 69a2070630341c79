// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

import static org.exrnic.test.Checks.await;
import static org.exrnic.test.Checks.require;
import static org.exrnic.test.Checks.requireEqual;
import static org.exrnic.test.Checks.requireThrows;
import static org.exrnic.test.Checks.start;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.Future;
import org.exrnic.PCIeChannel;

/** PCIeChannel. */
final class ChannelChecks {
  private ChannelChecks() {}

  static void run(Checks checks) {
    checks.check(
        "streams of java.io go through a channel, objects and all", ChannelChecks::streams);
    checks.check("a channel takes buffers of any kind", ChannelChecks::channels);
    checks.check("a channel writes whatever limit the send buffer has, and nothing after its end",
        ChannelChecks::channelsOutput);
    checks.check(
        "two channels of a connection that close at once do so soon", ChannelChecks::channelsClose);
    checks.check(
        "a channel that closes wakes who reads, and closes once", ChannelChecks::channelWakes);
  }

  private static void streams() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel out = new PCIeChannel(both.client);
      PCIeChannel in = new PCIeChannel(both.server);
      Future<Void> writer = start(() -> {
        DataOutputStream data = new DataOutputStream(Channels.newOutputStream(out));
        for (int i = 0; i < 2000; ++i) {
          data.writeUTF("line " + i);
        }
        data.close();
        return null;
      });
      DataInputStream data = new DataInputStream(Channels.newInputStream(in));
      for (int i = 0; i < 2000; ++i) {
        require(data.readUTF().equals("line " + i), "line " + i);
      }
      requireEqual(-1, data.read());
      await(writer);
      require(!out.isOpen(), "it is closed");
      requireThrows(ClosedChannelException.class, () -> out.write(ByteBuffer.allocate(1)));
      requireThrows(ClosedChannelException.class, () -> out.read(ByteBuffer.allocate(1)));
    }
  }

  private static void channels() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel out = new PCIeChannel(both.client);
      PCIeChannel in = new PCIeChannel(both.server);
      int bytes = 3 * Connected.BYTES + 5;
      for (boolean direct : new boolean[] {false, true}) {
        ByteBuffer from = direct ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes);
        ByteBuffer into = direct ? ByteBuffer.allocate(bytes) : ByteBuffer.allocateDirect(bytes);
        for (int i = 0; i < bytes; ++i) {
          from.put(i, (byte) (i * 31));
        }
        Future<Integer> writer = start(() -> out.write(from.asReadOnlyBuffer()));
        while (into.hasRemaining()) {
          require(in.read(into) > 0, "some come");
        }
        requireEqual(bytes, await(writer));
        require(into.flip().equals(from), "they are the same");
      }
      requireEqual(0, in.read(ByteBuffer.allocate(0)));
      out.shutdownOutput();
      requireEqual(-1, in.read(ByteBuffer.allocate(1)));
    }
  }

  private static void channelsOutput() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel out = new PCIeChannel(both.client);
      both.client.sendBuffer().putInt(42).flip();
      requireEqual(20, out.write(ByteBuffer.allocate(20)));
      requireEqual(20, both.server.receive().remaining());
      both.server.receiveDone();
      requireEqual(4, both.client.sendBuffer().limit());
      out.shutdownOutput();
      requireThrows(ClosedChannelException.class, () -> out.write(ByteBuffer.allocate(1)));
      requireThrows(ClosedChannelException.class, () -> out.write(ByteBuffer.allocate(0)));
      both.server.send(1);
      requireEqual(1, out.read(ByteBuffer.allocate(9)));
    }
  }

  private static void channelsClose() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel one = new PCIeChannel(both.client);
      PCIeChannel other = new PCIeChannel(both.server);
      one.write(ByteBuffer.allocate(10)); // which nobody reads
      other.write(ByteBuffer.allocate(10));
      requireEqual(3, one.read(ByteBuffer.allocate(3)));
      long begin = System.nanoTime();
      Future<Void> closer = start(() -> {
        other.close();
        return null;
      });
      one.close();
      await(closer);
      require(System.nanoTime() - begin < 2_000_000_000L, "both have closed soon");
    }
  }

  private static void channelWakes() throws Exception {
    try (Connected both = new Connected()) {
      PCIeChannel one = new PCIeChannel(both.client);
      PCIeChannel other = new PCIeChannel(both.server);
      Future<Integer> reader = start(() -> one.read(ByteBuffer.allocate(1)));
      one.write(ByteBuffer.wrap(new byte[] {7}));
      Checks.pause(100);
      long begin = System.nanoTime();
      Future<Void> closer = start(() -> {
        one.close();
        return null;
      });
      requireThrows(ClosedChannelException.class, () -> await(reader));
      require(System.nanoTime() - begin < 1_000_000_000L, "the reader is told soon");
      Future<Void> second = start(() -> {
        one.close();
        return null;
      });
      Checks.pause(100);
      require(!closer.isDone() && !second.isDone(), "the byte is still to be taken");
      requireEqual(1, other.read(ByteBuffer.allocate(9)));
      requireEqual(-1, other.read(ByteBuffer.allocate(9)));
      await(closer);
      await(second);
    }
  }
}
