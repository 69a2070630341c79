// SPDX-License-Identifier: BSD-2-Clause
/**
 * Memory and interrupts of other nodes, by RDMA on the exrnic.
 *
 * <p>{@link org.exrnic.PCIeServer} and {@link org.exrnic.PCIe} work like ServerSocket and Socket,
 * with a send buffer and receive buffers in place of streams. {@link org.exrnic.PCIeChannel} is
 * such a connection as a channel of bytes, for code that knows only those. Below them are {@link
 * org.exrnic.Segment} and the interrupts, which follow SISCI.
 *
 * <p>Errors are exceptions with a sentence. What the RNIC or the other node refuses is a {@link
 * org.exrnic.SisciException}, with SISCI's code. Every class may be used by any threads. Closing
 * ends the calls of others that wait. A thread that is interrupted while it waits gets an {@link
 * java.io.InterruptedIOException}, and stays interrupted.
 *
 * <p>Memory of a segment is there as long as any buffer of it is, whether the segment is closed or
 * not: a buffer never reaches memory of others.
 */
package org.exrnic;
