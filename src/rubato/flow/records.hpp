#pragma once
// What cores say to each other about data and rules; each is applied by the method of Flow of the
// same name.

#include "rubato/flow/flow.hpp"

namespace rubato::flow {

// New weight for a reference, and that its home knows of it (Flow::widen).
struct Minted {
  std::uint64_t ticket;
  std::uint64_t weight;
  void apply(CoreContext& /*here*/) const { Flow::here().end_widening(ticket, weight); }
};
struct Mint {
  DataId id;
  std::uint64_t weight;
  bool is_writer;
  std::uint64_t ticket;
  void apply(CoreContext& here) const {
    Flow::here().mint_here(id, is_writer, weight);
    here.post(here.source(), Minted{ticket, weight});
  }
};

struct SetWord {
  Ref writer;
  std::uint64_t bits;
  Kind kind;
  PortablePlace at;
  void apply(CoreContext& /*here*/) const {
    Flow::here().set_here(writer, Value::word(kind, bits), at);
  }
};
struct SetText {
  Ref writer;
  PortablePlace at;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Reader in(bytes);
    Flow::here().set_here(writer, Value::get(in), at);
  }
};
struct GiveBackReader {
  Ref reader;
  void apply(CoreContext& /*here*/) const { Flow::here().give_back_reader_here(reader); }
};
struct GiveBackWriter {
  Ref writer;
  void apply(CoreContext& /*here*/) const {
    Flow::here().give_back_writer_here(writer, nullptr, FailedPart::any_member);
  }
};
struct FailWriter {
  Ref writer;
  FailedPart part;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Reader in(bytes);
    const Value failure = Value::get(in);
    Flow::here().give_back_writer_here(writer, &failure, part);
  }
};

// A rule on its way to an input, or to where it is to run.
struct MoveRule {
  std::uint64_t unused = 0;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Flow::here().advance(Rule::from_bytes(bytes));
  }
};
// A rule that may run, given to a node that has nothing to do.
struct TakeRule {
  std::uint64_t unused = 0;
  void apply(CoreContext& here, ByteView bytes) const;
};

// The same of one with a priority; nothing, if there is none any more.
struct TakeBest {
  std::uint64_t unused = 0;
  void apply(CoreContext& here, ByteView bytes) const;
};

struct InsertWord {
  Ref writer;
  std::int64_t key;
  std::uint64_t bits;
  Kind kind;
  PortablePlace at;
  void apply(CoreContext& /*here*/) const {
    Flow::here().insert_here(writer, Value::integer(key), Value::word(kind, bits), at);
  }
};
struct InsertWords {
  Ref writer;
  std::int64_t first;
  Kind kind;
  PortablePlace at;
  void apply(CoreContext& /*here*/, ByteView words) const {
    Flow::here().insert_words_here(writer, first, kind, words, at);
  }
};
struct InsertText {
  Ref writer;
  PortablePlace at;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Reader in(bytes);
    const Value key = Value::get(in);
    Flow::here().insert_here(writer, key, Value::get(in), at);
  }
};
struct InsertAt {
  Ref writer;
  Insertion what;
  PortablePlace at;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Reader in(bytes);
    const Value value = Value::get(in);
    Keys keys;
    while (!in.at_end())
      keys.push_back(Value::get(in));
    Flow::here().put_at_here(writer, what, keys, keys.size(), value, at);
  }
};
struct AssignWhole {
  Ref writer;
  PortablePlace at;
  void apply(CoreContext& /*here*/) const { Flow::here().assign_whole_here(writer, at); }
};
// The members of a shard, to where a task waits for them.
struct SendMembers {
  DataId id;
  CoreId to;
  std::uint64_t address;  // of the task's own node
  void apply(CoreContext& /*here*/) const { Flow::here().send_members(id, to, address); }
};
// The same of one of them, without its value.
struct SendWhetherThere {
  DataId id;
  CoreId to;
  std::uint64_t address;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Reader in(bytes);
    Flow::here().send_whether_there(id, Value::get(in), to, address);
  }
};
// The same of a closed container: how many there are.
struct SendNMembers {
  DataId id;
  CoreId to;
  std::uint64_t address;
  void apply(CoreContext& /*here*/) const { Flow::here().send_n_members(id, to, address); }
};
struct MembersHere {
  std::uint64_t address;
  void apply(CoreContext& here, ByteView bytes) const;
};
// The body of a loop, to the cores [first, last), counted from core `base` on; on the first of them.
struct AttachLoop {
  CoreId base;
  CoreId first;
  CoreId last;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Flow::here().spread_loop(*this, Rule::from_bytes(bytes));
  }
};
struct CloseShard {
  DataId id;
  void apply(CoreContext& /*here*/) const { Flow::here().close_shard(id); }
};
// The same of a container that has failed, with the reason.
struct CloseFailedShard {
  DataId id;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Reader in(bytes);
    const Value failure = Value::get(in);
    Flow::here().close_shard(id, &failure);
  }
};
struct FreeShard {
  DataId id;
  void apply(CoreContext& /*here*/) const { Flow::here().free_shard(id); }
};
struct FreeShardWithFields {
  DataId id;
  PortablePlace made_at;
  void apply(CoreContext& /*here*/) const { Flow::here().free_shard(id, &made_at); }
};

}  // namespace rubato::flow
