// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.bench;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/** A way for files. */
interface Transport {
  /** One that has connected to the listener of that port. */
  Sender connect(int port, int bufferBytes) throws IOException;

  Listener listen(int port, int bufferBytes) throws IOException;

  /** Where receivers come from. */
  interface Listener extends Closeable {
    Receiver accept() throws IOException;
  }

  /** The end that has the file. */
  interface Sender extends Closeable {
    /** To be filled from 0 on. */
    ByteBuffer buffer();

    void send(int bytes) throws IOException;

    /** Returns when the other end has taken all. */
    void finish() throws IOException;
  }

  /** The end that wants it. */
  interface Receiver extends Closeable {
    /** What was sent as one, so many bytes or the rest of the file; null: it has ended. */
    ByteBuffer next(int bytes) throws IOException;

    /** The buffer is looked at. */
    void done() throws IOException;
  }
}
