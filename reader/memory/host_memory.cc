// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include <dovetail/batch.h>

#include "format/try.h"
#include "reader/memory/numa.h"
#include "reader/memory/populate.h"

namespace dovetail::detail {

Result<HostMemory> HostMemory::make(std::size_t bytes, const HostMemoryOptions& options) {
  if (bytes == 0) return Error(Errc::invalid_option, "slots of 0 bytes");
  Result<HostMemory> memory = options.provider ? adopt(bytes, options) : map(bytes, options);
  if (!memory.has_value()) return memory;
  if (options.registration == Registration::off) {
    memory->note_ = "registration is switched off";
  } else if (options.registration == Registration::required && !memory->registered()) {
    return Error(Errc::registration_failed, memory->note_);
  }
  return memory;
}

Result<HostMemory> HostMemory::map(std::size_t bytes, const HostMemoryOptions& options) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > SIZE_MAX - page) return Error(Errc::invalid_option, "slots beyond the address space");
  const std::size_t size = (bytes + page - 1) / page * page;
  void* mapping = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return Error::from_errno(errno, "cannot map " + std::to_string(size) + " bytes for batches");
  }
  HostMemory memory;
  memory.begin_ = static_cast<std::byte*>(mapping);
  memory.size_ = size;
  // A kernel without huge pages refuses both calls, which has the wanted effect.
  if (options.huge_pages) (void)::madvise(mapping, size, MADV_HUGEPAGE);
  if (options.refuse_huge_pages) (void)::madvise(mapping, size, MADV_NOHUGEPAGE);
  if (options.registration == Registration::off) return memory;
  if (const Result<void> registered = memory.register_with_device(options); !registered.has_value()) {
    memory.note_ = registered.error().detail();
  }
  return memory;
}

Result<void> HostMemory::register_with_device(const HostMemoryOptions& options) {
  DOVETAIL_ASSIGN(const RegistrationDevice device, HostRegistration::device(options.device));
  const auto began = std::chrono::steady_clock::now();
  if (const std::optional<int> node = numa_node_of_pci(device.pci_address)) {
    // If this is forbidden, as in some containers, the pages may lie on any node.
    if (prefer_numa_node(bytes(), *node).has_value()) numa_node_ = *node;
  }
  if (const Result<void> populated = populate(bytes(), options.threads); !populated.has_value()) {
    return Error(Errc::registration_failed, populated.error().to_string());
  }
  DOVETAIL_ASSIGN(HostRegistration registration, HostRegistration::make(bytes(), device));
  registration_ = std::move(registration);
  (void)::madvise(begin_, size_, MADV_DONTFORK);
  page_locked_ = true;
  device_ = device.number;
  registration_time_ = std::chrono::steady_clock::now() - began;
  return {};
}

Result<HostMemory> HostMemory::adopt(std::size_t bytes, const HostMemoryOptions& options) {
  DOVETAIL_ASSIGN(const SlotMemory given, options.provider(bytes));
  if (given.bytes.size() < bytes) {
    return Error(Errc::invalid_option, "slot_memory gave " + std::to_string(given.bytes.size()) +
                                           " bytes; the slots need " + std::to_string(bytes));
  }
  if (reinterpret_cast<std::uintptr_t>(given.bytes.data()) % SlabLayout::kAlignment != 0) {
    return Error(Errc::invalid_option, "slot_memory gave memory that does not begin at a multiple of " +
                                           std::to_string(SlabLayout::kAlignment));
  }
  HostMemory memory;
  memory.begin_ = given.bytes.data();
  memory.size_ = bytes;
  memory.owner_ = given.owner;
  memory.provided_ = true;
  memory.page_locked_ =
      options.registration != Registration::off && HostRegistration::is_page_locked(memory.bytes(), options.device);
  if (!memory.page_locked_) memory.note_ = "CUDA does not know the memory of slot_memory as page-locked";
  return memory;
}

HostMemory::HostMemory(HostMemory&& other) noexcept {
  *this = std::move(other);
}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  if (this != &other) {
    free();
    begin_ = std::exchange(other.begin_, nullptr);
    size_ = std::exchange(other.size_, 0);
    registration_ = std::move(other.registration_);
    owner_ = std::move(other.owner_);
    provided_ = other.provided_;
    page_locked_ = std::exchange(other.page_locked_, false);
    numa_node_ = other.numa_node_;
    device_ = other.device_;
    registration_time_ = other.registration_time_;
    note_ = std::move(other.note_);
  }
  return *this;
}

void HostMemory::leave() noexcept {
  if (owner_ != nullptr) {
    // This pointer is never destroyed, so the owner stays.
    new (std::nothrow) std::shared_ptr<void>(std::move(owner_));
  }
  registration_.abandon();
  begin_ = nullptr;
  size_ = 0;
}

HostMemory::~HostMemory() {
  free();
}

void HostMemory::free() noexcept {
  if (begin_ != nullptr && !provided_ && registration_.unregister()) ::munmap(begin_, size_);
  owner_.reset();
  begin_ = nullptr;
  size_ = 0;
}

}  // namespace dovetail::detail
