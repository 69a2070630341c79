// SPDX-License-Identifier: BSD-2-Clause
// The calls of exrnic/pm.h: arguments, errors to errno and text.
#include "exrnic/pm.h"

#include <sched.h>

#include <cerrno>
#include <new>
#include <utility>

#include "context.h"
#include "exrnic/cluster.hpp"

namespace {

thread_local std::string pm_text;
// Looked at by each call: so it is where that takes one instruction, in a shared library, too.
[[gnu::tls_model("initial-exec")]] thread_local bool pm_has_text = false;

int FailPm(int error, const std::string& text) {
  pm_has_text = true;
  try {
    pm_text = text;
  } catch (const std::bad_alloc&) {
    pm_text.clear();
  }
  return error;
}

int FailNull(const char* name) { return FailPm(EINVAL, std::string(name) + " is null"); }

__attribute__((noinline)) void ClearText() {
  pm_text.clear();
  pm_has_text = false;
}

// Of a call that has gone well.
int Fine() {
  if (pm_has_text) ClearText();
  return 0;
}

// What `call` returns; or that of what it throws. node: where that goes whose fault it was.
template <typename Call>
int PmCall(Call&& call, int* node = nullptr) {
  Fine();
  try {
    return call();
  } catch (const exrnic::PmError& error) {
    if (node != nullptr) *node = error.node();
    return FailPm(error.error(), error.what());
  } catch (const vl::ClusterError& error) {
    return FailPm(error.error(), error.what());
  } catch (const vl::VerbsError& error) {
    return FailPm(error.error(), error.what());
  } catch (const std::bad_alloc&) {
    return FailPm(ENOMEM, "out of memory");
  }
}

template <typename Call>
int ContextCall(pm_context* context, Call&& call, int* node = nullptr) {
  if (context == nullptr) return FailNull("context");
  return PmCall(std::forward<Call>(call), node);
}

// ENOBUFS: who polls leaves the processor to others now and then. Several processes of a machine,
// and a simulator, may have to share it.
int FoundNone() {
  constexpr unsigned kPollsOfYield = 64;
  static thread_local unsigned polls = 0;
  if (++polls % kPollsOfYield == 0) sched_yield();
  return ENOBUFS;
}

__attribute__((noinline)) int GetBuffer(pm_context* context, const int* nodes, int count,
                                        void** buffer, size_t length) {
  return ContextCall(context, [&] {
    if (buffer == nullptr || nodes == nullptr) return FailNull("buffer, or nodes,");
    *buffer = context->GetSendBuffer(nodes, count, length);
    return *buffer == nullptr ? FoundNone() : 0;
  });
}

__attribute__((noinline)) int GetBufferOf(pm_context* context, int node, void** buffer,
                                          size_t length) {
  return GetBuffer(context, &node, 1, buffer, length);
}

__attribute__((noinline)) int SendAny(pm_context* context) {
  return ContextCall(context, [context] {
    context->Send();
    return 0;
  });
}

__attribute__((noinline)) int ReleaseAny(pm_context* context) {
  return ContextCall(context, [context] {
    context->Release();
    return 0;
  });
}

// pmReceive of a context that has nothing now.
__attribute__((noinline)) int ReceiveNone(pm_context* context, void** buffer, const size_t* length,
                                          int* node) {
  return ContextCall(
      context,
      [&] {
        if (buffer == nullptr || length == nullptr) return FailNull("buffer, or length,");
        *buffer = nullptr;
        context->ReceiveNone();
        return FoundNone();
      },
      node);
}

}  // namespace

int pmOpenContext(const pm_attr* attr, pm_context** context) {
  if (attr == nullptr || context == nullptr) return FailNull("attr, or context,");
  return PmCall([&] {
    *context = new pm_context(*attr);
    return 0;
  });
}

int pmCloseContext(pm_context* context) {
  const int error = ContextCall(context, [context] {
    context->Close();
    return 0;
  });
  delete context;
  return error;
}

int pmGetSelf(pm_context* context, int* node) {
  return ContextCall(context, [&] {
    if (node == nullptr) return FailNull("node");
    *node = context->self();
    return 0;
  });
}

int pmGetNodes(pm_context* context, int* nodes) {
  return ContextCall(context, [&] {
    if (nodes == nullptr) return FailNull("nodes");
    *nodes = context->nodes();
    return 0;
  });
}

int pmGetSendBuffer(pm_context* context, int node, void** buffer, size_t length) {
  if (context != nullptr && buffer != nullptr) {
    void* const now = context->GetNow(node, length);
    if (now != nullptr) {
      *buffer = now;
      return Fine();
    }
  }
  return GetBufferOf(context, node, buffer, length);
}

int pmGetMulticastBuffer(pm_context* context, const int* nodes, int count, void** buffer,
                         size_t length) {
  return GetBuffer(context, nodes, count, buffer, length);
}

int pmSend(pm_context* context) {
  if (context != nullptr && context->SendNow()) return Fine();
  return SendAny(context);
}

int pmReceive(pm_context* context, void** buffer, size_t* length) {
  return pmReceiveFrom(context, buffer, length, nullptr);
}

int pmReceiveFrom(pm_context* context, void** buffer, size_t* length, int* node) {
  if (context != nullptr && buffer != nullptr && length != nullptr &&
      context->ReceiveNow(buffer, length, node))
    return Fine();
  return ReceiveNone(context, buffer, length, node);
}

int pmReleaseReceiveBuffer(pm_context* context) {
  if (context != nullptr && context->ReleaseNow()) return Fine();
  return ReleaseAny(context);
}

int pmMLock(pm_context* context, int node, void* address, size_t length, pm_handle* handle) {
  return ContextCall(context, [&] {
    if (handle == nullptr) return FailNull("handle");
    *handle = context->Lock(node, address, length);
    return 0;
  });
}

int pmMUnlock(pm_context* context, pm_handle handle) {
  return ContextCall(context, [&] {
    context->Unlock(handle);
    return 0;
  });
}

int pmWrite(pm_context* context, int node, pm_handle remote, pm_handle local, size_t length) {
  return ContextCall(context, [&] {
    context->Write(node, remote, local, length);
    return 0;
  });
}

int pmRead(pm_context* context, int node, pm_handle remote, pm_handle local, size_t length) {
  return ContextCall(context, [&] {
    context->Read(node, remote, local, length);
    return 0;
  });
}

int pmIsWriteDone(pm_context* context) {
  return ContextCall(context, [context] { return context->TransfersDone(true) ? 0 : EBUSY; });
}

int pmIsReadDone(pm_context* context) {
  return ContextCall(context, [context] { return context->TransfersDone(false) ? 0 : EBUSY; });
}

int pmWaitDone(pm_context* context) {
  return ContextCall(context, [context] {
    context->WaitDone();
    return 0;
  });
}

const char* pmErrorText(void) { return pm_text.c_str(); }
