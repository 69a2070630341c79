// SPDX-License-Identifier: BSD-2-Clause
// Interrupts, with data and without.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "adapter.h"
#include "limits.h"
#include "objects.h"

using exrnic::sisci::Adapter;
using exrnic::sisci::Call;
using exrnic::sisci::CheckFlags;
using exrnic::sisci::Clock;
using exrnic::sisci::DeadlineOf;
using exrnic::sisci::Descriptor;
using exrnic::sisci::Kind;
using exrnic::sisci::LocalInterrupt;
using exrnic::sisci::Message;
using exrnic::sisci::RemoteInterrupt;
using exrnic::sisci::Require;
using exrnic::sisci::TheLibrary;
using exrnic::sisci::Transfer;
using exrnic::sisci::Type;
using exrnic::sisci::Using;
using exrnic::sisci::WaitFor;
using exrnic::sisci::What;

namespace {

What WhatOf(bool with_data) { return with_data ? What::kDataInterrupt : What::kInterrupt; }

bool TakeNumber(LocalInterrupt* interrupt, uint32_t number) {
  Adapter* const adapter = interrupt->adapter;
  if (adapter->HasInterrupt(interrupt->with_data(), number)) return false;
  const What what = WhatOf(interrupt->with_data());
  if (adapter->is_shared() && !interrupt->name.Take(adapter->HostNameOf(what, number))) {
    Require(errno == EADDRINUSE, SCI_ERR_SYSTEM);
    return false;
  }
  interrupt->number = number;
  return adapter->Add(interrupt);
}

template <typename Handle>
void Create(sci_desc_t sd, Handle* handle, unsigned adapter, unsigned* number,
            const std::shared_ptr<LocalInterrupt>& made, unsigned flags) {
  const Using<Descriptor> descriptor(sd, Type::kDescriptor);
  Require(handle != nullptr && number != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
  CheckFlags(flags, SCI_FLAG_USE_CALLBACK | SCI_FLAG_FIXED_INTNO | SCI_FLAG_COUNTING_INT,
             SCI_FLAG_SHARED_INT | SCI_FLAG_CONDITIONAL_INTERRUPT);
  made->sd = descriptor.object();
  made->adapter = descriptor->Open(adapter);
  made->counting = (flags & SCI_FLAG_COUNTING_INT) != 0;
  const bool fixed = (flags & SCI_FLAG_FIXED_INTNO) != 0;
  constexpr unsigned kTries = 1u << 16;
  uint32_t chosen = fixed ? *number : 1;
  for (unsigned tries = 0; !TakeNumber(made.get(), chosen); ++chosen) {
    Require(!fixed && ++tries < kTries, SCI_ERR_INTNO_USED);
  }
  try {
    Publish(made, handle);
  } catch (...) {
    made->adapter->Remove(made.get());
    throw;
  }
  *number = chosen;
  ++descriptor->objects;
}

void Remove(const void* handle, Type type, unsigned flags) {
  Using<LocalInterrupt> interrupt(handle, type);
  CheckFlags(flags, 0);
  Withdraw(interrupt.object().get());
  interrupt->adapter->Remove(interrupt.object().get());
  interrupt->name = {};
  --interrupt->sd->objects;
  AwaitCallback(interrupt.lock(), interrupt.object().get());
  // Who has triggered it goes on.
  while (!interrupt->data.empty()) interrupt->Take();
}

// Until there is one.
void AwaitInterrupt(Using<LocalInterrupt>* interrupt, unsigned timeout) {
  LocalInterrupt* const self = interrupt->object().get();
  Require((self->callback == nullptr && self->data_callback == nullptr) || self->callback_cancelled,
          SCI_ERR_ILLEGAL_OPERATION);
  const auto come = [self] {
    return self->removed || (self->with_data() ? !self->data.empty() : self->pending > 0);
  };
  const Clock::time_point deadline = DeadlineOf(timeout);
  Adapter* const adapter = interrupt->Keep(self->adapter);
  const auto spin = std::min<Clock::duration>(deadline - Clock::now(), exrnic::sisci::kSpin);
  const bool told = adapter->Spin(interrupt->lock(), spin, come) ||
                    WaitFor(interrupt->lock(), &self->changed, deadline, come);
  Require(!self->removed, SCI_ERR_CANCELLED);
  Require(told, SCI_ERR_TIMEOUT);
}

void Hangup(const RemoteInterrupt& interrupt) {
  Message message = {};
  message.kind = Kind::kDisconnect;
  message.number = interrupt.connection;
  interrupt.adapter->Send(interrupt.link, message);
}

template <typename Handle>
void Connect(sci_desc_t sd, Handle* handle, unsigned node, unsigned adapter_number, unsigned number,
             unsigned timeout, unsigned flags, bool with_data) {
  const auto made = std::make_shared<RemoteInterrupt>(with_data);
  Using<Descriptor> descriptor(sd, Type::kDescriptor);
  Require(handle != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
  CheckFlags(flags, SCI_FLAG_COUNTING_INT);
  Adapter* const adapter = descriptor.Keep(descriptor->Open(adapter_number));
  if (node == SCI_LOCAL_HOST) node = adapter->node();
  Require(node < adapter->attr().max_node, SCI_ERR_ILLEGAL_NODEID);
  const Clock::time_point deadline = DeadlineOf(timeout);
  const What what = WhatOf(with_data);
  ++descriptor->objects;  // it cannot be closed meanwhile
  try {
    made->sd = descriptor.object();
    made->adapter = adapter;
    made->link = adapter->FindOwner(descriptor.lock(), node, what, number, deadline);
    Message question = {};
    question.kind = Kind::kConnect;
    question.what = static_cast<uint32_t>(what);
    question.number = number;
    const Message answer = adapter->Ask(descriptor.lock(), made->link, question, deadline);
    Require(answer.status == SCI_ERR_OK, static_cast<sci_error_t>(answer.status));
    made->connection = answer.number;
    made->credit_stag = answer.stag;
    made->credit_address = answer.address;
    Publish(made, handle);
  } catch (...) {
    --descriptor->objects;
    if (made->connection != 0) Hangup(*made);
    throw;
  }
}

void Disconnect(const void* handle, Type type, unsigned flags) {
  const Using<RemoteInterrupt> interrupt(handle, type);
  CheckFlags(flags, 0);
  Withdraw(interrupt.object().get());
  Hangup(*interrupt.object());
  --interrupt->sd->objects;
}

void Trigger(const RemoteInterrupt& interrupt, const std::vector<uint8_t>& data) {
  Message message = {};
  message.kind = Kind::kInterrupt;
  message.id = interrupt.connection;
  Require(interrupt.link->state == exrnic::sisci::Link::State::kReady, SCI_ERR_NOT_CONNECTED);
  Require(interrupt.adapter->Send(interrupt.link, message, data), SCI_ERR_NOSPC);
}

// How many the other end has taken.
void ReadCredit(Using<RemoteInterrupt>* interrupt) {
  RemoteInterrupt* const self = interrupt->object().get();
  Adapter* const adapter = interrupt->Keep(self->adapter);
  const unsigned bounce = adapter->TakeBounce(interrupt->lock(), self->link.get(), true);
  const uint64_t local = vl::AddressOf(adapter->BounceAt(bounce));
  auto transfer = std::make_shared<Transfer>();
  transfer->read = true;
  transfer->pieces.push_back(
      {local, adapter->bounce_stag(), self->credit_stag, self->credit_address, sizeof(uint64_t)});
  adapter->Start(self->link, transfer);
  adapter->Await(interrupt->lock(), *transfer, Clock::time_point::max());
  uint64_t taken;
  memcpy(&taken, adapter->BounceAt(bounce), sizeof(taken));
  adapter->GiveBounce(self->link.get(), bounce);
  Require(transfer->status == SCI_ERR_OK, SCI_ERR_NOT_CONNECTED);
  Require(!self->removed, SCI_ERR_CANCELLED);
  if (taken <= self->sent) self->taken = std::max(self->taken, taken);
}

}  // namespace

SISCI_EXPORT(SCICreateInterrupt);
void SCICreateInterrupt(sci_desc_t sd, sci_local_interrupt_t* interrupt,
                        unsigned int localAdapterNo, unsigned int* interruptNo,
                        sci_cb_interrupt_t callback, void* callbackArg, unsigned int flags,
                        sci_error_t* error) {
  Call(error, [&] {
    const auto made = std::make_shared<LocalInterrupt>(false);
    const bool calls = (flags & SCI_FLAG_USE_CALLBACK) != 0;
    Require(!calls || callback != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    made->callback = calls ? callback : nullptr;
    made->argument = callbackArg;
    Create(sd, interrupt, localAdapterNo, interruptNo, made, flags);
  });
}

SISCI_EXPORT(SCICreateDataInterrupt);
void SCICreateDataInterrupt(sci_desc_t sd, sci_local_data_interrupt_t* interrupt,
                            unsigned int localAdapterNo, unsigned int* interruptNo,
                            sci_cb_data_interrupt_t callback, void* callbackArg, unsigned int flags,
                            sci_error_t* error) {
  Call(error, [&] {
    const auto made = std::make_shared<LocalInterrupt>(true);
    const bool calls = (flags & SCI_FLAG_USE_CALLBACK) != 0;
    Require(!calls || callback != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    made->data_callback = calls ? callback : nullptr;
    made->argument = callbackArg;
    Create(sd, interrupt, localAdapterNo, interruptNo, made, flags);
  });
}

SISCI_EXPORT(SCIRemoveInterrupt);
void SCIRemoveInterrupt(sci_local_interrupt_t interrupt, unsigned int flags, sci_error_t* error) {
  Call(error, [&] { Remove(interrupt, Type::kLocalInterrupt, flags); });
}

SISCI_EXPORT(SCIRemoveDataInterrupt);
void SCIRemoveDataInterrupt(sci_local_data_interrupt_t interrupt, unsigned int flags,
                            sci_error_t* error) {
  Call(error, [&] { Remove(interrupt, Type::kLocalDataInterrupt, flags); });
}

SISCI_EXPORT(SCIWaitForInterrupt);
void SCIWaitForInterrupt(sci_local_interrupt_t interrupt, unsigned int timeout, unsigned int flags,
                         sci_error_t* error) {
  Call(error, [&] {
    Using<LocalInterrupt> local(interrupt, Type::kLocalInterrupt);
    CheckFlags(flags, 0);
    AwaitInterrupt(&local, timeout);
    --local->pending;
  });
}

SISCI_EXPORT(SCIWaitForDataInterrupt);
void SCIWaitForDataInterrupt(sci_local_data_interrupt_t interrupt, void* data, unsigned int* length,
                             unsigned int timeout, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    Using<LocalInterrupt> local(interrupt, Type::kLocalDataInterrupt);
    CheckFlags(flags, 0);
    Require(data != nullptr && length != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    AwaitInterrupt(&local, timeout);
    const unsigned room = *length;
    *length = static_cast<unsigned>(local->data.front().bytes.size());
    Require(*length <= room, SCI_ERR_NOSPC);
    const LocalInterrupt::Data taken = local->Take();
    memcpy(data, taken.bytes.data(), taken.bytes.size());
  });
}

SISCI_EXPORT(SCIConnectInterrupt);
void SCIConnectInterrupt(sci_desc_t sd, sci_remote_interrupt_t* interrupt, unsigned int nodeId,
                         unsigned int localAdapterNo, unsigned int interruptNo,
                         unsigned int timeout, unsigned int flags, sci_error_t* error) {
  Call(error,
       [&] { Connect(sd, interrupt, nodeId, localAdapterNo, interruptNo, timeout, flags, false); });
}

SISCI_EXPORT(SCIConnectDataInterrupt);
void SCIConnectDataInterrupt(sci_desc_t sd, sci_remote_data_interrupt_t* interrupt,
                             unsigned int nodeId, unsigned int localAdapterNo,
                             unsigned int interruptNo, unsigned int timeout, unsigned int flags,
                             sci_error_t* error) {
  Call(error,
       [&] { Connect(sd, interrupt, nodeId, localAdapterNo, interruptNo, timeout, flags, true); });
}

SISCI_EXPORT(SCIDisconnectInterrupt);
void SCIDisconnectInterrupt(sci_remote_interrupt_t interrupt, unsigned int flags,
                            sci_error_t* error) {
  Call(error, [&] { Disconnect(interrupt, Type::kRemoteInterrupt, flags); });
}

SISCI_EXPORT(SCIDisconnectDataInterrupt);
void SCIDisconnectDataInterrupt(sci_remote_data_interrupt_t interrupt, unsigned int flags,
                                sci_error_t* error) {
  Call(error, [&] { Disconnect(interrupt, Type::kRemoteDataInterrupt, flags); });
}

SISCI_EXPORT(SCITriggerInterrupt);
void SCITriggerInterrupt(sci_remote_interrupt_t interrupt, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    const Using<RemoteInterrupt> remote(interrupt, Type::kRemoteInterrupt);
    CheckFlags(flags, 0);
    Trigger(*remote.object(), {});
  });
}

SISCI_EXPORT(SCITriggerDataInterrupt);
void SCITriggerDataInterrupt(sci_remote_data_interrupt_t interrupt, void* data, unsigned int length,
                             unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    Using<RemoteInterrupt> remote(interrupt, Type::kRemoteDataInterrupt);
    CheckFlags(flags, 0);
    Require(data != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    Require(length != 0, SCI_ERR_SIZE_ALIGNMENT);
    Require(length <= SCI_MAX_INTERRUPT_DATA, SCI_ERR_OUT_OF_RANGE);
    if (remote->sent - remote->taken >= exrnic::sisci::kDataInterruptsMax) ReadCredit(&remote);
    Require(remote->sent - remote->taken < exrnic::sisci::kDataInterruptsMax, SCI_ERR_NOSPC);
    const auto* const bytes = static_cast<const uint8_t*>(data);
    Trigger(*remote.object(), {bytes, bytes + length});
    ++remote->sent;
  });
}
