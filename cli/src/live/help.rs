//! Texts of `--help` for the commands for real hosts.

pub(super) const NODE_ABOUT: &str = "\
Run a node daemon that serves jobs from clients.

A node serves one job at a time: it executes the processes that start on it or migrate to it, with one thread per slot \
in the client's list of hosts, or of --slots, and sends migrating processes to their targets. It runs until a signal (SIGTERM, \
SIGINT) or `drain` ends it. It leaves its job first, which goes on without it; a job without recovery fails. The first node of each Set is its Set Manager and \
needs a certificate with that role.";

pub(super) const NODE_HELP: &str = "\
FILE, if there is one, which the environment (MIGBSP__NODE__KEY=VALUE) overrides, and options that:
  [node]
  name = \"node-1\"              # as in its certificate and in the list of hosts; default: the name of the host
  identity = \"certificates\"    # folder with node-1.pem and node-1.key; default ~/.config/migbsp
  listen = \"[::]:7447\"         # UDP; the default: all addresses, IPv6 and IPv4
  share = 1.0                  # the fraction of its processors for programs
  # speed = 2e9                # instructions per second of one; default: measured at the start
  # checkpoints = [\"/shared\"]  # folders in which it may write checkpoints; default: none
  # data = \"/scratch/data\"     # folder with the input files of jobs; default: where the client says
  # outputs = \"/scratch/out\"   # folder for the files that processes leave here; default: none
  # metrics = \"127.0.0.1:9447\"  # TCP: /metrics, /healthz and /readyz for monitors; default: none

The log on stderr has times in UTC and says when jobs begin and end; each line has the name of the node, and the number of its job. A superstep cannot be stopped: if it goes on \
after its job has ended, the node refuses jobs until it ends, or ends itself with --exit-when-stuck.

Examples:
  {bin} cert init --cluster lab
  {bin} cert issue --role set-manager --name node-1
  {bin} node --name node-1
  {bin} node --conf node-1.toml --log-format json --exit-when-stuck 60

Certificates, lists of hosts, firewalls: docs/guide/cluster.md.";

pub(super) const RUN_ABOUT: &str = "\
Run an experiment on the hosts of a cluster.

The same experiment that `simulate` runs, with the same agents, on real hosts: the nodes build its processes, execute \
them, and these migrate while they run; their outputs and the record of the run return to the client. An experiment that \
names no policy runs under `adaptive`; --policy none runs the application alone, scenario i. Sections that \
describe a simulated platform are ignored. Without a list of hosts, those of the job of Slurm, PBS or OAR are used. Ctrl-C ends the \
run and leaves the cluster free.";

pub(super) const ATTACH_ABOUT: &str = "\
Follow a run that a node leads, and fetch its results.

A run goes on without its client: after `run --detach`, and when the client of a run is lost. One of its nodes leads it then, and \
keeps its record and its outputs, for an hour after its end. `attach` shows, records and writes what `run` does, from the view on \
that this node began. Ctrl-C leaves the run, which goes on. Several clients may attach, one after the other or at once.";

pub(super) const ATTACH_HELP: &str = "\
Exit codes: those of `run`; 4 if no node has the job, or it is of another client.

Examples:
  {bin} run FILE --cluster hosts --detach
  {bin} status --cluster hosts
  {bin} attach 00c3a1f2e4d5b697 --cluster hosts --out runs --outputs outputs.json

What survives what: docs/guide/recovery.md.";

pub(super) const END_ABOUT: &str = "\
End a run that a node leads. Its nodes are free then; a client that follows it shows which client has ended it.";

pub(super) const DRAIN_ABOUT: &str = "\
Have a node leave its job, and end it. The job goes on without it and repeats nothing: all processes are saved before a superstep, \
and go on in another view. If that takes longer than 10 s, or nodes have no copies, the node counts as lost, and supersteps are repeated. A \
job without recovery fails. SIGTERM does the same.";

pub(super) const DRAIN_HELP: &str = "\
Exit codes: 0 if the nodes have ended; 2 if the list of hosts has no such node; 5 if a node cannot be reached or does not end in 20 s.

Examples:
  {bin} drain node-3 --cluster hosts
  {bin} status --cluster hosts

Nodes that join and leave: docs/guide/recovery.md.";

