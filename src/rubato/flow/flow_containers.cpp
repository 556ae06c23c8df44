// Containers: members at their owners, loops over them, and how they are closed and freed.
//
// Each insertion takes a part of its writer's weight along, which the shard sends home when its
// core has nothing else to do. So the home has all weight back only after all members have arrived:
// then it closes the shards, which say how many members they have, and the container is closed.

#include "rubato/flow/flow.hpp"
#include "rubato/flow/records.hpp"

namespace rubato::flow {

DataId Flow::create_container(Kind kind, bool is_spread, PortablePlace at, bool has_fields) {
  const DataId id = create(kind, Closing::counted, at);
  datum(id).is_container = true;
  datum(id).has_fields = has_fields;
  return id.of_container(is_spread);
}

CoreId Flow::owner_of(DataId id, const Value& key) const noexcept {
  if (!id.is_spread()) return id.home();
  const std::uint64_t n_cores = here_.shape().n_cores_total();
  const std::uint64_t place = key.kind() == Kind::integer
                                  ? static_cast<std::uint64_t>(part_of(key.as_integer()))
                                  : std::hash<std::string>()(key.as_text());
  return static_cast<CoreId>((id.home() + place) % n_cores);
}

Shard& Flow::shard(DataId id) {
  if (last_shard_ != nullptr && last_shard_->id() == id) return *last_shard_;
  auto& mine = shards_[id.word];
  if (mine == nullptr) mine = std::make_unique<Shard>(id);
  last_shard_ = mine.get();
  return *mine;
}

void Flow::free_shard(DataId id, const PortablePlace* made_at) {
  if (made_at != nullptr && names_ != nullptr) names_->note_unset_fields(*this, id, *made_at);
  last_shard_ = nullptr;
  const auto node = shards_.extract(id.word);
  if (!node.empty()) {
    node.mapped()->for_each([&](const Value& /*key*/, const Value& value) {
      if (value.is_reference()) give_back_reader(value.as_reference());
    });
  }
  say_home(id, Homeward::What::freed, 0, 1);
}

void Flow::insert(Ref& writer, const Value& key, Value value, PortablePlace at) {
  // Stored references are shared by what must not wait.
  if (value.is_reference()) {
    Ref ref = value.as_reference();
    make_wide(ref, false);
    value = Value::reference(ref);
  }
  const CoreId owner = owner_of(writer.id, key);
  if (owner == here_.core()) return insert_here({writer.id, 0}, key, value, at);
  if (writer.weight < 2) mint(writer, true, kMinted);
  --writer.weight;
  const Ref fare{writer.id, 1};
  if (key.kind() == Kind::integer && value.is_word()) {
    here_.post(owner, InsertWord{fare, key.as_integer(), value.bits(), value.kind(), at});
    return;
  }
  Writer out;
  key.put(out);
  value.put(out);
  here_.post(owner, InsertText{fare, at}, out.view());
}

void Flow::insert_words(Ref& writer, std::int64_t first, Kind kind,
                        std::span<const std::uint64_t> words, PortablePlace at) {
  const CoreId owner = owner_of(writer.id, Value::integer(first));
  const ByteView bytes = std::as_bytes(words);
  if (owner == here_.core()) return insert_words_here({writer.id, 0}, first, kind, bytes, at);
  if (writer.weight < 2) mint(writer, true, kMinted);
  --writer.weight;
  here_.post(owner, InsertWords{{writer.id, 1}, first, kind, at}, bytes);
}

void Flow::insert_words_here(Ref writer, std::int64_t first, Kind kind, ByteView words,
                             PortablePlace at) {
  Reader in(words);
  for (std::int64_t i = 0; !in.at_end(); ++i) {
    insert_here(writer, Value::integer(first + i), Value::word(kind, in.get<std::uint64_t>()), at);
    writer.weight = 0;  // has gone home
  }
}

void Flow::insert_here(Ref writer, const Value& key, const Value& value, PortablePlace at,
                       const Keys* path, std::size_t n_inner) {
  Shard& mine = shard(writer.id);
  mine.returned += writer.weight;
  if (mine.returned > 0) hold(mine);
  const bool is_of_whole = mine.whole_at && !(*mine.whole_at == at);
  const std::optional<PortablePlace> before =
      is_of_whole ? mine.whole_at : mine.insert(key, value, at);
  if (before) [[unlikely]] {
    if (value.is_reference()) give_back_reader(value.as_reference());
    const Keys keys = path != nullptr ? *path : Keys{key};
    if (is_of_whole) return note_part_set(keys, n_inner, *before, at);
    return note_set_twice(keys, *before, at);
  }
  if (!mine.loops.empty()) {
    const CoreContext::InPlace inside(here_);  // nobody else comes here meanwhile
    for (ShardLoop& loop : mine.loops)
      add_pair(mine, loop, key, value);
    if (mine.loops.front().pairs.size() >= kPairsATask) {
      start_pairs(mine);
    } else {
      hold(mine);
    }
  }
  if (mine.anybody_waits()) wake_member(mine, key, value);
}

void Flow::wake_member(Shard& mine, const Value& key, const Value& value) {
  RuleList waiting = mine.take_waiting(key);
  for (Rule* rule = waiting.first(); rule != nullptr; rule = rule->next)
    rule->args()[rule->at_arg].keys->pop_back();
  wake(std::move(waiting), value, mine.id(), &key);
}

void Flow::insert_at(Ref& writer, Keys keys, Value value, PortablePlace at) {
  if (keys.size() == 1) return insert(writer, keys.back(), std::move(value), at);
  put_at(writer, Insertion::member, std::move(keys), std::move(value), at);
}

void Flow::make_inner(Ref& writer, Keys keys, PortablePlace at) {
  put_at(writer, Insertion::inner, std::move(keys), Value(), at);
}

void Flow::fail_member(Ref& writer, Keys keys, const Value& failure, PortablePlace at) {
  put_at(writer, Insertion::failed_member, std::move(keys), failure, at);
}

void Flow::fail_inner(Ref& writer, Keys keys, const Value& failure, PortablePlace at) {
  put_at(writer, Insertion::failed_inner, std::move(keys), failure, at);
}

void Flow::put_at(Ref& writer, Insertion what, Keys keys, Value value, PortablePlace at) {
  if (value.is_reference()) {
    Ref ref = value.as_reference();
    make_wide(ref, false);
    value = Value::reference(ref);
  }
  const CoreId owner = owner_of(writer.id, keys.back());
  // A failure takes some weight home, too, so that it is there before the container is closed.
  if (owner == here_.core() && !is_failure(what))
    return put_at_here({writer.id, 0}, what, keys, keys.size(), value, at);
  if (writer.weight < 2) mint(writer, true, kMinted);
  --writer.weight;
  const Ref fare{writer.id, 1};
  if (owner == here_.core()) return put_at_here(fare, what, keys, keys.size(), value, at);
  Writer out;
  value.put(out);
  for (const Value& key : keys)
    key.put(out);
  here_.post(owner, InsertAt{fare, what, at}, out.view());
}

void Flow::assign_whole(Ref& writer, Keys keys, PortablePlace at) {
  if (!keys.empty()) return put_at(writer, Insertion::whole, std::move(keys), Value(), at);
  const AssignWhole one{{writer.id, 1}, at};
  if (!writer.id.is_spread()) {
    if (is_here(writer.id)) return assign_whole_here({writer.id, 0}, at);
    if (writer.weight < 2) mint(writer, true, kMinted);
    --writer.weight;
    return here_.post(writer.id.home(), one);
  }
  const std::uint64_t n_cores = here_.shape().n_cores_total();
  make_wide(writer, true, n_cores + 1);
  writer.weight -= n_cores;
  here_.multicast(0, static_cast<CoreId>(n_cores), one);
}

// Of a container that all cores have, its home alone says that it is set again.
void Flow::assign_whole_here(Ref writer, PortablePlace at, const Keys& path) {
  Shard& mine = shard(writer.id);
  mine.returned += writer.weight;
  if (mine.returned > 0) hold(mine);
  if (mine.whole_at) {
    if (is_here(mine.id())) note_set_twice(path, *mine.whole_at, at);
    return;
  }
  if (const auto other = mine.set_elsewhere(at)) {
    Keys keys{other->first};
    keys.insert(keys.end(), path.begin(), path.end());
    note_part_set(keys, 1, at, other->second);
  }
  mine.whole_at = at;
}

// What is put at the container itself, which is of this core.
void Flow::put_whole_at_here(Ref writer, Insertion what, const Keys& path, const Value& value,
                             PortablePlace at) {
  if (what == Insertion::whole) return assign_whole_here(writer, at, path);
  if (what == Insertion::failed_inner) datum(writer.id).note_failure(value, FailedPart::any_member);
}

// A container with a member that has failed, or one in which there is such a one, has failed as a
// whole, which its home is told. Members that are there are good, and loops have met all of them.
void Flow::note_failed_member(Shard& mine, const Value& failure) {
  if (is_here(mine.id())) return datum(mine.id()).note_failure(failure, FailedPart::some_members);
  RUBATO_ASSERT(mine.returned > 0);
  give_back_writer({mine.id(), std::exchange(mine.returned, 0)}, &failure,
                   FailedPart::some_members);
}

// The last `n_left` of the keys are those behind the container.
void Flow::put_at_here(Ref writer, Insertion what, const Keys& keys, std::size_t n_left,
                       const Value& value, PortablePlace at) {
  if (n_left == 0) return put_whole_at_here(writer, what, keys, value, at);
  Shard& mine = shard(writer.id);
  mine.returned += writer.weight;
  if (is_failure(what)) note_failed_member(mine, value);
  if (mine.returned > 0) hold(mine);
  const bool is_member = what == Insertion::member || what == Insertion::failed_member;
  const Value& key = keys[n_left - 1];
  if (is_member && n_left == 1) return insert_here({writer.id, 0}, key, value, at, &keys);
  const std::optional<Value> inner = mine.find(key);
  const bool was_made =
      inner && inner->is_reference() && mine.inner_writers.contains(inner->as_reference().id.word);
  if (inner && !was_made) {
    if (value.is_reference()) give_back_reader(value.as_reference());
    return note_part_set(keys, n_left - 1, mine.place_of(key), at);
  }
  if (inner) return put_at_here({inner->as_reference().id, 0}, what, keys, n_left - 1, value, at);
  const DataId made = create_container(Kind::none, false, at);
  mine.inner_writers[made.word] = {made, kWholeWeight};
  insert_here({writer.id, 0}, key, Value::reference({made, kWholeWeight}), at, &keys, n_left);
  put_at_here({made, 0}, what, keys, n_left - 1, value, at);
}

bool Flow::take_member(std::unique_ptr<Rule>& rule, Arg& arg) {
  Shard& mine = shard(arg.ref.id);
  const Value key = arg.keys->back();
  const std::optional<Value> value = mine.find(key);
  if (value) {
    arg.keys->pop_back();
    static_cast<void>(hand_over(arg, *value, mine.id(), &key));
    return true;
  }
  if (mine.is_closed) {
    const std::size_t argument = rule->at_arg;
    mine.note_needed(key);
    skip(std::move(rule), argument, missing(key, mine.failure));
  } else {
    throttle_.note_at_data(*rule);
    mine.waiting_for(key).push(std::move(rule));
  }
  return false;
}

// Of a container of which any member may be missing, that is said already.
Value Flow::missing(const Value& key, const Value& failure) {
  const std::string member = "member " + key_text(key) + " of a container that is closed";
  if (!failure.is_failed()) return Value::never_set(member);
  return Value::failed(member + " was never set: " + failure.as_text());
}

// --- all members

// Where a task waits for the members of all shards; lies on its stack.
struct GatheredMembers {
  core::Worker* waiter = nullptr;
  bool sleeps = false;
  std::size_t n_open = 0;
  std::vector<std::pair<Value, Value>> members;

