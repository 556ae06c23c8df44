// What a user of MPI writes for heat: the baseline of tick-lab-4. Blocks on a 2D grid of ranks,
// halo exchange with all neighbours, the five-point mean; nothing overlaps and nothing is done
// twice, except in mode ghost, which exchanges K layers every K ticks.
//
//   heat_mpi neighbours|ghost BLOCK TICKS [K]      prints {"ticks_per_second":..,"sum":..} on rank
//   0
//
// It waits by testing and napping, which is what serves oversubscribed machines best: spinning
// ranks starve each other. Naps are not rounded up by the kernel's slack of 50 us.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <mpi.h>
#include <sys/prctl.h>
#include <time.h>

namespace {

constexpr long kNapNs = 20'000;

struct Side {
  int rank;
  int dx, dy;
  int width, height;  // cells exchanged
  std::vector<double> send, receive;
};

class Block {
 public:
  Block(int size, int ghost) : n_(size), ghost_(ghost), row_(size + 2 * ghost) {
    int dims[2] = {0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks_);
    MPI_Dims_create(n_ranks_, 2, dims);
    columns_ = dims[1];
    rows_ = dims[0];
    now_.assign(static_cast<std::size_t>(row_) * static_cast<std::size_t>(row_), 0.0);
    next_ = now_;
    for (int y = 0; y < n_; ++y) {
      for (int x = 0; x < n_; ++x)
        at(now_, x, y) = 1e-3 * ((rank_ * 31 + y * 17 + x * 7) % 1000);
    }
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx)
        add_side(dx, dy);
    }
  }

  void exchange() {
    std::vector<MPI_Request> requests(2 * sides_.size());
    std::size_t n = 0;
    for (Side& side : sides_) {
      MPI_Irecv(side.receive.data(), static_cast<int>(side.receive.size()), MPI_DOUBLE, side.rank,
                tag(-side.dx, -side.dy), MPI_COMM_WORLD, &requests[n++]);
    }
    for (Side& side : sides_) {
      copy(side, side.dx > 0 ? n_ - ghost_ : 0, side.dy > 0 ? n_ - ghost_ : 0, side.send, true);
      MPI_Isend(side.send.data(), static_cast<int>(side.send.size()), MPI_DOUBLE, side.rank,
                tag(side.dx, side.dy), MPI_COMM_WORLD, &requests[n++]);
    }
    int done = 0;
    while (true) {
      MPI_Testall(static_cast<int>(n), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done != 0) break;
      const timespec nap{0, kNapNs};
      nanosleep(&nap, nullptr);
    }
    for (Side& side : sides_) {
      const int x = side.dx > 0 ? n_ : side.dx < 0 ? -ghost_ : 0;
      const int y = side.dy > 0 ? n_ : side.dy < 0 ? -ghost_ : 0;
      copy(side, x, y, side.receive, false);
    }
  }

  // One tick; `valid` layers of ghosts hold on all inner sides.
  void sweep(int valid) {
    const int out = valid - 1;
    const int x0 = has(-1, 0) ? -out : 0;
    const int x1 = has(1, 0) ? n_ + out : n_;
    const int y0 = has(0, -1) ? -out : 0;
    const int y1 = has(0, 1) ? n_ + out : n_;
    for (int y = y0; y < y1; ++y) {
      const double* __restrict from = &at(now_, 0, y);
      double* __restrict to = &at(next_, 0, y);
      for (int x = x0; x < x1; ++x) {
        to[x] = 0.25 * ((from[x - 1] + from[x + 1]) + (from[x - row_] + from[x + row_]));
      }
    }
    now_.swap(next_);
  }

  [[nodiscard]] double sum() {
    double mine = 0;
    for (int y = 0; y < n_; ++y) {
      for (int x = 0; x < n_; ++x)
        mine += at(now_, x, y);
    }
    return mine;
  }
  [[nodiscard]] int rank() const { return rank_; }

 private:
  [[nodiscard]] double& at(std::vector<double>& field, int x, int y) {
    return field[static_cast<std::size_t>(y + ghost_) * static_cast<std::size_t>(row_) +
                 static_cast<std::size_t>(x + ghost_)];
  }
  [[nodiscard]] bool has(int dx, int dy) const {
    const int x = rank_ % columns_ + dx;
    const int y = rank_ / columns_ + dy;
    return x >= 0 && x < columns_ && y >= 0 && y < rows_;
  }
  static int tag(int dx, int dy) { return (dy + 1) * 3 + dx + 1; }
  void add_side(int dx, int dy) {
    if ((dx == 0 && dy == 0) || !has(dx, dy) || (dx != 0 && dy != 0 && ghost_ == 1)) return;
    Side side{rank_ + dy * columns_ + dx, dx, dy, dx != 0 ? ghost_ : n_,
              dy != 0 ? ghost_ : n_,      {}, {}};
    side.send.resize(static_cast<std::size_t>(side.width) * static_cast<std::size_t>(side.height));
    side.receive = side.send;
    sides_.push_back(std::move(side));
  }
  void copy(const Side& side, int x, int y, std::vector<double>& buffer, bool out) {
    for (int row = 0; row < side.height; ++row) {
      double* cells = &at(now_, x, y + row);
      double* packed = buffer.data() + static_cast<std::ptrdiff_t>(row) * side.width;
      std::memcpy(out ? packed : cells, out ? cells : packed,
                  static_cast<std::size_t>(side.width) * sizeof(double));
    }
  }

  int n_, ghost_, row_;
  int rank_ = 0, n_ranks_ = 1, columns_ = 1, rows_ = 1;
  std::vector<double> now_, next_;
  std::vector<Side> sides_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  prctl(PR_SET_TIMERSLACK, 1000);
  if (argc < 4) {
    std::fprintf(stderr, "usage: heat_mpi neighbours|ghost BLOCK TICKS [K]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int ghost = std::string(argv[1]) == "ghost" && argc > 4 ? std::atoi(argv[4]) : 1;
  const int ticks = std::atoi(argv[3]);
  Block block(std::atoi(argv[2]), ghost);
  block.exchange();
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int t = 0; t < ticks;) {
    block.exchange();
    for (int valid = ghost; valid > 0 && t < ticks; --valid, ++t)
      block.sweep(valid);
  }
  double mine[2] = {MPI_Wtime() - begin, block.sum()};
  double slowest = 0;
  double sum = 0;
  MPI_Reduce(&mine[0], &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine[1], &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (block.rank() == 0) {
    std::printf("{\"ticks_per_second\":%.3f,\"sum\":%.17g}\n", ticks / slowest, sum);
  }
  MPI_Finalize();
}
