#pragma once
// Engines for the tests of hosts. Each computes something whose exact result is known in advance,
// from messages and work that depend on each other, so that a lost, doubled, reordered or early
// event shows.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/core/engine.hpp"

namespace rubato::core::testing {

inline Bytes word(std::uint64_t value) {
  Writer out;
  out.put(value);
  return out.take();
}

// A token goes round n_rounds times; each node hashes it with its own id in a piece of work.
class RingEngine final : public Engine {
 public:
  RingEngine(NodeId node, std::uint32_t n_nodes, std::uint32_t n_rounds)
      : node_(node), n_nodes_(n_nodes), n_left_(n_rounds) {}

  // The token at the end of the run, at the last node.
  static std::uint64_t expected(std::uint32_t n_nodes, std::uint32_t n_rounds) {
    std::uint64_t token = 42;
    for (std::uint32_t i = 0; i < n_rounds * n_nodes; ++i)
      token = hash_words(token, i % n_nodes);
    return token;
  }
  [[nodiscard]] std::uint64_t token() const { return token_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

  void start(Port& /*port*/) override {
    if (node_ == 0) take(42);
  }
  void on_message(Port& /*port*/, NodeId from, Bytes bytes) override {
    RUBATO_REQUIRE(from == (node_ + n_nodes_ - 1) % n_nodes_, from, node_);
    take(Reader(bytes).get<std::uint64_t>());
  }
  bool next_work(std::uint32_t /*core*/, Work& work) override {
    if (!ready_) return false;
    ready_ = false;
    work = {3, node_, n_left_};
    return true;
  }
  void run(const Work& work, std::uint32_t /*core*/) override {
    if (throws && work.tick == 1) throw Error("the token broke", ExitCode::bad_input);
    token_ = hash_words(token_, work.index);
  }
  void on_finished(Port& port, const Work& /*work*/) override {
    --n_left_;
    if (n_left_ > 0 || node_ + 1 != n_nodes_) port.send((node_ + 1) % n_nodes_, word(token_));
  }
  [[nodiscard]] Nanos cost(const Work& /*work*/) const override { return 10 * kMicrosecond; }
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override {
    return 1'000 + static_cast<Nanos>(n_bytes);
  }
  [[nodiscard]] bool finished() const override { return n_left_ == 0; }
  [[nodiscard]] std::string waiting_for() const override {
    return n_left_ == 0 ? "" : "the token of round " + std::to_string(n_left_);
  }
  void on_failed(const Error& error) override { failure_ = error.what(); }

  bool throws = false;  // in the last round, at this node

 private:
  void take(std::uint64_t token) {
    token_ = token;
    ready_ = true;
  }
  NodeId node_;
  std::uint32_t n_nodes_;
  std::uint32_t n_left_;
  std::uint64_t token_ = 0;
  bool ready_ = false;
  std::string failure_;
};

// Every node sends `n_messages` numbered messages to every other; order within each pair is
// checked.
class AllToAllEngine final : public Engine {
 public:
  AllToAllEngine(NodeId node, std::uint32_t n_nodes, std::uint64_t n_messages)
      : node_(node), n_nodes_(n_nodes), n_messages_(n_messages) {}

