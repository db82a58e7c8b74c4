// Routes and flows of a platform on SimGrid, to compare with the simulator's.
//
//   g++ -std=c++17 -O2 routes.cpp -lsimgrid -o routes   (Debian 12: libsimgrid-dev, 3.32)
//   ./routes routes platform.xml --log=root.thres:warning  > routes.csv
//   ./routes flows platform.xml -N=50 -S=1 --log=root.thres:warning > flows.csv
//
// `routes` prints for each pair of hosts, in the order of the platform file, the latency, the lowest
// bandwidth and the names of the links; `-E=n` takes every n-th host. Pairs without a route are left out,
// as far as SimGrid does not abort. `flows` starts N messages together, between hosts and with sizes that
// are drawn from the seed S, and prints when each ends. All digits are printed.
//
// Options of SimGrid itself go with them, as --cfg=network/model:CM02.

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

// Hosts in the order of the platform file; the engine's own list is ordered by name.
void append_hosts(const sg4::NetZone* zone, std::vector<sg4::Host*>& hosts)
{
  const auto children = zone->get_children();
  if (children.empty()) {
    auto own = zone->get_all_hosts();
    // Of a cluster, the engine knows the order of names alone: the points are numbered as in the file.
    std::sort(own.begin(), own.end(), [](const sg4::Host* a, const sg4::Host* b) {
      return a->get_netpoint()->id() < b->get_netpoint()->id();
    });
    hosts.insert(hosts.end(), own.begin(), own.end());
  }
  for (const auto* child : children)
    append_hosts(child, hosts);
}

std::vector<sg4::Host*> all_hosts(const sg4::Engine& engine)
{
  std::vector<sg4::Host*> hosts;
  append_hosts(engine.get_netzone_root(), hosts);
  return hosts;
}

void print_routes(const std::vector<sg4::Host*>& hosts, std::size_t step)
{
  std::printf("from,to,latency,bandwidth,links\n");
  for (std::size_t i = 0; i < hosts.size(); i += step)
    for (std::size_t j = 0; j < hosts.size(); j += step) {
      const auto* from = hosts[i];
      const auto* to   = hosts[j];
      std::vector<sg4::Link*> links;
      double latency = 0;
      from->route_to(to, links, &latency);
      if (links.empty())
        continue;
      double bandwidth = std::numeric_limits<double>::infinity();
      std::string names;
      for (const auto* link : links) {
        bandwidth = std::min(bandwidth, link->get_bandwidth());
        names += (names.empty() ? "" : " ") + link->get_name();
      }
      std::printf("%s,%s,%.17g,%.17g,%s\n", from->get_cname(), to->get_cname(), latency, bandwidth, names.c_str());
    }
}

// SplitMix64 (Steele, Lea and Flood 2014): the same numbers with every compiler.
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t below(std::uint64_t limit)
  {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t mixed = state_;
    mixed               = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed               = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return (mixed ^ (mixed >> 31)) % limit;
  }

private:
  std::uint64_t state_;
};

struct Flow {
  sg4::Host* from     = nullptr;
  sg4::Host* to       = nullptr;
  std::uint64_t bytes = 0;
  double end          = -1;
};

void print_flows(sg4::Engine& engine, const std::vector<sg4::Host*>& hosts, long count, std::uint64_t seed)
{
  Random random(seed);
  std::vector<Flow> flows(count);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    auto& flow = flows[i];
    flow.from  = hosts[random.below(hosts.size())];
    do
      flow.to = hosts[random.below(hosts.size())];
    while (flow.to == flow.from);
    flow.bytes    = 1 + random.below(10'000'000);
    auto* mailbox = sg4::Mailbox::by_name(std::to_string(i));
    sg4::Actor::create("sender", flow.from, [&flow, mailbox] { mailbox->put(&flow, flow.bytes); });
    sg4::Actor::create("receiver", flow.to, [&flow, mailbox] {
      mailbox->get<Flow>();
      flow.end = sg4::Engine::get_clock();
    });
  }
  engine.run();
  std::printf("from,to,bytes,end\n");
  for (const auto& flow : flows)
    std::printf("%s,%s,%llu,%.17g\n", flow.from->get_cname(), flow.to->get_cname(),
                static_cast<unsigned long long>(flow.bytes), flow.end);
}

std::map<std::string, long> options(int count, char** arguments)
{
  std::map<std::string, long> given = {{"-E", 1}, {"-N", 50}, {"-S", 1}};
  for (int i = 0; i < count; ++i) {
    const std::string argument = arguments[i];
    const auto equals          = argument.find('=');
    const auto option          = given.find(argument.substr(0, equals));
    if (equals == std::string::npos || option == given.end())
      throw std::invalid_argument("unknown option " + argument);
    option->second = std::stol(argument.substr(equals + 1));
  }
  if (given["-E"] < 1 || given["-N"] < 0)
    throw std::invalid_argument("-E has to be at least 1, -N at least 0");
  return given;
}

} // namespace

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  const std::string command = argc < 3 ? "" : argv[1];
  if (command != "routes" && command != "flows") {
    std::fprintf(stderr, "usage: %s routes|flows platform.xml [option=value]...; the options are in the source\n",
                 argv[0]);
    return 2;
  }
  try {
    auto given = options(argc - 3, argv + 3);
    engine.load_platform(argv[2]);
    engine.get_netzone_root()->seal();
    const auto hosts = all_hosts(engine);
    if (command == "routes")
      print_routes(hosts, static_cast<std::size_t>(given["-E"]));
    else
      print_flows(engine, hosts, given["-N"], static_cast<std::uint64_t>(given["-S"]));
  } catch (const std::logic_error& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  }
  return 0;
}
