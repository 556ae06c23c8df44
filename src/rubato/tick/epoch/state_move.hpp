#pragma once
// StateMoveOf: a node's part of a redistribution (redistribution.hpp) for a model that can be cut
// again (HasRepartition in model.hpp). It calls nothing but the model's functions.
//
// At tick t the old owner i has what its own regions produced: emigrants too, which lie outside of
// its query. So it may have tuples for the new owner j, which will hold H_j = R_D o (W_D o R_D)^m
// of its new query, exactly if stepping Q_i can yield some of H_j: if Q_i meets W_D(H_j).

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/epoch/redistribution.hpp"
#include "rubato/tick/model.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick {

template <Model M>
requires HasRepartition<M>
class StateMoveOf final : public StateMove {
 public:
  using State = typename M::State;
  using Query = typename M::Query;
  using Samples = typename M::Samples;
  using Queries = std::shared_ptr<const std::vector<Query>>;  // [n_nodes]

  // `own` is what the node's own regions produced, by the partition `old`. `model` outlives it.
  StateMoveOf(const M& model, Queries old, NodeId self, const Policy& policy, State own)
      : model_(model),
        old_(std::move(old)),
        self_(self),
        layers_(policy.replica_layers),
        own_(std::move(own)) {}

  [[nodiscard]] Bytes sample() override { return bytes_of(model_.sample(own_)); }
  void merge_samples(Bytes& into, ByteView from) override {
    Samples sum = samples_of(into);
    model_.merge_samples(sum, samples_of(from));
    into = bytes_of(sum);
  }

  void decide(ByteView samples) override {
    const auto n = static_cast<std::uint32_t>(old_->size());
    auto queries = std::make_shared<std::vector<Query>>(model_.part(n, samples_of(samples)));
    if (queries->size() != n) {
      throw Error("part(n, samples) gave " + std::to_string(queries->size()) +
                      " queries, expected " + std::to_string(n),
                  ExitCode::failed);
    }
    held_ = held_query(model_, (*queries)[self_], layers_);
    const Query reach = model_.write_dependencies(held_);
    for (NodeId node = 0; node < n; ++node) {
      if (node == self_) continue;
      Query theirs = held_query(model_, (*queries)[node], layers_);
      if (!model_.disjoint((*old_)[self_], model_.write_dependencies(theirs))) {
        targets_.push_back(node);
        target_queries_.push_back(std::move(theirs));
      }
      if (!model_.disjoint((*old_)[node], reach)) sources_.push_back(node);
    }
    parts_.resize(sources_.size() + 1);
    new_ = std::move(queries);
  }

  [[nodiscard]] const std::vector<NodeId>& targets() const override { return targets_; }
  [[nodiscard]] const std::vector<NodeId>& sources() const override { return sources_; }
  void pack(std::size_t i, Writer& out) override {
    model_.write(out, model_.select(own_, target_queries_[i]));
  }
  void unpack(std::size_t i, ByteView payload) override {
    Reader reader(payload);
    parts_[i] = model_.read(reader);
  }
  void keep() override {
    parts_.back() = model_.select(own_, held_);
    own_ = State{};
  }

  [[nodiscard]] Nanos cost(std::size_t n_bytes) const override {
    return kMicrosecond + static_cast<Nanos>(n_bytes / 4);  // about 4 GB/s, as stores copy
  }

  // When the engine has finished: who owns what now, and all that this node holds of it.
  [[nodiscard]] const Queries& queries() const noexcept { return new_; }
  [[nodiscard]] State take_held() {
    // Two by two, so that a tuple is copied log2(sources) times.
    for (std::size_t step = 1; step < parts_.size(); step *= 2) {
      for (std::size_t i = 0; i + step < parts_.size(); i += 2 * step) {
        model_.merge(parts_[i], parts_[i + step]);
        parts_[i + step] = State{};
      }
    }
    return std::move(parts_.front());
  }

 private:
  [[nodiscard]] Bytes bytes_of(const Samples& samples) const {
    Writer writer;
    model_.write_samples(writer, samples);
    return writer.take();
  }
  [[nodiscard]] Samples samples_of(ByteView bytes) const {
    Reader reader(bytes);
    return model_.read_samples(reader);
  }

  const M& model_;
  const Queries old_;
  const NodeId self_;
  const int layers_;
  State own_;
  Queries new_;
  Query held_{};
  std::vector<NodeId> targets_;
  std::vector<NodeId> sources_;
  std::vector<Query> target_queries_;  // [targets] what they will hold
  std::vector<State> parts_;           // [sources + 1] what came, and what was here
};

}  // namespace rubato::tick
