// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Memory of this node that others reach, and the way to one segment of another node.
 *
 * <p>Bytes go by DMA between {@link #cachingBuf()}, which is the memory itself, and the other
 * segment: nothing is copied in between.
 *
 * <pre>{@code
 * try (Segment mine = Segment.init(0, 7, 4096)) {
 *   mine.connect(1, 7, 5000);
 *   mine.cachingBuf().putInt(0, 42);
 *   mine.send(0, 4, 0);
 *   mine.sendDone();
 * }
 * }</pre>
 *
 * <p>One transfer of a segment is under way at a time: a thread that starts a second one gets a
 * {@link SisciException}.
 */
public final class Segment implements Closeable {
  /** As an id: any that is free, from 2^30 on. */
  public static final int ANY_ID = -1;

  /** What the RNIC may still reach, although that should not be, is never unmapped. */
  private static final Queue<ByteBuffer> LEFT = new ConcurrentLinkedQueue<>();

  private final Resources resources;
  private final int adapter;
  private final int bytes;
  private final ByteBuffer memory;
  private final long address;
  private final long segment;
  private final int id;
  private final long queue;
  private Remote remote;

  private Segment(int adapter, int id, int bytes, boolean isPrivate) throws IOException {
    this.adapter = adapter;
    this.bytes = bytes;
    Resources made = new Resources(this, "the segment");
    resources = made;
    try {
      ByteBuffer buffer = Memory.map(bytes);
      long place = Native.address(buffer);
      long local = Native.createSegment(made.descriptor, adapter, id, isPrivate, place, bytes);
      // Which keeps the buffer, and so the memory, as long as the RNIC can reach it.
      made.add(() -> remove(local, buffer));
      long transfers = Native.createQueue(made.descriptor, adapter);
      made.add(() -> Native.removeQueue(transfers));
      memory = buffer;
      address = place;
      segment = local;
      queue = transfers;
      this.id = isPrivate ? ANY_ID : Native.segmentId(local);
    } catch (IOException | RuntimeException | Error problem) {
      made.close();
      throw problem;
    }
  }

  /**
   * Makes a segment that others can connect to.
   *
   * @param adapter which RNIC: 0 is what VL_DEVICE names, else exrnic0
   * @param id by which others find it, or {@link #ANY_ID}
   * @param bytes its size
   */
  public static Segment init(int adapter, int id, int bytes) throws IOException {
    if (id < ANY_ID) {
      throw new IllegalArgumentException(
          "segment id " + id + "; any is -1, others are not below 0");
    }
    return make(adapter, id, bytes, false);
  }

  /** Makes a segment that nobody connects to, from which bytes are sent. */
  public static Segment initPrivate(int adapter, int bytes) throws IOException {
    return make(adapter, ANY_ID, bytes, true);
  }

  private static Segment make(int adapter, int id, int bytes, boolean isPrivate)
      throws IOException {
    Resources.checkAdapter(adapter);
    if (bytes <= 0) {
      throw new IllegalArgumentException("a segment of " + bytes + " bytes; it has 1 at least");
    }
    return new Segment(adapter, id, bytes, isPrivate);
  }

  private static void remove(long segment, ByteBuffer buffer) throws IOException {
    try {
      Native.removeSegment(segment);
    } catch (IOException problem) {
      LEFT.add(buffer);
      throw problem;
    }
  }

  /** By which others find it; {@link #ANY_ID} of a private one. */
  public int id() {
    return id;
  }

  /** How many bytes it has. */
  public int size() {
    return bytes;
  }

  /** The number of this node. */
  public int node() throws IOException {
    return resources.during(this, () -> Native.node(adapter));
  }

  /**
   * The memory. Each call gives a buffer with a position of its own. It may be used when the
   * segment is closed, too; then nobody else sees it.
   */
  public ByteBuffer cachingBuf() {
    return memory.duplicate();
  }

  /**
   * Waits until somebody connects to this segment.
   *
   * @param timeout milliseconds, or -1
   * @return that node
   */
  public int waitClient(int timeout) throws IOException {
    int[] node = new int[1];
    await("nobody has connected to segment " + id, timeout,
        slice -> (node[0] = Native.awaitClient(segment, slice)) >= 0);
    return node[0];
  }

  /**
   * Connects to a segment of another node, which may be made later.
   *
   * @param timeout milliseconds, or -1
   */
  public void connect(int node, int id, int timeout) throws IOException {
    resources.checkOpen();
    checkNotConnected();
    Waiting waiting = new Waiting("there was no segment " + id + " of node " + node, timeout);
    resources.during(this, () -> {
      waiting.connect(slice -> connectOnce(node, id, slice));
      return null;
    });
  }

  /** Likewise to one that is there. */
  void meet(int node, int id, Waiting waiting) throws IOException {
    resources.during(this, () -> {
      waiting.paced(slice -> connectOnce(node, id, slice));
      return null;
    });
  }

  private boolean connectOnce(int node, int id, int slice) throws IOException {
    resources.checkOpen();
    long found = Native.connectSegment(resources.descriptor, adapter, node, id, slice);
    if (found == 0) {
      return false;
    }
    Remote made = new Remote(found, queue);
    resources.add(made);
    synchronized (this) {
      if (remote == null) {
        remote = made;
        return true;
      }
    }
    resources.endNow(made);
    checkNotConnected();
    return true;
  }

  private synchronized void checkNotConnected() {
    if (remote != null) {
      throw new IllegalStateException("the segment is connected already: disconnect() it first");
    }
  }

  /** Ends that connection; nothing, if there is none. */
  public void disconnect() throws IOException {
    Remote ended;
    synchronized (this) {
      ended = remote;
      remote = null;
    }
    if (ended != null) {
      resources.endNow(ended);
    }
  }

  /** How many bytes the other segment has. */
  public long remoteSize() throws IOException {
    return remote().bytes;
  }

  /** True: the other segment is gone, or its node. It may take a second until this is known. */
  public boolean isLost() throws IOException {
    Remote other = remote();
    return resources.during(this, other::isLost);
  }

  /**
   * Starts to send bytes of this segment to the other one. They are not to be changed until {@link
   * #sendDone()}.
   */
  public void send(int offset, int length, long remoteOffset) throws IOException {
    transfer(offset, length, remoteOffset, false, false);
  }

  /** Likewise, between position and limit of a buffer of this segment. */
  public void send(ByteBuffer part, long remoteOffset) throws IOException {
    send(offsetOf(part), part.remaining(), remoteOffset);
  }

  /** Waits until what was sent is in the memory of the other segment. */
  public void sendDone() throws IOException {
    resources.during(this, () -> {
      Native.awaitTransfer(queue);
      return null;
    });
  }

  /** Sends, and returns when all is there. */
  void sendNow(int offset, int length, long remoteOffset) throws IOException {
    transfer(offset, length, remoteOffset, false, true);
  }

  /** Gets bytes of the other segment; they are here when the call returns. */
  public void receive(int offset, int length, long remoteOffset) throws IOException {
    transfer(offset, length, remoteOffset, true, true);
  }

  /** Likewise, to where a buffer of this segment has its position, until its limit. */
  public void receive(ByteBuffer part, long remoteOffset) throws IOException {
    Objects.requireNonNull(part, "the buffer is null");
    if (part.isReadOnly()) {
      throw new IllegalArgumentException("the buffer is for reading alone");
    }
    receive(offsetOf(part), part.remaining(), remoteOffset);
  }

  private void transfer(int offset, int length, long remoteOffset, boolean read, boolean wait)
      throws IOException {
    if (length <= 0) {
      throw new IllegalArgumentException("a transfer of " + length + " bytes; it has 1 at least");
    }
    checkRange("the segment", offset, length, bytes);
    Remote other = remote();
    checkRange("the other segment", remoteOffset, length, other.bytes);
    resources.during(this, () -> {
      Native.transfer(queue, segment, other.handle, offset, length, remoteOffset, read, wait);
      return null;
    });
  }

  private static void checkRange(String what, long offset, int length, long size) {
    if (offset < 0 || length > size || offset > size - length) {
      throw new IndexOutOfBoundsException(
          length + " bytes from " + offset + " on; " + what + " has " + size + " bytes");
    }
  }

  /** Where the buffer's position is in this segment. */
  int offsetOf(ByteBuffer part) {
    Objects.requireNonNull(part, "the buffer is null");
    if (!part.isDirect()) {
      throw new IllegalArgumentException(
          "the buffer is on the heap, where the RNIC does not reach it: take cachingBuf()");
    }
    long offset = Native.address(part) - address + part.position();
    if (offset < 0 || offset > bytes - part.remaining()) {
      throw new IllegalArgumentException("the buffer is not of this segment: take cachingBuf()");
    }
    return (int) offset;
  }

  private Remote remote() throws IOException {
    resources.checkOpen();
    synchronized (this) {
      if (remote == null) {
        throw new IllegalStateException("the segment is not connected: connect() it first");
      }
      return remote;
    }
  }

  private void await(String what, int timeout, Waiting.Try wait) throws IOException {
    Waiting waiting = new Waiting(what, timeout);
    resources.during(this, () -> {
      waiting.until(slice -> {
        resources.checkOpen();
        return wait.run(slice);
      });
      return null;
    });
  }

  /** Takes the segment away from all who have connected to it; nobody can connect any more. */
  public void terminate() throws IOException {
    resources.during(this, () -> {
      Native.unavailable(segment, adapter);
      return null;
    });
  }

  /** Ends all of it but the memory, which stays as long as buffers are of it. */
  @Override
  public void close() throws IOException {
    resources.close();
  }

  /** A segment of another node. */
  private static final class Remote implements Resources.End {
    final long handle;
    final long bytes;
    private final long queue;
    private boolean lost;

    Remote(long handle, long queue) {
      this.handle = handle;
      this.queue = queue;
      bytes = Native.remoteBytes(handle);
    }

    synchronized boolean isLost() {
      lost = lost || Native.isLost(handle);
      return lost;
    }

    @Override
    public void run() throws IOException {
      while (!Native.disconnectSegment(handle)) {
        Native.abortTransfer(queue);
      }
    }
  }
}
