//! Texts of `--help` for `sweep`.

pub(super) const SWEEP_ABOUT: &str = "\
Run experiments with every combination of values, policies and seeds.

Each --set names a key of the experiments and the values that it takes. The sweep is the product: every experiment with \
every combination of values, under every policy, with every seed, on all cores or --jobs threads. `none` runs alone \
(scenario i), other policies with migrations (scenario iii). A combination that draws nothing at random is run with the \
first seed alone. All combinations are checked before the first run; the results do not depend on the number of threads. \
A policy that does not depend on a key, as `none` on those of [scheduler], is run once for all its values. A run that \
fails has an error in place of its numbers; the other runs are made, and the exit code is 1.

With --out DIR every run is a line of DIR/runs.jsonl as soon as it is done. After Ctrl-C the same command goes on from \
there; runs that failed are made again with --retry. The end writes DIR/runs.csv: a row per run, with a column per key, in the order of the values. --shard 2/4 runs \
the second of four parts in a folder of its own, on any machine; `sweep merge` joins the parts. `compare --from DIR` \
compares the policies over all combinations.";

pub(super) const SWEEP_HELP: &str = "\
Values:
  --set scheduler.interval=2,4,8               a list
  --set application.processes=16..64:16        a range with both ends: 16, 32, 48, 64
  --set application.synthetic.dynamics.jitter=0..0.1:0.05
  --set 'platform.file=\"a,b.toml\",c.toml'      a comma inside quotes separates nothing
  --set 'application.synthetic.instructions=[1e8],[1e8, 2e8]'
                                               nor does one inside [ ] or { }: two arrays
  A key with one value has a column, too. The last key changes first from row to row.

Formats:
  table  a row for each combination and policy, and the best combination of each policy; long tables are cut
  json   one object, schema migbsp.sweep/2: experiments, parameters, policies, reference, seeds, shard, runs, summaries;
         with --dry-run migbsp.sweep-plan/1
  csv    one row per run, as in runs.csv

Examples:
  {bin} sweep conf/lbm.toml --set scheduler.interval=2,4,8 --policy none --policy migbsp -o runs/alpha --svg alpha.svg
  {bin} sweep conf/dynamic/drift-few.toml --set scheduler.interval=2,4,8 --set application.processes=10..25:5 \\
      --seeds 1..5 -o runs/grid --svg heat.svg --html grid.html
  {bin} sweep conf/lbm.toml --set scheduler.interval=1..64 --dry-run
  {bin} sweep conf/lbm.toml --set scheduler.interval=1..64 --shard 2/4 -o runs/part-2
  {bin} sweep merge runs/part-1 runs/part-2 runs/part-3 runs/part-4 -o runs/alpha
  {bin} compare --from runs/alpha

Shards with Slurm, Kubernetes and GNU parallel, and how to read the table: docs/sweeps.md.";

pub(super) const MERGE_ABOUT: &str = "\
Join the shards of a sweep.

The folder of --out is as if the sweep had been run there without --shard: the same runs.csv, byte for byte. All \
shards have to be there, complete, and of the same sweep: the same values, policies and seeds, made by the same build \
from the same experiments.";

pub(super) const MERGE_HELP: &str = "\
Formats:
  table  as of `sweep`
  json   as of `sweep`: one object, schema migbsp.sweep/2
  csv    one row per run, as in runs.csv

Examples:
  {bin} sweep merge runs/part-1 runs/part-2 runs/part-3 runs/part-4 -o runs/alpha
  {bin} sweep merge runs/part-* -o runs/alpha --svg alpha.svg --html alpha.html";
