#include "rubato/global/file.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rubato/base/random.hpp"
#include "rubato/global/file_test.hpp"

namespace rubato::global {
namespace {

namespace fs = std::filesystem;

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

template <class T>
T value_at(std::uint64_t seed, std::uint64_t i) {
  std::array<std::uint64_t, 4> words{hash_words(seed, i), i, seed, 0};
  T value;
  std::memcpy(&value, words.data(), sizeof value);
  return value;
}
struct Three {
  std::array<std::uint32_t, 3> words;
};
struct Page {
  std::array<std::uint64_t, 4> words;
};

template <class T>
GlobalArray<T> make_array(std::uint64_t seed, std::uint64_t n) {
  const auto array = GlobalArray<T>::make(n, seed % 3 == 0 ? 0 : seed % 5 + 1);
  forall(array, [seed](std::uint64_t i, T& x) { x = value_at<T>(seed, i); });
  return array;
}
template <class T>
std::uint64_t n_wrong_elements(const GlobalArray<T>& array, std::uint64_t seed, std::uint64_t n) {
  std::uint64_t n_wrong = array.size() == n ? 0 : 1;
  forall(array, [seed, wrong = make_global(n_wrong)](std::uint64_t i, const T& x) {
    const T expected = value_at<T>(seed, i);
    if (std::memcmp(&x, &expected, sizeof x) != 0) async_call(wrong, [](std::uint64_t& w) { ++w; });
  });
  return n_wrong;
}

// Saved on one shape and loaded on another.
template <class T>
void expect_array_comes_back(const Folder& folder, std::uint64_t seed, std::uint64_t n) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", elements of " + std::to_string(sizeof(T)) +
               " bytes: " + std::to_string(n));
  const std::string path = folder.file("array");
  run_on_shape(seed, [&] {
    const auto array = make_array<T>(seed, n);
    save(array, path);
    array.free();
  });
  std::uint64_t n_wrong = 1;
  run_on_shape(seed * 7 + 3, [&] {
    const auto array = load_array<T>(path, seed % 4);
    n_wrong = n_wrong_elements(array, seed, n);
    array.free();
  });
  EXPECT_EQ(n_wrong, 0U);
  EXPECT_EQ(folder.n_files(), 1U);
}

