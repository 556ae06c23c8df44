#pragma once
// Containers in files: saved and loaded by all cores at once, on any number of nodes and cores.
//
//   save(ranks, "ranks.rubato");                       any container of this folder
//   const auto ranks = load_array<double>("ranks.rubato");
//   const auto words = load_map<std::string, std::uint64_t>("words.rubato");
//
// One task calls, and waits; meanwhile nobody changes the container. The nodes need a file system
// that they share, and the path means the same on all of them. The file is in segments of some
// 1 MiB, each with a checksum (docs/formats.md#containers-of-global), so a core holds one or two of
// them and not the file.
//
// A saved file appears whole: it is written beside `path` and renamed when it is on the disk. If
// anything fails on any core, what was there before stays, nothing else is left behind, and the
// caller gets one Error with the path, the cause, and the node if there are several. (A job that
// is killed leaves `.NAME.jobID` beside it.)
//
// Nothing of a file is trusted before its checksums are right: one that is cut, changed or of
// another kind is an Error with the path, the offset, and what was expected and found. Elements are
// their bytes, as their codec makes them (codec.hpp): the file knows their sizes, not their types.
//
// Files are read and written by threads beside the cores (CoreContext::run_native), a segment at a time: the
// calling tasks wait, and their cores go on with others.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/bag.hpp"
#include "rubato/global/bulk.hpp"
#include "rubato/global/counter.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/hash_set.hpp"
#include "rubato/global/team.hpp"
#include "rubato/global/vector.hpp"

namespace rubato::global {

namespace detail {

inline constexpr std::uint64_t kSegmentBytes = std::uint64_t{1} << 20;

enum class FileKind : std::uint32_t {
  array = 1,
  vector = 2,
  map = 3,
  set = 4,
  bag = 5,
  counter = 6,
  histogram = 7
};

// What an entry of a file is: an element, or a key and its value, if it has one.
struct FileType {
  FileKind kind = FileKind::array;
  std::uint64_t value_bytes = 0;  // 0: none, or values of several lengths
  std::uint64_t key_bytes = 0;    // 0: none, or keys of several lengths
  bool operator==(const FileType&) const = default;
};

// What stands in the head of a file.
struct FileHead {
  FileType type;
  std::uint64_t n_entries = 0;
  std::uint64_t n_segments = 0;
  std::uint64_t table_offset = 0;
  std::uint64_t id = 0;  // of the save that made it
};

// What a core writes.
struct FileShare {
  std::uint64_t n_entries = 0;
  std::uint64_t n_bytes = 0;
  std::uint64_t n_segments = 0;
};

// The segments of a core, one after the other.
class SegmentSource {
 public:
  SegmentSource() = default;
  SegmentSource(const SegmentSource&) = delete;
  SegmentSource& operator=(const SegmentSource&) = delete;
  virtual ~SegmentSource() = default;

  // All that will come.
  [[nodiscard]] virtual FileShare share() const = 0;
  // Makes `segment` the next one, and returns how many entries it has. May wait.
  virtual std::uint64_t next(Bytes& segment) = 0;
};

// Where segments go that have been read and are whole. Called on any core, in any order.
class SegmentSink {
 public:
  SegmentSink() = default;
  SegmentSink(const SegmentSink&) = delete;
  SegmentSink& operator=(const SegmentSink&) = delete;
  virtual ~SegmentSink() = default;

