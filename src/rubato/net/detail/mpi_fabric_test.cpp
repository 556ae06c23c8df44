// MpiFabric on a plugin that the test plays: node 0 of two, where the test decides what comes and
// when a send is complete. Real MPIs rarely reorder; here they do.

#include "rubato/net/detail/mpi_fabric.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <optional>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato::net::detail {
namespace {

struct Sent {
  std::uint32_t tag;
  Bytes bytes;
  std::uint64_t token;
  bool synchronous;
};

// What the plugin's functions share; they have no argument for it.
struct Wire {
  std::deque<Sent> sent;  // not complete
  std::vector<RubatoMpiEvent> events;
  std::array<Bytes, MpiFabric::kSlots> slots;
  std::vector<std::uint32_t> free_slots;
  bool is_quick = false;  // completes every send at the next progress
  bool finished = false;
};
Wire* wire = nullptr;

int fake_start(std::uint32_t, std::uint32_t, std::uint32_t, RubatoMpiInfo*) {
  return 0;
}
int fake_send(std::uint32_t to, std::uint32_t tag, const void* data, std::uint32_t n_bytes,
              std::uint64_t token, int synchronous) {
  EXPECT_EQ(to, 1U);
  EXPECT_LE(tag, static_cast<std::uint32_t>(RUBATO_MPI_TAG_MAX));
  const auto* bytes = static_cast<const std::byte*>(data);
  wire->sent.push_back({tag, Bytes(bytes, bytes + n_bytes), token, synchronous != 0});
  return 0;
}
int fake_progress(RubatoMpiEvent* events) {
  auto n = static_cast<int>(wire->events.size());
  std::copy(wire->events.begin(), wire->events.end(), events);
  wire->events.clear();
  for (; wire->is_quick && !wire->sent.empty(); wire->sent.pop_front()) {
    events[n] = {};
    events[n].kind = RUBATO_MPI_SENT;
    events[n++].token = wire->sent.front().token;
  }
  return n;
}
int fake_release(std::uint32_t slot) {
  wire->free_slots.push_back(slot);
  return 0;
}
int fake_try_barrier() {
  return 1;
}
int fake_finish() {
  wire->finished = true;
  return 0;
}
void fake_abort(int) {}
const char* fake_error_text() {
  return "none";
}

constexpr RubatoMpiApi kApi = {
    RUBATO_MPI_API_VERSION, sizeof(RubatoMpiApi), fake_start,  fake_send,  fake_progress,
    fake_release,           fake_try_barrier,     fake_finish, fake_abort, fake_error_text};

class MpiFabricTest : public ::testing::Test {
 protected:
  MpiFabricTest() {
    wire = &wire_;
    for (std::uint32_t i = 0; i < MpiFabric::kSlots; ++i)
      wire_.free_slots.push_back(i);
    RubatoMpiInfo info{};
    info.n_ranks = 2;
    std::strcpy(info.host, "here");
    fabric_.emplace(kApi, info, std::size_t{1} << 20);
  }
  ~MpiFabricTest() override {
    wire_.is_quick = true;
    fabric_.reset();
    EXPECT_TRUE(wire_.finished);
  }

  // Completes the first open send.
  void complete() {
    if (wire_.sent.empty()) return;
    RubatoMpiEvent event{};
    event.kind = RUBATO_MPI_SENT;
    event.token = wire_.sent.front().token;
    wire_.sent.pop_front();
    wire_.events.push_back(event);
    poll();
  }
  // A fragment from node 1 reaches a slot.
  void come(std::uint32_t number, std::uint32_t kind, const Bytes& bytes) {
    ASSERT_FALSE(wire_.free_slots.empty());
    const std::uint32_t slot = wire_.free_slots.back();
    wire_.free_slots.pop_back();
    wire_.slots[slot] = bytes;
    RubatoMpiEvent event{};
    event.kind = RUBATO_MPI_CAME;
    event.slot = slot;
    event.from = 1;
    event.tag = number << 2 | kind;
    event.data = wire_.slots[slot].data();
    event.n_bytes = bytes.size();
    wire_.events.push_back(event);
  }
  // Polls, and notes what came.
  void poll() {
    Arrival arrival;
    while (fabric_->poll(arrival))
      came_.push_back(arrival.bytes);
  }
  bool send(std::size_t n_bytes) {
    Bytes bytes(n_bytes);
    return fabric_->try_send(1, bytes);
  }

