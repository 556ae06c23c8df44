#include "rubato/base/bytes.hpp"

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"

namespace rubato {
namespace {

struct Pair {
  std::int32_t a;
  float b;
  bool operator==(const Pair&) const = default;
};

TEST(Bytes, ReadBackWhatWasWritten) {
  Writer writer;
  writer.put(std::uint8_t{7});
  writer.put(Pair{-3, 0.5F});
  writer.put_vector(std::vector<double>{1, -2.25});
  writer.put_string("rub\0ato");
  writer.put_vector(std::vector<int>{});
  const Bytes bytes = writer.take();
  Reader reader(bytes);
  EXPECT_EQ(reader.get<std::uint8_t>(), 7);
  EXPECT_EQ(reader.get<Pair>(), (Pair{-3, 0.5F}));
  EXPECT_EQ(reader.get_vector<double>(), (std::vector<double>{1, -2.25}));
  EXPECT_EQ(reader.get_string(), "rub");
  EXPECT_TRUE(reader.get_vector<int>().empty());
  EXPECT_TRUE(reader.at_end());
}

TEST(Bytes, AreLittleEndianWithoutPadding) {
  Writer writer;
  writer.put(std::uint8_t{1});
  writer.put(std::uint32_t{0x01020304});
  const Bytes expected = {std::byte{1}, std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}};
  EXPECT_EQ(writer.take(), expected);
}

TEST(Bytes, AViewAdvancesTheReader) {
  Writer writer;
  writer.put(std::uint32_t{1});
  writer.put(std::uint16_t{2});
  const Bytes bytes = writer.take();
  Reader reader(bytes);
  EXPECT_EQ(reader.get_view(4).size(), 4U);
  EXPECT_EQ(reader.get<std::uint16_t>(), 2);
}

TEST(Bytes, EveryTruncationIsAnError) {
  Writer writer;
  writer.put_vector(std::vector<std::uint16_t>{1, 2, 3});
  writer.put_string("abc");
  const Bytes whole = writer.take();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    Reader reader(ByteView(whole).first(n));
    EXPECT_THROW(
        {
          (void)reader.get_vector<std::uint16_t>();
          (void)reader.get_string();
        },
        Error)
        << "truncated to " << n;
  }
}

TEST(Bytes, AHostileCountIsAnErrorAndNoAllocation) {
  for (const std::uint64_t count : {std::uint64_t{2}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
    Writer writer;
    writer.put(count);
    writer.put(std::uint64_t{0});
    const Bytes bytes = writer.take();
    Reader reader(bytes);
    EXPECT_THROW((void)reader.get_vector<std::uint64_t>(), Error) << count;
  }
}

TEST(Bytes, RandomBytesAreReadOrRefused) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed);
    Bytes bytes(static_cast<std::size_t>(random.between(0, 64)));
    for (auto& byte : bytes)
      byte = static_cast<std::byte>(random.between(0, 3));
    Reader reader(bytes);
    try {
      while (!reader.at_end())
        (void)reader.get_vector<std::uint16_t>();
    } catch (const Error&) {
    }
    EXPECT_LE(reader.left(), bytes.size()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rubato
