// SPDX-License-Identifier: Apache-2.0
// IDX files, the format of MNIST: images with and without their labels, other types, and sizes that
// do not fit.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

class IdxSourceTest : public SourceTest {
 protected:
  Error error_of(const std::string& path, const SourceOptions& options = {.format = SourceFormat::idx}) {
    return test::error_of(path, options);
  }

  const std::string images_ = idx(8, {3, 2, 2}, "abcdefghijkl");
};

TEST_F(IdxSourceTest, PutsImagesAndLabelsTogether) {
  const std::string path = put("t10k-images-idx3-ubyte", images_);
  EXPECT_THAT(read_texts(path), ElementsAre("image=<abcd>", "image=<efgh>", "image=<ijkl>"));
  put("t10k-labels-idx1-ubyte", idx(8, {3}, std::string("\5\0\xFF", 3)));
  EXPECT_THAT(read_texts(path),
              ElementsAre("image=<abcd> label=[5]", "image=<efgh> label=[0]", "image=<ijkl> label=[255]"));
  EXPECT_THAT(read_source(path, {.records = RecordForm::raw}).value(), ElementsAre("abcd", "efgh", "ijkl"));
  put("train-images.idx3-ubyte.gz", gzip(images_));
  put("train-labels.idx1-ubyte.gz", gzip(idx(8, {3}, "\1\2\3")));
  RecordSource source = RecordSource::open(folder_.path()).value();
  EXPECT_EQ(source.format(), SourceFormat::idx);
  EXPECT_EQ(source.files(), 2u) << "labels are read with their images";
  EXPECT_EQ(read_texts(folder_.path()).size(), 6u);
  EXPECT_EQ(read_texts(folder_.path())[5], "image=<ijkl> label=[3]");
}

TEST_F(IdxSourceTest, MissesLabelsThatWereNotFetched) {
  const std::string path = put("t10k-images-idx3-ubyte", images_);
  std::filesystem::create_symlink("gone", folder_ / "t10k-labels-idx1-ubyte");
  for (const std::string& source : {path, folder_.path()}) {
    EXPECT_THAT(error_of(source, {}).to_string(), ::testing::AllOf(HasSubstr("labels-idx1"), HasSubstr("fetch")))
        << source;
  }
}

TEST_F(IdxSourceTest, IsKnownByItsHeaderAndSize) {
  EXPECT_EQ(RecordSource::open(put("a", images_)).value().format(), SourceFormat::idx);
  EXPECT_EQ(RecordSource::open(put("b", gzip(images_))).value().format(), SourceFormat::idx);
  EXPECT_TRUE(error_of(put("c", images_ + "x"), {}).is(Errc::unknown_format)) << "a byte more is something else";
}

TEST_F(IdxSourceTest, ReadsEveryTypeOfElement) {
  EXPECT_THAT(read_texts(put("i8", idx(9, {2}, "\1\xFF"))), ElementsAre("label=[1]", "label=[-1]"));
  EXPECT_THAT(read_texts(put("i16", idx(0xB, {1}, "\xFF\xFE"))), ElementsAre("label=[-2]"));
  EXPECT_THAT(read_texts(put("i32", idx(0xC, {1}, std::string("\0\1\0\0", 4)))), ElementsAre("label=[65536]"));
  EXPECT_THAT(read_texts(put("f32", idx(0xD, {1}, std::string("\x3F\0\0\0", 4)))), ElementsAre("label=(0.5)"));
  EXPECT_THAT(read_texts(put("f64", idx(0xE, {1}, std::string("\xC0\4\0\0\0\0\0\0", 8)))), ElementsAre("label=(-2.5)"));
  EXPECT_THAT(read_texts(put("wide", idx(0xB, {1, 2}, "abcd"))), ElementsAre("image=<badc>")) << "little-endian";
}

TEST_F(IdxSourceTest, NamesSizesThatDoNotFit) {
  const std::string path = put("x-images-idx3-ubyte", images_);
  put("x-labels-idx1-ubyte", idx(8, {2}, "ab"));
  EXPECT_THAT(error_of(path), Fails(Errc::sidecar_mismatch).in(folder_ / "x-labels-idx1-ubyte"));
  EXPECT_THAT(error_of(put("cut", images_.substr(0, 20))), Fails(Errc::truncated).at(20u));
  EXPECT_TRUE(error_of(put("more", images_ + "x")).is(Errc::malformed_input));
  EXPECT_TRUE(error_of(put("cut.gz", gzip(images_.substr(0, 20)))).is(Errc::truncated));
  EXPECT_TRUE(error_of(put("more.gz", gzip(images_ + "x"))).is(Errc::malformed_input));
  EXPECT_THAT(error_of(put("type", idx(7, {1}, "a"))).detail(), HasSubstr("kind of header"));
  EXPECT_TRUE(error_of(put("none", idx(8, {4'000'000'000u, 0}, ""))).is(Errc::malformed_input));
  EXPECT_TRUE(error_of(put("huge", idx(8, {1, 0xFFFFFFFF, 0xFFFFFFFF}, ""))).is(Errc::malformed_input));
  EXPECT_TRUE(error_of(path, {.max_record_bytes = 3}).is(Errc::record_too_large));
}

TEST_F(IdxSourceTest, HoldsEachItemOnceInRanges) {
  const std::string path = put("r-images-idx3-ubyte", idx(8, {999, 3, 5}, noise(999 * 15, 1)));
  put("r-labels-idx1-ubyte", idx(8, {999}, noise(999, 2)));
  EXPECT_THAT(parts_that_differ(path), IsEmpty());
  const std::string packed = put("p-images-idx3-ubyte.gz", gzip(idx(8, {999, 3, 5}, prose(999 * 15, 1))));
  put("p-labels-idx1-ubyte", idx(8, {999}, noise(999, 2)));
  EXPECT_THAT(parts_that_differ(packed), IsEmpty());
}

}  // namespace
}  // namespace dovetail::test
