#include "rubato/global/bulk.hpp"

#include <cstring>
#include <memory>
#include <vector>

namespace rubato::global::detail {

struct PutReply {
  Place put;
  std::uint64_t at;
  std::uint64_t part;
  void apply(CoreContext& here, std::uint64_t n_bytes) const {
    reinterpret_cast<RangePut*>(put.resolve(here))
        ->take_piece(here, static_cast<std::uint32_t>(part), at, n_bytes);
  }
};

namespace {

constexpr std::uint64_t kPieceBytesMost = std::uint64_t{256} << 10;
constexpr std::uint64_t kPieceBytesLeast = std::uint64_t{4} << 10;
constexpr std::uint64_t kOnWayBytes = std::uint64_t{8} << 20;  // of a get, from all owners
constexpr std::uint64_t kPiecesOnWay = 4;                      // of a get, from each owner

// Whole elements.
std::uint64_t piece_bytes_for(std::uint32_t n_parts, std::uint64_t element_bytes) noexcept {
  const std::uint64_t n_bytes =
      std::clamp(kOnWayBytes / kPiecesOnWay / std::max<std::uint32_t>(n_parts, 1), kPieceBytesLeast,
                 kPieceBytesMost);
  return std::max<std::uint64_t>(n_bytes / element_bytes, 1) * element_bytes;
}

// Of the first `n_bytes` of what lies over the cores, those that the `core`-th of them has.
std::uint64_t n_on_core(const ByteRange& range, std::uint64_t core,
                        std::uint64_t n_bytes) noexcept {
  const std::uint64_t n_blocks = n_bytes / range.block_bytes;
  const std::uint64_t rest = n_bytes % range.block_bytes;
  const std::uint64_t n_over = n_blocks % range.n_cores;  // blocks of the last, open row
  const std::uint64_t n_rows = n_blocks / range.n_cores + (core < n_over ? 1 : 0);
  return n_rows * range.block_bytes + (core == n_over ? rest : 0);
}

// Bytes [at, at + n_bytes) of a part: calls f(where in the range, where from `at` on, how many) for
// each run.
template <class F>
void for_each_run(const RangePart& part, std::uint64_t at, std::uint64_t n_bytes, const F& f) {
  const std::uint64_t row = (at + part.lead) / part.block_bytes;
  const std::uint64_t within = (at + part.lead) % part.block_bytes;
  std::uint64_t in_range = part.start + row * part.stride_bytes + within - part.lead;
  std::uint64_t done = std::min(part.block_bytes - within, n_bytes);
  f(in_range, std::uint64_t{0}, done);
  in_range += part.stride_bytes - within;
  const auto whole_blocks = [&](auto block_bytes) {
    for (; n_bytes - done >= block_bytes; done += block_bytes, in_range += part.stride_bytes)
      f(in_range, done, block_bytes);
  };
  // Single words, which the compiler copies as such.
  switch (part.block_bytes) {
    case 4:
      whole_blocks(std::integral_constant<std::uint64_t, 4>{});
      break;
    case 8:
      whole_blocks(std::integral_constant<std::uint64_t, 8>{});
      break;
    case 16:
      whole_blocks(std::integral_constant<std::uint64_t, 16>{});
      break;
    default:
      whole_blocks(part.block_bytes);
  }
  if (done < n_bytes) f(in_range, done, n_bytes - done);
}

void scatter(const RangePart& part, std::uint64_t at, ByteView packed, std::byte* range) {
  for_each_run(part, at, packed.size(), [&](std::uint64_t to, std::uint64_t from, auto n) {
    std::memcpy(range + to, packed.data() + from, n);
  });
}
void gather(const RangePart& part, std::uint64_t at, const std::byte* range,
            std::span<std::byte> packed) {
  for_each_run(part, at, packed.size(), [&](std::uint64_t from, std::uint64_t to, auto n) {
    std::memcpy(packed.data() + to, range + from, n);
  });
}

// A piece has been written.
struct WrittenRecord {
  PutReply to;
  std::uint64_t n_bytes;
  void apply(CoreContext& here) const { to.apply(here, n_bytes); }
};

struct PutRecord {
  Place to;
  PutReply reply;  // of a null `put` if nobody waits
  void apply(CoreContext& here, ByteView piece) const {
    std::memcpy(to.resolve(here), piece.data(), piece.size());
    if (reply.put != Place{}) here.post(here.source(), WrittenRecord{reply, piece.size()});
  }
};

// Bytes [at, at + n_bytes) of a part of the range at `from`.
void send_piece(CoreContext& here, const std::byte* from, const RangePart& part, bool is_whole,
                std::uint64_t n_bytes, const PutReply& reply) {
  const PutRecord record{part.place.moved(static_cast<std::int64_t>(reply.at)), reply};
  if (is_whole) {
    here.post(part.core, record, ByteView(from + reply.at, n_bytes));
    return;
  }
  std::vector<std::byte> packed(n_bytes);
  gather(part, reply.at, from, packed);
  here.post(part.core, record, packed);
}

// Sends pieces in turn to all other owners, so that none of them waits for the end of another's
// part.
void send_all(CoreContext& here, const std::byte* from, const ByteRange& to) {
  const std::uint32_t n_parts = to.n_parts();
  const std::uint64_t piece_bytes = piece_bytes_for(n_parts, to.element_bytes);
  bool is_more = n_parts > 0;
  for (std::uint64_t at = 0; is_more; at += piece_bytes) {
    is_more = false;
    for (std::uint32_t i = 0; i < n_parts; ++i) {
      const RangePart part = to.part(i);
      if (part.core == here.core() || at >= part.n_bytes) continue;
      const std::uint64_t n_bytes = std::min(piece_bytes, part.n_bytes - at);
      send_piece(here, from, part, n_parts == 1, n_bytes, PutReply{Place{}, at, i});
      is_more |= part.n_bytes - at > piece_bytes;
    }
  }
}

void put_here(CoreContext& here, const std::byte* from, const ByteRange& to) {
  for (std::uint32_t i = 0; i < to.n_parts(); ++i) {
    const RangePart part = to.part(i);
    if (part.core == here.core()) gather(part, 0, from, {part.place.resolve(here), part.n_bytes});
  }
}

// What of the range other cores have.
std::uint64_t n_bytes_elsewhere(CoreContext& here, const ByteRange& range) noexcept {
  std::uint64_t n_bytes = 0;
  for (std::uint32_t i = 0; i < range.n_parts(); ++i) {
    const RangePart part = range.part(i);
    if (part.core != here.core()) n_bytes += part.n_bytes;
  }
  return n_bytes;
}

}  // namespace

std::uint32_t ByteRange::n_parts() const noexcept {
  if (n_bytes == 0) return 0;
  const std::uint64_t n_blocks = (first + n_bytes - 1) / block_bytes - first / block_bytes + 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(n_blocks, n_cores));
}

