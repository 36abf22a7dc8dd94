// SPDX-License-Identifier: Apache-2.0
// Which files tell the input of a conversion from another.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "convert/conversion_spec.h"
#include "tests/convert/conversions.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

class InputIdentityTest : public ConversionTest {
 protected:
  struct Changes {
    bool content = false;
    bool times = false;
  };
  /// What a change of `file` does to the identity of `source`.
  Changes changes(const std::string& source, const std::string& file, bool longer) const {
    const detail::InputIdentity before = detail::identify_inputs({source}, {}).value();
    const auto written = fs::last_write_time(file);
    if (longer) fs::resize_file(file, fs::file_size(file) + 1);
    fs::last_write_time(file, longer ? written : written + std::chrono::hours(1));
    const detail::InputIdentity after = detail::identify_inputs({source}, {}).value();
    return {before.content != after.content, before.times != after.times};
  }
  void expect_part_of(const std::string& source, const std::string& file) const {
    const Changes touched = changes(source, file, false);
    EXPECT_FALSE(touched.content) << file;
    EXPECT_TRUE(touched.times) << file;
    const Changes grown = changes(source, file, true);
    EXPECT_TRUE(grown.content) << file;
    EXPECT_FALSE(grown.times) << file;
  }
};

TEST_F(InputIdentityTest, HoldsTheFileAndWhatIsReadWithIt) {
  const std::string records = put("a.rec", "records");
  const std::string images = put("train-images-idx3-ubyte", "images");
  const std::string labels = put("train-labels-idx1-ubyte.gz", "labels");
  expect_part_of(records, records);
  const std::string alone = detail::identify_inputs({records}, {}).value().content;
  const std::string index = put("a.idx", "index");
  EXPECT_NE(detail::identify_inputs({records}, {}).value().content, alone) << "the index came";
  expect_part_of(records, index);
  expect_part_of(images, images);
  expect_part_of(images, labels);
  const Changes foreign = changes(records, labels, true);
  EXPECT_FALSE(foreign.content || foreign.times);
}

TEST_F(InputIdentityTest, HoldsAllFilesBelowAFolder) {
  put("folder/a", "a");
  const std::string below = put("folder/below/b", "b");
  expect_part_of(folder_ / "folder", below);
}

TEST_F(InputIdentityTest, HoldsTheShardsOfAGlobAndOfAManifest) {
  ASSERT_TRUE(convert(out_, options({put_tfrecords(2, 50, 1)}, 3)));
  for (const char* const source : {"/shard-*.dvt", "/manifest.dvt"}) {
    const Changes touched = changes(out_ + source, out_ + "/shard-000001.dvt", false);
    EXPECT_FALSE(touched.content) << source;
    EXPECT_TRUE(touched.times) << source;
  }
  const std::string two = detail::identify_inputs({out_ + "/shard-00000[01].dvt"}, {}).value().content;
  EXPECT_NE(two, detail::identify_inputs({out_ + "/shard-00000[02].dvt"}, {}).value().content);
  fs::remove(out_ + "/shard-000002.dvt");
  EXPECT_TRUE(detail::identify_inputs({out_ + "/manifest.dvt"}, {})) << "it may not be wanted";
}

TEST(FactsTest, TheFirstThatDiffersIsToldWhateverTheOrder) {
  const auto parsed = [](const char* text) { return detail::ConversionSpec::parse(text).value(); };
  const detail::ConversionSpec facts = parsed("a 1\nhere.b 2\nc 3\n");
  EXPECT_FALSE(facts.difference_from(parsed("c 3\na 1\nhere.b 2\n"), {}));
  EXPECT_FALSE(facts.difference_from(parsed("c 3\na 1\n"), detail::ConversionSpec::kLocal));
  EXPECT_FALSE(facts.difference_from(parsed("a 1\nhere.b 2\nc 3\nc 4\n"), {})) << "of two of a name the first counts";
  EXPECT_EQ(facts.difference_from(parsed("a 1\nhere.b 4\nc 4\n"), {}), "b is '2' here, but '4' there");
  EXPECT_EQ(facts.difference_from(parsed("a 1\nhere.b 4\nc 4\n"), detail::ConversionSpec::kLocal),
            "c is '3' here, but '4' there");
  EXPECT_EQ(facts.difference_from(parsed("a 1\nhere.b 2\nc 3\nd 4\n"), {}), "d is not given here, but '4' there");
}

// A look for each name among all of the others took minutes here.
TEST(FactsTest, OfManySourcesAreComparedAtOnce) {
  detail::ConversionSpec facts;
  for (int i = 0; i != 200'000; ++i) facts.add("here.source." + std::to_string(i), std::to_string(i));
  const detail::ConversionSpec same = facts;
  facts.add("z", "1");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(facts.difference_from(same, {}), "z is '1' here, but not given there");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace dovetail::test
