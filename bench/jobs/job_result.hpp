#pragma once
// How a job of several processes says what it has measured: run_job() reads it.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

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

// main() of a job: run(words after the program's name) and its exit code, or 1 and what it has thrown.
template <class F>
int job_main(int argc, char** argv, const char* name, F run) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 1;
  }
}

}  // namespace rubato::bench
