//! Texts of `--help`.

pub(super) const REBALANCE_ABOUT: &str = "\
Find the cheapest migrations after which no machine is above a level.

INSTANCE has the capacity of each machine, and the work, size and \
machine of each process. A machine's level is the work of its processes by its capacity; the highest level \
determines when all are done. A process that moves costs its size by the bandwidth between \
the two machines. The search finds the cheapest assignment that meets each target: a lower level \
never costs less, and the last few per cent cost most (`{bin} rebalance sweep`).

This is one decision with complete information. For programs that run and change, see `{bin} simulate`.";

pub(super) const REBALANCE_HELP: &str = "\
Algorithms:
  imlp    moves and exchanges between pairs of machines, cheap ones first, repeatedly from the
          initial assignment, with penalties on earlier moves (Chen, Wang and Lau 2008)
  islp    the same, without regard to the cost of moves
  mlp     the first round of imlp alone
  tabu    the steps of islp, never back to the beginning
  mparv   removes and puts back greedily (M-PARTITION); fast, with high costs
  refine  overloaded machines give their largest processes to those with room (RefineLB of
          Charm++); fast, without regard to the cost of moves
  hyb     annealing on cost and overload together, from imlp's best
  best    annealing that draws anew how two machines share their processes; the best there is here
imlp, islp and mlp take parameters, as imlp:levels=3,thresholds=as,penalisation=limit,gamma=4:
  levels=6          number of thresholds of cost
  thresholds=crs2   a common ratio of 2; as: equal steps; count: equally many moves
  penalisation=full all moves; limit: those to the most loaded machine; none
  gamma=1           weight of a penalty, in units of level
  exchanges=always  two processes swap where that is best; needed: only where no single
                    move brings both machines to the target, which takes fewer moves
mparv takes one, as mparv:opt=workload:
  opt=level         a process is large if it takes more than half of a level of the mean machine;
                    workload: if its work is more than half of the level

Targets:
  LEVEL     the cheapest assignment where no machine is above it
  PERCENT%  the same, in ideal levels: 105% is 5 % above perfect balance
  min       the lowest level, and of its assignments the cheapest; --max-cost limits the cost

Budgets:
  time   \"100 ms\", \"2.5 s\", for all targets together; bare numbers are seconds
  steps  \"2000000 steps\", 2Msteps, for each target: moves and exchanges looked at; the same result everywhere
Targets are worked on in parallel. Reading and lower bounds are not part of the budget; bounds take as long at most.

An instance can have processes that stay, machines of limited memory, blocks of memory that processes share, and what
processes exchange, which is part of the level by --weight. Every algorithm keeps the limits; best alone minds the exchange
while it searches. Machines that are above their memory at the beginning are brought within it by every assignment.

