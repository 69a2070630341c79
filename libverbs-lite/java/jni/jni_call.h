// SPDX-License-Identifier: BSD-2-Clause
// Errors of SISCI as exceptions of Java.
#ifndef EXRNIC_JAVA_JNI_CALL_H
#define EXRNIC_JAVA_JNI_CALL_H

#include <jni.h>

#include <cstdint>

#include "sisci_api.h"

namespace exrnic::java {

// Finds the classes of exceptions, once. False: an exception is pending.
bool FindExceptions(JNIEnv* env);

// An exception is pending from here on: what failed, and why.
void ThrowSisci(JNIEnv* env, const char* what, sci_error_t error);
void ThrowIllegalArgument(JNIEnv* env, const char* sentence);
void ThrowOutOfMemory(JNIEnv* env, const char* sentence);

// A number for a segment or an interrupt whose owner has no wish: far from those that programs
// choose, and nobody guesses it. Somebody may have it.
unsigned AnyNumber();

// True: the call succeeded. False: its exception is pending.
inline bool Succeeded(JNIEnv* env, const char* what, sci_error_t error) {
  if (error == SCI_ERR_OK) return true;
  ThrowSisci(env, what, error);
  return false;
}

// Handles are numbers in Java. The library recognises one of an object that has ended.
template <typename Handle>
Handle HandleOf(jlong number) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(number));
}
template <typename Handle>
jlong NumberOf(Handle handle) {
  return static_cast<jlong>(reinterpret_cast<uintptr_t>(handle));
}

// JNI takes names as char*, and changes none.
template <typename Function>
JNINativeMethod Native(const char* name, const char* signature, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

// What JNI_OnLoad registers, of each file one table.
struct Natives {
  const JNINativeMethod* methods;
  jint count;
};
Natives SegmentNatives();
Natives InterruptNatives();

}  // namespace exrnic::java

#endif  // EXRNIC_JAVA_JNI_CALL_H
