// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.bench;

import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** By TCP, with direct buffers of the same sizes. */
final class TcpTransport implements Transport {
  private static final int TRIES = 6000;
  private final String host;

  /** The host: of the end that listens. */
  TcpTransport(String host) {
    this.host = host;
  }

  /**
   * Where nobody listens yet, a connection may meet itself: the port that it was given is the one
   * that it goes to. It is reset, so that the port is free for who is to listen there.
   */
  private static SocketChannel opened(InetSocketAddress address) throws IOException {
    SocketChannel channel = SocketChannel.open(address);
    if (!channel.getLocalAddress().equals(channel.getRemoteAddress())) {
      return channel;
    }
    channel.setOption(StandardSocketOptions.SO_LINGER, 0).close();
    throw new ConnectException("the connection has met itself");
  }

  private static SocketChannel connected(InetSocketAddress address) throws IOException {
    for (int tries = 0;; ++tries) {
      try {
        return opened(address);
      } catch (ConnectException nobody) {
        if (tries == TRIES) {
          throw nobody;
        }
        try {
          Thread.sleep(10);
        } catch (InterruptedException interrupted) {
          throw new IOException(interrupted);
        }
      }
    }
  }

  @Override
  public Sender connect(int port, int bufferBytes) throws IOException {
    SocketChannel channel = connected(new InetSocketAddress(host, port));
    ByteBuffer buffer = ByteBuffer.allocateDirect(bufferBytes);
    return new Sender() {
      @Override
      public ByteBuffer buffer() {
        return buffer;
      }

      @Override
      public void send(int bytes) throws IOException {
        buffer.position(0).limit(bytes);
        while (buffer.hasRemaining()) {
          channel.write(buffer);
        }
        buffer.clear();
      }

      @Override
      public void finish() throws IOException {
        channel.shutdownOutput();
        if (channel.read(ByteBuffer.allocate(1)) != 1) {
          throw new EOFException("the other end has not taken all");
        }
      }

      @Override
      public void close() throws IOException {
        channel.close();
      }
    };
  }

  @Override
  public Listener listen(int port, int bufferBytes) throws IOException {
    ServerSocketChannel server = ServerSocketChannel.open().bind(new InetSocketAddress(port));
    return new Listener() {
      @Override
      public Receiver accept() throws IOException {
        return receiver(server.accept(), ByteBuffer.allocateDirect(bufferBytes));
      }

      @Override
      public void close() throws IOException {
        server.close();
      }
    };
  }

  private static Receiver receiver(SocketChannel channel, ByteBuffer buffer) {
    return new Receiver() {
      @Override
      public ByteBuffer next(int bytes) throws IOException {
        buffer.clear().limit(bytes);
        int got = 0;
        while (buffer.hasRemaining() && got >= 0) {
          got = channel.read(buffer);
        }
        if (buffer.flip().hasRemaining()) {
          return buffer;
        }
        channel.write(ByteBuffer.allocate(1));
        return null;
      }

      @Override
      public void done() {}

      @Override
      public void close() throws IOException {
        channel.close();
      }
    };
  }
}