Formats:
  table  the cost of each target, the moves, and the machines after them; long tables are cut
  json   one object, schema migbsp.rebalance/1: solutions with target, feasible, assignment (the
         name of each process's machine), dc, cost, lower_bound, migrations, loads, levels, exchanged,
         memory, moves, seconds; memory_exceeded names machines that are above their memory
  csv    one row per move, the target's totals in every row

Exit codes:
  3  a target is not met; the lowest level that was found is shown
  4  INSTANCE is invalid: the error shows key, value, rule and line

Examples:
  {bin} rebalance conf/rebalance/small.json --target 80
  {bin} rebalance conf/rebalance/small.json --target 76 --algorithm imlp --budget 2Msteps
  {bin} rebalance conf/rebalance/small.json --cost moves         as few moves as possible
  {bin} rebalance conf/rebalance/small.json --target 105%        5 % above perfect balance
  {bin} rebalance conf/rebalance/limited.json --target min       as low as possible
  {bin} rebalance sweep conf/rebalance/small.json --svg cost.svg
  {bin} rebalance generate --group I3,3 --seed 5 | {bin} rebalance - --format json

Instance files and algorithms: lab/docs/rebalancing.md.";

pub(super) const SWEEP_ABOUT: &str = "\
Compare the costs of levels for several algorithms.

A lower level lets all processes continue sooner and costs more to reach. Every algorithm searches for every level; \
the table has a row for each, the lowest first, and --svg draws the curve. Choose the level before the curve \
turns up. The lower bound limits the saving of a better algorithm.";

pub(super) const SWEEP_HELP: &str = "\
Formats:
  table  a row for each level, a column for each algorithm
  json   one object, schema migbsp.rebalance-sweep/1: points with target, algorithm, feasible, dc,
         cost, lower_bound, migrations, seconds
  csv    one row per level and algorithm

Levels that are not met are part of the picture: they do not change the exit code.

Examples:
  {bin} rebalance sweep conf/rebalance/small.json --svg cost.svg
  {bin} rebalance sweep conf/rebalance/small.json --target 76 --target 80 --target 90 --cost moves
  {bin} rebalance sweep conf/rebalance/small.json --algorithm imlp --algorithm mlp --algorithm tabu \\
      --points 20 --budget \"1 Msteps\" --format csv

How to read a sweep: lab/docs/rebalancing.md.";

pub(super) const GENERATE_ABOUT: &str = "\
Draw an instance like those of the paper (Chen, Wang and Lau 2008, Table 2), with other sizes, or with communication.

A group sets the numbers of machines and processes and how unequal they are; the seed selects the \
instance. The same group and seed give the same file everywhere.";

pub(super) const GENERATE_HELP: &str = "\
Groups I1,1 to I4,5 (of the paper), S1,1 to S8,5, and X1,1 to X2,3:
  I1  equal machines                        ,1   16 machines,  40 processes
  I2  capacities from 0.6 to 1.4            ,2   16 machines, 160 processes
  I3  capacities 2.5, 1.0 and 0.4           ,3   64 machines, 160 processes
  I4  as I2, with most processes large      ,4   64 machines, 640 processes
                                            ,5  256 machines, 640 processes
  S1 to S5  as I2, lognormal sizes, deviation 1 to 5 of the logarithm
  S6        as I2, sizes of a Pareto distribution without a mean
  S7        as I2, but the largest process has 10^12 MB
  S8        as I2, half of the processes 1 MB, the others 10^10 MB
  X1  processes exchange with neighbours in a grid, those of one corner compute more
  X2  processes exchange with others drawn by lot
      ,1 ,2 ,3: 4, 16, 64 machines of 25 processes; a third of the initial time is exchange

Examples:
  {bin} rebalance generate --group I3,3 --seed 5 --out i33.json
  {bin} rebalance generate --group I1,1 --target 76 --target 80 | {bin} rebalance sweep -";

pub(super) const IMPORT_ABOUT: &str = "\
Make an instance from LB data of vt, which LBAF reads.

vt writes a file for each rank, data.0.json and so on, or data.0.json.br with Brotli. Each rank becomes a machine of \
capacity 1, each task of the phase a process: its workload is the time that it took, in seconds. Tasks that are not \
migratable stay. Sizes, memory and shared blocks are those of LBAF's keys in user_defined.";

pub(super) const IMPORT_HELP: &str = "\
A line on stderr names what of the files the instance does not show, as communications of other kinds.

Exit codes:
  4  a file is invalid, or ranks disagree: the error shows file, key, value and rule

Examples:
  {bin} rebalance import conf/rebalance/vt --out vt.json
  {bin} rebalance import conf/rebalance/vt --phase 0 --memory 8000 --out vt.json
  {bin} rebalance import run/data.*.json.br | {bin} rebalance - --target 3.3 --format json > plan.json

What is read, and how to move from LBAF: lab/docs/rebalancing.md.";

pub(super) const EXPORT_ABOUT: &str = "\
Write a plan into the LB data it was made from.

The files keep their names. Each task of the phase is in the file of its new rank; other phases, and keys that are \
not known here, are as they were. LBAF and vt read the result.";

pub(super) const EXPORT_HELP: &str = "\
All files are checked before the first is written, and none is replaced.

Exit codes:
  4  plan or files are invalid, or do not belong together

Examples:
  {bin} rebalance export plan.json conf/rebalance/vt --out balanced
  {bin} rebalance export plan.json conf/rebalance/vt --target 3.3 --phase 1 --out balanced

Every step, from import to export: lab/docs/rebalancing.md.";
