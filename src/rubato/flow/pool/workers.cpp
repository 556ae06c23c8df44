#include "rubato/flow/pool/workers.hpp"

#include <algorithm>
#include <charconv>

#include "rubato/base/error.hpp"

namespace rubato::flow {

Workers Workers::parse(const std::vector<std::string>& texts) {
  Workers workers;
  for (const std::string& text : texts) {
    const std::size_t at = text.find('=');
    std::string_view number = std::string_view(text).substr(at == std::string::npos ? 0 : at + 1);
    constexpr std::string_view kEach = "/node";
    const bool on_each_node = number.ends_with(kEach);
    if (on_each_node) number.remove_suffix(kEach.size());
    std::uint32_t n = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
    if (at == std::string::npos || error != std::errc() || end != number.data() + number.size()) {
      throw Error("workers: found '" + text + "', expected NAME=N or NAME=N/node, as gpu=1/node",
                  ExitCode::usage);
    }
    workers.add(text.substr(0, at), n, on_each_node);
  }
  return workers;
}

WorkType Workers::add(std::string name, std::uint32_t n, bool on_each_node) {
  const auto is_taken = [&](const Type& type) { return type.name == name; };
  if (name.empty()) throw Error("workers: found no name, expected NAME=N", ExitCode::usage);
  if (std::ranges::any_of(types_, is_taken)) {
    throw Error("workers: found " + name + " twice, expected each type once", ExitCode::usage);
  }
  if (n == 0 || n > kMost) {
    throw Error("workers: found " + std::to_string(n) + " of " + name + ", expected 1 to " +
                    std::to_string(kMost),
                ExitCode::usage);
  }
  types_.push_back({std::move(name), n, on_each_node});
  return {static_cast<std::uint32_t>(types_.size())};
}

WorkType Workers::type(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (types_[i].name == name) return {static_cast<std::uint32_t>(i + 1)};
    names.push_back(types_[i].name);
  }
  throw Error("work of type " + std::string(name) + ": expected workers for it, as " +
              std::string(name) + "=1/node; " +
              (names.empty() ? std::string("there are none")
                             : "there are those of another name" + did_you_mean(name, names)));
}

std::uint32_t Workers::n_on(WorkType type, core::NodeId node, const core::JobShape& shape) const {
  const Type& mine = of(type);
  if (mine.on_each_node) return mine.n;
  return mine.n / shape.n_nodes + (node < mine.n % shape.n_nodes ? 1 : 0);
}

std::uint64_t Workers::n_in_all(WorkType type, const core::JobShape& shape) const {
  const Type& mine = of(type);
  return mine.on_each_node ? std::uint64_t{mine.n} * shape.n_nodes : mine.n;
}

void Workers::put(Writer& out) const {
  out.put(static_cast<std::uint64_t>(types_.size()));
  for (const Type& type : types_) {
    out.put_string(type.name);
    out.put(type.n);
    out.put(static_cast<std::uint32_t>(type.on_each_node ? 1 : 0));
  }
}

Workers Workers::get(Reader& in) {
  Workers workers;
  const auto n_types = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < n_types; ++i) {
    std::string name = in.get_string();
    const auto n = in.get<std::uint32_t>();
    workers.add(std::move(name), n, in.get<std::uint32_t>() != 0);
  }
  return workers;
}

}  // namespace rubato::flow
