// SPDX-License-Identifier: Apache-2.0
// Folders, lines, and how the format of a source is found out.
#include <dovetail/record_source.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <tuple>

#include <dovetail/dataset_writer.h>

#include "format/tfrecord/tfrecord_name.h"
#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

class RecordSourceTest : public test::SourceTest {
 protected:
  RecordSourceTest() { fs::create_directory(root_); }

  void put(const std::string& name, std::string_view bytes) { SourceTest::put("source/" + name, bytes); }
  Records read(SourceFormat format = SourceFormat::detect) {
    return read_source(root_, {.format = format, .records = RecordForm::raw}).value();
  }
  Error error_of(const std::string& name, SourceFormat format = SourceFormat::detect) {
    return test::error_of(name.empty() ? root_ : root_ + '/' + name, {.format = format});
  }

  const std::string root_ = folder_ / "source";
};

TEST_F(RecordSourceTest, TakesEveryFileBelowAFolderInBytewiseOrder) {
  // '-' and '.' sort before '/', which sorts before letters: the order is that of whole paths, not
  // of folders.
  put("b/one", "5");
  put("b-", "3");
  put("b.txt", "4");
  put("b/two/deep", "6");
  put("b0", "7");
  put("B", "1");
  put("-", "0");
  put(".hidden", "none");
  put("b/.hidden/one", "none");
  put("\xC3\xA9 with space\n", "8");
  put("a", "2");
  EXPECT_THAT(read(), ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8"));
  RecordSource source = RecordSource::open(root_).value();
  EXPECT_EQ(source.format(), SourceFormat::folder);
  EXPECT_EQ(source.files(), 9u);
  EXPECT_EQ(source.input_bytes(), 9u);
}

TEST_F(RecordSourceTest, KnowsTheFileOfEachRecord) {
  put("a", "12");
  put("b", "");
  put("c", "345");
  RecordSource source = RecordSource::open(root_ + "//").value();
  for (const auto& [name, consumed] : {std::pair{"a", 0u}, {"b", 2u}, {"c", 2u}}) {
    ASSERT_TRUE(source.next().value());
    EXPECT_EQ(source.file(), root_ + "//" + name);
    EXPECT_EQ(source.consumed_bytes(), consumed);
    EXPECT_EQ(source.offset(), 0u);
  }
  EXPECT_FALSE(source.next().value());
  EXPECT_FALSE(source.next().value()) << "the end stays the end";
  EXPECT_EQ(source.consumed_bytes(), 5u);
}

TEST_F(RecordSourceTest, TakesEmptyAndLargeFiles) {
  const std::string large = noise(3 << 20, 1);
  put("a", "");
  put("b", large);
  const Records records = read();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0], "");
  EXPECT_TRUE(records[1] == large);
}

TEST_F(RecordSourceTest, FollowsLinksToFilesAndNotToFolders) {
  put("a", "file");
  put("below/b", "deep");
  fs::create_symlink("a", root_ + "/link");
  fs::create_directory_symlink(".", root_ + "/loop");
  fs::create_directory_symlink("../..", root_ + "/below/up");
  EXPECT_THAT(read(), ElementsAre("file", "deep", "file"));
}