TEST(ContainerFile, HasAnArrayElementForElementOnAnotherShape) {
  const Folder folder;
  for (std::uint64_t seed = 0; seed < 18; ++seed) {
    expect_array_comes_back<std::uint8_t>(folder, seed, hash_words(seed) % 3'000);
    expect_array_comes_back<std::uint64_t>(folder, seed, hash_words(seed, 1) % 3'000);
    expect_array_comes_back<Three>(folder, seed, hash_words(seed, 2) % 3'000);
  }
}

TEST(ContainerFile, HasArraysOfManySegments) {
  const Folder folder;
  expect_array_comes_back<std::uint64_t>(folder, 4, 1'300'000);  // 10 MB
  expect_array_comes_back<std::uint64_t>(folder, 8, 1'300'000);
  expect_array_comes_back<Three>(folder, 2, 500'000);
  expect_array_comes_back<std::uint8_t>(folder, 1, (1U << 20) + 1);
  expect_array_comes_back<Page>(folder, 6, 3U << 15);  // segments to the byte
}

// A key of a user's own type.
struct Digits {
  std::vector<std::uint32_t> digits;
};

}  // namespace

template <>
struct Codec<Digits> {
  static ByteView bytes(const Digits& key) noexcept { return std::as_bytes(std::span(key.digits)); }
  static Digits make(ByteView bytes) {
    Digits key{std::vector<std::uint32_t>(bytes.size() / sizeof(std::uint32_t))};
    if (!bytes.empty()) std::memcpy(key.digits.data(), bytes.data(), bytes.size());
    return key;
  }
};

namespace {

// Keys 0 to n - 1 as `make_key` makes them.
template <class K, class MakeKey>
void expect_map_comes_back(const Folder& folder, std::uint64_t seed, std::uint64_t n,
                           const MakeKey& make_key) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", keys: " + std::to_string(n));
  const std::string path = folder.file("map");
  run_on_shape(seed, [&] {
    const auto map = GlobalHashMap<K, std::uint64_t>::make();
    forall(0, n, [map, seed, make_key](std::uint64_t i) {
      map.async_insert(make_key(i), hash_words(seed, i));
    });
    save(map, path);
    map.free();
  });
  std::uint64_t n_wrong = 1;
  run_on_shape(seed * 5 + 2, [&] {
    const auto map = load_map<K, std::uint64_t>(path);
    n_wrong = map.size() == n ? 0 : 1;
    forall(0, n, [=, wrong = make_global(n_wrong)](std::uint64_t i) {
      if (map.find(make_key(i)) != hash_words(seed, i))
        async_call(wrong, [](std::uint64_t& w) { ++w; });
    });
    map.free();
  });
  EXPECT_EQ(n_wrong, 0U);
}

TEST(ContainerFile, HasTheKeysOfAMapOnAnotherShape) {
  const Folder folder;
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    const std::uint64_t n = hash_words(seed) % 1'000;
    expect_map_comes_back<std::string>(folder, seed, n, [](std::uint64_t i) { return key_of(i); });
    expect_map_comes_back<std::uint64_t>(folder, seed, n, [](std::uint64_t i) { return i * i; });
    expect_map_comes_back<std::uint32_t>(
        folder, seed, n, [](std::uint64_t i) { return static_cast<std::uint32_t>(i); });
    expect_map_comes_back<Digits>(folder, seed, n, [](std::uint64_t i) {
      Digits key;
      for (; i != 0; i /= 10)
        key.digits.push_back(static_cast<std::uint32_t>(i % 10));
      return key;
    });
  }
}

TEST(ContainerFile, HasMapsOfManySegments) {
  const Folder folder;
  expect_map_comes_back<std::string>(folder, 7, 8'000, [](std::uint64_t i) {
    return std::string(300, 'x').append(std::to_string(i));
  });
  expect_map_comes_back<std::uint64_t>(folder, 0, 70'000, [](std::uint64_t i) { return i; });
  // A key that is longer than a segment.
  expect_map_comes_back<std::string>(folder, 8, 3, [](std::uint64_t i) {
    return std::string(1'500'000, static_cast<char>('a' + i));
  });
}

TEST(ContainerFile, HasTheKeysOfASet) {
  const Folder folder;
  const std::string path = folder.file("set");
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    const std::uint64_t n = seed == 4 ? 0 : hash_words(seed) % 40'000;
    run_on_shape(seed, [&] {
      const auto set = GlobalHashSet<std::string>::make();
      forall(0, n, [set](std::uint64_t i) { set.async_insert(key_of(i)); });
      save(set, path);
      set.free();
    });
    std::uint64_t n_wrong = 1;
    run_on_shape(seed * 5 + 2, [&] {
      const auto set = load_set<std::string>(path);
      n_wrong = set.size() == n ? 0 : 1;
      forall(0, n, [=, wrong = make_global(n_wrong)](std::uint64_t i) {
        if (!set.contains(key_of(i))) async_call(wrong, [](std::uint64_t& w) { ++w; });
      });
      set.free();
    });
    EXPECT_EQ(n_wrong, 0U) << "seed " << seed;
    EXPECT_NE(error_of(seed, [&] { load_map<std::string, std::uint64_t>(path).free(); })
                  .find("set: offset 12: expected a hash map, found a hash set"),
              std::string::npos);
  }
}

TEST(ContainerFile, HasTheValuesOfABag) {
  const Folder folder;
  const std::string path = folder.file("bag");
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    const std::uint64_t n = seed == 4 ? 0 : hash_words(seed) % 300'000;
    run_on_shape(seed, [&] {
      const auto bag = GlobalBag<Three>::make();
      forall(0, n, [bag, seed](std::uint64_t i) { bag.put(value_at<Three>(seed, i)); });
      save(bag, path);
      bag.free();
    });
    std::vector<std::array<std::uint32_t, 3>> found;
    run_on_shape(seed * 5 + 2, [&] {
      const auto bag = load_bag<Three>(path);
      EXPECT_EQ(bag.size(), n);
      while (const auto value = bag.take())
        found.push_back(value->words);
      bag.free();
    });
    std::vector<std::array<std::uint32_t, 3>> expected;
    for (std::uint64_t i = 0; i < n; ++i)
      expected.push_back(value_at<Three>(seed, i).words);
    std::ranges::sort(found);
    std::ranges::sort(expected);
    EXPECT_TRUE(found == expected) << "seed " << seed << ": " << found.size() << " of " << n;
  }
}

