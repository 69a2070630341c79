// SPDX-License-Identifier: BSD-2-Clause
#include "jni_call.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace exrnic::java {

namespace {

jclass sisci_exception = nullptr;
jmethodID make_sisci_exception = nullptr;

void Throw(JNIEnv* env, const char* name, const char* sentence) {
  jclass found = env->FindClass(name);
  if (found != nullptr) env->ThrowNew(found, sentence);
}

}  // namespace

bool FindExceptions(JNIEnv* env) {
  jclass found = env->FindClass("org/exrnic/SisciException");
  if (found == nullptr) return false;
  sisci_exception = static_cast<jclass>(env->NewGlobalRef(found));
  if (sisci_exception == nullptr) return false;
  make_sisci_exception = env->GetMethodID(sisci_exception, "<init>", "(ILjava/lang/String;)V");
  return make_sisci_exception != nullptr;
}

void ThrowSisci(JNIEnv* env, const char* what, sci_error_t error) {
  const int number = errno;
  char sentence[256];
  const char* const why = SCIGetErrorString(error);
  if (error == SCI_ERR_SYSTEM && number != 0) {
    snprintf(sentence, sizeof(sentence), "%s: %s: %s", what, why, strerror(number));
  } else {
    snprintf(sentence, sizeof(sentence), "%s: %s", what, why);
  }
  jstring text = env->NewStringUTF(sentence);
  if (text == nullptr) return;  // no memory: that exception is pending
  jobject made =
      env->NewObject(sisci_exception, make_sisci_exception, static_cast<jint>(error), text);
  if (made != nullptr) env->Throw(static_cast<jthrowable>(made));
}

unsigned AnyNumber() {
  constexpr unsigned kFirst = 1u << 30;
  unsigned number = 0;
  while (getrandom(&number, sizeof(number), 0) < 0 && errno == EINTR) {
    // A signal: again.
  }
  return kFirst + number % kFirst;
}

void ThrowIllegalArgument(JNIEnv* env, const char* sentence) {
  Throw(env, "java/lang/IllegalArgumentException", sentence);
}

void ThrowOutOfMemory(JNIEnv* env, const char* sentence) {
  Throw(env, "java/lang/OutOfMemoryError", sentence);
}

}  // namespace exrnic::java
