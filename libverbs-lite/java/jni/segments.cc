// SPDX-License-Identifier: BSD-2-Clause
// Natives of memory, segments and transfers. Java has checked what they are given; a handle that
// has ended is found out by the library.
#include <sys/mman.h>

#include "jni_call.h"

namespace exrnic::java {
namespace {

jlong Open(JNIEnv* env, jclass) {
  sci_error_t error;
  sci_desc_t sd = nullptr;
  SCIInitialize(0, &error);
  if (error == SCI_ERR_OK) SCIOpen(&sd, 0, &error);
  Succeeded(env, "the RNIC cannot be opened", error);
  return NumberOf(sd);
}

void Close(JNIEnv* env, jclass, jlong sd) {
  sci_error_t error;
  SCIClose(HandleOf<sci_desc_t>(sd), 0, &error);
  Succeeded(env, "the RNIC cannot be closed", error);
}

jint Node(JNIEnv* env, jclass, jint adapter) {
  sci_error_t error;
  unsigned node = 0;
  SCIGetLocalNodeId(static_cast<unsigned>(adapter), &node, 0, &error);
  Succeeded(env, "the number of the own node is not known", error);
  return static_cast<jint>(node);
}

jlong Map(JNIEnv* env, jclass, jint bytes) {
  void* const memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return NumberOf(memory);
  ThrowOutOfMemory(env, "there is no memory for a segment of this size");
  return 0;
}

void Unmap(JNIEnv*, jclass, jlong address, jint bytes) {
  munmap(HandleOf<void*>(address), static_cast<size_t>(bytes));
}

jobject Wrap(JNIEnv* env, jclass, jlong address, jint bytes) {
  return env->NewDirectByteBuffer(HandleOf<void*>(address), bytes);
}

jlong Address(JNIEnv* env, jclass, jobject buffer) {
  return NumberOf(env->GetDirectBufferAddress(buffer));
}

// ---- Local segments

// Of Java's memory: it outlives the segment.
jlong CreateSegment(JNIEnv* env, jclass, jlong sd, jint adapter, jint id, jboolean is_private,
                    jlong address, jint bytes) {
  sci_error_t error;
  sci_local_segment_t segment = nullptr;
  unsigned flags = SCI_FLAG_EMPTY;
  if (is_private) {
    flags |= SCI_FLAG_PRIVATE;
  } else if (id < 0) {
    flags |= SCI_FLAG_AUTO_ID;
  }
  SCICreateSegment(HandleOf<sci_desc_t>(sd), &segment,
                   id < 0 ? AnyNumber() : static_cast<unsigned>(id), static_cast<size_t>(bytes),
                   nullptr, nullptr, flags, &error);
  if (!Succeeded(env, "the segment cannot be created", error)) return 0;
  SCIRegisterSegmentMemory(HandleOf<void*>(address), static_cast<size_t>(bytes), segment, 0,
                           &error);
  if (error == SCI_ERR_OK) {
    SCIPrepareSegment(segment, static_cast<unsigned>(adapter),
                      is_private ? SCI_FLAG_DMA_SOURCE_ONLY : 0, &error);
  }
  if (error == SCI_ERR_OK && !is_private) {
    SCISetSegmentAvailable(segment, static_cast<unsigned>(adapter), 0, &error);
  }
  if (error == SCI_ERR_OK) return NumberOf(segment);
  sci_error_t ignored;
  SCIRemoveSegment(segment, SCI_FLAG_FORCE_REMOVE, &ignored);
  ThrowSisci(env, "the RNIC does not take the memory of the segment", error);
  return 0;
}

jint SegmentId(JNIEnv*, jclass, jlong segment) {
  return static_cast<jint>(SCIGetLocalSegmentId(HandleOf<sci_local_segment_t>(segment)));
}

void RemoveSegment(JNIEnv* env, jclass, jlong segment) {
  sci_error_t error;
  SCIRemoveSegment(HandleOf<sci_local_segment_t>(segment), SCI_FLAG_FORCE_REMOVE, &error);
  Succeeded(env, "the segment cannot be removed", error);
}

void Unavailable(JNIEnv* env, jclass, jlong segment, jint adapter) {
  sci_error_t error;
  SCISetSegmentUnavailable(HandleOf<sci_local_segment_t>(segment), static_cast<unsigned>(adapter),
                           SCI_FLAG_FORCE_DISCONNECT, &error);
  Succeeded(env, "the segment cannot be taken away from others", error);
}

// The node that has connected; -1: other news, or none.
jint AwaitClient(JNIEnv* env, jclass, jlong segment, jint timeout) {
  sci_error_t error;
  unsigned node = 0;
  const sci_segment_cb_reason_t reason =
      SCIWaitForLocalSegmentEvent(HandleOf<sci_local_segment_t>(segment), &node, nullptr,
                                  static_cast<unsigned>(timeout), 0, &error);
  if (error == SCI_ERR_TIMEOUT) return -1;
  if (!Succeeded(env, "nobody can be waited for", error)) return -1;
  return reason == SCI_CB_CONNECT ? static_cast<jint>(node) : -1;
}

// ---- Remote segments

// 0: nobody has answered in that time.
jlong ConnectSegment(JNIEnv* env, jclass, jlong sd, jint adapter, jint node, jint id,
                     jint timeout) {
  sci_error_t error;
  sci_remote_segment_t remote = nullptr;
  SCIConnectSegment(HandleOf<sci_desc_t>(sd), &remote, static_cast<unsigned>(node),
                    static_cast<unsigned>(id), static_cast<unsigned>(adapter), nullptr, nullptr,
                    static_cast<unsigned>(timeout), 0, &error);
  if (error == SCI_ERR_TIMEOUT) return 0;
  Succeeded(env, "the segment of the other node cannot be connected", error);
  return NumberOf(remote);
}

jlong RemoteBytes(JNIEnv*, jclass, jlong remote) {
  return static_cast<jlong>(SCIGetRemoteSegmentSize(HandleOf<sci_remote_segment_t>(remote)));
}

// False: a transfer is under way.
jboolean DisconnectSegment(JNIEnv* env, jclass, jlong remote) {
  sci_error_t error;
  SCIDisconnectSegment(HandleOf<sci_remote_segment_t>(remote), 0, &error);
  if (error == SCI_ERR_BUSY) return JNI_FALSE;
  Succeeded(env, "the segment of the other node cannot be disconnected", error);
  return JNI_TRUE;
}

// True: its owner has ended, or has taken it away.
jboolean IsLost(JNIEnv*, jclass, jlong remote) {
  sci_error_t error, status;
  for (;;) {
    const sci_segment_cb_reason_t reason =
        SCIWaitForRemoteSegmentEvent(HandleOf<sci_remote_segment_t>(remote), &status, 0, 0, &error);
    if (error != SCI_ERR_OK) return JNI_FALSE;
    if (reason == SCI_CB_LOST) return JNI_TRUE;
  }
}

// ---- Transfers

jlong CreateQueue(JNIEnv* env, jclass, jlong sd, jint adapter) {
  sci_error_t error;
  sci_dma_queue_t queue = nullptr;
  SCICreateDMAQueue(HandleOf<sci_desc_t>(sd), &queue, static_cast<unsigned>(adapter), 1, 0, &error);
  Succeeded(env, "the DMA queue cannot be created", error);
  return NumberOf(queue);
}

// When it returns, the transfer that was under way has ended.
void AbortTransfer(JNIEnv*, jclass, jlong queue) {
  sci_error_t none;
  SCIAbortDMAQueue(HandleOf<sci_dma_queue_t>(queue), 0, &none);
}

// What is under way ends first. Java starts nothing any more.
void RemoveQueue(JNIEnv* env, jclass, jlong number) {
  const auto queue = HandleOf<sci_dma_queue_t>(number);
  sci_error_t error;
  do {
    SCIAbortDMAQueue(queue, 0, &error);
    SCIRemoveDMAQueue(queue, 0, &error);
  } while (error == SCI_ERR_ILLEGAL_OPERATION);
  Succeeded(env, "the DMA queue cannot be removed", error);
}

void Transfer(JNIEnv* env, jclass, jlong queue, jlong local, jlong remote, jint local_offset,
              jint bytes, jlong remote_offset, jboolean read, jboolean wait) {
  sci_error_t error;
  SCIStartDmaTransfer(HandleOf<sci_dma_queue_t>(queue), HandleOf<sci_local_segment_t>(local),
                      HandleOf<sci_remote_segment_t>(remote), static_cast<size_t>(local_offset),
                      static_cast<size_t>(bytes), static_cast<size_t>(remote_offset), nullptr,
                      nullptr, (read ? SCI_FLAG_DMA_READ : 0u) | (wait ? SCI_FLAG_DMA_WAIT : 0u),
                      &error);
  if (error == SCI_ERR_ILLEGAL_OPERATION) {
    ThrowSisci(env, "a transfer is under way, and sendDone() waits for it", error);
    return;
  }
  Succeeded(env, "the transfer has failed", error);
}

void AwaitTransfer(JNIEnv* env, jclass, jlong queue) {
  sci_error_t error;
  const sci_dma_queue_state_t state =
      SCIWaitForDMAQueue(HandleOf<sci_dma_queue_t>(queue), SCI_INFINITE_TIMEOUT, 0, &error);
  if (error == SCI_ERR_ILLEGAL_OPERATION) return;  // nothing has been sent yet
  if (error == SCI_ERR_OK && state == SCI_DMAQUEUE_ABORTED) error = SCI_ERR_CANCELLED;
  if (error == SCI_ERR_OK && state != SCI_DMAQUEUE_DONE) error = SCI_ERR_TRANSFER_FAILED;
  Succeeded(env, "the transfer has failed", error);
}

const JNINativeMethod kMethods[] = {
    Native("open", "()J", Open),
    Native("close", "(J)V", Close),
    Native("node", "(I)I", Node),
    Native("map", "(I)J", Map),
    Native("unmap", "(JI)V", Unmap),
    Native("wrap", "(JI)Ljava/nio/ByteBuffer;", Wrap),
    Native("address", "(Ljava/nio/ByteBuffer;)J", Address),
    Native("createSegment", "(JIIZJI)J", CreateSegment),
    Native("segmentId", "(J)I", SegmentId),
    Native("removeSegment", "(J)V", RemoveSegment),
    Native("unavailable", "(JI)V", Unavailable),
    Native("awaitClient", "(JI)I", AwaitClient),
    Native("connectSegment", "(JIIII)J", ConnectSegment),
    Native("remoteBytes", "(J)J", RemoteBytes),
    Native("disconnectSegment", "(J)Z", DisconnectSegment),
    Native("isLost", "(J)Z", IsLost),
    Native("createQueue", "(JI)J", CreateQueue),
    Native("abortTransfer", "(J)V", AbortTransfer),
    Native("removeQueue", "(J)V", RemoveQueue),
    Native("transfer", "(JJJIIJZZ)V", Transfer),
    Native("awaitTransfer", "(J)V", AwaitTransfer),
};

}  // namespace

Natives SegmentNatives() { return {kMethods, sizeof(kMethods) / sizeof(kMethods[0])}; }

}  // namespace exrnic::java
