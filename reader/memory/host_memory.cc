// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dovetail::detail {

Result<HostMemory> HostMemory::make(std::size_t bytes, Registration mode, bool huge_pages) {
  if (bytes == 0) return Error(Errc::invalid_option, "slots of 0 bytes");
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > SIZE_MAX - page) return Error(Errc::invalid_option, "slots beyond the address space");
  const std::size_t size = (bytes + page - 1) / page * page;
  void* mapping = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return Error::from_errno(errno, "cannot map " + std::to_string(size) + " bytes for batches");
  }
  if (huge_pages) (void)::madvise(mapping, size, MADV_HUGEPAGE);  // small ones do as well
  HostMemory memory;
  memory.begin_ = static_cast<std::byte*>(mapping);
  memory.size_ = size;
  if (mode == Registration::off) {
    memory.note_ = "registration is switched off";
    return memory;
  }
  Result<HostRegistration> registration = HostRegistration::make(memory.begin_, size);
  if (registration.has_value()) {
    memory.registration_ = std::move(*registration);
  } else if (mode == Registration::required) {
    return registration.error();
  } else {
    memory.note_ = registration.error().detail();
  }
  return memory;
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      registration_(std::move(other.registration_)),
      note_(std::move(other.note_)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  if (this != &other) {
    free();
    begin_ = std::exchange(other.begin_, nullptr);
    size_ = std::exchange(other.size_, 0);
    registration_ = std::move(other.registration_);
    note_ = std::move(other.note_);
  }
  return *this;
}

HostMemory::~HostMemory() {
  free();
}

void HostMemory::free() noexcept {
  if (begin_ == nullptr) return;
  if (registration_.unregister()) ::munmap(begin_, size_);
  begin_ = nullptr;
  size_ = 0;
}

}  // namespace dovetail::detail
