#include "rubato/tools/record/machine.hpp"

#include <algorithm>
#include <tuple>

#include <sys/utsname.h>
#include <unistd.h>

#include "rubato/base/memory.hpp"
#include "rubato/tools/proc_files.hpp"

namespace rubato::tools {
namespace {

bool is_same(const RecordedHost& a, const RecordedHost& b) {
  return std::tie(a.name, a.system, a.processor, a.n_processors, a.memory_bytes) ==
         std::tie(b.name, b.system, b.processor, b.n_processors, b.memory_bytes);
}

}  // namespace

RecordedHost this_machine() {
  utsname system{};
  ::uname(&system);
  RecordedHost host;
  host.name = system.nodename;
  host.system = std::string(system.sysname) + " " + system.release;
  host.processor = value_of("/proc/cpuinfo", "model name");
  host.n_processors = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  host.memory_bytes = physical_memory();
  return host;
}

void put(Writer& out, const RecordedHost& host) {
  out.put_string(host.name);
  out.put_string(host.system);
  out.put_string(host.processor);
  out.put(host.n_processors);
  out.put(host.memory_bytes);
}

RecordedHost get_host(Reader& in) {
  RecordedHost host;
  host.name = in.get_string();
  host.system = in.get_string();
  host.processor = in.get_string();
  host.n_processors = in.get<std::uint32_t>();
  host.memory_bytes = in.get<std::uint64_t>();
  return host;
}

std::vector<RecordedHost> hosts_of_nodes(const std::vector<RecordedHost>& by_node) {
  std::vector<RecordedHost> hosts;
  for (std::size_t node = 0; node < by_node.size(); ++node) {
    auto known = std::ranges::find_if(
        hosts, [&](const RecordedHost& host) { return is_same(host, by_node[node]); });
    if (known == hosts.end()) known = hosts.insert(known, by_node[node]);
    known->nodes.push_back(static_cast<std::uint32_t>(node));
  }
  return hosts;
}

}  // namespace rubato::tools