TEST(ContainerFile, HasCounts) {
  const Folder folder;
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    // Of few bins each core has its own, of many the owners alone.
    const std::uint64_t n_bins = seed % 3 == 0 ? 200'000 : 100;
    std::vector<std::uint64_t> counts;
    run_on_shape(seed, [&] {
      const auto counter = GlobalCounter::make();
      const auto histogram = GlobalHistogram::make(n_bins);
      forall(0, 5'000, [=](std::uint64_t i) {
        counter.add(i);
        histogram.add(hash_words(i, seed) % n_bins);
      });
      counts = histogram.counts();
      save(counter, folder.file("counter"));
      save(histogram, folder.file("histogram"));
      counter.free();
      histogram.free();
    });
    run_on_shape(seed * 5 + 2, [&] {
      const auto counter = load_counter(folder.file("counter"));
      const auto histogram = load_histogram(folder.file("histogram"));
      EXPECT_EQ(counter.value(), 5'000U * 4'999 / 2);
      EXPECT_TRUE(histogram.counts() == counts);
      finish([&] { histogram.add(7, 3); });
      EXPECT_EQ(histogram.counts()[7], counts[7] + 3);
      counter.free();
      histogram.free();
    });
  }
  EXPECT_NE(error_of(0, [&] { load_counter(folder.file("histogram")).free(); })
                .find("expected a counter, found a histogram"),
            std::string::npos);
}

TEST(ContainerFile, HasAVectorInItsOrder) {
  const Folder folder;
  const std::string path = folder.file("vector");
  for (std::uint64_t seed = 0; seed < 18; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::uint64_t n = hash_words(seed) % 3'000;
    std::vector<Three> saved;
    run_on_shape(seed, [&] {
      const auto vector = GlobalVector<Three>::make();
      forall(0, n, [=](std::uint64_t i) { vector.async_push(value_at<Three>(seed, i)); });
      static_cast<void>(vector.pop());
      static_cast<void>(vector.pop_front());
      vector.push(value_at<Three>(seed, n));
      saved = vector.values();
      save(vector, path);
      vector.free();
    });
    std::vector<Three> loaded;
    std::vector<Three> ends;
    run_on_shape(seed * 5 + 1, [&] {
      const auto vector = load_vector<Three>(path);
      loaded = vector.values();
      // It goes on as any other.
      vector.push(value_at<Three>(seed, n + 1));
      ends = {vector.pop().value(), vector.pop().value()};
      vector.free();
    });
    ASSERT_EQ(loaded.size(), saved.size());
    EXPECT_EQ(std::memcmp(loaded.data(), saved.data(), loaded.size() * sizeof(Three)), 0);
    EXPECT_EQ(ends[0].words, value_at<Three>(seed, n + 1).words);
    EXPECT_EQ(ends[1].words, saved.back().words);
  }
}

TEST(ContainerFile, HasContainersWithNothingInThem) {
  const Folder folder;
  for (std::uint64_t shape = 0; shape < 9; ++shape) {
    expect_array_comes_back<Three>(folder, shape, 0);
    EXPECT_EQ(fs::file_size(folder.file("array")), 72U);
    std::uint64_t n_vector = 1;
    std::uint64_t n_map = 1;
    run_on_shape(shape, [&] {
      const auto vector = GlobalVector<int>::make();
      const auto map = GlobalHashMap<std::string, int>::make();
      save(vector, folder.file("array"));
      n_vector = load_vector<int>(folder.file("array")).size();
      save(map, folder.file("array"));
      n_map = load_map<std::string, int>(folder.file("array")).size();
    });
    EXPECT_EQ(n_vector, 0U);
    EXPECT_EQ(n_map, 0U);
  }
}

// A small file of each kind, and what loads it: the contents as text.
struct SmallFile {
  std::string bytes;
  std::string contents;
  std::function<std::string(const std::string& path)> load;
};

