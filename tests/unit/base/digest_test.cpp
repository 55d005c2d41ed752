#include "base/text/digest.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace cleave::base {
namespace {

// The expected values are those of `b2sum -l 256`.
TEST(Digest, IsBlake2bWith256Bits) {
  EXPECT_EQ(to_text(digest_of("")), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(to_text(digest_of("abc")), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  EXPECT_EQ(to_text(digest_of(std::string(128, 'x'))),
            "164ffb7089bae6f5a62fb0795e751dc9e88eac92e1a5b2fafe93a25abf2d9c3b");
  EXPECT_EQ(to_text(digest_of(std::string(129, 'x'))),
            "03b0758fa71d249c846c2304a2b9996e6ae66ffa7e5528f9e612e089a360fc8d");
  EXPECT_EQ(to_text(digest_of(std::string(1000000, 'x'))),
            "f3891296f305dd88e34ab9e39c35ccd2fcc69475d1b512e022c6cae361717e9c");
}

TEST(Digest, DependsOnEveryByteAndTheLength) {
  std::string text(300, '\0');
  std::set<Digest> all{digest_of(text), digest_of("")};
  for (char& byte : text) {
    byte = 1;
    all.insert(digest_of(text));
    byte = 0;
  }
  for (std::size_t length = 1; length < text.size(); ++length) all.insert(digest_of(text.substr(0, length)));
  EXPECT_EQ(all.size(), 601U);
}

}  // namespace
}  // namespace cleave::base