  void wait(CoreContext& here) {
    while (n_open > 0) {
      sleeps = true;
      here.tasks().suspend("the members of a container");
    }
  }
};

void MembersHere::apply(CoreContext& here, ByteView bytes) const {
  auto& gathered = *std::bit_cast<GatheredMembers*>(address);
  Reader in(bytes);
  while (!in.at_end()) {
    Value key = Value::get(in);
    gathered.members.emplace_back(std::move(key), Value::get(in));
  }
  --gathered.n_open;
  if (std::exchange(gathered.sleeps, false)) here.tasks().wake(*gathered.waiter);
}

void Flow::send_members(DataId id, CoreId to, std::uint64_t address) {
  const CoreContext::InPlace inside(here_);
  Writer out;
  Shard& mine = shard(id);
  mine.for_each([&](const Value& key, const Value& value) {
    key.put(out);
    if (!value.is_reference()) return value.put(out);
    Value::reference(share_stored(*mine.stored(key), id, &key)).put(out);
  });
  here_.post(to, MembersHere{address}, out.view());
}

std::vector<std::pair<Value, Value>> Flow::all_members(const Ref& container) {
  here_.check_may_block();
  GatheredMembers gathered;
  gathered.waiter = &here_.tasks().running();
  const auto n_cores = static_cast<CoreId>(here_.shape().n_cores_total());
  gathered.n_open = container.id.is_spread() ? n_cores : 1;
  const SendMembers ask{container.id, here_.core(), std::bit_cast<std::uint64_t>(&gathered)};
  if (container.id.is_spread()) {
    here_.multicast(0, n_cores, ask);
  } else {
    here_.post(container.id.home(), ask);
  }
  gathered.wait(here_);
  const auto is_before = [](const auto& a, const auto& b) {
    return comes_before(a.first, b.first);
  };
  std::ranges::sort(gathered.members, is_before);
  return std::move(gathered.members);
}

void Flow::send_whether_there(DataId id, const Value& key, CoreId to, std::uint64_t address) {
  Writer out;
  if (shard(id).find(key)) {
    key.put(out);
    Value::done().put(out);
  }
  here_.post(to, MembersHere{address}, out.view());
}

bool Flow::has_member(const Ref& container, const Value& key) {
  const CoreId owner = owner_of(container.id, key);
  if (owner == here_.core()) return shard(container.id).find(key).has_value();
  here_.check_may_block();
  GatheredMembers gathered;
  gathered.waiter = &here_.tasks().running();
  gathered.n_open = 1;
  Writer out;
  key.put(out);
  const auto address = std::bit_cast<std::uint64_t>(&gathered);
  here_.post(owner, SendWhetherThere{container.id, here_.core(), address}, out.view());
  gathered.wait(here_);
  return !gathered.members.empty();
}

void Flow::send_n_members(DataId id, CoreId to, std::uint64_t address) {
  Writer out;
  Value::integer(static_cast<std::int64_t>(datum(id).n_members)).put(out);
  Value::done().put(out);
  here_.post(to, MembersHere{address}, out.view());
}

std::uint64_t Flow::n_members(const Ref& container) {
  if (is_here(container.id)) return datum(container.id).n_members;
  here_.check_may_block();
  GatheredMembers gathered;
  gathered.waiter = &here_.tasks().running();
  gathered.n_open = 1;
  const auto address = std::bit_cast<std::uint64_t>(&gathered);
  here_.post(container.id.home(), SendNMembers{container.id, here_.core(), address});
  gathered.wait(here_);
  return static_cast<std::uint64_t>(gathered.members.front().first.as_integer());
}

// --- loops

void Flow::attach_loop(std::unique_ptr<Rule> body) {
  throttle_.mark(*body);
  const DataId id = body->args()[0].ref.id;
  const std::uint64_t of_all =
      std::min(here_.shape().n_cores_total() * kLoopWeightACore, kLoopWeightMost);
  const std::uint64_t least = id.is_spread() ? std::max(kWideLeast, of_all) : kWideLeast;
  for (Arg& arg : body->args())
    make_wide(arg.ref, arg.mode == Arg::Mode::writer, least);
  if (!id.is_spread()) {
    if (is_here(id)) return attach_loop_here(std::move(body));
    here_.post(id.home(), AttachLoop{id.home(), 0, 1}, body->to_bytes());
    return;
  }
  spread_loop({here_.core(), 0, static_cast<CoreId>(here_.shape().n_cores_total())},
              std::move(body));
}

// As a multicast. The weights are wide, so that cutting them does not wait.
void Flow::spread_loop(AttachLoop to, std::unique_ptr<Rule> body) {
  const auto n_cores = static_cast<CoreId>(here_.shape().n_cores_total());
  CoreId n_left = to.last - to.first;
  core::detail::for_parts_of_cores(to.first, to.last, [&](CoreId first, CoreId last) {
    const std::unique_ptr<Rule> part = part_of_rule(*body, last - first, n_left);
    n_left -= last - first;
    const CoreId core = (to.base + first) % n_cores;
    here_.post(core, AttachLoop{to.base, first, last}, part->to_bytes());
    here_.hurry(core);
  });
  attach_loop_here(std::move(body));
}

void Flow::attach_loop_here(std::unique_ptr<Rule> body) {
  const CoreContext::InPlace inside(here_);  // each member is met once
  Shard& mine = shard(body->args()[0].ref.id);
  start_pairs(mine);
  mine.loops.push_back({std::move(body), {}});
  ShardLoop& loop = mine.loops.back();
  mine.for_each([&](const Value& key, const Value& value) {
    add_pair(mine, loop, key, value);
    if (loop.pairs.size() == kPairsATask) start_pairs(loop);
  });
  start_pairs(loop);
  if (mine.is_closed) end_loops(mine);
}

// A reference is shared with the shard.
void Flow::add_pair(Shard& mine, ShardLoop& loop, const Value& key, const Value& value) {
  if (!value.is_reference()) {
    loop.pairs.emplace_back(key, value);
    return;
  }
  const Ref part = share_stored(*mine.stored(key), mine.id(), &key);
  loop.pairs.emplace_back(key, Value::reference(part));
}

void Flow::start_pairs(Shard& mine) {
  for (ShardLoop& loop : mine.loops)
    start_pairs(loop);
}

// A task for the pairs that have gathered.
void Flow::start_pairs(ShardLoop& loop) {
  if (loop.pairs.empty()) return;
  const std::size_t n = loop.pairs.size();
  const auto are_words = [](const auto& pair) {
    return pair.first.kind() == Kind::integer && pair.second.is_word();
  };
  const bool as_words = std::ranges::all_of(loop.pairs, are_words);
  const std::size_t n_own = loop.body->args().size();
  std::unique_ptr<Rule> task =
      copy_rule(*loop.body, static_cast<std::uint32_t>(as_words ? 0 : 2 * n));
  if (as_words) {
    Writer closure;
    closure.append(loop.body->closure().data(), loop.body->closure().size());
    for (const auto& [key, value] : loop.pairs)
      closure.put(WordPair{key.as_integer(), value.bits(), value.kind()});
    task->set_closure(closure.view().data(), closure.size());
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      task->args()[n_own + 2 * i].value = std::move(loop.pairs[i].first);
      Arg& arg = task->args()[n_own + 2 * i + 1];
      Value& value = loop.pairs[i].second;
      if (value.is_reference()) {
        arg = {Arg::Mode::reader, value.as_reference(), {}, {}};
      } else {
        arg.value = std::move(value);
      }
    }
  }
  loop.pairs.clear();
  note_made(*task);
  dispatch(std::move(task));
}