pub(super) const RUN_HELP: &str = "\
The list of hosts, one per line; the first of each Set is its Set Manager:
  node-1 slots=4 set=left addr=10.0.0.1:7447
  node-2 slots=4 set=left speed=0.5

Nodes have to run the same build as this client, unless both ends have --allow-mixed-builds.

A run with --checkpoint DIR can be resumed with --resume DIR after a failure, on any nodes. It takes the experiment from there \
and goes on with its checkpoints: docs/guide/recovery.md.

--dashboard serves a page of the run to browsers while it goes on, with what `report` shows of a record. It can only be \
read, and from this machine alone unless HOST:PORT says otherwise; there is no password. From elsewhere: ssh -L 7448:127.0.0.1:7448 \
HOST. At the end, open pages get the last state, for which the command waits at most 5 s; they stay in their browsers.

Formats:
  table  the migrations, whether they paid for themselves, and the result
  json   one object, schema migbsp.live/1, times in seconds at full precision
  csv    one row per migration, as `simulate` has them

Outputs of the programs (--outputs): .json, .csv, .msgpack, .npy, or a folder, DIR/, as `simulate` has them. With `nodes`, \
each output stays in a file of the node on which its process ends, and is not verified. --snapshots has the nodes write what \
processes write while they run. Nodes need a folder for files: docs/reference/runs.md. files.json in the folder of the record lists them.

Exit codes: 1 the program failed; 2 invalid command line; 3 invalid outputs; 4 invalid experiment or checkpoint; \
5 the cluster failed; 130 interrupted.

Examples:
  {bin} run conf/heat-local.toml --cluster hosts -n 16
  {bin} run conf/heat-local.toml --cluster hosts --set scheduler.policy=adaptive --out runs/heat
  {bin} run conf/heat-local.toml --cluster hosts --outputs nodes --out runs/heat
  {bin} run conf/heat-local.toml --cluster hosts --checkpoint /shared/heat
  {bin} run --resume /shared/heat --cluster hosts   go on after a failure
  {bin} run conf/heat-local.toml --cluster hosts --checkpoint /shared/heat --resume-if-possible   start, or go on
  {bin} run conf/heat-local.toml --cluster hosts --dashboard
  {bin} explain runs/heat                           why did processes move?
  {bin} verify runs/heat                            recompute all decisions";

pub(super) const UP_ABOUT: &str = "\
Start a cluster of node processes on this machine for one command.

For trials, teaching and tests: every node is a process of the operating system with a socket, a certificate and \
one processor, as on separate hosts, but on this machine. The authority of their \
certificates exists in memory only.";

pub(super) const UP_HELP: &str = "\
--slow 4:0.4, or 4:40%, holds the fourth node to 0.4 of its speed: after each superstep its threads sleep for as long as a slower \
processor would have computed.

--kill 3@200 kills the third node (SIGKILL) once superstep 200 is over, counted from 0, as when a machine is lost: the run \
goes on without it. all@200 kills all of them: the run fails with exit code 5. The next superstep is under way by then. \
--stop 3@200:20 stops the node for 20 s instead, as when a machine stands still: the run goes on without it, if that is \
longer than 2.5 s, and with it again when the node goes on. --drain 3@200 has the node leave the run (SIGTERM), and --join 1@200 starts a \
node that joins it: nothing is repeated for either. A run that ends before succeeds, with a warning.

--between 10Mbps,2ms holds the link between any two Sets to a rate and to a latency in each direction, by a relay in this \
process; no root is needed. --level is the available part of that rate: 0.5; 0.2..0.8, drawn from --seed, each level for \
a time that is exponential with mean --dwell; or a CSV file, seconds since the start and the level from then on:
  seconds,level
  10,0.5
  20,1

--hosts FILE starts the nodes on the hosts of a hostfile instead, by ssh or another remote shell (--shell), with certificates of this \
command alone: docs/guide/slurm.md.

--play has the nodes play the platform of the experiment: a node for each host, which computes what programs charge as fast \
as that host, less [load]; the relay plays slow and congested links between Sets. The run is simulated first, and its \
result says how much longer it takes live.

