#include "net/tls/tls_context.h"

#include <gmock/gmock.h>

#include "base/limits.h"
#include "net/testing/tls_pair.h"

namespace sluice::net {
namespace {

using testing::HasSubstr;

class TlsContextTest : public testing::Test {
 protected:
  std::string write(const char* name, const std::string& text) { return files_.write(name, text); }

  // Why there is no engine; empty if there is one.
  static std::string problem_with(const TlsSettings& settings) {
    std::string why;
    return TlsClientContext(settings).connect({.host = "cache"}, why) ? "" : why;
  }

  // Whether a connection to this server can be made.
  static bool trusts(TlsClientContext& context, const TestTlsServerOptions& server) {
    std::string why;
    auto client = context.connect({.host = "cache"}, why);
    EXPECT_TRUE(client) << why;
    TestTlsPair both(std::move(client), make_tls_server(server));
    both.run();
    return both.client->open();
  }

  TestDirectory files_;
  TestAuthority authority_, other_{"Other"};
  TestAuthority::Identity cache_ = authority_.issue("DNS:cache");
  TestAuthority::Identity own_ = authority_.issue("DNS:sluice");
};

TEST_F(TlsContextTest, NamesTheFileAndWhatIsWrongWithIt) {
  const std::string ca = write("ca.pem", authority_.certificate());
  const std::string cert = write("own.pem", own_.certificate), key = write("own.key", own_.key);
  const std::string other = write("other.key", other_.issue("DNS:x").key);
  const std::string locked = write("locked.key", TestAuthority::with_passphrase(own_.key, "secret"));
  const std::string empty = write("empty.pem", "");
  std::string damaged_text = authority_.certificate();
  damaged_text[damaged_text.size() / 2] = '*';
  const std::string damaged = write("damaged.pem", authority_.certificate() + damaged_text);
  const std::string huge = write("huge.pem", std::string(kTlsFileBytesMax + 1, ' '));
  const struct {
    TlsSettings settings;
    std::string problem;
  } cases[] = {
      {{.ca_file = ca, .certificate_file = cert, .key_file = key}, ""},
      {{}, ""},
      {{.ca_file = "/nowhere/ca.pem"}, "cannot read /nowhere/ca.pem: No such file or directory"},
      {{.ca_file = "/tmp"}, "cannot read /tmp: Is a directory"},
      {{.ca_file = empty}, empty + " holds no certificate in PEM form"},
      {{.ca_file = key}, key + " holds no certificate in PEM form"},
      {{.ca_file = damaged}, "certificate 2 in " + damaged + " is damaged: "},
      {{.ca_file = huge}, huge + " has more than 4194304 bytes"},
      {{.certificate_file = empty, .key_file = key}, empty + " holds no certificate"},
      {{.certificate_file = cert, .key_file = cert}, cert + " holds no private key in PEM form"},
      {{.certificate_file = cert, .key_file = locked}, "the key in " + locked + " has a passphrase"},
      {{.certificate_file = cert, .key_file = other},
       "the key in " + other + " does not belong to the certificate in " + cert},
  };
  for (const auto& c : cases) {
    if (c.problem.empty()) {
      EXPECT_EQ(problem_with(c.settings), "");
    } else {
      EXPECT_THAT(problem_with(c.settings), testing::StartsWith(c.problem));
    }
  }
}

TEST_F(TlsContextTest, ANameThatCannotBeCheckedIsNotConnectedTo) {
  std::string why;
  TlsClientContext context({.ca_file = write("ca.pem", authority_.certificate())});
  EXPECT_FALSE(context.connect({.host = std::string(300, 'a')}, why));
  EXPECT_THAT(why, HasSubstr("no certificate can be issued for the name aaa"));
}

TEST_F(TlsContextTest, TheSystemTrustsNoneOfOurs) {
  TlsClientContext context({});
  EXPECT_FALSE(trusts(context, {cache_}));
}

TEST_F(TlsContextTest, SeveralMayBeTrustedAndFilesMayBeShared) {
  // One file with everything: our certificate, its key, and the CA we trust.
  const std::string all =
      write("all.pem", own_.certificate + own_.key + authority_.certificate() + other_.certificate());
  TlsClientContext context({.ca_file = all, .certificate_file = all, .key_file = all});
  EXPECT_TRUE(trusts(context, {.identity = cache_, .client_authority = authority_.certificate()}));
  EXPECT_TRUE(trusts(context, {other_.issue("DNS:cache")}));
}

TEST_F(TlsContextTest, RenewedFilesCountFromTheNextConnectionOn) {
  TlsClientContext context({.ca_file = write("ca.pem", authority_.certificate()),
                            .certificate_file = write("own.pem", own_.certificate),
                            .key_file = write("own.key", own_.key)});
  const TestTlsServerOptions before = {.identity = cache_, .client_authority = authority_.certificate()};
  const TestTlsServerOptions after = {.identity = other_.issue("DNS:cache"),
                                      .client_authority = other_.certificate()};
  EXPECT_TRUE(trusts(context, before));
  EXPECT_FALSE(trusts(context, after));
  const auto renewed = other_.issue("DNS:sluice");
  write("own.pem", renewed.certificate);
  std::string why;
  EXPECT_FALSE(context.connect({.host = "cache"}, why)) << "half of the files are new";
  EXPECT_THAT(why, HasSubstr("does not belong to"));
  write("own.key", renewed.key);
  write("ca.pem", other_.certificate());
  EXPECT_FALSE(trusts(context, before));
  EXPECT_TRUE(trusts(context, after));
}

}  // namespace
}  // namespace sluice::net
