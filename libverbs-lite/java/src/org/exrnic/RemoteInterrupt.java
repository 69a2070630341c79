// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Objects;

/** An {@link Interrupt} of another node, to trigger. */
public final class RemoteInterrupt implements Closeable {
  private final Resources resources;
  private final boolean withData;
  private final String name;
  private final long interrupt;

  /** How it is waited for. */
  private interface Wait {
    void until(Waiting.Try connected) throws IOException;
  }

  private RemoteInterrupt(int adapter, int node, int number, boolean withData, Wait wait)
      throws IOException {
    Resources.checkAdapter(adapter);
    this.withData = withData;
    name = nameOf(node, number);
    Resources made = new Resources(this, name);
    resources = made;
    try {
      long[] found = new long[1];
      wait.until(slice
          -> (found[0] = Native.connectInterrupt(
                  made.descriptor, adapter, node, number, withData, slice))
              != 0);
      long handle = found[0];
      made.add(() -> Native.disconnectInterrupt(handle, withData));
      interrupt = handle;
    } catch (IOException | RuntimeException | Error problem) {
      made.close();
      throw problem;
    }
  }

  /**
   * Connects to an interrupt of another node, which may be made later.
   *
   * @param adapter which RNIC of this node
   * @param timeout milliseconds, or {@link Interrupt#FOREVER}
   */
  public static RemoteInterrupt connect(int adapter, int node, int number, int timeout)
      throws IOException {
    return connect(adapter, node, number, false, timeout);
  }

  /** Likewise to one that brings bytes. */
  public static RemoteInterrupt connectWithData(int adapter, int node, int number, int timeout)
      throws IOException {
    return connect(adapter, node, number, true, timeout);
  }

  private static RemoteInterrupt connect(
      int adapter, int node, int number, boolean withData, int timeout) throws IOException {
    Waiting waiting = new Waiting("there was no " + nameOf(node, number), timeout);
    return new RemoteInterrupt(adapter, node, number, withData, waiting::connect);
  }

  /** Likewise with bytes, in the time that somebody has for all he does. */
  static RemoteInterrupt connectWithData(int adapter, int node, int number, Waiting waiting)
      throws IOException {
    return new RemoteInterrupt(adapter, node, number, true, waiting::connect);
  }

  /** Connects likewise to one that is there. */
  static RemoteInterrupt meet(int adapter, int node, int number, boolean withData, Waiting waiting)
      throws IOException {
    return new RemoteInterrupt(adapter, node, number, withData, waiting::paced);
  }

  private static String nameOf(int node, int number) {
    return "interrupt " + number + " of node " + node;
  }

  /** Triggers it. Waits if the other node has to take others first. */
  public void trigger() throws IOException {
    checkKind(false, "trigger(bytes)");
    untilThereIsRoom(
        () -> Native.trigger(interrupt), new Waiting("no room for " + name, Waiting.FOREVER));
  }

  /** Triggers it with the bytes between position and limit of a buffer of any kind. */
  public void trigger(ByteBuffer bytes) throws IOException {
    Objects.requireNonNull(bytes, "the buffer is null");
    checkKind(true, "trigger()");
    ByteBuffer view = bytes.duplicate();
    int length = view.remaining();
    if (length == 0 || length > Interrupt.MAX_DATA) {
      throw new IllegalArgumentException(
          "an interrupt with " + length + " bytes; it brings 1 to " + Interrupt.MAX_DATA);
    }
    // Copied by the VM, which finds out what cannot be read: natives see own memory alone.
    triggerOwn(ByteBuffer.allocateDirect(length).put(view).flip());
    bytes.position(view.position());
  }

  /** Triggers it with the bytes of a direct buffer of this package. */
  void triggerOwn(ByteBuffer own) throws IOException {
    triggerOwn(own, new Waiting("no room for " + name, Waiting.FOREVER));
  }

  /** Likewise, in the time that somebody has for all he does. */
  void triggerOwn(ByteBuffer own, Waiting waiting) throws IOException {
    untilThereIsRoom(() -> Native.triggerData(interrupt, own, 0, own.limit()), waiting);
  }

  private void untilThereIsRoom(Resources.Call<Boolean> trigger, Waiting waiting)
      throws IOException {
    if (resources.during(this, trigger)) {
      return;
    }
    resources.during(this, () -> {
      waiting.paced(slice -> {
        resources.checkOpen();
        return trigger.run();
      });
      return null;
    });
  }

  private void checkKind(boolean wanted, String other) {
    if (withData != wanted) {
      throw new IllegalStateException(
          name + " was connected " + (withData ? "with" : "without") + " bytes: call " + other);
    }
  }

  /** Disconnects from it. */
  @Override
  public void close() throws IOException {
    resources.close();
  }
}
