#pragma once
// Handlers: functions that a message can name, and the table of them.
//
// A function becomes a handler by being used as one (Handler<&add_edge>, message.hpp): a static
// object registers it before main. Its id is its place in the table sorted by name, so that it does
// not depend on the order in which files were linked. Nodes compare a hash of the table at start
// (identity.hpp).

#include <cstdint>
#include <string>
#include <string_view>

#include "rubato/base/bytes.hpp"

namespace rubato::core {

class CoreContext;  // message.hpp
using HandlerId = std::uint32_t;

namespace detail {

// Reads the arguments off and calls the function.
using ApplyHandler = void (*)(CoreContext& here, Reader& arguments);

// Called by static objects alone. Returns the slot, which handler_id() turns into an id. `name`
// lives for ever, and distinguishes functions.
[[nodiscard]] std::uint32_t register_handler(std::string_view name, ApplyHandler apply);

// REQUIRES: main has begun. Throws Error if two functions have one name (of files' private
// functions, one must be renamed).
[[nodiscard]] HandlerId handler_id(std::uint32_t slot);
// Throws Error for an id that the table does not have.
[[nodiscard]] ApplyHandler handler_at(HandlerId id);

}  // namespace detail

[[nodiscard]] std::uint32_t n_handlers();
[[nodiscard]] std::string handler_name(HandlerId id);

// Equal on two nodes if and only if their ids mean the same names (but for chance).
[[nodiscard]] std::uint64_t handler_table_hash();

}  // namespace rubato::core
