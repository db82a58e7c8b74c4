// A bulk-synchronous program on SimGrid, to compare simulated seconds and the cost of simulating.
//
//   g++ -std=c++17 -O3 bsp.cpp -lsimgrid -o bsp         (Debian 12: libsimgrid-dev, 3.32)
//   ./bsp platform.xml -P=200 -S=50 -F=5e7 -B=1e5 --mode=eager --log=root.thres:warning
//
// In every superstep each process computes, sends to its rank plus each shift, receives what is sent to
// it, and meets the others: every process but 0 sends `ctrl` bytes to process 0, which answers each once
// it has them all. Processes fill the hosts in the order of the platform file, from the start again when
// they run out. Prints the simulated seconds, with all digits.
//
//   -P=processes  -S=supersteps  -F=instructions,...  -B=bytes,...   rank r takes element r modulo length
//   --shifts=1,...   receivers relative to the sender, where they exist; --ring=1: modulo processes
//   --mode=rdv       a message starts when its receiver waits, too; eager: as soon as it is sent
//   --barrier=par    as above; native: free of charge
//   --ctrl=8         bytes of a message of the barrier
//   --ppn=1          consecutive ranks on one host; --offset=0: hosts to leave out
//
// Options of SimGrid itself go with them, as --cfg=network/optim:Full (exact max-min sharing).

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

std::vector<double> numbers(const std::string& text)
{
  std::vector<double> values;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    char* end          = nullptr;
    const double value = std::strtod(item.c_str(), &end);
    if (item.empty() || *end != '\0')
      throw std::invalid_argument("'" + item + "' is no number");
    values.push_back(value);
  }
  if (values.empty())
    throw std::invalid_argument("an empty list, expected at least one number");
  return values;
}

struct Options {
  long processes  = 0;
  long supersteps = 0;
  std::vector<double> instructions;
  std::vector<double> bytes;
  std::vector<long> shifts;
  bool ring          = false;
  bool eager         = false;
  bool native        = false;
  std::uint64_t ctrl = 8;
  long per_host      = 1;
  long offset        = 0;

  Options(int count, char** arguments)
  {
    std::map<std::string, std::string> given = {
        {"-P", "10"},    {"-S", "10"},      {"-F", "1e9"},       {"-B", "1e5"},
        {"--shifts", "1"}, {"--ring", "0"}, {"--mode", "rdv"},   {"--barrier", "par"},
        {"--ctrl", "8"}, {"--ppn", "1"},    {"--offset", "0"}};
    for (int i = 0; i < count; ++i) {
      const std::string argument = arguments[i];
      const auto equals          = argument.find('=');
      const auto option          = given.find(argument.substr(0, equals));
      if (equals == std::string::npos || option == given.end())
        throw std::invalid_argument("unknown option " + argument);
      option->second = argument.substr(equals + 1);
    }
    processes    = std::stol(given["-P"]);
    supersteps   = std::stol(given["-S"]);
    instructions = numbers(given["-F"]);
    bytes        = numbers(given["-B"]);
    for (const double shift : numbers(given["--shifts"]))
      shifts.push_back(static_cast<long>(shift));
    ring     = given["--ring"] == "1";
    eager    = choice(given["--mode"], "eager", "rdv");
    native   = choice(given["--barrier"], "native", "par");
    ctrl     = std::stoull(given["--ctrl"]);
    per_host = std::stol(given["--ppn"]);
    offset   = std::stol(given["--offset"]);
    if (processes < 1 || supersteps < 0 || per_host < 1 || offset < 0)
      throw std::invalid_argument("-P and --ppn have to be at least 1, -S and --offset at least 0");
  }

  // The rank at `rank` + `shift`, or -1.
  long shifted(long rank, long shift) const
  {
    const long to = rank + shift;
    if (ring)
      return (to % processes + processes) % processes;
    return 0 <= to && to < processes ? to : -1;
  }

private:
  static bool choice(const std::string& met, const char* yes, const char* no)
  {
    if (met != yes && met != no)
      throw std::invalid_argument("'" + met + "', expected " + yes + " or " + no);
    return met == yes;
  }
};