void Flow::end_loops(Shard& mine) {
  const CoreContext::InPlace inside(here_);
  start_pairs(mine);
  std::vector<ShardLoop> loops = std::exchange(mine.loops, {});
  for (const ShardLoop& loop : loops)
    give_back(*loop.body, mine.failure.is_failed() ? &mine.failure : nullptr);
}

// --- what is held back

void Flow::hold(Shard& mine) {
  // What is held is of one scope.
  if (!held_.empty() && here_.scope() != held_scope_) send_held();
  if (std::exchange(mine.is_held, true)) return;
  if (held_.empty()) {
    held_scope_ = here_.scope();
    here_.begin_in_scope(held_scope_);
    here_.hold_back(*this);
  }
  held_.push_back(mine.id());
}

void Flow::flush(CoreContext& /*here*/) {
  if (!held_.empty()) send_held();
}

void Flow::send_held() {
  const CoreContext::InPlace in_place(here_);
  const core::FinishId scope = held_scope_;
  {
    const CoreContext::RunningScope inside(here_, scope);
    for (const DataId id : std::exchange(held_, {})) {
      const auto found = shards_.find(id.word);
      if (found == shards_.end()) continue;
      Shard& mine = *found->second;
      mine.is_held = false;
      start_pairs(mine);
      give_back_writer({id, std::exchange(mine.returned, 0)});
    }
  }
  here_.end_in_scope(scope);
}