RangePart ByteRange::part(std::uint32_t i) const noexcept {
  const std::uint64_t block = first / block_bytes + i;  // the first that it has
  const std::uint64_t core = block % n_cores;
  const std::uint64_t begin = n_on_core(*this, core, first);
  return {.core = first_core + static_cast<CoreId>(core),
          .place = base.moved(static_cast<std::int64_t>(begin)),
          .n_bytes = n_on_core(*this, core, first + n_bytes) - begin,
          .start = i == 0 ? 0 : block * block_bytes - first,
          .lead = i == 0 ? first % block_bytes : 0,
          .block_bytes = block_bytes,
          .stride_bytes = block_bytes * n_cores};
}

std::byte* ByteRange::local(CoreContext& here) const noexcept {
  if (n_parts() != 1) return nullptr;
  const RangePart whole = part(0);
  return whole.core == here.core() ? whole.place.resolve(here) : nullptr;
}

struct GetReply {
  Place get;
  std::uint64_t at;
  std::uint64_t part;
  void apply(CoreContext& here, ByteView piece) const {
    reinterpret_cast<RangeGet*>(get.resolve(here))
        ->take_piece(here, static_cast<std::uint32_t>(part), at, piece);
  }
};

namespace {

// Calls f(which part, it, from where on) for the first pieces of all other owners, in turn. They may have
// answered before the last one is called for; `copy` lives, since that one has not.
template <class F>
void begin_pieces(CoreContext& here, const ByteRange& range, std::uint64_t piece_bytes,
                  const RangeOnWay& copy, const F& f) {
  for (std::uint64_t round = 0; round < kPiecesOnWay && !copy.is_done(); ++round) {
    for (std::uint32_t i = 0; i < range.n_parts(); ++i) {
      const RangePart part = range.part(i);
      if (part.core != here.core()) f(i, part, round * piece_bytes);
    }
    if (range.n_bytes <= (round + 1) * piece_bytes) break;
  }
}

struct GetRecord {
  Place from;
  std::uint64_t n_bytes;
  GetReply reply;
  void apply(CoreContext& here) const {
    here.post(here.source(), reply, ByteView(from.resolve(here), n_bytes));
  }
};

}  // namespace

