// SPDX-License-Identifier: Apache-2.0
// What is recognised and not read is named, with a way to what is read.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

using namespace std::string_literals;

struct Foreign {
  const char* name;
  std::string bytes;
  const char* said;
  const char* recipe;
};

// What the programs of these formats begin their files with.
const std::vector<Foreign> kForeign = {
    {"Parquet", "PAR1\x15\x04\x15"s, "a Parquet file", "read_parquet"},
    {"Arrow's file, and Feather 2", "ARROW1\0\0\xFF\xFF\xFF\xFF"s, "an Arrow or Feather file", "read_feather"},
    {"Feather 1", "FEA1\0\0\0\0"s, "a Feather file", "read_feather"},
    {"Arrow's stream", "\xFF\xFF\xFF\xFF\x38\x01\0\0\x10\0\0\0\0\0\x0A\0"s, "a stream of Arrow", "open_stream"},
    {"an array", "\x93NUMPY\x01\0v\0{'descr'"s, "a NumPy array", "numpy.load"},
    {"arrays",
     "PK\x03\x04\x2D\0\0\0\0\0\0\0\x21\0\x18\x3D\x3F\x11\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x05\0\x14\0x.npyrest"s,
     "a NumPy archive", "zip(*a.values())"},
    {"a zip", "PK\x03\x04\x14\0\0\0\x08\0\0\0\x21\0\x18\x3D\x3F\x11\x04\0\0\0\x04\0\0\0\x05\0\0\0x.txtrest"s,
     "a zip archive", "unzip FILE"},
    {"an empty zip", "PK\x05\x06" + std::string(18, '\0'), "a zip archive", "unzip FILE"},
    {"HDF5", "\x89HDF\r\n\x1A\n\0\0\0\0"s, "an HDF5 file", "h5py"},
    {"UTF-16", "\xFF\xFE\x61\0\x0A\0"s, "a text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"},
    {"UTF-16 of the other order", "\xFE\xFF\0\x61\0\x0A"s, "a text in UTF-16", "iconv"},
    {"lz4", "\x04\x22\x4D\x18\x64\x40\xA7\x06\0\0\x80text\0"s, "lz4", "lz4 -dc FILE | dovetail convert -"},
};

class ForeignFormatsTest : public SourceFileTest {
 protected:
  Error error_of(std::string_view bytes) { return RecordSource::open(put(bytes)).error(); }
};

TEST_F(ForeignFormatsTest, AreNamedWithARecipe) {
  for (const Foreign& foreign : kForeign) {
    EXPECT_THAT(error_of(foreign.bytes + std::string(100, '\0')), Fails(Errc::unknown_format)
                                                                      .of(ErrorKind::usage)
                                                                      .in(path_)
                                                                      .saying("this is "s)
                                                                      .saying(foreign.said)
                                                                      .saying(foreign.recipe))
        << foreign.name;
  }
}

TEST_F(ForeignFormatsTest, AreNamedWhereTheyAreCompressed) {
  for (const Compression compression : {Compression::gzip, Compression::zstd}) {
    for (const Foreign& foreign : kForeign) {
      EXPECT_THAT(error_of(compress(foreign.bytes + std::string(100, '\0'), compression)).detail(),
                  HasSubstr(foreign.said));
    }
  }
}

TEST_F(ForeignFormatsTest, AreNotSeenInOtherBytes) {
  for (const std::string& bytes :
       {"PK\x03\x05\0"s, "\xFF\xFE\0\0\x61"s, "\xFF\xFE\0"s, "PAR2\0"s, "\xFF\xFF\xFF\xFF\x37\x01\0\0\x10\0\0\0\0"s,
        "\xFF\xFF\xFF\xFF\x38\x01\0\0\x38\x01\0\0\0"s, "\xFF\xFF\xFF\xFF\0"s}) {
    EXPECT_THAT(error_of(bytes).detail(), HasSubstr("format is not known"));
  }
  write_file(path_, "PAR1 is a text\n");
  EXPECT_EQ(RecordSource::open(path_).value().format(), SourceFormat::lines);
}

TEST_F(ForeignFormatsTest, AnAddressIsToldFromAMissingFile) {
  for (const auto& [address, recipe] : std::vector<std::pair<std::string, const char*>>{
           {"s3://bucket/a.jsonl", "aws s3 cp URL - | dovetail convert -"},
           {"gs://bucket/a.tar", "gcloud storage cat URL | dovetail convert -"},
           {"https://host/a.jsonl.zst?x=*", "curl -fsSL URL | dovetail convert -"},
           {"http://host/a", "curl -fsSL URL | dovetail convert -"},
           {"S3://bucket/a.jsonl", "aws s3 cp URL - | dovetail convert -"},
           {"Https://host/a", "curl -fsSL URL | dovetail convert -"},
           {"hdfs://host/a", "copy it here first"}}) {
    EXPECT_THAT(RecordSource::open(address),
                Fails(Errc::unknown_format).in(address).saying("this is a remote address").saying(recipe));
  }
  for (const std::string& path : {folder_ / "missing", folder_ / "a/b://c", "s3:/bucket/a"s}) {
    EXPECT_THAT(RecordSource::open(path), Fails(boost::system::errc::no_such_file_or_directory)) << path;
  }
}

TEST_F(ForeignFormatsTest, TablesInAFolderAreNoRecords) {
  write_file(folder_ / "a.txt", "text");
  write_file(folder_ / "part-0.parquet", "PAR1");
  const std::string root = folder_ / "";
  EXPECT_THAT(
      RecordSource::open(root).error(),
      Fails(Errc::unknown_format).in(folder_ / "part-0.parquet").saying("--from folder").saying("docs/sources.md"));
  EXPECT_EQ(read_source(root, {.format = SourceFormat::folder}).value().size(), 2u);
}

}  // namespace
}  // namespace dovetail::test
