// The baseline of `messages` and `gups-mpi`: what one writes by hand with MPI for two nodes:
// buffers of 64 KiB, several on their way, applied where they arrive.
//   messages_mpi one-way|both-ways MESSAGES       messages of 32 bytes
//   messages_mpi gups LOG2_WORDS UPDATES          increments of a table of which each node has half
//   messages_mpi plain BYTES MESSAGES             one MPI message for each
//   messages_mpi fetch-and-op LOG2_WORDS UPDATES  increments by MPI_Fetch_and_op, as the atomics of
//                                                 a network card do them
//   messages_mpi ping-pong MESSAGES               one MPI message of 8 bytes at a time, to and fro
// Rank 0 prints a line of JSON with "million_per_second".

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "bench/gups_work.hpp"

namespace {

constexpr int kBuffers = 8;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
constexpr int kLastTag = 1;  // of a message that tells how many records were sent

// The way to one other rank: push() gathers, and apply(records, n) gets what comes.
template <class Record, class Apply>
class Way {
 public:
  Way(int other, Apply apply)
      : other_(other),
        apply_(apply),
        out_(kBuffers, std::vector<Record>(kRecords)),
        in_(kBuffers, std::vector<Record>(kRecords)) {
    sends_.fill(MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < kBuffers; ++i)
      receive(i);
  }
  void push(const Record& record) {
    out_[now_][n_now_++] = record;
    if (n_now_ == kRecords) [[unlikely]] {
      send();
    }
  }
  void finish() {
    if (n_now_ > 0) send();
    MPI_Request last = MPI_REQUEST_NULL;
    MPI_Isend(&n_sent_, sizeof n_sent_, MPI_BYTE, other_, kLastTag, MPI_COMM_WORLD, &last);
    while (n_received_ != n_in_)
      poll();
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    MPI_Waitall(kBuffers, sends_.data(), MPI_STATUSES_IGNORE);
    for (auto& request : receives_) {
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }

 private:
  static constexpr std::size_t kRecords = kBufferBytes / sizeof(Record);

  void send() {
    MPI_Isend(out_[now_].data(), static_cast<int>(n_now_ * sizeof(Record)), MPI_BYTE, other_, 0,
              MPI_COMM_WORLD, &sends_[now_]);
    n_sent_ += n_now_;
    n_now_ = 0;
    now_ = (now_ + 1) % kBuffers;
    int is_free = 0;
    do {
      poll();
      MPI_Test(&sends_[now_], &is_free, MPI_STATUS_IGNORE);
    } while (is_free == 0);
  }
  void receive(std::size_t i) {
    MPI_Irecv(in_[i].data(), static_cast<int>(kBufferBytes), MPI_BYTE, other_, MPI_ANY_TAG,
              MPI_COMM_WORLD, &receives_[i]);
  }
  void poll() {
    int index = 0;
    int has_come = 0;
    MPI_Status status;
    MPI_Testany(kBuffers, receives_.data(), &index, &has_come, &status);
    if (has_come == 0 || index == MPI_UNDEFINED) return;
    const auto i = static_cast<std::size_t>(index);
    int n_bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &n_bytes);
    if (status.MPI_TAG == kLastTag) {
      std::copy_n(reinterpret_cast<const std::byte*>(in_[i].data()), sizeof n_in_,
                  reinterpret_cast<std::byte*>(&n_in_));
    } else {
      const std::size_t n = static_cast<std::size_t>(n_bytes) / sizeof(Record);
      apply_(in_[i].data(), n);
      n_received_ += n;
    }
    receive(i);
  }

