#include "rubato/core/handlers.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"

namespace rubato::core {
namespace {

struct Entry {
  std::string_view name;
  detail::ApplyHandler apply;
};

// Written before main, by one thread; a function-local static because other statics use it.
std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

// Made at the first question, when all are registered.
struct Table {
  std::vector<std::uint32_t> slot_of;  // [id]
  std::vector<HandlerId> id_of;        // [slot]
  std::uint64_t hash = 0;

  Table() {
    const auto& all = entries();
    slot_of.resize(all.size());
    id_of.resize(all.size());
    std::iota(slot_of.begin(), slot_of.end(), 0U);
    std::sort(slot_of.begin(), slot_of.end(),
              [&](std::uint32_t a, std::uint32_t b) { return all[a].name < all[b].name; });
    for (HandlerId id = 0; id < slot_of.size(); ++id) {
      const std::string_view name = all[slot_of[id]].name;
      if (id > 0 && all[slot_of[id - 1]].name == name) {
        throw Error("two message handlers are called " + std::string(name) +
                        ": expected different names, since nodes find handlers by name",
                    ExitCode::failed);
      }
      id_of[slot_of[id]] = id;
      for (const char c : name)
        hash = hash_words(hash, static_cast<unsigned char>(c));
      hash = hash_words(hash, name.size(), id);
    }
  }
};

const Table& table() {
  static const Table made;
  return made;
}

}  // namespace

namespace detail {

std::uint32_t register_handler(std::string_view name, ApplyHandler apply) {
  entries().push_back({name, apply});
  return static_cast<std::uint32_t>(entries().size() - 1);
}

HandlerId handler_id(std::uint32_t slot) {
  return table().id_of[slot];
}

ApplyHandler handler_at(HandlerId id) {
  const auto& slots = table().slot_of;
  if (id >= slots.size()) {
    throw Error("message for handler " + std::to_string(id) + ": expected one of " +
                    std::to_string(slots.size()),
                ExitCode::failed);
  }
  return entries()[slots[id]].apply;
}

}  // namespace detail

std::uint32_t n_handlers() {
  return static_cast<std::uint32_t>(table().slot_of.size());
}

std::string handler_name(HandlerId id) {
  RUBATO_REQUIRE(id < n_handlers(), id, n_handlers());
  return std::string(entries()[table().slot_of[id]].name);
}

std::uint64_t handler_table_hash() {
  return table().hash;
}

}  // namespace rubato::core