  // The entries [first, first + n). May wait; throws Error if they are no such entries.
  virtual void take(std::uint64_t first, std::uint64_t n, ByteView segment) = 0;
};

// A save or a load; lies where it was asked for.
struct FileJob {
  std::string path;
  std::uint64_t id = 0;
  std::optional<Error> failure;  // of the whole job, at its end
};
// The same, for all cores.
struct FileCall {
  GlobalPtr<FileJob> job;
  Team team;
};

// Different for each save: it names the temporary file.
[[nodiscard]] std::uint64_t new_file_id();
// The head of the file at `path`. Throws Error if it is no whole file of that type.
[[nodiscard]] FileHead read_head(const std::string& path, const FileType& wanted);
// What each core does of it, at the same time as the others. What fails goes to the job.
void save_here(const FileCall& call, const FileType& type, SegmentSource& source);
void load_here(const FileCall& call, const FileHead& head, SegmentSink& sink);
[[noreturn]] void throw_wrong_size(const std::string& path, std::uint64_t expected,
                                   std::uint64_t found);

// Returns what has failed, not throwing it: the caller has something to free before.
template <class Source, class Container>
[[nodiscard]] std::optional<Error> save_file(const std::string& path, const FileType& type,
                                             const Container& container) {
  FileJob job{path, new_file_id(), {}};
  on_all_cores([call = FileCall{make_global(job), Team::private_job()}, type, container] {
    Source source(container);
    save_here(call, type, source);
  });
  return job.failure;
}
template <class Sink, class Container>
[[nodiscard]] std::optional<Error> load_file(const std::string& path, const FileHead& head,
                                             const Container& container) {
  FileJob job{path, 0, {}};
  on_all_cores([call = FileCall{make_global(job), Team::private_job()}, head, container] {
    Sink sink(container);
    load_here(call, head, sink);
  });
  return job.failure;
}

// Of n things, those before the ones of `core`.
[[nodiscard]] std::uint64_t n_before(std::uint64_t n, CoreId core) noexcept;

// --- arrays

template <class T>
class ArraySource final : public SegmentSource {
 public:
  explicit ArraySource(const GlobalArray<T>& array) : array_(array) {
    const std::uint64_t n_segments = array.size() / kMost + (array.size() % kMost != 0 ? 1 : 0);
    const CoreId core = CoreContext::here().core();
    begin_ = n_before(n_segments, core);
    n_segments_ = n_before(n_segments, core + 1) - begin_;
    begin_ *= kMost;
    end_ = std::min(begin_ + n_segments_ * kMost, array.size());
    next_ = begin_;
  }
  [[nodiscard]] FileShare share() const override {
    if (n_segments_ == 0) return {};
    return {end_ - begin_, (end_ - begin_) * sizeof(T), n_segments_};
  }
  std::uint64_t next(Bytes& segment) override {
    const std::uint64_t n = std::min(kMost, end_ - next_);
    segment.resize(n * sizeof(T));
    get_range(range_of(array_, next_, n, SourcePlace::here()), segment.data());
    next_ += n;
    return n;
  }

 private:
  static constexpr std::uint64_t kMost = std::max<std::uint64_t>(kSegmentBytes / sizeof(T), 1);

  GlobalArray<T> array_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t n_segments_ = 0;
};

template <class T>
class ArraySink final : public SegmentSink {
 public:
  explicit ArraySink(const GlobalArray<T>& array) : array_(array) {}
  void take(std::uint64_t first, std::uint64_t n, ByteView segment) override {
    put_range(segment.data(), range_of(array_, first, n, SourcePlace::here()));
  }

 private:
  GlobalArray<T> array_;
};

// --- entries that a core has one after the other, each as put_one() writes it

// Of a vector that has been cut among the cores, and of a bag.
template <class T, class List>
class ListEntries {
 public:
  explicit ListEntries(const PerCore<List>& parts) : values_(&parts.here()) {}
  explicit ListEntries(const GlobalBag<T>& bag) : values_(&bag.local()) {}
  [[nodiscard]] std::size_t size() const noexcept { return values_->size(); }
  [[nodiscard]] std::uint64_t n_bytes(std::size_t i) const { return n_bytes_of<T>((*values_)[i]); }
  void put(Writer& out, std::size_t i) const { put_one<T>(out, (*values_)[i]); }

 private:
  const List* values_;
};
// The key and the value; of a set, values have no bytes.
template <class K, class V, FileKind kKind>
class MapEntries {
 public:
  explicit MapEntries(const GlobalHashMap<K, V>& map) : shard_(&map.local()) {}
  [[nodiscard]] std::size_t size() const noexcept { return shard_->size(); }
  [[nodiscard]] std::uint64_t n_bytes(std::size_t i) const {
    const auto& entry = shard_->entry(i);
    return n_bytes_of(entry.key) + (kKind == FileKind::map ? n_bytes_of(entry.value) : 0);
  }
  void put(Writer& out, std::size_t i) const {
    const auto& entry = shard_->entry(i);
    put_one(out, entry.key);
    if constexpr (kKind == FileKind::map) put_one(out, entry.value);
  }

