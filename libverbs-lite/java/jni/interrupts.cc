// SPDX-License-Identifier: BSD-2-Clause
// Natives of interrupts, and their registration. Each waits in the library by itself: any number of
// threads of Java do so at once.
#include <initializer_list>

#include "jni_call.h"

namespace exrnic::java {
namespace {

// How often a number of our own choice may be somebody else's.
constexpr int kTries = 1 << 16;

sci_error_t Create(sci_desc_t sd, unsigned adapter, unsigned number, bool with_data, jlong* made) {
  sci_error_t error;
  if (with_data) {
    sci_local_data_interrupt_t interrupt = nullptr;
    SCICreateDataInterrupt(sd, &interrupt, adapter, &number, nullptr, nullptr, SCI_FLAG_FIXED_INTNO,
                           &error);
    *made = NumberOf(interrupt);
  } else {
    sci_local_interrupt_t interrupt = nullptr;
    SCICreateInterrupt(sd, &interrupt, adapter, &number, nullptr, nullptr,
                       SCI_FLAG_FIXED_INTNO | SCI_FLAG_COUNTING_INT, &error);
    *made = NumberOf(interrupt);
  }
  return error;
}

// number: one element; the number that is wanted, or -1, and the one that it has got.
jlong CreateInterrupt(JNIEnv* env, jclass, jlong sd, jint adapter, jintArray number,
                      jboolean with_data) {
  jint wanted = -1;
  env->GetIntArrayRegion(number, 0, 1, &wanted);
  if (env->ExceptionCheck()) return 0;
  jlong made = 0;
  unsigned got = 0;
  sci_error_t error = SCI_ERR_INTNO_USED;
  for (int i = 0; error == SCI_ERR_INTNO_USED && i < (wanted < 0 ? kTries : 1); ++i) {
    got = wanted < 0 ? AnyNumber() : static_cast<unsigned>(wanted);
    error = Create(HandleOf<sci_desc_t>(sd), static_cast<unsigned>(adapter), got, with_data, &made);
  }
  if (!Succeeded(env, "the interrupt cannot be created", error)) return 0;
  const auto result = static_cast<jint>(got);
  env->SetIntArrayRegion(number, 0, 1, &result);
  return made;
}

void RemoveInterrupt(JNIEnv* env, jclass, jlong interrupt, jboolean with_data) {
  sci_error_t error;
  if (with_data) {
    SCIRemoveDataInterrupt(HandleOf<sci_local_data_interrupt_t>(interrupt), 0, &error);
  } else {
    SCIRemoveInterrupt(HandleOf<sci_local_interrupt_t>(interrupt), 0, &error);
  }
  Succeeded(env, "the interrupt cannot be removed", error);
}

// False: the time is over.
jboolean AwaitInterrupt(JNIEnv* env, jclass, jlong interrupt, jint timeout) {
  sci_error_t error;
  SCIWaitForInterrupt(HandleOf<sci_local_interrupt_t>(interrupt), static_cast<unsigned>(timeout), 0,
                      &error);
  if (error == SCI_ERR_TIMEOUT) return JNI_FALSE;
  return Succeeded(env, "the interrupt cannot be waited for", error) ? JNI_TRUE : JNI_FALSE;
}

// How many bytes have come, into the direct buffer from `offset` on; -1: the time is over.
jint AwaitData(JNIEnv* env, jclass, jlong interrupt, jobject buffer, jint offset, jint room,
               jint timeout) {
  auto* const memory = static_cast<char*>(env->GetDirectBufferAddress(buffer));
  if (memory == nullptr) {
    ThrowIllegalArgument(env, "the buffer is none of direct memory");
    return -1;
  }
  auto length = static_cast<unsigned>(room);
  sci_error_t error;
  SCIWaitForDataInterrupt(HandleOf<sci_local_data_interrupt_t>(interrupt), memory + offset, &length,
                          static_cast<unsigned>(timeout), 0, &error);
  if (error == SCI_ERR_TIMEOUT) return -1;
  if (error == SCI_ERR_NOSPC) {
    ThrowSisci(env, "more bytes have come than the buffer has room for; they stay", error);
    return -1;
  }
  if (!Succeeded(env, "the interrupt cannot be waited for", error)) return -1;
  return static_cast<jint>(length);
}

// 0: nobody has answered in that time.
jlong ConnectInterrupt(JNIEnv* env, jclass, jlong sd, jint adapter, jint node, jint number,
                       jboolean with_data, jint timeout) {
  sci_error_t error;
  jlong made = 0;
  if (with_data) {
    sci_remote_data_interrupt_t interrupt = nullptr;
    SCIConnectDataInterrupt(HandleOf<sci_desc_t>(sd), &interrupt, static_cast<unsigned>(node),
                            static_cast<unsigned>(adapter), static_cast<unsigned>(number),
                            static_cast<unsigned>(timeout), 0, &error);
    made = NumberOf(interrupt);
  } else {
    sci_remote_interrupt_t interrupt = nullptr;
    SCIConnectInterrupt(HandleOf<sci_desc_t>(sd), &interrupt, static_cast<unsigned>(node),
                        static_cast<unsigned>(adapter), static_cast<unsigned>(number),
                        static_cast<unsigned>(timeout), 0, &error);
    made = NumberOf(interrupt);
  }
  if (error == SCI_ERR_TIMEOUT) return 0;
  Succeeded(env, "the interrupt of the other node cannot be connected", error);
  return made;
}

void DisconnectInterrupt(JNIEnv* env, jclass, jlong interrupt, jboolean with_data) {
  sci_error_t error;
  if (with_data) {
    SCIDisconnectDataInterrupt(HandleOf<sci_remote_data_interrupt_t>(interrupt), 0, &error);
  } else {
    SCIDisconnectInterrupt(HandleOf<sci_remote_interrupt_t>(interrupt), 0, &error);
  }
  Succeeded(env, "the interrupt of the other node cannot be disconnected", error);
}

// False: there is no room for it at the moment.
jboolean Trigger(JNIEnv* env, jclass, jlong interrupt) {
  sci_error_t error;
  SCITriggerInterrupt(HandleOf<sci_remote_interrupt_t>(interrupt), 0, &error);
  if (error == SCI_ERR_NOSPC) return JNI_FALSE;
  return Succeeded(env, "the interrupt cannot be triggered", error) ? JNI_TRUE : JNI_FALSE;
}

// Likewise, with bytes of the direct buffer.
jboolean TriggerData(JNIEnv* env, jclass, jlong interrupt, jobject buffer, jint offset,
                     jint bytes) {
  auto* const memory = static_cast<char*>(env->GetDirectBufferAddress(buffer));
  if (memory == nullptr) {
    ThrowIllegalArgument(env, "the buffer is none of direct memory");
    return JNI_FALSE;
  }
  sci_error_t error;
  SCITriggerDataInterrupt(HandleOf<sci_remote_data_interrupt_t>(interrupt), memory + offset,
                          static_cast<unsigned>(bytes), 0, &error);
  if (error == SCI_ERR_NOSPC) return JNI_FALSE;
  return Succeeded(env, "the interrupt cannot be triggered", error) ? JNI_TRUE : JNI_FALSE;
}

const JNINativeMethod kInterruptMethods[] = {
    Native("createInterrupt", "(JI[IZ)J", CreateInterrupt),
    Native("removeInterrupt", "(JZ)V", RemoveInterrupt),
    Native("awaitInterrupt", "(JI)Z", AwaitInterrupt),
    Native("awaitData", "(JLjava/nio/ByteBuffer;III)I", AwaitData),
    Native("connectInterrupt", "(JIIIZI)J", ConnectInterrupt),
    Native("disconnectInterrupt", "(JZ)V", DisconnectInterrupt),
    Native("trigger", "(J)Z", Trigger),
    Native("triggerData", "(JLjava/nio/ByteBuffer;II)Z", TriggerData),
};

}  // namespace

Natives InterruptNatives() {
  return {kInterruptMethods, sizeof(kInterruptMethods) / sizeof(kInterruptMethods[0])};
}

}  // namespace exrnic::java

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  using exrnic::java::Natives;
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_8) != JNI_OK) return JNI_ERR;
  jclass natives = env->FindClass("org/exrnic/Native");
  if (natives == nullptr || !exrnic::java::FindExceptions(env)) return JNI_ERR;
  for (const Natives& table : {exrnic::java::SegmentNatives(), exrnic::java::InterruptNatives()}) {
    if (env->RegisterNatives(natives, table.methods, table.count) != JNI_OK) return JNI_ERR;
  }
  return JNI_VERSION_1_8;
}