void RangeGet::start(const ByteRange& from, std::byte* into) {
  CoreContext& here = CoreContext::here();
  from_ = from;
  into_ = into;
  piece_bytes_ = piece_bytes_for(from.n_parts(), from.element_bytes);
  begin(n_bytes_elsewhere(here, from));
  begin_pieces(
      here, from, piece_bytes_, *this,
      [&](std::uint32_t i, const RangePart& part, std::uint64_t at) { ask(here, i, part, at); });
  for (std::uint32_t i = 0; i < from.n_parts(); ++i) {
    const RangePart part = from.part(i);
    if (part.core == here.core()) {
      scatter(part, 0, ByteView(part.place.resolve(here), part.n_bytes), into);
    }
  }
}

void RangeGet::ask(CoreContext& here, std::uint32_t i, const RangePart& part, std::uint64_t at) {
  if (at >= part.n_bytes) return;
  here.post(part.core, GetRecord{part.place.moved(static_cast<std::int64_t>(at)),
                                 std::min(piece_bytes_, part.n_bytes - at),
                                 {Place::at_address(this), at, i}});
}

void RangeGet::take_piece(CoreContext& here, std::uint32_t i, std::uint64_t at, ByteView piece) {
  const RangePart part = from_.part(i);
  scatter(part, at, piece, into_);
  ask(here, i, part, at + kPiecesOnWay * piece_bytes_);
  const bool is_last = n_left() == piece.size();
  const std::unique_ptr<RangeGet> ends = is_last ? std::move(self_) : nullptr;
  take(piece.size());
}

void RangePut::start(const std::byte* from, const ByteRange& to) {
  CoreContext& here = CoreContext::here();
  from_ = from;
  to_ = to;
  piece_bytes_ = piece_bytes_for(to.n_parts(), to.element_bytes);
  begin(n_bytes_elsewhere(here, to));
  begin_pieces(
      here, to, piece_bytes_, *this,
      [&](std::uint32_t i, const RangePart& part, std::uint64_t at) { send(here, i, part, at); });
  put_here(here, from, to);
}

void RangePut::send(CoreContext& here, std::uint32_t i, const RangePart& part, std::uint64_t at) {
  if (at >= part.n_bytes) return;
  send_piece(here, from_, part, to_.n_parts() == 1, std::min(piece_bytes_, part.n_bytes - at),
             PutReply{Place::at_address(this), at, i});
}

void RangePut::take_piece(CoreContext& here, std::uint32_t i, std::uint64_t at,
                          std::uint64_t n_bytes) {
  send(here, i, to_.part(i), at + kPiecesOnWay * piece_bytes_);
  take(n_bytes);
}

void RangeOnWay::wait_for(const char* waits_for) {
  if (is_done()) return;
  CoreContext& here = CoreContext::here();
  here.check_may_block();
  core::Scheduler& tasks = here.tasks();
  while (!is_done()) {
    waiter_ = &tasks.running();
    tasks.suspend(waits_for);
  }
}

void RangeOnWay::take(std::uint64_t n_bytes) {
  n_left_ -= n_bytes;
  if (n_left_ > 0) return;
  if (waiter_ != nullptr) {
    waiter_->home().wake(*std::exchange(waiter_, nullptr));
  } else if (then_ != nullptr) {
    then_(then_of_);
  }
}

void get_range(const ByteRange& from, std::byte* into) {
  CoreContext& here = CoreContext::here();
  check_might_wait(here);
  if (n_bytes_elsewhere(here, from) > 0) here.check_may_block();
  RangeGet get;
  get.start(from, into);
  get.wait();
}

void async_get_range(const ByteRange& from, std::byte* into) {
  CoreContext& here = CoreContext::here();
  if (n_bytes_elsewhere(here, from) == 0) {
    RangeGet().start(from, into);
    return;
  }
  auto get = std::make_unique<RangeGet>();
  RangeGet& under_way = *get;
  under_way.self_ = std::move(get);  // until take() has the last piece
  under_way.start(from, into);
}

void put_range(const std::byte* from, const ByteRange& to) {
  CoreContext& here = CoreContext::here();
  check_might_wait(here);
  if (n_bytes_elsewhere(here, to) > 0) here.check_may_block();
  RangePut put;
  put.start(from, to);
  put.wait();
}

void async_put_range(const std::byte* from, const ByteRange& to) {
  CoreContext& here = CoreContext::here();
  send_all(here, from, to);
  put_here(here, from, to);
}

}  // namespace rubato::global::detail
