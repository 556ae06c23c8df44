#pragma once
// How a job of several processes says what it has measured: run_job() reads it.

#include <cstdio>

#include "bench/job.hpp"
#include "rubato/io/json.hpp"

namespace rubato::bench {

// A line of JSON. By node 0.
inline void print(const JobResult& result) {
  io::JsonWriter json;
  json.begin_object().field("million_per_second", result.rate).key("counters").begin_object();
  for (const auto& [name, n] : result.counters)
    json.field(name, n);
  json.end_object().end_object();
  std::printf("%s\n", json.text().c_str());
}

}  // namespace rubato::bench
