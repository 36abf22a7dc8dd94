// SPDX-License-Identifier: Apache-2.0
// Tars of WebDataset: members grouped by key, whole, cut, damaged and hostile.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sources/tar_reader.h"
#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

const SourceOptions kTar{.format = SourceFormat::tar};
const SourceOptions kRaw{.format = SourceFormat::tar, .records = RecordForm::raw};
constexpr std::uint64_t kPetabyte = std::uint64_t{1} << 50;

class TarSourceTest : public SourceFileTest {
 protected:
  std::vector<std::string> read(std::string_view bytes, const SourceOptions& options = {}) {
    return read_texts(put(bytes), options);
  }
  Error error_of(std::string_view bytes, const SourceOptions& options = kTar) {
    return test::error_of(put(bytes), options);
  }
};

TEST_F(TarSourceTest, ClassNumbersAreNumbers) {
  const std::string tar = tar_bytes({{"a.cls", "7\n"},
                                     {"a.x.cls2", " -12 "},
                                     {"a.index", "+007"},
                                     {"a.id", "5"},
                                     {"b.cls", "dog"},
                                     {"b.inx", ""},
                                     {"c.cls", "1 2"},
                                     {"d.cls", "+-1"},
                                     {"e.cls", "1_000"}});
  EXPECT_THAT(read(tar),
              ElementsAre("__key__=<a> cls=[7] id=<5> index=[7] x.cls2=[-12]", "__key__=<b> cls=<dog> inx=<>",
                          "__key__=<c> cls=<1 2>", "__key__=<d> cls=<+-1>", "__key__=<e> cls=<1_000>"));
  EXPECT_THAT(read_source(put(tar_bytes({{"a.cls", "7\n"}})), kRaw).value(), ElementsAre("7\n"));
}

TEST_F(TarSourceTest, UnpacksMembersNamedGz) {
  const std::string large(std::size_t{3} << 20, 'x');
  const std::string packed = gzip("{\"a\": 1}");
  EXPECT_THAT(read(tar_bytes({{"a.json.gz", packed}, {"a.cls.GZ", gzip("3")}, {"b.gz", packed}})),
              ElementsAre("__key__=<a> cls=[3] json=<{\"a\": 1}>", "__key__=<b> gz=<" + packed + ">"));
  EXPECT_THAT(read(tar_bytes({{"a.txt.gz", gzip(large) + gzip("y")}})),
              ElementsAre("__key__=<a> txt=<" + large + "y>"));
  EXPECT_THAT(read_source(put(tar_bytes({{"a.json.gz", packed}})), kRaw).value(), ElementsAre(packed));
  EXPECT_THAT(read(tar_bytes({{"a.json.gz", ""}, {"a.x", ""}})), ElementsAre("__key__=<a> json=<> x=<>"));
}

TEST_F(TarSourceTest, CanBeCancelledWhileAMemberIsUnpacked) {
  const std::string large(std::size_t{64} << 20, '\0');
  int asked = 0;
  const SourceOptions options{.cancelled = [&asked] { return ++asked > 20; }};
  EXPECT_THAT(error_of(tar_bytes({{"a.txt.gz", gzip(large)}}), options), Fails(ErrorKind::cancelled).in(path_));
}

TEST_F(TarSourceTest, MembersOfOneFeatureAreNamedAsTheyAre) {
  const std::string packed = gzip("{}");
  struct {
    const char* first;
    const char* second;
    const char* says;
  } const kCases[] = {{"a.json.gz", "a.json", "two members of the key are \"json.gz\" and \"json\""},
                      {"a.json", "a.json.gz", "two members of the key are \"json\" and \"json.gz\""},
                      {"a.json.gz", "a.JSON.gz", "two members of the key are \"json.gz\""},
                      {"a.x", "a.__key__.gz", "the member \"__key__.gz\" has the name"}};
  for (const auto& [first, second, says] : kCases) {
    EXPECT_THAT(error_of(tar_bytes({{first, packed}, {second, packed}})), Fails(Errc::malformed_input).saying(says));
  }
}

