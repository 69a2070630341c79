// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_USER_PAGE_H
#define EXRNIC_LIBVERBS_USER_PAGE_H

#include <cstddef>
#include <cstdint>

#include "exrnic_data_path.h"

namespace exrnic {

// Takes the stores into a user page that is not mapped into this process. Any thread may call.
class UserPageProxy {
 public:
  virtual ~UserPageProxy() = default;
  // Stores of 8 bytes at consecutive offsets, in order. What a device that is gone would have got
  // is lost, as with one that is mapped.
  virtual void Store(uint32_t offset, const uint64_t* words, size_t count) = 0;
  // A caller has looked for completions and found none. False: none will come any more, as the
  // device is gone.
  virtual bool WhileEmpty() = 0;
  // False: the device is gone.
  virtual bool usable() const = 0;
};

// The page of a context where the device takes doorbells and work requests: mapped, so that a store
// needs nobody else, or by way of a proxy. A value; copies mean the same page.
class UserPage {
 public:
  UserPage() = default;
  // *gone, if there is one, becomes other than 0 when the device is gone.
  explicit UserPage(volatile void* mapped, const volatile uint32_t* gone = nullptr)
      : page_{static_cast<volatile uint64_t*>(mapped), nullptr, nullptr}, gone_(gone) {}
  explicit UserPage(UserPageProxy* proxy) : page_{nullptr, StoreByProxy, proxy}, proxy_(proxy) {}

  // For the data path.
  const exrnic_user_page* get() const { return &page_; }

  // As in UserPageProxy.
  bool WhileEmpty() const { return proxy_ == nullptr ? usable() : proxy_->WhileEmpty(); }
  bool usable() const {
    if (proxy_ != nullptr) return proxy_->usable();
    return gone_ == nullptr || *gone_ == 0;
  }

 private:
  static void StoreByProxy(void* proxy, uint32_t offset, const uint64_t* words, size_t count) {
    static_cast<UserPageProxy*>(proxy)->Store(offset, words, count);
  }

  exrnic_user_page page_ = {};
  const volatile uint32_t* gone_ = nullptr;
  UserPageProxy* proxy_ = nullptr;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_USER_PAGE_H