 private:
  HashShard<K, V>* shard_;
};

// As many in a segment as make it full.
template <class Entries>
class EntrySource final : public SegmentSource {
 public:
  template <class Container>
  explicit EntrySource(const Container& container) : entries_(container) {}

  [[nodiscard]] FileShare share() const override {
    FileShare all{entries_.size(), 0, 0};
    std::uint64_t n_bytes = 0;  // of a segment
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      n_bytes += entries_.n_bytes(i);
      if (n_bytes < kSegmentBytes && i + 1 < entries_.size()) continue;
      all.n_bytes += std::exchange(n_bytes, 0);
      ++all.n_segments;
    }
    return all;
  }
  std::uint64_t next(Bytes& segment) override {
    Writer out(std::move(segment));
    const std::size_t first = next_;
    while (next_ < entries_.size() && out.size() < kSegmentBytes)
      entries_.put(out, next_++);
    segment = out.take();
    return next_ - first;
  }

 private:
  Entries entries_;
  std::size_t next_ = 0;
};

// take(in) for each entry. Throws Error if there are more.
template <class Take>
void for_each_entry(std::uint64_t n, ByteView segment, const Take& take) {
  Reader in(segment);
  for (std::uint64_t i = 0; i < n; ++i)
    take(in);
  if (in.at_end()) return;
  throw Error("expected " + std::to_string(n) + " entries, found " + std::to_string(in.left()) +
              " bytes behind them");
}

// Of n things, whose the i-th is, if each core has a share, and where it is there.
struct InShare {
  CoreId core;
  std::uint64_t k;
};
[[nodiscard]] InShare share_of(std::uint64_t n, std::uint64_t i) noexcept;

// A value of a vector, for the core that saves it.
template <class T>
struct ShareRecord {
  PerCore<std::vector<T>> parts;
  std::uint64_t k;
  void apply(CoreContext& here, ByteView value) const { parts.in(here)[k] = Codec<T>::make(value); }
};
// The values in their order, a share on each core.
template <class T>
[[nodiscard]] PerCore<std::vector<T>> cut(const GlobalVector<T>& vector) {
  const auto parts = PerCore<std::vector<T>>::make();
  const std::uint64_t n = vector.size();
  on_all_cores([parts, n] {
    const CoreId core = CoreContext::here().core();
    parts.here().resize(n_before(n, core + 1) - n_before(n, core));
  });
  forall(vector, [parts, n](std::uint64_t i, const T& value) {
    const InShare at = share_of(n, i);
    CoreContext::here().post(at.core, ShareRecord<T>{parts, at.k}, Codec<T>::bytes(value));
  });
  return parts;
}

// Puts values at their places in a sequence that was empty, and has room for them now.
template <class T>
class VectorSink final : public SegmentSink {
 public:
  explicit VectorSink(const GlobalVector<T>& vector) : vector_(vector) {}
  // Called once, before there are sinks.
  static void make_room(const GlobalVector<T>& vector, std::uint64_t n) {
    using Shard = typename GlobalVector<T>::Shard;
    call(vector.keeper(), [n](Shard& shard) { shard.tickets.push(n); });
  }
  void take(std::uint64_t first, std::uint64_t n, ByteView segment) override {
    typename GlobalVector<T>::Batch batch;
    for_each_entry(n, segment, [&](Reader& in) { batch.put(get_one<T>(in)); });
    // The first ticket of a new sequence is 0.
    vector_.send(CoreContext::here(), first, batch);
  }

 private:
  GlobalVector<T> vector_;
};

template <class K, class V, FileKind kKind>
class MapSink final : public SegmentSink {
 public:
  explicit MapSink(const GlobalHashMap<K, V>& map) : map_(map) {}
  void take(std::uint64_t /*first*/, std::uint64_t n, ByteView segment) override {
    for_each_entry(n, segment, [&](Reader& in) {
      const K key = get_one<K>(in);
      if constexpr (kKind == FileKind::map) {
        map_.async_insert(key, get_one<V>(in));
      } else {
        map_.async_insert(key, V{});
      }
    });
  }