  Wire wire_;
  std::optional<MpiFabric> fabric_;
  std::vector<Bytes> came_;
};

Bytes one(std::size_t value) {
  return Bytes(1, static_cast<std::byte>(value));
}

TEST_F(MpiFabricTest, PutsFragmentsThatCompleteOutOfOrderInOrder) {
  RandomStream random(5);
  constexpr std::uint32_t kN = 20'000;  // the numbers wrap
  std::vector<std::uint32_t> late;
  std::uint32_t next = 0;
  while (came_.size() < kN) {
    while (next < kN && late.size() < 20)
      late.push_back(next++);
    const std::size_t at = random() % late.size();
    come(late[at] % 8192, 0, one(late[at] % 251));
    late.erase(late.begin() + static_cast<std::ptrdiff_t>(at));
    // The oldest cannot wait for more than the slots.
    if (late.empty() || random() % 3 == 0 || wire_.free_slots.size() < 4) {
      while (!late.empty()) {
        come(late.front() % 8192, 0, one(late.front() % 251));
        late.erase(late.begin());
        if (wire_.free_slots.empty()) poll();
      }
      poll();
    }
  }
  for (std::uint32_t i = 0; i < kN; ++i)
    ASSERT_EQ(came_[i], one(i % 251)) << i;
  EXPECT_EQ(wire_.free_slots.size(), MpiFabric::kSlots);
}

TEST_F(MpiFabricTest, PutsALargeMessageTogetherFromPartsInAnyOrder) {
  Bytes size(8);
  const std::uint64_t n = 3;
  std::memcpy(size.data(), &n, 8);
  come(3, 2, one(3));
  come(4, 0, one(9));
  come(1, 2, one(1));
  poll();
  EXPECT_TRUE(came_.empty());
  come(0, 1, size);
  come(2, 2, one(2));
  poll();
  ASSERT_EQ(came_.size(), 2U);
  EXPECT_EQ(came_[0], (Bytes{std::byte{1}, std::byte{2}, std::byte{3}}));
  EXPECT_EQ(came_[1], one(9));
}

TEST_F(MpiFabricTest, GreetsAPeerWithItsHostAndHearsTheirs) {
  EXPECT_EQ(fabric_->host(0), "here");
  EXPECT_EQ(fabric_->host(1), "?");
  ASSERT_TRUE(send(5));
  ASSERT_EQ(wire_.sent.size(), 2U);
  EXPECT_EQ(wire_.sent[0].tag & 3U, 3U);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(wire_.sent[0].bytes.data()), 4), "here");
  EXPECT_EQ(wire_.sent[1].bytes.size(), 5U);
  come(0, 3, Bytes{std::byte{'h'}, std::byte{'2'}});
  poll();
  EXPECT_EQ(fabric_->host(1), "h2");
}

TEST_F(MpiFabricTest, RefusesUntilASynchronousSendShowsThatTheReceiverMatched) {
  while (send(100'000))
    ASSERT_LT(wire_.sent.size(), 40U);
  ASSERT_EQ(wire_.sent.size(), 11U);  // 10 x 100,000 bytes and the greeting are below 1 MiB
  for (std::size_t i = 0; i < wire_.sent.size(); ++i) {
    EXPECT_EQ(wire_.sent[i].synchronous, i == 3) << i << ": the one that passes a quarter of it";
  }
  while (!wire_.sent.empty())
    complete();
  // Those behind the synchronous one left our memory, but nobody knows where they are.
  EXPECT_TRUE(fabric_->drained());
  EXPECT_FALSE(send(800'000));
  ASSERT_EQ(wire_.sent.size(), 1U) << "it asks for a match";
  EXPECT_TRUE(wire_.sent.front().synchronous);
  EXPECT_FALSE(send(800'000));
  EXPECT_EQ(wire_.sent.size(), 1U) << "it asks once";
  complete();
  EXPECT_TRUE(send(800'000));
}

TEST_F(MpiFabricTest, OpensABoundedNumberOfSendsAndKeepsTheirOrder) {
  ASSERT_TRUE(send(20 * 1024 * 1024));
  EXPECT_EQ(wire_.sent.size(), MpiFabric::kSendsPerPeerMax);
  std::uint32_t number = 0;
  std::size_t n_bytes = 0;
  while (!wire_.sent.empty()) {
    EXPECT_EQ(wire_.sent.front().tag >> 2, number++);
    if ((wire_.sent.front().tag & 3U) == 2U) n_bytes += wire_.sent.front().bytes.size();
    EXPECT_LE(wire_.sent.size(), MpiFabric::kSendsPerPeerMax);
    complete();
  }
  EXPECT_EQ(n_bytes, 20U * 1024 * 1024);
  EXPECT_TRUE(fabric_->drained());
}

}  // namespace
}  // namespace rubato::net::detail