Examples:
  {bin} up --local 4 --sets 2 --slow 4:0.4 -- run conf/heat-local.toml
  {bin} up --local 4 --sets 2 --kill 3@200 -- run conf/heat-local.toml
  {bin} up --local 4 --sets 2 --stop 3@200:5 -- run conf/heat-local.toml
  {bin} up --play -- run conf/owners-local.toml --policy none
  {bin} up --local 4 --sets 2 --between 10Mbps,2ms -- run conf/heat-ring.toml
  {bin} up --local 2 -- run conf/heat-local.toml --set application.supersteps=100 --format json
  {bin} up --local 4 -- run conf/heat-local.toml --dashboard
  {bin} up --local 4 --sets 2 --slow 4:0.4 -- compare conf/heat-local.toml --live 5 --policy none --policy adaptive
  {bin} up --local 3 -- status
  {bin} up --local 4                                then use it from another terminal";

pub(super) const ADD_ABOUT: &str = "Has a node that is free join the job of a cluster. The node needs to be in no list. It gets processes at once, of the nodes that \
would end last without it, and nothing is executed again for that.";

pub(super) const ADD_HELP: &str = "\
Exit code 5: no node of the cluster has a job, or the node has not joined it in 30 s: it is not free, or cannot be reached by all members.

Examples:
  {bin} add node-9 --cluster hosts
  {bin} add node-9=10.0.0.9:7447 --set left --cluster hosts";

pub(super) const CHECK_ABOUT: &str = "Checks a cluster before jobs run on it: each node is asked to connect to all others. Or, with a \
FILE, checks the program of an experiment before it is run anywhere.

Shown are the nodes with their builds, slots and processors, when their certificates end, by how much their clocks differ from that of \
this machine, and how many others each reaches. `status` asks the nodes from here alone: it does not see a firewall between two of them.";

pub(super) const CHECK_HELP: &str = "\
With FILE, the program is executed several times side by side, superstep by superstep: as it is, with each process moved (saved and loaded) \
before each superstep, and with other times and processes on standby. States, messages, charges and outputs have to be the same. The \
first process and superstep that differ are named, with exit code 3: a state is saved incompletely, or the program depends on a clock, on \
the order of a set or on variables that processes share. It is for programs in Rust and in other languages; take few supersteps and small parameters.

Exit code 5: a node does not answer, or does not reach another one, has another build, fewer processors than slots, or a clock that is \
wrong by more than a minute; each is said in a sentence. A node whose certificate has expired does not answer. One that ends within 14 \
days is said, and is no error.

--bandwidth has each node send 4 MiB to each other one, for a second at most, after the connections have been checked. No node has a \
part in two transfers at a time, so it takes up to 3 s for each node of the cluster. At most 256 KiB are on the way at a time: a way with \
a round trip of 10 ms shows 26 MB/s at most. Jobs may have 6 MiB on the way. A job that runs meanwhile shares the links.

Examples:
  {bin} check --cluster hosts
  {bin} check heat.toml -n 4 --set application.supersteps=20
  {bin} check --cluster hosts --bandwidth
  {bin} check --cluster hosts --format csv          a line for each pair of nodes";

pub(super) const STATUS_HELP: &str = "\
--watch shows, until q or Ctrl-C: each job with its superstep, supersteps per second, the time that is left where the number \
of supersteps is known, and its calls; each node with its processes, load and memory. A node that stops answering is shown \
as such. Without a terminal, there is a table each time, or an object with --format json.

Formats:
  table  a line per node: program and build, speed, load of others over a minute, and the job it is at;
         others is the number of other programs' processes that used at least half a processor in the
         last second, oldest the one of them that has consumed most processor time, and this time
  json   one object, schema migbsp.status/1; others[] has all of these processes
  csv    one row per node

Exit codes: 0 all have answered; 5 some have not. With --watch, 0 when the user leaves.

Examples:
  {bin} status --cluster hosts
  {bin} status --cluster hosts --watch --every 5s
  {bin} up --local 3 -- status";

pub(super) const SUPERSTEP_ABOUT: &str = "\
Measure r, g and l, the parameters of the BSP cost model, as Bisseling's program bspbench does.

r is what a process computes in a second, in floating-point operations of DAXPY in its cache. g is the time of a data \
word of 8 bytes in an h-relation, where every process sends and receives h words. l is the time of a superstep with an empty \
h-relation. g and l are those of the line T(h) = g·h + l that is fitted to the medians of measured supersteps, for h from p, the \
number of processes, to --h; they are shown in seconds and in the time of a floating-point operation.";