TEST_F(RecordSourceTest, IgnoresPipesAndSocketsInFolders) {
  put("a", "file");
  ASSERT_EQ(::mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = root_ + "/socket";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_THAT(read(), ElementsAre("file"));
  ::close(socket);
}

TEST_F(RecordSourceTest, RefusesAPipeAsASourceWithoutWaitingForIt) {
  ASSERT_EQ(::mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(error_of("pipe").is(Errc::unknown_format));
  EXPECT_TRUE(error_of("pipe", SourceFormat::lines).is(Errc::unknown_format));
}

TEST_F(RecordSourceTest, NamesTheFileThatVanished) {
  put("a", "1");
  put("b", "2");
  RecordSource source = RecordSource::open(root_).value();
  ASSERT_TRUE(source.next().value());
  fs::remove(root_ + "/b");
  EXPECT_THAT(source.next(), Fails(boost::system::errc::no_such_file_or_directory).in(root_ + "/b"));
  EXPECT_EQ(error_of("b").code(), boost::system::errc::no_such_file_or_directory);
}

TEST_F(RecordSourceTest, RefusesFilesAboveTheLimit) {
  put("a", "12345");
  EXPECT_THAT(read_source(root_, {.max_record_bytes = 5, .records = RecordForm::raw}).value(), ElementsAre("12345"));
  EXPECT_THAT(read_source(root_, {.max_record_bytes = 4, .records = RecordForm::raw}),
              Fails(Errc::record_too_large).in(root_ + "/a"));
}

// The kernel's own files have a size of 0 and bytes all the same, as a file has that grows while it
// is read.
TEST_F(RecordSourceTest, NoticesThatAFileIsNotOfItsSize) {
  fs::create_symlink("/proc/self/status", root_ + "/status");
  EXPECT_THAT(error_of(""), Fails(Errc::file_changed).in(root_ + "/status"));
}

TEST_F(RecordSourceTest, RefusesAFolderWithoutFiles) {
  EXPECT_THAT(error_of(""), Fails(Errc::empty_input).in(root_));
  fs::create_directories(root_ + "/only/folders");
  EXPECT_TRUE(error_of("").is(Errc::empty_input));
}

TEST_F(RecordSourceTest, ReadsAFolderOfTfrecordsByName) {
  put("b-00001-of-00002.tfrecord.gz", gzip(tfrecord_bytes({"3"})));
  put("b-00000-of-00002.tfrecord.gz", gzip(""));
  put("a.tfrecord", tfrecord_bytes({"1", "2"}));
  put("c.tfrecord", "");
  EXPECT_THAT(read(), ElementsAre("1", "2", "3"));
  RecordSource source = RecordSource::open(root_).value();
  EXPECT_EQ(source.format(), SourceFormat::tfrecord);
  EXPECT_EQ(source.files(), 4u);
  EXPECT_EQ(read(SourceFormat::folder).size(), 4u) << "each file as one record where that is asked for";
}

TEST_F(RecordSourceTest, DoesNotChooseForAFolderOfTfrecordsAndOtherFiles) {
  put("a.tfrecord", tfrecord_bytes({"1"}));
  put("README", "x");
  EXPECT_THAT(error_of(""), Fails(Errc::unknown_format).saying("1 of 2 files"));
  EXPECT_THAT(read(SourceFormat::tfrecord), ElementsAre("1"));
  EXPECT_EQ(read(SourceFormat::folder).size(), 2u);
}

TEST_F(RecordSourceTest, NamesTheFirstFileOfAnotherFormat) {
  for (const char* const name : {"b.jsonl", "a.jsonl", "d.md", "c.md"}) put(name, "{}\n");
  EXPECT_THAT(RecordSource::open(root_),
              Fails(Errc::unknown_format).in(root_).saying("2 of 4 files have names of jsonl, but c.md has not"));
}

TEST_F(RecordSourceTest, RefusesAFileBesideItsCompressedCopy) {
  put("below/a.jsonl", "{}\n");
  put("below/b.jsonl", "{}\n");
  put("below/a.jsonl.gz", gzip("{}\n"));
  for (const SourceFormat format : {SourceFormat::detect, SourceFormat::jsonl}) {
    EXPECT_THAT(RecordSource::open(root_, {.format = format}),
                Fails(Errc::unknown_format)
                    .in(root_ + "/below/a.jsonl.gz")
                    .saying(root_ + "/below/a.jsonl, and would give its records twice")
                    .saying("--exclude '*.gz'"));
  }
  EXPECT_EQ(read_source(root_, {.exclude = {"*.gz"}}).value().size(), 2u);
  EXPECT_EQ(read_source(root_, {.format = SourceFormat::folder}).value().size(), 3u);
}

TEST_F(RecordSourceTest, AsksForTheFoldersOfMds) {
  for (const char* const name : {"train/shard.00000.mds", "train/index.json", "val/shard.00000.mds"}) put(name, "{}");
  EXPECT_THAT(RecordSource::open(root_),
              Fails(Errc::unknown_format).in(root_).saying("give each folder that holds one"));
}

TEST_F(RecordSourceTest, ReadsTfrecordsOfAnyNameWhereThatIsSaid) {
  put("x", tfrecord_bytes({"1"}));
  put("y", test::zlib(tfrecord_bytes({"2"})));
  put("part.gz", test::zlib(tfrecord_bytes({"3"})));
  const std::string part = root_ + "/part.gz";
  EXPECT_THAT(read_source(part, {.format = SourceFormat::tfrecord}).value(), ElementsAre("3"))
      << "TensorFlow writes zlib under any name";
  std::filesystem::remove(part);
  EXPECT_THAT(read(SourceFormat::tfrecord), ElementsAre("1", "2"));
}

TEST_F(RecordSourceTest, RecognisesNamesOfTfrecords) {
  for (const char* name :
       {"a.tfrecord", "a.tfrecords", "a.tfrec", "a.tfrecord.gz", "d/a.tfrecords.zlib", "a.tfrecord-00000-of-00010",
        "train-00003-of-00012.tfrecord.gz", "train-00003-of-00012", "train-00003-of-00012.gz", "a.tfrecord.zz",
        "a.tfrecord.snappy", "A.TFRECORD", "A.TFRecord.GZ", "a.tfr", "train.tfrecords-1"}) {
    EXPECT_TRUE(format::has_tfrecord_name(name)) << name;
  }
  for (const char* name :
       {"a.tfrecord.idx", "a.txt", "tfrecord", "a.tfrecordx", "a.tfrecord-1.txt", "a.tfrecord.d/x",
        "train-0003-of-0012", ".gz", "-00003-of-00012", "train-00003-of-00012.json", "train-0000x-of-00012", ""}) {
    EXPECT_FALSE(format::has_tfrecord_name(name)) << name;
  }
}

TEST_F(RecordSourceTest, TakesTextForLines) {
  put("text", "one\r\ntwo\n\nlast");
  EXPECT_THAT(read_source(root_ + "/text").value(), ElementsAre("one", "two", "", "last"));
  put("begins like zlib", "x^2 + 1\n");
  EXPECT_THAT(read_source(root_ + "/begins like zlib").value(), ElementsAre("x^2 + 1"));
  put("text.gz", gzip("one\n") + gzip("two"));
  RecordSource source = RecordSource::open(root_ + "/text.gz").value();
  EXPECT_EQ(source.format(), SourceFormat::lines);
  EXPECT_THAT(read_source(std::move(source)).value(), ElementsAre("one", "two"));
}

TEST_F(RecordSourceTest, TakesAnythingForLinesWhereThatIsSaid) {
  put("a", std::string("one\n\0two", 8));
  put("b", "");
  EXPECT_THAT(read(SourceFormat::lines), ElementsAre("one", std::string("\0two", 4)));
  EXPECT_THAT(read_source(root_ + "/b", {.format = SourceFormat::lines}).value(), IsEmpty());
}

TEST_F(RecordSourceTest, MakesExamplesOfLinesIfAsked) {
  put("text", "one\r\n\ntwo\n");
  const SourceOptions options{.records = RecordForm::example};
  const RecordSource source = RecordSource::open(root_ + "/text", options).value();
  EXPECT_TRUE(source.makes_examples());
  EXPECT_EQ(source.record_type(), "example");
  EXPECT_EQ(to_text(source.schema().value()), "text:bytes");
  EXPECT_THAT(read_texts(root_ + "/text", options), ElementsAre("text=<one>", "text=<>", "text=<two>"));

  SourceOptions limited = options;
  limited.max_record_bytes = 20;  // of the Example, which is longer than its text
  put("text", "a\n0123456789\nb\n");
  EXPECT_THAT(read_source(root_ + "/text", limited),
              Fails(Errc::record_too_large).in(root_ + "/text").at(2u).saying("line 2: "));
  limited.on_error = OnError::skip;
  EXPECT_THAT(read_texts(root_ + "/text", limited), ElementsAre("text=<a>", "text=<b>"));
}

TEST_F(RecordSourceTest, ReadsLinesThatSpanPieces) {
  Records lines;
  std::string text;
  for (int i = 0; i < 5; ++i) {
    lines.push_back(std::string(700'000 + static_cast<std::size_t>(i), 'x'));
    text += lines.back() + '\n';
  }
  put("text", text);
  EXPECT_TRUE(read_source(root_ + "/text").value() == lines);
}

TEST_F(RecordSourceTest, RefusesLinesAboveTheLimitByPlace) {
  put("text", "one\nthree\n");
  EXPECT_THAT(read_source(root_ + "/text", {.max_record_bytes = 4, .records = RecordForm::raw}),
              Fails(Errc::record_too_large).in(root_ + "/text").at(4u));
}

TEST_F(RecordSourceTest, SaysWhichFormatsThereAreWhereItCannotTell) {
  put("binary", std::string("\x89PNG\0\0", 6));
  put("binary.gz", gzip(std::string("\x89PNG\0\0", 6)));
  put("empty", "");
  for (const char* name : {"binary", "binary.gz", "empty"}) {
    EXPECT_THAT(error_of(name),
                Fails(Errc::unknown_format).of(ErrorKind::usage).in(root_ + '/' + name).saying("--from tfrecord"))
        << name;
  }
  EXPECT_TRUE(error_of("binary", SourceFormat::folder).is(Errc::unknown_format)) << "a file is no folder";
}

TEST_F(RecordSourceTest, RefusesAFileWhoseNameAndBytesDisagree) {
  put("a.jsonl", "{\"a\": \n{\"a\": 2}\n");
  put("a.ndjson.gz", gzip("no JSON\n"));
  put("array.json", "[\n{\"a\": 1},\n{\"a\": 2}\n]\n");
  put("pretty.json", "{\n  \"a\": 1\n}\n");
  for (const char* name : {"a.jsonl", "a.ndjson.gz", "array.json", "pretty.json"}) {
    EXPECT_THAT(error_of(name), Fails(Errc::unknown_format)
                                    .saying("its first line is not a JSON object")
                                    .saying("--from jsonl")
                                    .saying("--from lines"))
        << name;
  }
  EXPECT_EQ(read_source(root_ + "/array.json", {.format = SourceFormat::lines}).value().size(), 4u);
  put("comma.jsonl", "{\"a\": 1,}\n{\"a\": 2}\n");
  put("nan.jsonl.gz", gzip("{\"a\": NaN}\n"));
  for (const auto& [name, says] :
       {std::pair("comma.jsonl", "byte 8: "), {"nan.jsonl.gz", "byte 6: NaN; write null; "}}) {
    EXPECT_THAT(error_of(name), Fails(Errc::unknown_format).saying("its first line is not JSON: ").saying(says));
  }

  put("a.tfrecord", "some text\n");
  EXPECT_THAT(error_of("a.tfrecord").detail(),
              HasSubstr("its name is that of tfrecord, but its bytes are those of lines"));
  put("a.csv", "{\"a\": 1}\n");
  EXPECT_THAT(error_of("a.csv").detail(), HasSubstr("its bytes are those of jsonl"));
  // Every kind of file is cut into numbered ones.
  put("text-00000-of-00002", "some text\n");
  EXPECT_EQ(RecordSource::open(root_ + "/text-00000-of-00002").value().format(), SourceFormat::lines);
  put("good.json", "{\"a\": 1}\n{\"a\": 2}\n");
  EXPECT_EQ(RecordSource::open(root_ + "/good.json").value().format(), SourceFormat::jsonl);
}

// Of formats that cannot be read from such a file alone, whatever is said.
TEST_F(RecordSourceTest, AdvisesNoFormatThatCannotBeRead) {
  for (const char* bytes : {"some text\n", "\x89PNG\x01\x02\x03"}) {
    put("one.mds", bytes);
    const Error mds = error_of("one.mds");
    EXPECT_THAT(mds, Fails(Errc::unknown_format).saying("index.json; give the folder that holds it"));
    EXPECT_THAT(mds.detail(), Not(HasSubstr("--from mds")));
    put("one.dvt", bytes);
    const Error shard = error_of("one.dvt");
    EXPECT_THAT(shard, Fails(Errc::not_dovetail).saying("`dovetail recover " + root_ + "/one.dvt TARGET`"));
    EXPECT_THAT(shard.detail(), Not(HasSubstr("--from dovetail")));
  }
  put("one.mds", "some text\n");
  EXPECT_THAT(error_of("one.mds").detail(), HasSubstr("--from lines"));
  EXPECT_TRUE(RecordSource::open(root_ + "/one.mds", {.format = SourceFormat::lines})) << "as it says";
}

TEST_F(RecordSourceTest, TakesAShardWhoseBeginningIsDamagedForADamagedOne) {
  {
    RecordWriter writer = RecordWriter::create(root_ + "/one.dvt").value();
    ASSERT_TRUE(writer.append(as_bytes("record")));
    ASSERT_TRUE(writer.finish());
  }
  std::string bytes(as_chars(read_file(root_ + "/one.dvt")));
  bytes[0] = 'X';
  put("one.dvt", bytes);
  put("by its end", bytes);
  put("empty.dvt", "");
  for (const auto& [source, file, quote] : {std::tuple("one.dvt", "one.dvt", ""),
                                            {"by its end", "by its end", "'"},
                                            {"empty.dvt", "empty.dvt", ""},
                                            {"one.d*", "one.dvt", ""}}) {
    const std::string path = root_ + '/' + file;
    const std::string word = quote + path + quote;
    EXPECT_THAT(error_of(source), Fails(Errc::not_dovetail).in(path).saying("`dovetail recover " + word + " TARGET`"))
        << source;
  }
  bytes[0] = '\x89';
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    put("cut.dvt", bytes.substr(0, length));
    EXPECT_EQ(error_of("cut.dvt").kind(), ErrorKind::damaged) << length;
  }
}

TEST_F(RecordSourceTest, TakesAFileThatIsATfrecordByItsNameOnlyForADamagedOne) {
  put("a.tfrecord", 'X' + tfrecord_bytes({"1", "2"}));
  put("b.tfrecord.gz", gzip('X' + tfrecord_bytes({"1", "2"})));
  for (const char* const name : {"a.tfrecord", "b.tfrecord.gz"}) {
    EXPECT_THAT(error_of(name), Fails(Errc::malformed_input).in(root_ + '/' + name));
  }
  put("empty.tfrecord.gz", gzip(""));  // as TensorFlow writes one without records
  EXPECT_TRUE(error_of("empty.tfrecord.gz").is(Errc::unknown_format));
  EXPECT_TRUE(RecordSource::open(root_ + "/empty.tfrecord.gz", {.format = SourceFormat::tfrecord}));
}

TEST_F(RecordSourceTest, SaysThatPatternsAreForTheShell) {
  put("a.tfrecord", tfrecord_bytes({"1"}));
  EXPECT_THAT(error_of("*.tfrecord"), Fails(Errc::unknown_format)
                                          .in(root_ + "/*.tfrecord")
                                          .saying("to the shell, without quotes, or to glob.glob in Python, and"));
  EXPECT_TRUE(error_of("*.nothing").is(Errc::empty_input));
  EXPECT_THAT(error_of("*.nothing", SourceFormat::tfrecord),
              Fails(ErrorKind::io).saying("to the shell, without quotes, or to glob.glob in Python, and"));
}

TEST_F(RecordSourceTest, KnowsTheCompressionOfAFileBeforeItIsRead) {
  put("a", gzip(tfrecord_bytes({"1"})));
  EXPECT_EQ(RecordSource::open(root_ + "/a").value().compression(), Compression::gzip);
}

TEST_F(RecordSourceTest, SaysThatItIsClosedAfterAMove) {
  put("a", "1\n");
  RecordSource source = RecordSource::open(root_ + "/a").value();
  const RecordSource taken = std::move(source);
  EXPECT_THAT(source.next(), Fails(Errc::closed));
}

TEST_F(RecordSourceTest, TakesWhatIsPackedAlreadyForNothingElse) {
  RecordWriter writer = RecordWriter::create(root_ + "/shard.dvt").value();
  ASSERT_TRUE(writer.finish());
  DatasetWriter dataset = DatasetWriter::create(root_ + "/dataset").value();
  ASSERT_TRUE(dataset.finish());
  for (const char* name : {"shard.dvt", "dataset"}) {
    for (const SourceFormat format : {SourceFormat::tfrecord, SourceFormat::lines, SourceFormat::csv}) {
      EXPECT_THAT(error_of(name, format), Fails(Errc::unknown_format).saying("already packed")) << name;
    }
    EXPECT_TRUE(error_of(name).is(Errc::empty_input)) << "no record is in it";
  }
}

}  // namespace
}  // namespace dovetail::test
