// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.Objects;

/**
 * An interrupt of this node, which others trigger ({@link RemoteInterrupt}).
 *
 * <p>Any number of threads wait at once, each for its own interrupt, or several for one: each that
 * comes wakes one of them. None is lost while nobody waits.
 */
public final class Interrupt implements Closeable {
  /** As a number: any that is free, from 2^30 on. */
  public static final int ANY_NUMBER = -1;

  /** As a time limit: none. */
  public static final int FOREVER = -1;

  /** How many bytes one brings at most. */
  public static final int MAX_DATA = 4096;

  private final Resources resources;
  private final boolean withData;
  private final long interrupt;
  private final int number;

  private Interrupt(int adapter, int wanted, boolean withData) throws IOException {
    Resources.checkAdapter(adapter);
    if (wanted < ANY_NUMBER) {
      throw new IllegalArgumentException(
          "interrupt number " + wanted + "; any is -1, others are not below 0");
    }
    this.withData = withData;
    Resources made = new Resources(this, "the interrupt");
    resources = made;
    try {
      int[] got = {wanted};
      long handle = Native.createInterrupt(made.descriptor, adapter, got, withData);
      made.add(() -> Native.removeInterrupt(handle, withData));
      interrupt = handle;
      number = got[0];
    } catch (IOException | RuntimeException | Error problem) {
      made.close();
      throw problem;
    }
  }

  /**
   * Makes one that says nothing but that it has come, and is counted.
   *
   * @param adapter which RNIC: 0 is what VL_DEVICE names, else exrnic0
   * @param number by which others find it, or {@link #ANY_NUMBER}
   */
  public static Interrupt create(int adapter, int number) throws IOException {
    return new Interrupt(adapter, number, false);
  }

  /** Makes one that brings 1 to {@link #MAX_DATA} bytes each time. */
  public static Interrupt createWithData(int adapter, int number) throws IOException {
    return new Interrupt(adapter, number, true);
  }

  /** By which others find it. */
  public int number() {
    return number;
  }

  /**
   * Waits until it has come once more.
   *
   * @param timeout milliseconds, or {@link #FOREVER}
   */
  public void await(int timeout) throws IOException {
    Waiting waiting = new Waiting("interrupt " + number + " has not come", timeout);
    checkKind(false, "await(buffer, timeout)");
    resources.during(this, () -> {
      waiting.until(this::comesIn);
      return null;
    });
  }

  /**
   * Waits likewise, and takes the bytes that it brings to the buffer's position.
   *
   * @param into a buffer of any kind. If it has less room than what has come, that stays
   * @return how many bytes
   */
  public int await(ByteBuffer into, int timeout) throws IOException {
    Objects.requireNonNull(into, "the buffer is null");
    if (into.isReadOnly()) {
      throw new IllegalArgumentException("the buffer is for reading alone");
    }
    Waiting waiting = new Waiting("interrupt " + number + " has not come", timeout);
    checkKind(true, "await(timeout)");
    // Natives see own memory alone: the VM copies, and finds out what cannot be written.
    ByteBuffer direct = ByteBuffer.allocateDirect(Math.min(into.remaining(), MAX_DATA));
    int[] bytes = new int[1];
    resources.during(this, () -> {
      waiting.until(slice -> (bytes[0] = bytesIn(direct, slice)) >= 0);
      return null;
    });
    into.put(direct.limit(bytes[0]));
    return bytes[0];
  }

  /** True: it has come within so many milliseconds. For who looks at more than one thing. */
  boolean comes(int milliseconds) throws IOException {
    return resources.during(this, () -> comesIn(milliseconds));
  }

  /** How many bytes have come to the direct buffer's position; below 0: none. */
  int dataComes(ByteBuffer direct, int milliseconds) throws IOException {
    return resources.during(this, () -> bytesIn(direct, milliseconds));
  }

  private boolean comesIn(int milliseconds) throws IOException {
    resources.checkOpen();
    return Native.awaitInterrupt(interrupt, milliseconds);
  }

  private int bytesIn(ByteBuffer direct, int milliseconds) throws IOException {
    resources.checkOpen();
    return Native.awaitData(interrupt, direct, direct.position(), direct.remaining(), milliseconds);
  }

  void checkOpen() throws ClosedChannelException {
    resources.checkOpen();
  }

  private void checkKind(boolean wanted, String other) {
    if (withData != wanted) {
      throw new IllegalStateException(
          "the interrupt brings " + (withData ? "bytes" : "no bytes") + ": call " + other);
    }
  }

  /** Removes it; who waits for it gets a ClosedChannelException. */
  @Override
  public void close() throws IOException {
    resources.close();
  }
}