// --- the end of a container

void Flow::close_counted(DataId id, Datum& closed) {
  if (!closed.is_container) {
    if (!leased_.empty()) end_lease(id);
    const Value value = closed.value.is_failed() ? closed.value : Value::done();
    return close(id, closed, value, closed.made_at);
  }
  closed.state = Datum::State::closing;
  if (!id.is_spread()) {
    closed.n_shards_open = 1;
    const Value failure = closed.value;
    return close_shard(id, closed.lacks_members ? &failure : nullptr);
  }
  const auto n_cores = static_cast<CoreId>(here_.shape().n_cores_total());
  closed.n_shards_open = n_cores;
  if (!closed.lacks_members) return here_.multicast(0, n_cores, CloseShard{id});
  Writer out;
  closed.value.put(out);
  here_.multicast(0, n_cores, CloseFailedShard{id}, out.view());
}

void Flow::close_shard(DataId id, const Value* failure) {
  Shard& mine = shard(id);
  mine.is_closed = true;
  if (failure != nullptr) mine.failure = *failure;
  end_loops(mine);
  const std::uint64_t n_members = mine.n_members();
  // If any member may be missing, so may those of the containers in it: whoever reads one of them as a
  // whole would take what is there for all that there is.
  for (const auto& [word, writer] : std::exchange(mine.inner_writers, {}))
    give_back_writer(writer, failure);
  mine.take_all_waiting([&](const Value& key, RuleList waiting) {
    const Value never_set = missing(key, mine.failure);
    mine.note_needed(key);
    while (!waiting.empty()) {
      std::unique_ptr<Rule> rule = waiting.pop();
      throttle_.note_has_data(*rule);
      const std::size_t argument = rule->at_arg;
      skip(std::move(rule), argument, never_set);
    }
  });
  say_home(id, Homeward::What::counted, n_members, 1);
}

void Flow::say_home(DataId id, Homeward::What what, std::uint64_t amount, CoreId n_cores) {
  if (!is_here(id)) return homeward_.add(id, what, amount, n_cores);
  switch (what) {
    case Homeward::What::readers:
      return give_back_reader_here({id, amount});
    case Homeward::What::writers:
      return give_back_writer_here({id, amount}, nullptr, FailedPart::any_member);
    case Homeward::What::counted:
      return count_shards(id, amount, n_cores);
    case Homeward::What::freed:
      return note_freed_shards(id, n_cores);
  }
}

void Flow::count_shards(DataId id, std::uint64_t n_members, CoreId n_shards) {
  Datum& mine = datum(id);
  mine.n_members += n_members;
  if ((mine.n_shards_open -= n_shards) > 0) return;
  const Value value = mine.value.is_failed()
                          ? mine.value
                          : Value::integer(static_cast<std::int64_t>(mine.n_members));
  close(id, mine, value, mine.made_at);
}

}  // namespace rubato::flow