TEST_F(TarSourceTest, AMemberThatCannotBeUnpackedIsThatOfOneRecord) {
  const std::string packed = gzip("words");
  const std::string large = gzip(std::string(100'000, 'x'));
  struct {
    std::string bytes;
    Errc code;
  } const kCases[] = {{packed.substr(0, packed.size() - 1), Errc::truncated},
                      {"words", Errc::decompression},
                      {packed + "x", Errc::decompression},
                      {large, Errc::record_too_large}};
  for (const auto& [bytes, code] : kCases) {
    const std::string tar =
        tar_bytes({{"a.txt", "1"}, {"b.jpg", "2"}, {"b.txt.gz", bytes}, {"b.z", "3"}, {"c.txt", "4"}});
    EXPECT_THAT(error_of(tar, {.max_record_bytes = 5000}), Fails(code).saying("key \"b\": member \"txt.gz\": "));
    EXPECT_THAT(read(tar, {.max_record_bytes = 5000, .on_error = OnError::skip}),
                ElementsAre("__key__=<a> txt=<1>", "__key__=<c> txt=<4>"));
  }
}

TEST_F(TarSourceTest, GroupsConsecutiveMembersByKey) {
  const std::string tar =
      tar_bytes({{"d/a.JPG", "picture"}, {"d/a.cls", "1"}, {"d/b.jpg", ""}, {"c.seg.png", "x"}, {"c.txt", "words"}});
  EXPECT_THAT(read(tar), ElementsAre("__key__=<d/a> cls=[1] jpg=<picture>", "__key__=<d/b> jpg=<>",
                                     "__key__=<c> seg.png=<x> txt=<words>"));
  EXPECT_THAT(read(gzip(tar)).size(), 3u);
  RecordSource source = RecordSource::open(put(tar)).value();
  EXPECT_EQ(source.format(), SourceFormat::tar);
  EXPECT_TRUE(source.makes_examples());
  std::vector<std::string> keys;
  std::vector<std::uint64_t> offsets;
  while (source.next().value()) {
    keys.emplace_back(source.key());
    offsets.push_back(source.offset());
    EXPECT_EQ(source.offset(), source.consumed_bytes());
  }
  EXPECT_THAT(keys, ElementsAre("d/a", "d/b", "c"));
  EXPECT_THAT(offsets, ElementsAre(0u, 2048u, 2560u)) << "an empty member is its header alone";
}

TEST_F(TarSourceTest, SplitsNamesAsWebDatasetDoes) {
  const auto split = [](std::string_view name) {
    const detail::MemberName member = detail::split_member_name(name);
    return std::string(member.key) + '|' + member.extension;
  };
  EXPECT_EQ(split("a.jpg"), "a|jpg");
  EXPECT_EQ(split("x.y/a.b.C"), "x.y/a|b.c");
  EXPECT_EQ(split("./a.jpg"), "./a|jpg");
  EXPECT_EQ(split("../../etc/a.jpg"), "../../etc/a|jpg") << "a key is no path that anything is written to";
  EXPECT_EQ(split("/a."), "/a|");
  for (const char* const name : {"", "a", "x.y/a", "x/.hidden", ".", "d/"}) EXPECT_EQ(split(name), "|") << name;
}

TEST_F(TarSourceTest, CountsWhatIsNoRecord) {
  RecordSource source = RecordSource::open(put(tar_bytes({{"d/", "", '5'},
                                                          {"a.txt", "1"},
                                                          {"link.txt", "", '2'},
                                                          {"hard.txt", "", '1'},
                                                          {"device.txt", "", '3'},
                                                          {"README", "no dot"},
                                                          {"b.txt", "2"}})))
                            .value();
  EXPECT_EQ(example_text(as_chars(source.next().value().value())), "__key__=<a> txt=<1>");
  EXPECT_EQ(example_text(as_chars(source.next().value().value())), "__key__=<b> txt=<2>");
  EXPECT_FALSE(source.next().value());
  EXPECT_EQ(source.ignored(), 5u);
}

TEST_F(TarSourceTest, GivesTheBytesOfSingleMembersInTheRawForm) {
  EXPECT_THAT(read_source(put(tar_bytes({{"a.txt", "one"}, {"b.txt", "two"}})), kRaw).value(),
              ElementsAre("one", "two"));
  EXPECT_THAT(error_of(tar_bytes({{"a.txt", "1"}, {"a.cls", "2"}}), kRaw),
              Fails(Errc::malformed_input).at(1024u).saying("key \"a\""));
}

TEST_F(TarSourceTest, ReadsMembersLargerThanEveryBuffer) {
  const std::string large = noise(5 << 20, 1);
  const std::string tar = tar_bytes({{"a.bin", large}, {"b.bin", "small"}});
  for (const std::string& bytes : {tar, gzip(tar)}) {
    const Records records = read_source(put(bytes), kRaw).value();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_TRUE(records[0] == large);
    EXPECT_EQ(records[1], "small");
  }
}

TEST_F(TarSourceTest, TakesAnArchiveWithoutMembers) {
  EXPECT_THAT(read_source(put(tar_bytes({})), kTar).value(), IsEmpty());
  EXPECT_TRUE(error_of("").is(Errc::truncated)) << error_of("").to_string();
}

TEST_F(TarSourceTest, FindsEveryCut) {
  const std::string tar = tar_bytes({{"a.txt", "one"}, {"b.txt", std::string(700, 'x')}});
  for (std::size_t size = 0; size < tar.size(); size += size % 512 == 1 ? 255 : 1) {
    RecordSource source = RecordSource::open(put(tar.substr(0, size)), kTar).value();
    std::size_t records = 0;
    for (;;) {
      const auto record = source.next();
      if (!record) {
        EXPECT_THAT(record, Fails(Errc::truncated).in(path_)) << size;
        EXPECT_TRUE(record.error().offset().has_value());
        break;
      }
      ASSERT_TRUE(*record) << "a cut at " << size << " is taken for the end";
      ++records;
    }
    EXPECT_LE(records, 2u);
  }
}

TEST_F(TarSourceTest, SurvivesAFlipOfEveryByte) {
  const std::string tar = tar_bytes({{"a.txt", "one"}, {"b.txt", "two"}});
  for (std::size_t i = 0; i < tar.size(); ++i) {
    std::string damaged = tar;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    const auto read = read_source(put(damaged), kTar);
    if (read) {
      EXPECT_LE(read->size(), 2u) << i;
    } else {
      EXPECT_THAT(read, Fails(ErrorKind::damaged)) << i;
      EXPECT_TRUE(read.error().offset().has_value());
    }
  }
}

TEST_F(TarSourceTest, RefusesAClaimOfPetabytesBeforeItTakesMemory) {
  EXPECT_THAT(error_of(tar_bytes({{"ok.txt", "1"}, {"a.bin", "few", '0', kPetabyte}})),
              Fails(Errc::record_too_large).at(1024u).saying("1125899906842624"));
  EXPECT_THAT(error_of(tar_bytes({{"a.bin", "few", '0', 4'000'000'000}})), Fails(Errc::truncated));
  const SourceOptions small{.format = SourceFormat::tar, .max_record_bytes = 40};
  const std::string parts = tar_bytes({{"a.x", std::string(20, 'x')}, {"a.y", std::string(21, 'y')}});
  EXPECT_TRUE(error_of(parts, small).is(Errc::record_too_large)) << "together they are too large";
}

TEST_F(TarSourceTest, RefusesTheSamePartTwice) {
  EXPECT_THAT(error_of(tar_bytes({{"a.txt", "1"}, {"a.TXT", "2"}})),
              Fails(Errc::malformed_input).at(1024u).saying("\"txt\""));
  EXPECT_TRUE(error_of(tar_bytes({{"a.__key__", "1"}})).is(Errc::malformed_input));
  EXPECT_EQ(error_of(tar_bytes({{"a.\xFF", "1"}})).kind(), ErrorKind::usage) << "no name of a feature";
}

TEST_F(TarSourceTest, RefusesWhatFollowsTheEnd) {
  const std::string tar = tar_bytes({{"a.txt", "1"}});
  EXPECT_THAT(error_of(tar + tar), Fails(Errc::malformed_input).at(1024u));
  EXPECT_EQ(read_source(put(tar + std::string(100'000, '\0')), kTar).value().size(), 1u);
}

TEST_F(TarSourceTest, RefusesWhatIsNoTar) {
  EXPECT_THAT(error_of(std::string(2048, 'x')), Fails(Errc::malformed_input).in(path_));
}

TEST_F(TarSourceTest, SkipsSingleRecordsWhereAsked) {
  std::vector<SkippedRecord> skipped;
  SourceOptions options{.format = SourceFormat::tar, .max_record_bytes = 100, .on_error = OnError::skip};
  options.skipped = [&skipped](const SkippedRecord& record) { skipped.push_back(record); };
  const std::string tar = tar_bytes({{"a.txt", "1"},
                                     {"b.jpg", std::string(101, 'x')},
                                     {"b.txt", "belongs to b"},
                                     {"c.txt", "3"},
                                     {"d.txt", "4"},
                                     {"d.txt", "5"},
                                     {"e.txt", "6"}});
  EXPECT_THAT(read(tar, options), ElementsAre("__key__=<a> txt=<1>", "__key__=<c> txt=<3>", "__key__=<e> txt=<6>"));
  ASSERT_EQ(skipped.size(), 2u);
  EXPECT_TRUE(skipped[0].error.is(Errc::record_too_large));
  EXPECT_EQ(skipped[0].consumed_bytes, 1024u);
  EXPECT_FALSE(skipped[0].rest_of_file);
  EXPECT_TRUE(skipped[1].error.is(Errc::malformed_input));
}

TEST_F(TarSourceTest, GoesOnWithTheNextFileBehindACut) {
  const std::string whole = tar_bytes({{"a.txt", "1"}, {"b.txt", "2"}});
  std::filesystem::create_directory(folder_ / "tars");
  write_file(folder_ / "tars/0.tar", whole.substr(0, 1024 + 600));
  write_file(folder_ / "tars/1.tar.gz", gzip(whole));
  RecordSource source = RecordSource::open(folder_ / "tars", {.on_error = OnError::skip}).value();
  EXPECT_EQ(source.format(), SourceFormat::tar);
  std::size_t records = 0;
  while (source.next().value()) ++records;
  EXPECT_EQ(source.skipped(), 1u);
  EXPECT_EQ(records, 3u);
}

TEST_F(TarSourceTest, HoldsEachRecordOnceInRanges) {
  std::vector<TarEntry> entries;
  for (int i = 0; i < 300; ++i) {
    const std::string key = std::to_string(i);
    entries.push_back({key + ".a", std::string(static_cast<std::size_t>(i) * 37 % 3000, 'x')});
    entries.push_back({key + ".b", key});
  }
  const std::string tar = tar_bytes(entries);
  EXPECT_THAT(parts_that_differ(put(tar)), IsEmpty());
  EXPECT_THAT(parts_that_differ(put(gzip(tar))), IsEmpty());
}

}  // namespace
}  // namespace dovetail::test
