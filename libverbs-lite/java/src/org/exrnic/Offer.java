// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.IOException;
import java.nio.ByteBuffer;

/** What an end of a connection tells the other one of itself: the bytes of one interrupt. */
final class Offer {
  static final int BYTES = 32;
  static final int MAX_BUFFERS = 32;
  private static final int MAGIC = 0x45584a31; // "EXJ1"
  private static final int WORD_AT = BYTES - Integer.BYTES;

  /** Where the receive buffers are, one behind the other. */
  final int node;

  final int segment;

  /** Numbers of interrupts: with data, each time that one is full; each time that one is free. */
  final int full;

  final int free;
  final int bufferBytes;
  final int buffers;

  /** A random one, which the answer repeats: so it is of who was asked. */
  final int word;

  Offer(int node, int segment, int full, int free, int bufferBytes, int buffers, int word) {
    this.node = node;
    this.segment = segment;
    this.full = full;
    this.free = free;
    this.bufferBytes = bufferBytes;
    this.buffers = buffers;
    this.word = word;
  }

  /** A direct buffer of them. */
  ByteBuffer bytes() {
    return ByteBuffer.allocateDirect(BYTES)
        .putInt(MAGIC)
        .putInt(node)
        .putInt(segment)
        .putInt(full)
        .putInt(free)
        .putInt(bufferBytes)
        .putInt(buffers)
        .putInt(word)
        .flip();
  }

  /** False: it is something else, of a stranger or of a life before. */
  static boolean isAnswer(ByteBuffer bytes, int word) {
    return bytes.remaining() == BYTES && bytes.getInt(WORD_AT) == word;
  }

  /** What has come may be anything. */
  static Offer of(ByteBuffer bytes) throws IOException {
    if (bytes.remaining() != BYTES || bytes.getInt() != MAGIC) {
      throw new IOException("what has come is no offer of a connection");
    }
    Offer offer = new Offer(bytes.getInt(), bytes.getInt(), bytes.getInt(), bytes.getInt(),
        bytes.getInt(), bytes.getInt(), bytes.getInt());
    if (offer.node < 0 || offer.segment < 0 || offer.full < 0 || offer.free < 0
        || offer.bufferBytes <= 0 || offer.buffers <= 0 || offer.buffers > MAX_BUFFERS) {
      throw new IOException("an offer of a connection has numbers that none can have");
    }
    return offer;
  }
}