  int other_;
  Apply apply_;
  std::size_t now_ = 0;
  std::size_t n_now_ = 0;
  std::uint64_t n_sent_ = 0;
  std::uint64_t n_received_ = 0;
  std::uint64_t n_in_ = UINT64_MAX;
  std::vector<std::vector<Record>> out_;
  std::vector<std::vector<Record>> in_;
  std::array<MPI_Request, kBuffers> sends_{};
  std::array<MPI_Request, kBuffers> receives_{};
};

struct Message {
  std::array<std::uint64_t, 4> words;
};

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "messages_mpi: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Million messages a second.
double messages(int rank, bool both_ways, std::uint64_t n) {
  std::uint64_t sum = 0;
  const auto apply = [&sum](const Message* at, std::size_t n_records) {
    for (std::size_t i = 0; i < n_records; ++i) {
      for (const std::uint64_t word : at[i].words)
        sum += word;
    }
  };
  Way<Message, decltype(apply)> way(1 - rank, apply);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (std::uint64_t i = 0; i < n && (rank == 0 || both_ways); ++i)
    way.push(Message{{i, 1, 2, 3}});
  way.finish();
  MPI_Barrier(MPI_COMM_WORLD);
  const double time = MPI_Wtime() - begin;
  require(sum == (rank == 1 || both_ways ? n * (n - 1) / 2 + 6 * n : 0), "other messages came");
  return static_cast<double>(n) * (both_ways ? 2 : 1) / time / 1e6;
}

// Million updates a second.
double gups(int rank, std::uint32_t log2_words, std::uint64_t n) {
  const std::uint64_t mask = (std::uint64_t{1} << log2_words) - 1;
  const std::uint32_t shift = log2_words - 1;
  std::vector<std::uint64_t> table((mask + 1) / 2, 0);
  const auto apply = [&](const std::uint64_t* at, std::size_t n_records) {
    constexpr std::size_t kAhead = 96;
    const std::uint64_t own = mask >> 1;
    for (std::size_t i = 0; i < n_records && i < kAhead; ++i)
      __builtin_prefetch(&table[at[i] & own], 0, 2);
    for (std::size_t i = 0; i < n_records; ++i) {
      if (i + kAhead < n_records) __builtin_prefetch(&table[at[i + kAhead] & own], 0, 2);
      ++table[at[i] & own];
    }
  };
  Way<std::uint64_t, decltype(apply)> way(1 - rank, apply);
  constexpr std::size_t kMine = 4096;
  std::vector<std::uint64_t> mine(kMine);
  std::size_t n_mine = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  const auto me = static_cast<std::uint64_t>(rank);
  for (std::uint64_t i = n / 2 * me; i < (rank == 0 ? n / 2 : n); ++i) {
    const std::uint64_t word = rubato::bench::gups_word(i, mask);
    if (word >> shift == me) {
      mine[n_mine++] = word;
      if (n_mine == kMine) apply(mine.data(), std::exchange(n_mine, 0));
    } else {
      way.push(word);
    }
  }
  apply(mine.data(), n_mine);
  way.finish();
  MPI_Barrier(MPI_COMM_WORLD);
  const double time = MPI_Wtime() - begin;
  std::uint64_t sum = 0;
  for (const std::uint64_t x : table)
    sum += x;
  std::uint64_t all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  require(all == n, "updates are missing");
  return static_cast<double>(n) / time / 1e6;
}

// Million messages a second from rank 0 to rank 1, 64 of them under way.
double plain(int rank, std::size_t n_bytes, std::uint64_t n) {
  constexpr std::size_t kUnderWay = 64;
  std::vector<std::vector<std::byte>> buffers(kUnderWay, std::vector<std::byte>(n_bytes));
  std::array<MPI_Request, kUnderWay> requests{};
  requests.fill(MPI_REQUEST_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::size_t at = i % kUnderWay;
    MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    if (rank == 0) {
      MPI_Isend(buffers[at].data(), static_cast<int>(n_bytes), MPI_BYTE, 1, 0, MPI_COMM_WORLD,
                &requests[at]);
    } else {
      MPI_Irecv(buffers[at].data(), static_cast<int>(n_bytes), MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                &requests[at]);
    }
  }
  MPI_Waitall(kUnderWay, requests.data(), MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  return static_cast<double>(n) / (MPI_Wtime() - begin) / 1e6;
}

// Million updates a second, each rank making half of them, in batches as the paper's.
double fetch_and_op(int rank, std::uint32_t log2_words, std::uint64_t n) {
  constexpr std::uint64_t kBatch = 512;
  const std::uint64_t mask = (std::uint64_t{1} << log2_words) - 1;
  const std::uint32_t shift = log2_words - 1;
  std::uint64_t* table = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(static_cast<MPI_Aint>((mask + 1) / 2 * sizeof(std::uint64_t)),
                   sizeof(std::uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &table, &window);
  std::fill_n(table, (mask + 1) / 2, 0);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  const std::uint64_t one = 1;
  std::array<std::uint64_t, kBatch> before{};
  for (std::uint64_t i = 0; i < n / 2; ++i) {
    const std::uint64_t word =
        rubato::bench::gups_word(n / 2 * static_cast<std::uint64_t>(rank) + i, mask);
    MPI_Fetch_and_op(&one, &before[i % kBatch], MPI_UINT64_T, static_cast<int>(word >> shift),
                     static_cast<MPI_Aint>(word & (mask >> 1)), MPI_SUM, window);
    if (i % kBatch == kBatch - 1) MPI_Win_flush_all(window);
  }
  MPI_Win_flush_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  const double time = MPI_Wtime() - begin;
  MPI_Win_unlock_all(window);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i <= mask / 2; ++i)
    sum += table[i];
  std::uint64_t all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  require(all == n / 2 * 2, "updates are missing");
  MPI_Win_free(&window);
  return static_cast<double>(n) / time / 1e6;
}

// Million messages a second, of which one is under way at a time.
double ping_pong(int rank, std::uint64_t n) {
  std::uint64_t word = 0;
  const auto receive = [&] {
    MPI_Recv(&word, sizeof word, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (std::uint64_t i = 0; i < n / 2; ++i) {
    if (rank == 1) receive();
    ++word;
    MPI_Send(&word, sizeof word, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
    if (rank == 0) receive();
  }
  const double time = MPI_Wtime() - begin;
  require(rank == 1 || word == n / 2 * 2, "messages are missing");
  return static_cast<double>(n) / time / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  require(size == 2, "expected 2 ranks");
  const std::vector<std::string> words(argv + 1, argv + argc);
  double result = 0;
  if (words.size() == 3 && words[0] == "gups") {
    result = gups(rank, static_cast<std::uint32_t>(std::stoul(words[1])), std::stoull(words[2]));
  } else if (words.size() == 3 && words[0] == "plain") {
    result = plain(rank, std::stoul(words[1]), std::stoull(words[2]));
  } else if (words.size() == 3 && words[0] == "fetch-and-op") {
    result =
        fetch_and_op(rank, static_cast<std::uint32_t>(std::stoul(words[1])), std::stoull(words[2]));
  } else if (words.size() == 2 && words[0] == "ping-pong") {
    result = ping_pong(rank, std::stoull(words[1]));
  } else {
    require(words.size() == 2,
            "expected gups|fetch-and-op LOG2_WORDS UPDATES, plain BYTES MESSAGES, or "
            "one-way|both-ways|ping-pong MESSAGES");
    result = messages(rank, words[0] == "both-ways", std::stoull(words[1]));
  }
  if (rank == 0) std::printf("{\"million_per_second\":%.6g}\n", result);
  MPI_Finalize();
  return 0;
}