 private:
  GlobalHashMap<K, V> map_;
};

// Values stay with the core that reads them.
template <class T>
class BagSink final : public SegmentSink {
 public:
  explicit BagSink(const GlobalBag<T>& bag) : bag_(bag) {}
  void take(std::uint64_t /*first*/, std::uint64_t n, ByteView segment) override {
    for_each_entry(n, segment, [&](Reader& in) { bag_.put(get_one<T>(in)); });
  }

 private:
  GlobalBag<T> bag_;
};

template <class T>
[[nodiscard]] constexpr FileType type_of(FileKind kind) noexcept {
  return {kind, sizeof(T), 0};
}
template <class T>
[[nodiscard]] constexpr FileType list_type(FileKind kind) noexcept {
  return {kind, bytes_of_each<T>(), 0};
}
template <class K, class V, FileKind kKind>
[[nodiscard]] constexpr FileType map_type() noexcept {
  return {kKind, kKind == FileKind::map ? bytes_of_each<V>() : 0, bytes_of_each<K>()};
}

template <FileKind kKind, class K, class V>
void save_map(const GlobalHashMap<K, V>& map, const std::string& path) {
  const auto failure =
      save_file<EntrySource<MapEntries<K, V, kKind>>>(path, map_type<K, V, kKind>(), map);
  if (failure) throw Error(*failure);
}
// Into a map that is empty.
template <FileKind kKind, class K, class V>
void load_map_into(const GlobalHashMap<K, V>& map, const std::string& path) {
  const auto head = read_head(path, map_type<K, V, kKind>());
  const auto failure = load_file<MapSink<K, V, kKind>>(path, head, map);
  if (failure) throw Error(*failure);
  const std::uint64_t n = map.size();
  if (n != head.n_entries) throw_wrong_size(path, head.n_entries, n);
}
// What load() makes of it; it is freed if that throws.
template <class Container, class Load>
[[nodiscard]] Container loaded(const Container& container, const Load& load) {
  std::optional<Error> failure;
  try {
    load();
    return container;
  } catch (const Error& error) {
    failure = error;
  }
  // Not in the handler: it waits, and another task of this core may meet an exception meanwhile.
  container.free();
  throw Error(*failure);
}

}  // namespace detail

// Writes the elements to `path`, in their order. Called by a task; waits. Throws Error if it cannot
// be written, and leaves what was there.
template <class T>
void save(const GlobalArray<T>& array, const std::string& path) {
  const auto failure = detail::save_file<detail::ArraySource<T>>(
      path, detail::type_of<T>(detail::FileKind::array), array);
  if (failure) throw Error(*failure);
}
// The array of that file, element for element; `block` as of GlobalArray::make. The caller frees
// it. Called by a task; waits. Throws Error if it cannot be read, is no whole file of an array of
// elements of that size, or there is no room.
template <class T>
[[nodiscard]] GlobalArray<T> load_array(const std::string& path, std::uint64_t block = 1) {
  const auto head = detail::read_head(path, detail::type_of<T>(detail::FileKind::array));
  const auto array = GlobalArray<T>::make(head.n_entries, block);
  const auto failure = detail::load_file<detail::ArraySink<T>>(path, head, array);
  if (!failure) return array;
  array.free();
  throw Error(*failure);
}

// Writes the sequence to `path`, in its order; until then it is there twice, the second time in equal
// parts, of T() first. Called by a task; waits. Throws Error as above.
template <class T>
void save(const GlobalVector<T>& vector, const std::string& path) {
  const auto parts = detail::cut(vector);
  const auto failure =
      detail::save_file<detail::EntrySource<detail::ListEntries<T, std::vector<T>>>>(
          path, detail::list_type<T>(detail::FileKind::vector), parts);
  parts.free();
  if (failure) throw Error(*failure);
}
// The sequence of that file, in its order; as load_array.
template <class T>
[[nodiscard]] GlobalVector<T> load_vector(const std::string& path) {
  const auto head = detail::read_head(path, detail::list_type<T>(detail::FileKind::vector));
  const auto vector = GlobalVector<T>::make();
  if (head.n_entries != 0) detail::VectorSink<T>::make_room(vector, head.n_entries);
  const auto failure = detail::load_file<detail::VectorSink<T>>(path, head, vector);
  if (!failure) return vector;
  vector.free();
  throw Error(*failure);
}