  // What every node has seen at the end, combined without regard to the order between pairs.
  static std::uint64_t expected(NodeId node, std::uint32_t n_nodes, std::uint64_t n_messages) {
    std::uint64_t sum = 0;
    for (NodeId from = 0; from < n_nodes; ++from) {
      for (std::uint64_t i = 0; i < n_messages; ++i)
        sum += hash_words(from, node, i);
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  [[nodiscard]] std::uint64_t n_wrong_order() const { return n_wrong_order_; }

  void start(Port& port) override { send_some(port); }
  void on_message(Port& port, NodeId from, Bytes bytes) override {
    Reader in(bytes);
    const auto index = in.get<std::uint64_t>();
    if (index != next_from_[from]++) ++n_wrong_order_;
    sum_ += in.get<std::uint64_t>();
    ++n_taken_;
    if (n_taken_ % 3 == 0) port.wake_at(port.now() + 5 * kMicrosecond);
  }
  void on_time(Port& port) override { send_some(port); }
  bool next_work(std::uint32_t /*core*/, Work& work) override {
    if (n_works_ == n_messages_) return false;
    work = {1, static_cast<std::uint32_t>(n_works_++), 0};
    return true;
  }
  void run(const Work& /*work*/, std::uint32_t /*core*/) override {}
  void on_finished(Port& port, const Work& /*work*/) override {
    ++n_works_done_;
    send_some(port);
  }
  [[nodiscard]] Nanos cost(const Work& work) const override { return 1'000 * (1 + work.index % 7); }
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override {
    return static_cast<Nanos>(n_bytes);
  }
  [[nodiscard]] bool finished() const override {
    return n_sent_ == n_messages_ && n_works_done_ == n_messages_ &&
           n_taken_ == n_messages_ * n_nodes_;
  }
  [[nodiscard]] std::string waiting_for() const override {
    return std::to_string(n_messages_ * n_nodes_ - n_taken_) + " messages";
  }

 private:
  // One to each node, of a size that depends on the number, so that costs differ.
  void send_some(Port& port) {
    if (n_sent_ == n_messages_) return;
    for (NodeId to = 0; to < n_nodes_; ++to) {
      Writer out;
      out.put(n_sent_);
      out.put(hash_words(node_, to, n_sent_));
      const Bytes padding(n_sent_ * 37 % 900);
      out.append(padding.data(), padding.size());
      port.send(to, out.take());
    }
    ++n_sent_;
  }

  NodeId node_;
  std::uint32_t n_nodes_;
  std::uint64_t n_messages_;
  std::uint64_t n_sent_ = 0;
  std::uint64_t n_works_ = 0;
  std::uint64_t n_works_done_ = 0;
  std::uint64_t n_taken_ = 0;
  std::uint64_t n_wrong_order_ = 0;
  std::uint64_t sum_ = 0;
  std::map<NodeId, std::uint64_t> next_from_;
};

// A random layered graph of tasks: task (layer, i) lives on a node, hashes the values of three
// tasks of the layer before, and sends its own to the nodes that want it.
class GraphEngine final : public Engine {
 public:
  struct Shape {
    std::uint64_t seed = 0;
    std::uint32_t n_nodes = 1;
    std::uint32_t n_layers = 8;
    std::uint32_t width = 12;
  };
  static constexpr std::uint32_t kInputs = 3;

  GraphEngine(NodeId node, const Shape& shape)
      : node_(node), shape_(shape), slots_(std::size_t{shape.n_layers} * shape.width) {
    for (std::uint32_t layer = 0; layer < shape_.n_layers; ++layer) {
      for (std::uint32_t i = 0; i < shape_.width; ++i) {
        if (owner(shape_, layer, i) == node_) ++n_mine_;
      }
    }
  }
  static NodeId owner(const Shape& s, std::uint32_t layer, std::uint32_t i) {
    return static_cast<NodeId>(hash_words(s.seed, layer, i) % s.n_nodes);
  }
  static std::uint32_t input(const Shape& s, std::uint32_t layer, std::uint32_t i,
                             std::uint32_t k) {
    return static_cast<std::uint32_t>(hash_words(s.seed + 1 + k, layer, i) % s.width);
  }
  // All values, computed one after the other.
  static std::vector<std::uint64_t> expected(const Shape& s) {
    std::vector<std::uint64_t> values;
    for (std::uint32_t i = 0; i < s.width; ++i)
      values.push_back(hash_words(s.seed, i));
    for (std::uint32_t layer = 1; layer < s.n_layers; ++layer) {
      for (std::uint32_t i = 0; i < s.width; ++i) {
        std::uint64_t value = layer;
        for (std::uint32_t k = 0; k < kInputs; ++k) {
          value = hash_words(value, values[(layer - 1) * s.width + input(s, layer, i, k)]);
        }
        values.push_back(value);
      }
    }
    return values;
  }
  [[nodiscard]] const std::map<std::uint32_t, std::uint64_t>& values() const { return values_; }

  void start(Port& /*port*/) override {
    for (std::uint32_t i = 0; i < shape_.width; ++i) {
      if (owner(shape_, 0, i) == node_) ready_.push_back({0, i, 0});
    }
  }
  void on_message(Port& /*port*/, NodeId /*from*/, Bytes bytes) override {
    Reader in(bytes);
    const auto task = in.get<std::uint32_t>();
    arrived(task, in.get<std::uint64_t>());
  }
  bool next_work(std::uint32_t /*core*/, Work& work) override {
    if (ready_.empty()) return false;
    work = ready_.back();
    ready_.pop_back();
    return true;
  }
  [[nodiscard]] bool more_work() const override { return !ready_.empty(); }
  void run(const Work& work, std::uint32_t /*core*/) override {
    std::uint64_t value = work.tick == 0 ? hash_words(shape_.seed, work.index)
                                         : static_cast<std::uint64_t>(work.tick);
    Slot& slot = slots_[task_of(work)];
    if (work.tick > 0) {
      for (const std::uint64_t in : slot.inputs)
        value = hash_words(value, in);
    }
    slot.value = value;
  }
  void on_finished(Port& port, const Work& work) override {
    const std::uint32_t task = task_of(work);
    const std::uint64_t value = slots_[task].value;
    values_[task] = value;
    const auto next = static_cast<std::uint32_t>(work.tick) + 1;
    if (next == shape_.n_layers) return;
    std::vector<bool> told(shape_.n_nodes, false);
    for (std::uint32_t i = 0; i < shape_.width; ++i) {
      const NodeId to = owner(shape_, next, i);
      for (std::uint32_t k = 0; k < kInputs && !told[to]; ++k) {
        if (input(shape_, next, i, k) != work.index) continue;
        told[to] = true;
        if (to == node_) continue;
        Writer out;
        out.put(task);
        out.put(value);
        port.send(to, out.take());
      }
    }
    if (told[node_]) arrived(task, value);
  }
  [[nodiscard]] Nanos cost(const Work& work) const override {
    return static_cast<Nanos>(hash_words(shape_.seed, work.index, 9) % 50'000);
  }
  [[nodiscard]] Nanos message_cost(std::size_t /*n_bytes*/) const override { return 700; }
  [[nodiscard]] bool finished() const override { return values_.size() == n_mine_; }
  [[nodiscard]] std::string waiting_for() const override {
    return std::to_string(n_mine_ - values_.size()) + " tasks' inputs";
  }

 private:
  struct Slot {
    std::vector<std::uint64_t> inputs = std::vector<std::uint64_t>(kInputs);
    std::uint32_t n_inputs = 0;
    std::uint64_t value = 0;
  };

  [[nodiscard]] std::uint32_t task_of(const Work& work) const {
    return static_cast<std::uint32_t>(work.tick) * shape_.width + work.index;
  }
  void arrived(std::uint32_t task, std::uint64_t value) {
    const std::uint32_t layer = task / shape_.width + 1;
    for (std::uint32_t i = 0; i < shape_.width; ++i) {
      if (owner(shape_, layer, i) != node_) continue;
      Slot& slot = slots_[layer * shape_.width + i];
      for (std::uint32_t k = 0; k < kInputs; ++k) {
        if (input(shape_, layer, i, k) != task % shape_.width) continue;
        slot.inputs[k] = value;
        if (++slot.n_inputs == kInputs) ready_.push_back({layer % 4, i, layer});
      }
    }
  }

  NodeId node_;
  Shape shape_;
  std::vector<Slot> slots_;  // never resized: run() works on its own slot, outside the lock
  std::size_t n_mine_ = 0;
  std::vector<Work> ready_;
  std::map<std::uint32_t, std::uint64_t> values_;
};

}  // namespace rubato::core::testing
