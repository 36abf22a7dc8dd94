// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <dovetail/batch.h>

#include "format/process_mark.h"
#include "format/try.h"
#include "reader/memory/pages.h"

namespace dovetail::detail {

namespace {

/// A mapping, and its registration. If unregistering fails, the mapping stays, because a device may
/// still use it.
struct Mapping {
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (!bytes.empty() && registration.unregister()) ::munmap(bytes.data(), bytes.size());
  }

  std::span<std::byte> bytes;
  HostRegistration registration;
};

/// Calls the caller's function. An exception becomes an error, except `std::bad_alloc`, which is one
/// of the reader's.
Result<SlotMemory> ask(const SlotMemoryProvider& provider, std::size_t bytes) {
  try {
    return provider(bytes);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const Exception& failure) {
    return failure.error();
  } catch (const std::exception& failure) {
    return Error(Errc::registration_failed, std::string("slot_memory threw: ") + failure.what());
  } catch (...) {
    return Error(Errc::registration_failed, "slot_memory threw an exception that is not a std::exception");
  }
}

}  // namespace

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
  const auto owner = std::make_shared<Mapping>();
  void* const mapping = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return Error::from_errno(errno, "cannot map " + std::to_string(size) + " bytes for batches");
  }
  HostMemory memory;
  memory.bytes_ = owner->bytes = {static_cast<std::byte*>(mapping), size};
  memory.owner_ = owner;
  // A kernel without huge pages refuses both calls, which has the wanted effect.
  if (options.huge_pages) (void)::madvise(mapping, size, MADV_HUGEPAGE);
  if (options.refuse_huge_pages) (void)::madvise(mapping, size, MADV_NOHUGEPAGE);
  if (options.registration == Registration::off) return memory;
  if (const Result<void> registered = memory.register_with_device(options, owner->registration);
      !registered.has_value()) {
    memory.note_ = registered.error().detail();
  }
  return memory;
}

Result<void> HostMemory::register_with_device(const HostMemoryOptions& options, HostRegistration& registration) {
  DOVETAIL_ASSIGN(const RegistrationDevice device, HostRegistration::device(options.device));
  const auto began = std::chrono::steady_clock::now();
  if (const std::optional<int> node = numa_node_of_pci(device.pci_address)) {
    // If this is forbidden, as in some containers, the pages may lie on any node.
    if (prefer_numa_node(bytes(), *node).has_value()) numa_node_ = *node;
  }
  if (const Result<void> populated = populate(bytes(), options.threads); !populated.has_value()) {
    return Error(Errc::registration_failed, populated.error().to_string());
  }
  DOVETAIL_ASSIGN(registration, HostRegistration::make(bytes(), device));
  (void)::madvise(bytes_.data(), bytes_.size(), MADV_DONTFORK);
  page_locked_ = true;
  device_ = device.number;
  registration_time_ = std::chrono::steady_clock::now() - began;
  return {};
}

Result<HostMemory> HostMemory::adopt(std::size_t bytes, const HostMemoryOptions& options) {
  DOVETAIL_ASSIGN(const SlotMemory given, ask(options.provider, bytes));
  if (given.bytes.size() < bytes) {
    return Error(Errc::invalid_option, "slot_memory gave " + std::to_string(given.bytes.size()) +
                                           " bytes; the slots need " + std::to_string(bytes));
  }
  if (reinterpret_cast<std::uintptr_t>(given.bytes.data()) % SlabLayout::kAlignment != 0) {
    return Error(Errc::invalid_option, "slot_memory gave memory that does not begin at a multiple of " +
                                           std::to_string(SlabLayout::kAlignment));
  }
  HostMemory memory;
  memory.bytes_ = given.bytes.first(bytes);
  memory.owner_ = given.owner;
  memory.provided_ = true;
  memory.page_locked_ =
      options.registration != Registration::off && HostRegistration::is_page_locked(memory.bytes(), options.device);
  if (!memory.page_locked_) memory.note_ = "CUDA does not know the memory of slot_memory as page-locked";
  return memory;
}

void HostMemory::leave() noexcept {
  leave_alone(std::move(owner_));
}

}  // namespace dovetail::detail