// Writes all keys and values to `path`, in no order. Called by a task; waits. Throws Error as
// above.
template <class K, class V>
void save(const GlobalHashMap<K, V>& map, const std::string& path) {
  detail::save_map<detail::FileKind::map>(map, path);
}
// The map of that file, as load_array. Keys and values are as their codecs make
// them of their bytes.
template <class K, class V>
[[nodiscard]] GlobalHashMap<K, V> load_map(const std::string& path) {
  const auto map = GlobalHashMap<K, V>::make();
  return detail::loaded(map, [&] { detail::load_map_into<detail::FileKind::map>(map, path); });
}

// Writes all keys to `path`, in no order; as of a map.
template <class K>
void save(const GlobalHashSet<K>& set, const std::string& path) {
  detail::save_map<detail::FileKind::set>(set.map(), path);
}
// The set of that file, as load_map.
template <class K>
[[nodiscard]] GlobalHashSet<K> load_set(const std::string& path) {
  const auto set = GlobalHashSet<K>::make();
  return detail::loaded(set,
                        [&] { detail::load_map_into<detail::FileKind::set>(set.map(), path); });
}

// Writes the values to `path`, in no order. Called by a task; waits. Throws Error as above.
template <class T>
void save(const GlobalBag<T>& bag, const std::string& path) {
  using Entries = detail::ListEntries<T, typename GlobalBag<T>::Values>;
  const auto failure = detail::save_file<detail::EntrySource<Entries>>(
      path, detail::list_type<T>(detail::FileKind::bag), bag);
  if (failure) throw Error(*failure);
}
// The bag of that file, spread over the cores in segments; as load_array.
template <class T>
[[nodiscard]] GlobalBag<T> load_bag(const std::string& path) {
  const auto head = detail::read_head(path, detail::list_type<T>(detail::FileKind::bag));
  const auto bag = GlobalBag<T>::make();
  const auto failure = detail::load_file<detail::BagSink<T>>(path, head, bag);
  if (!failure) return bag;
  bag.free();
  throw Error(*failure);
}

// Writes the counts of all bins to `path`. Called by a task while nobody adds; waits. Throws Error as
// above.
inline void save(const GlobalHistogram& histogram, const std::string& path) {
  using Count = std::uint64_t;
  const auto failure = detail::save_file<detail::ArraySource<Count>>(
      path, detail::type_of<Count>(detail::FileKind::histogram), histogram.array());
  if (failure) throw Error(*failure);
}
// The histogram of that file, as load_array.
[[nodiscard]] inline GlobalHistogram load_histogram(const std::string& path) {
  using Count = std::uint64_t;
  const auto head = detail::read_head(path, detail::type_of<Count>(detail::FileKind::histogram));
  const auto histogram = GlobalHistogram::make(head.n_entries);
  const auto failure = detail::load_file<detail::ArraySink<Count>>(path, head, histogram.array());
  if (!failure) return histogram;
  histogram.free();
  throw Error(*failure);
}

// Writes the value to `path`. Called by a task while nobody adds; waits. Throws Error as above.
inline void save(const GlobalCounter& counter, const std::string& path) {
  using Count = std::uint64_t;
  const auto array = GlobalArray<Count>::make(1);
  write(array[0], counter.value());
  const auto failure = detail::save_file<detail::ArraySource<Count>>(
      path, detail::type_of<Count>(detail::FileKind::counter), array);
  array.free();
  if (failure) throw Error(*failure);
}
// The counter of that file, as load_array.
[[nodiscard]] inline GlobalCounter load_counter(const std::string& path) {
  using Count = std::uint64_t;
  const auto head = detail::read_head(path, detail::type_of<Count>(detail::FileKind::counter));
  const auto array = GlobalArray<Count>::make(std::max<std::uint64_t>(head.n_entries, 1));
  const auto failure = detail::load_file<detail::ArraySink<Count>>(path, head, array);
  const Count value = failure || head.n_entries != 1 ? 0 : read(array[0]);
  array.free();
  if (failure) throw Error(*failure);
  if (head.n_entries != 1) detail::throw_wrong_size(path, 1, head.n_entries);
  const auto counter = GlobalCounter::make();
  counter.add(value);
  return counter;
}

}  // namespace rubato::global