// Hosts in the order of the platform file; the engine's own list is ordered by name.
void append_hosts(const sg4::NetZone* zone, std::vector<sg4::Host*>& hosts)
{
  const auto children = zone->get_children();
  if (children.empty()) {
    const auto own = zone->get_all_hosts();
    hosts.insert(hosts.end(), own.begin(), own.end());
  }
  for (const auto* child : children)
    append_hosts(child, hosts);
}

class Process {
public:
  Process(const Options& options, long rank, sg4::BarrierPtr barrier)
      : options_(options)
      , rank_(rank)
      , barrier_(std::move(barrier))
      , instructions_(options.instructions[rank % options.instructions.size()])
      , bytes_(static_cast<std::uint64_t>(options.bytes[rank % options.bytes.size()]))
      , data_(mailbox("data", rank))
      , control_(mailbox("control", rank))
  {
    for (const long shift : options.shifts) {
      const long to = options.shifted(rank, shift);
      if (to != -1)
        receivers_.push_back(mailbox("data", to));
      if (options.shifted(rank, -shift) != -1)
        ++expected_;
    }
    if (rank != 0)
      peers_.push_back(mailbox("control", 0));
    else
      for (long peer = 1; peer < options.processes; ++peer)
        peers_.push_back(mailbox("control", peer));
  }

  void operator()()
  {
    if (options_.eager) {
      data_->set_receiver(sg4::Actor::self());
      control_->set_receiver(sg4::Actor::self());
    }
    for (long superstep = 0; superstep < options_.supersteps; ++superstep) {
      sg4::this_actor::execute(instructions_);
      send(receivers_, bytes_);
      receive(data_, expected_);
      complete();
      if (options_.native)
        barrier_->wait();
      else
        meet();
    }
  }

private:
  void meet()
  {
    if (rank_ == 0) {
      receive(control_, peers_.size());
      complete();
      send(peers_, options_.ctrl);
    } else {
      send(peers_, options_.ctrl);
      receive(control_, 1);
    }
    complete();
  }

  void send(const std::vector<sg4::Mailbox*>& receivers, std::uint64_t bytes)
  {
    for (auto* receiver : receivers)
      pending_.push_back(receiver->put_async(&content_, bytes));
  }

  void receive(sg4::Mailbox* from, std::size_t messages)
  {
    for (std::size_t i = 0; i < messages; ++i)
      pending_.push_back(from->get_async<char>(&received_));
  }

  void complete()
  {
    for (const auto& communication : pending_)
      communication->wait();
    pending_.clear();
  }

  static sg4::Mailbox* mailbox(const char* kind, long rank)
  {
    return sg4::Mailbox::by_name(kind + std::to_string(rank));
  }

  const Options& options_;
  long rank_;
  sg4::BarrierPtr barrier_;
  double instructions_;
  std::uint64_t bytes_;
  sg4::Mailbox* data_;
  sg4::Mailbox* control_;
  std::vector<sg4::Mailbox*> receivers_;
  std::vector<sg4::Mailbox*> peers_;
  std::size_t expected_ = 0;
  std::vector<sg4::CommPtr> pending_;
  char content_ = 0;
  char* received_ = nullptr;
};

void simulate(sg4::Engine& engine, const char* platform, const Options& options)
{
  engine.load_platform(platform);
  std::vector<sg4::Host*> hosts;
  append_hosts(engine.get_netzone_root(), hosts);
  if (static_cast<std::size_t>(options.offset) >= hosts.size())
    throw std::invalid_argument("the platform has fewer hosts than --offset leaves out");
  hosts.erase(hosts.begin(), hosts.begin() + options.offset);
  const auto barrier = sg4::Barrier::create(static_cast<unsigned>(options.processes));
  for (long rank = 0; rank < options.processes; ++rank) {
    auto* host = hosts[rank / options.per_host % hosts.size()];
    sg4::Actor::create("p" + std::to_string(rank), host, Process(options, rank, barrier));
  }
  engine.run();
  std::printf("%.17g\n", sg4::Engine::get_clock());
}

} // namespace

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s platform.xml [option=value]...; the options are in the source\n", argv[0]);
    return 2;
  }
  try {
    const Options options(argc - 2, argv + 2);
    simulate(engine, argv[1], options);
  } catch (const std::logic_error& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  }
  return 0;
}
