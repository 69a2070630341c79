// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;

/**
 * The calls of jni/, which registers them itself. Handles are numbers; one of an object that has
 * ended is refused, never followed.
 */
final class Native {
  private static final String LIBRARY = "exrnic-java";

  static {
    load();
  }

  private Native() {}

  /** By the property org.exrnic.library, or beside the jar, or where the VM looks. */
  private static void load() {
    String named = System.getProperty("org.exrnic.library");
    Path beside = named == null ? besideJar() : Path.of(named).toAbsolutePath();
    if (beside != null) {
      System.load(beside.toString());
    } else {
      System.loadLibrary(LIBRARY);
    }
  }

  private static Path besideJar() {
    CodeSource source = Native.class.getProtectionDomain().getCodeSource();
    URL place = source == null ? null : source.getLocation();
    if (place == null || !place.getProtocol().equals("file")) {
      return null;
    }
    try {
      Path library =
          Path.of(place.toURI()).toAbsolutePath().resolveSibling(System.mapLibraryName(LIBRARY));
      return Files.isRegularFile(library) ? library : null;
    } catch (URISyntaxException failure) {
      return null;
    }
  }

  // The RNIC.

  static native long open() throws IOException;

  static native void close(long descriptor) throws IOException;

  static native int node(int adapter) throws IOException;

  // Memory.

  static native long map(int bytes);

  static native void unmap(long address, int bytes);

  static native ByteBuffer wrap(long address, int bytes);

  /** 0: it is not of direct memory. */
  static native long address(ByteBuffer buffer);

  // Segments. An id below 0: any. 0 in place of a remote one: nobody has answered in time.

  static native long createSegment(long descriptor, int adapter, int id, boolean isPrivate,
      long address, int bytes) throws IOException;

  static native int segmentId(long segment);

  static native void removeSegment(long segment) throws IOException;

  static native void unavailable(long segment, int adapter) throws IOException;

  /** The node; below 0: none has come in that time. */
  static native int awaitClient(long segment, int timeout) throws IOException;

  static native long connectSegment(long descriptor, int adapter, int node, int id, int timeout)
      throws IOException;

  static native long remoteBytes(long remote);

  /** False: a transfer is under way. */
  static native boolean disconnectSegment(long remote) throws IOException;

  static native boolean isLost(long remote);

  // Transfers.

  static native long createQueue(long descriptor, int adapter) throws IOException;

  static native void abortTransfer(long queue);

  static native void removeQueue(long queue) throws IOException;

  static native void transfer(long queue, long local, long remote, int localOffset, int bytes,
      long remoteOffset, boolean read, boolean wait) throws IOException;

  static native void awaitTransfer(long queue) throws IOException;

  // Interrupts. Of a number below 0: any. 0 in place of a remote one: as of segments.

  static native long createInterrupt(long descriptor, int adapter, int[] number, boolean withData)
      throws IOException;

  static native void removeInterrupt(long interrupt, boolean withData) throws IOException;

  static native boolean awaitInterrupt(long interrupt, int timeout) throws IOException;

  /** How many bytes; below 0: the time is over. */
  static native int awaitData(long interrupt, ByteBuffer buffer, int offset, int room, int timeout)
      throws IOException;

  static native long connectInterrupt(long descriptor, int adapter, int node, int number,
      boolean withData, int timeout) throws IOException;

  static native void disconnectInterrupt(long interrupt, boolean withData) throws IOException;

  /** False: there is no room for it at the moment. */
  static native boolean trigger(long interrupt) throws IOException;

  static native boolean triggerData(long interrupt, ByteBuffer buffer, int offset, int bytes)
      throws IOException;
}