pub(super) const SUPERSTEP_HELP: &str = "\
Formats:
  table  r, g and l, and some measured times beside the fit
  json   one object, schema migbsp.bench-superstep/1
  csv    one row per number of words: measured median and fit, in seconds

Examples:
  {bin} bench superstep --cluster hosts
  {bin} up --local 4 -- bench superstep
  {bin} up --local 2 --sets 2 --between 11.8MBps -- bench superstep --pairs --h 4096";

pub(super) const MIGRATION_ABOUT: &str = "\
Move states between two nodes, and compare what that takes with what was predicted.

A process that solves one problem after the other moves to the other node and back at supersteps that are drawn. Each move is \
predicted from the moves before it and, if it is long enough, from a probe of the link. The kinds of state are those of Du, Sun \
and Wu (2007): linpack is one large array, bitonic a tree of many small nodes, gzip small, and the size of xlintims changes. \
Outputs are verified, and compared with those of the same job without moves.";

pub(super) const MIGRATION_HELP: &str = "\
Columns:
  predicted, frozen  seconds of a move: as predicted, and from the time when the process left its thread until it was unpacked
  error              of the prediction, as a part of the time frozen
  of added time      mean error as a part of what the move added to the run, compared with 5 runs without moves; the probe counts
  paper              mean error of Du, Sun and Wu

α0 is what a move takes whatever its size, and α1 how many times as long as at the measured bandwidth bytes take.

Formats:
  table  a row per kind of state
  json   one object, schema migbsp.bench-migration/1
  csv    one row per move

Exit codes: as for `run`; if a job fails or is interrupted, kinds that are complete are shown.

Examples:
  {bin} bench migration --cluster hosts --from node-1 --to node-5
  {bin} up --local 2 --sets 2 --between 11.8MBps -- bench migration --moves 6
  {bin} up --local 2 --sets 2 --between 11.8MBps -- bench migration --level 0.1..0.9 --dwell 10s --seed 1
  {bin} up --local 2 -- bench migration --kind linpack --state 1MB..64MB --svg moves.svg --write link.toml";

pub(super) const SLURM_ABOUT: &str = "\
Run an experiment on the hosts of this job of Slurm: the command for one line of a job script.

It starts a node on each host of the job (`srun`), with certificates and ports of this job alone and all processors that the job has \
there, waits until they answer, runs the experiment as `run` does, and ends the nodes. No key is written to a file. A heterogeneous job \
has a Set for each component. A node that is lost is no end: the run goes on without it.

With --checkpoint DIR the run goes on from the newest complete checkpoint in DIR if there is one, and else starts: the same script serves \
after a requeue. When Slurm tells the job to end, or sends SIGUSR1 before (`--signal=USR1@120` of sbatch, with or without `B:`), a last \
checkpoint is taken first, within --grace [default here: 20 s].";

pub(super) const REQUEUES: &str = "100";

pub(super) const SLURM_HELP: &str = "\
Exit codes: those of `run`. A job that was told to end ends with 128 and the number of the signal.

A job script:
  #!/bin/bash
  #SBATCH --nodes=3 --cpus-per-task=4 --time=1:00:00
  #SBATCH --requeue --signal=USR1@120 --open-mode=append --no-kill
  exec {bin} slurm conf/heat-local.toml --checkpoint saved-$SLURM_JOB_ID --requeue --out runs/$SLURM_JOB_ID

Arrays, heterogeneous jobs, what if: docs/guide/slurm.md.";

pub(super) const PBS_ABOUT: &str = "\
Run an experiment on the hosts of this job of PBS: PBS_NODEFILE names them, with a line for each slot. A remote shell starts the nodes: \
ssh, or that of --shell. pbs_tmrsh will not do: it passes no stdin on, by which nodes receive their keys. All else is as with `slurm`, but for --requeue.";

pub(super) const OAR_ABOUT: &str = "\
Run an experiment on the hosts of this job of OAR: OAR_NODEFILE names them, with a line for each slot. A remote shell starts the nodes: \
oarsh, or that of --shell. All else is as with `slurm`, but for --requeue.";

pub(super) const SHELL_HELP: &str = "\
Exit codes: those of `run`. The binary of this program has to be at the same place on all hosts.

A run with --checkpoint DIR goes on from the newest complete checkpoint in DIR, if there is one: docs/guide/slurm.md.";
