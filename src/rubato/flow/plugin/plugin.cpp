#include "rubato/flow/plugin/plugin.hpp"

#include <filesystem>

#include <dlfcn.h>
#include <link.h>

#include "rubato/flow/in_time.hpp"
#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/plugin/rubato_plugin.h"

// What plugins see of one call.
struct RubatoCall {
  rubato::flow::LeafCall& leaf;
  std::string problem;

  void fail(const std::string& why) {
    if (problem.empty()) problem = why;
  }
};

namespace rubato::flow {
namespace {

const RubatoValue* to_plugin(const Value& value) {
  return reinterpret_cast<const RubatoValue*>(&value);
}
const Value& of_plugin(const RubatoValue* value) {
  static const Value none;
  return value != nullptr ? *reinterpret_cast<const Value*>(value) : none;
}

template <class T>
bool is_index(T i, std::size_t n) {
  return i >= 0 && static_cast<std::size_t>(i) < n;
}

std::string range_text(std::size_t n) {
  return n == 0 ? "none" : "0 to " + std::to_string(n - 1);
}

const RubatoValue* input(RubatoCall* call, std::int32_t i) {
  if (is_index(i, call->leaf.inputs.size()))
    return to_plugin(call->leaf.inputs[static_cast<std::size_t>(i)]);
  call->fail("asks for input " + std::to_string(i) + ", expected " +
             range_text(call->leaf.inputs.size()));
  return to_plugin(of_plugin(nullptr));
}

const std::pair<Value, Value>* member_at(RubatoCall* call, std::int32_t i, std::int64_t member) {
  if (!is_index(i, call->leaf.containers.size())) {
    call->fail("asks for input " + std::to_string(i) + ", expected " +
               range_text(call->leaf.containers.size()));
    return nullptr;
  }
  const Members& members = call->leaf.containers[static_cast<std::size_t>(i)];
  if (is_index(member, members.size())) return &members[static_cast<std::size_t>(member)];
  call->fail("asks for member " + std::to_string(member) + " of input " + std::to_string(i) +
             ", expected " + range_text(members.size()));
  return nullptr;
}

std::int64_t n_members(RubatoCall* call, std::int32_t i) {
  return is_index(i, call->leaf.containers.size())
             ? static_cast<std::int64_t>(call->leaf.containers[static_cast<std::size_t>(i)].size())
             : 0;
}

const RubatoValue* key(RubatoCall* call, std::int32_t i, std::int64_t member) {
  const auto* found = member_at(call, i, member);
  return to_plugin(found != nullptr ? found->first : of_plugin(nullptr));
}

const RubatoValue* member(RubatoCall* call, std::int32_t i, std::int64_t at) {
  const auto* found = member_at(call, i, at);
  return to_plugin(found != nullptr ? found->second : of_plugin(nullptr));
}

std::int32_t kind(const RubatoValue* value) {
  switch (of_plugin(value).kind()) {
    case Kind::unit:
      return RUBATO_DONE;
    case Kind::integer:
      return RUBATO_INTEGER;
    case Kind::floating:
      return RUBATO_FLOAT;
    case Kind::boolean:
      return RUBATO_BOOLEAN;
    case Kind::string:
      return RUBATO_STRING;
    case Kind::blob:
      return RUBATO_BLOB;
    case Kind::file:
      return RUBATO_FILE;
    default:
      return RUBATO_NONE;
  }
}

bool expects(RubatoCall* call, const Value& value, Kind kind) {
  if (value.kind() == kind) return true;
  call->fail("asks for a value of kind " + std::string(name_of(kind)) + ", found " +
             std::string(name_of(value.kind())));
  return false;
}

std::int64_t as_integer(RubatoCall* call, const RubatoValue* from) {
  const Value& value = of_plugin(from);
  return expects(call, value, Kind::integer) ? value.as_integer() : 0;
}

double as_float(RubatoCall* call, const RubatoValue* from) {
  const Value& value = of_plugin(from);
  if (value.kind() == Kind::integer) return static_cast<double>(value.as_integer());
  return expects(call, value, Kind::floating) ? value.as_floating() : 0;
}

std::int32_t as_boolean(RubatoCall* call, const RubatoValue* from) {
  const Value& value = of_plugin(from);
  return expects(call, value, Kind::boolean) && value.as_boolean() ? 1 : 0;
}

const char* as_text(RubatoCall* call, const RubatoValue* from, std::size_t* n_bytes) {
  const Value& value = of_plugin(from);
  const bool has_text = value.kind() == Kind::blob || value.kind() == Kind::file ||
                        expects(call, value, Kind::string);
  if (n_bytes != nullptr) *n_bytes = has_text ? value.as_text().size() : 0;
  return has_text ? value.as_text().c_str() : "";
}

void set(RubatoCall* call, std::int32_t i, Value value) {
  if (is_index(i, call->leaf.outputs.size())) {
    Value& output = call->leaf.outputs[static_cast<std::size_t>(i)];
    if (output.kind() == Kind::file) {
      call->fail("sets output " + std::to_string(i) + ", which is a file: it is to be written");
      return;
    }
    if (output.kind() != Kind::none) {
      call->fail("sets output " + std::to_string(i) + " twice, expected once");
      return;
    }
    output = std::move(value);
  } else {
    call->fail("sets output " + std::to_string(i) + ", expected " +
               range_text(call->leaf.outputs.size()));
  }
}

const char* output_file(RubatoCall* call, std::int32_t i) {
  if (!is_index(i, call->leaf.outputs.size())) return "";
  const Value& value = call->leaf.outputs[static_cast<std::size_t>(i)];
  return value.kind() == Kind::file ? value.as_text().c_str() : "";
}

void add_leaf(const char* name, RubatoLeaf leaf, void* user);

// What a C function gets: calls of C, nothing that throws through it.
const RubatoApi kApi = {
    RUBATO_PLUGIN_VERSION,
    &add_leaf,
    [](RubatoCall* call) { return static_cast<std::int32_t>(call->leaf.inputs.size()); },
    &input,
    &n_members,
    &key,
    &member,
    &kind,
    &as_integer,
    &as_float,
    &as_boolean,
    &as_text,
    [](RubatoCall* call) { return static_cast<std::int32_t>(call->leaf.outputs.size()); },
    [](RubatoCall* call, std::int32_t i, std::int64_t x) { set(call, i, Value::integer(x)); },
    [](RubatoCall* call, std::int32_t i, double x) { set(call, i, Value::floating(x)); },
    [](RubatoCall* call, std::int32_t i, std::int32_t x) { set(call, i, Value::boolean(x != 0)); },
    [](RubatoCall* call, std::int32_t i, const char* bytes, std::size_t n) {
      set(call, i, Value::text(Kind::string, std::string(bytes, n)));
    },
    [](RubatoCall* call, std::int32_t i, const void* bytes, std::size_t n) {
      set(call, i, Value::text(Kind::blob, std::string(static_cast<const char*>(bytes), n)));
    },
    [](RubatoCall* call, std::int32_t i) { set(call, i, Value::done()); },
    &output_file,
    [](RubatoCall* call, const char* why) { call->fail(why != nullptr ? why : "has failed"); },
    [](RubatoCall* /*call*/) -> std::int32_t { return time_is_up() ? 1 : 0; },
};

// The library that adds its leaves at this time, before a run.
FileState& loading() {
  static FileState state;
  return state;
}

void add_leaf(const char* name, RubatoLeaf leaf, void* user) {
  const auto run = [leaf, user](LeafCall& call) {
    RubatoCall of_plugin{call, {}};
    leaf(&kApi, &of_plugin, user);
    if (!of_plugin.problem.empty()) throw Error("leaf " + call.name + " " + of_plugin.problem);
  };
  register_leaf(name, LeafFunction{run, {}, loading()});
}

std::string last_problem() {
  const char* const text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): before the run
  return text != nullptr ? text : "unknown";
}

// Wherever the system has found it.
FileState state_of(void* library, const std::string& path) {
  const link_map* map = nullptr;
  const bool has_name = ::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 &&
                        map != nullptr && *map->l_name != '\0';
  return FileState::of(std::filesystem::absolute(has_name ? map->l_name : path).string());
}

}  // namespace

void load_plugin(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error("plugin " + path + ": cannot be loaded: " + last_problem());
  void* const entry = ::dlsym(library, "rubato_plugin");
  if (entry == nullptr) {
    throw Error("plugin " + path + ": found no function rubato_plugin, expected " +
                "int rubato_plugin(const RubatoApi*) of rubato_plugin.h");
  }
  loading() = state_of(library, path);
  const auto begin = reinterpret_cast<int (*)(const RubatoApi*)>(entry);
  const int code = begin(&kApi);
  if (code != 0)
    throw Error("plugin " + path + ": refuses to be loaded, code " + std::to_string(code));
}

}  // namespace rubato::flow
