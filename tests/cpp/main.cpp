// Runs every test under every instruction set that this machine has.
#include "check.hpp"
#include "isa.hpp"

int failures = 0;
std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

int main() {
  int passed = 0, failed = 0;
  for (const std::string& isa : oneread::supported_isas()) {
    oneread::set_isa(isa);
    for (const Test& test : tests()) {
      int before = failures;
      test.run();
      bool good = failures == before;
      (good ? passed : failed)++;
      if (!good) std::printf("FAILED %s on %s\n", test.name, isa.c_str());
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
