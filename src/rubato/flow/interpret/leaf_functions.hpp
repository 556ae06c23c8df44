#pragma once
// Functions of C++ that scripts call as leaves.
//
//   double simulate(double x, std::int64_t seed);
//   const bool kRegistered = register_leaf("simulate", &simulate);       // in the program
//   leaf simulate(float x, integer seed) to (float y)                    // in the script
//
// Found by their names; a leaf runs on a thread beside the cores and must not use the runtime. One
// whose first argument is a team is a task on the cores of that team and may use all of it:
//
//   double norm(const global::Team& team, std::int64_t n);
//   const bool kParallel = register_leaf("norm", &norm);
//   leaf norm(integer n) to (float x) parallel 4

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rubato/flow/interpret/evaluate.hpp"
#include "rubato/flow/journal/journal.hpp"
#include "rubato/flow/store/codec.hpp"
#include "rubato/global/team.hpp"

namespace rubato::flow {

// One call: what it gets and what it sets.
struct LeafCall {
  std::string name;
  std::vector<Value> inputs;        // [inputs of the leaf]; none where it is a container
  std::vector<Members> containers;  // [inputs of the leaf]; empty where it is none
  std::vector<Value> outputs;       // [outputs of the leaf]; a file's begins as where to write it
  // That its rule waits for; it may have got their names.
  std::vector<std::string> files_waited_for = {};
};

// What a function takes and sets, by its types.
struct LeafSignature {
  std::vector<Kind> inputs;
  std::vector<Kind> outputs;  // the first ones; others are files, which it writes by their names
  bool sets_all = false;      // it returns nothing: what is no file is there when it has ended
};

struct LeafFunction {
  std::function<void(LeafCall&)> run;
  // In its place, of one that all cores of a team run together; the outputs of rank 0 count.
  std::function<void(LeafCall&, const global::Team&)> run_by_team = {};
  // The shared library that it is in, as it was when it was loaded; no path: it is in the program.
  FileState library = {};
  // Known of a function of C++ alone: what scripts say is held against it before they run.
  std::optional<LeafSignature> signature = {};
};

// Throws Error, with the nearest name, if the program has no leaf of that name.
[[nodiscard]] const LeafFunction& leaf_function(const std::string& name);
// Whether the program has a leaf of that name that all cores of a team run together.
[[nodiscard]] bool is_leaf_of_team(const std::string& name);
// Before main; the last of a name counts. Returns true, for objects that do this.
bool register_leaf(const std::string& name, LeafFunction function);

namespace detail {

template <class T>
void put_output(LeafCall& call, std::size_t i, const T& x) {
  call.outputs.at(i) = Codec<T>::put(x);
}
template <class T>
struct LeafResult {
  static void put(LeafCall& call, const T& x) { put_output(call, 0, x); }
};
template <class... T>
struct LeafResult<std::tuple<T...>> {
  static void put(LeafCall& call, const std::tuple<T...>& all) {
    put(call, all, std::index_sequence_for<T...>{});
  }
  template <std::size_t... I>
  static void put(LeafCall& call, const std::tuple<T...>& all, std::index_sequence<I...> /*of T*/) {
    (put_output(call, I, std::get<I>(all)), ...);
  }
};

}  // namespace detail

namespace detail {

template <class R>
struct ResultKinds {
  static std::vector<Kind> all() { return {Codec<R>::kKind}; }
};
template <>
struct ResultKinds<void> {
  static std::vector<Kind> all() { return {}; }
};
template <class... T>
struct ResultKinds<std::tuple<T...>> {
  static std::vector<Kind> all() { return {Codec<T>::kKind...}; }
};
template <class R, class... A>
[[nodiscard]] LeafSignature signature_of() {
  return {{Codec<std::remove_cvref_t<A>>::kKind...}, ResultKinds<R>::all(), std::is_void_v<R>};
}

// Throws Error if the script has an input of another type than the function.
void check_leaf_input(const LeafCall& call, std::size_t i, Kind expected);

// function(first.., inputs..) into the outputs.
template <class R, class... A, class F>
void call_leaf_function(LeafCall& call, const F& function) {
  if (call.inputs.size() != sizeof...(A)) {
    throw Error("leaf " + call.name + " has " + std::to_string(call.inputs.size()) +
                " inputs in the script, expected " + std::to_string(sizeof...(A)));
  }
  std::size_t i_input = 0;
  (check_leaf_input(call, i_input++, Codec<std::remove_cvref_t<A>>::kKind), ...);
  const auto run = [&]<std::size_t... I>(std::index_sequence<I...> /*of A*/) {
    return function(Codec<std::remove_cvref_t<A>>::get(call.inputs[I])...);
  };
  if constexpr (std::is_void_v<R>) {
    run(std::index_sequence_for<A...>{});
    for (Value& output : call.outputs)
      output = Value::done();
  } else {
    LeafResult<R>::put(call, run(std::index_sequence_for<A...>{}));
  }
}

}  // namespace detail

// A function of scalars; several results are a tuple.
template <class R, class... A>
bool register_leaf(const std::string& name, R (*function)(A...)) {
  LeafFunction leaf;
  leaf.run = [function](LeafCall& call) { detail::call_leaf_function<R, A...>(call, function); };
  leaf.signature = detail::signature_of<R, A...>();
  return register_leaf(name, std::move(leaf));
}
template <class R, class... A>
bool register_leaf(const std::string& name, R (*function)(const global::Team&, A...)) {
  LeafFunction leaf;
  leaf.run_by_team = [function](LeafCall& call, const global::Team& team) {
    detail::call_leaf_function<R, A...>(
        call, [&](const A&... inputs) { return function(team, inputs...); });
  };
  leaf.signature = detail::signature_of<R, A...>();
  return register_leaf(name, std::move(leaf));
}

}  // namespace rubato::flow