SmallFile small_array(const std::string& path) {
  const auto load = [](const std::string& from) {
    const auto array = load_array<std::uint32_t>(from);
    std::vector<std::uint32_t> all(array.size());
    get(array, 0, all);
    array.free();
    std::string text;
    for (const std::uint32_t x : all)
      text += std::to_string(x) + " ";
    return text;
  };
  SmallFile small{"", "", load};
  run_on_shape(1, [&] {
    const auto array = make_array<std::uint32_t>(1, 11);
    save(array, path);
    small.contents = load(path);
  });
  small.bytes = bytes_of_file(path);
  return small;
}
SmallFile small_map(const std::string& path) {
  const auto load = [](const std::string& from) {
    const auto map = load_map<std::string, std::uint32_t>(from);
    std::string text = std::to_string(map.size());
    for (std::uint64_t i = 0; i < 6; ++i)
      text += " " + std::to_string(map.find(key_of(i)).value_or(999));
    map.free();
    return text;
  };
  SmallFile small{"", "", load};
  run_on_shape(1, [&] {
    const auto map = GlobalHashMap<std::string, std::uint32_t>::make();
    forall(0, 6,
           [map](std::uint64_t i) { map.async_insert(key_of(i), static_cast<std::uint32_t>(i)); });
    save(map, path);
    small.contents = load(path);
  });
  small.bytes = bytes_of_file(path);
  return small;
}

// Loads each of the changed files in one job; expects an Error that names the file.
void expect_errors(const SmallFile& small, const std::string& path,
                   const std::vector<std::string>& changed) {
  std::vector<std::string> errors;
  run_on_shape(1, [&] {
    for (const std::string& bytes : changed) {
      write_bytes(path, bytes);
      std::string error = "read as data";
      try {
        static_cast<void>(small.load(path));
      } catch (const Error& found) {
        error = found.what();
      }
      errors.push_back(error);
    }
    write_bytes(path, small.bytes);
    EXPECT_EQ(small.load(path), small.contents);  // this job is as it was
  });
  ASSERT_EQ(errors.size(), changed.size());
  for (std::size_t i = 0; i < errors.size(); ++i) {
    EXPECT_NE(errors[i].find("reading " + path + ": offset "), std::string::npos)
        << "change " << i << ": " << errors[i];
    EXPECT_NE(errors[i].find(", found "), std::string::npos) << errors[i];
  }
}

TEST(ContainerFile, IsNotReadWithAByteFlipped) {
  const Folder folder;
  const std::string path = folder.file("small");
  for (const SmallFile& small : {small_array(path), small_map(path)}) {
    std::vector<std::string> changed;
    for (std::size_t i = 0; i < small.bytes.size(); ++i) {
      for (const int flip : {1, 0x80, 0xff}) {
        changed.push_back(small.bytes);
        changed.back()[i] = static_cast<char>(changed.back()[i] ^ flip);
      }
    }
    expect_errors(small, path, changed);
  }
}

