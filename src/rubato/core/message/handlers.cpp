#include "rubato/core/message/handlers.hpp"

#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/core/message/record.hpp"

namespace rubato::core {
namespace {

// Written before main, by one thread; a function-local static because other statics use it.
std::vector<detail::Handler>& table() {
  static std::vector<detail::Handler> all;
  return all;
}

}  // namespace

namespace detail {

HandlerId register_handler(const Handler& handler) {
  table().push_back(handler);
  return static_cast<HandlerId>(table().size() - 1);
}

const Handler& handler_at(HandlerId id) {
  const auto& all = table();
  if (id >= all.size()) {
    throw Error("message for handler " + std::to_string(id) + ": expected one of " +
                    std::to_string(all.size()),
                ExitCode::failed);
  }
  return all[id];
}

void throw_cut_record(std::size_t n_bytes) {
  throw Error("message that is cut: " + std::to_string(n_bytes) + " bytes are left of its run",
              ExitCode::failed);
}

}  // namespace detail

std::uint32_t n_handlers() {
  return static_cast<std::uint32_t>(table().size());
}

std::string handler_name(HandlerId id) {
  return std::string(detail::handler_at(id).name);
}

std::uint64_t handler_table_hash() {
  std::uint64_t hash = 0;
  for (const detail::Handler& handler : table()) {
    for (const char c : handler.name)
      hash = hash_words(hash, static_cast<unsigned char>(c));
    hash = hash_words(hash, handler.name.size(), handler.stride);
  }
  return hash;
}

}  // namespace rubato::core