TEST(ContainerFile, IsNotReadCutOrWithMoreBehindIt) {
  const Folder folder;
  const std::string path = folder.file("small");
  for (const SmallFile& small : {small_array(path), small_map(path)}) {
    std::vector<std::string> changed;
    for (std::size_t n = 0; n < small.bytes.size(); ++n)
      changed.push_back(small.bytes.substr(0, n));
    changed.push_back(small.bytes + '\0');
    changed.push_back(small.bytes + small.bytes);
    changed.push_back(std::string(small.bytes.size(), '\0'));
    changed.push_back(std::string(1'000, 'a'));
    expect_errors(small, path, changed);
  }
}

TEST(ContainerFile, SaysWhatIsNotAsExpected) {
  const Folder folder;
  const std::string path = folder.file("small");
  static_cast<void>(small_array(path));
  const std::string reading = "reading " + path + ": ";
  EXPECT_EQ(error_of(0, [&] { static_cast<void>(load_array<double>(path)); }),
            reading + "offset 16: expected elements of 8 bytes, found elements of 4 bytes");
  EXPECT_EQ(error_of(1, [&] { static_cast<void>(load_vector<std::uint32_t>(path)); }),
            reading + "offset 12: expected a vector, found an array");
  EXPECT_EQ(error_of(2, [&] { static_cast<void>(load_map<int, int>(path)); }),
            reading + "offset 12: expected a hash map, found an array");
  static_cast<void>(small_map(path));
  EXPECT_EQ(error_of(3, [&] { static_cast<void>(load_map<int, int>(path)); }),
            reading + "offset 24: expected keys of 4 bytes, found keys of several lengths");
  EXPECT_EQ(error_of(7, [&] { static_cast<void>(load_map<std::string, char>(path)); }),
            reading + "offset 16: expected values of 1 bytes, found values of 4 bytes");
  const std::string missing = folder.file("none");
  EXPECT_EQ(error_of(4, [&] { static_cast<void>(load_array<int>(missing)); }),
            "reading " + missing + ": No such file or directory");
  EXPECT_EQ(error_of(4, [&] { static_cast<void>(load_array<int>(folder.file(""))); }),
            "reading " + folder.file("") + ": expected a file, found a folder or a device");
}

// Saves of arrays that fail, on all shapes: each says so once, and leaves what was there.
TEST(ContainerFile, NeedsAFolderThatExists) {
  const Folder folder;
  const std::string path = folder.file("none/array");
  for (std::uint64_t shape = 0; shape < 9; ++shape) {
    const std::string error = error_of(shape, [&] { save(make_array<int>(1, 1'000), path); });
    EXPECT_EQ(error.substr(0, error.find(": ")).substr(0, 4),
              shape == 0 || shape == 3 || shape > 5 ? "writ" : "node")
        << error;
    EXPECT_NE(error.find("writing " + path + ": No such file or directory"), std::string::npos)
        << error;
    EXPECT_EQ(folder.n_files(), 0U);
  }
}

// Files have at most so many bytes while it is there: a disk that is full.
class FileLimit {
 public:
  explicit FileLimit(rlim_t n_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{n_bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    static_cast<void>(std::signal(SIGXFSZ, handler_));
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

TEST(ContainerFile, ThatWasThereSurvivesASaveThatFails) {
  const Folder folder;
  const std::string path = folder.file("small");
  const SmallFile small = small_array(path);
  for (std::uint64_t shape = 0; shape < 9; ++shape) {
    SCOPED_TRACE("shape " + std::to_string(shape));
    std::string message;
    // Room for the segments of some cores, not for those of the others nor for the table.
    const std::string error = error_of(shape, [&] {
      const auto array = make_array<std::uint64_t>(2, 400'000);
      try {
        const FileLimit limit(rlim_t{3} << 19);
        save(array, path);
      } catch (const Error& failure) {
        message = failure.what();
      }
      EXPECT_EQ(n_wrong_elements(array, 2, 400'000), 0U);
      array.free();
      const auto map = GlobalHashMap<std::string, int>::make();
      finish([&] { map.async_insert("a", 1); });
      const FileLimit limit(100);
      save(map, path);
    });
    EXPECT_NE(message.find("writing " + path + ": File too large"), std::string::npos) << message;
    EXPECT_NE(error.find("writing " + path + ": File too large"), std::string::npos) << error;
    EXPECT_EQ(bytes_of_file(path), small.bytes);
    EXPECT_EQ(folder.n_files(), 1U);
  }
  // A device cannot be renamed over.
  const std::string error = error_of(1, [] { save(GlobalArray<int>::make(10), "/dev/full"); });
  EXPECT_NE(error.find("writing /dev/full: expected a file name"), std::string::npos) << error;
}

TEST(ContainerFile, IsReplacedByTheNextSave) {
  const Folder folder;
  const std::string path = folder.file("file");
  std::uint64_t n_wrong = 1;
  run_on_shape(4, [&] {
    const auto first = make_array<std::uint64_t>(1, 5'000);
    const auto second = make_array<std::uint64_t>(2, 50);
    // Two at once: one of them is there at the end, whole.
    finish([&] {
      spawn([&] { save(first, path); });
      spawn([&] { save(first, path); });
    });
    n_wrong = n_wrong_elements(load_array<std::uint64_t>(path), 1, 5'000);
    save(second, path);
    n_wrong += n_wrong_elements(load_array<std::uint64_t>(path), 2, 50);
  });
  EXPECT_EQ(n_wrong, 0U);
  EXPECT_EQ(folder.n_files(), 1U);
}

}  // namespace
}  // namespace rubato::global
