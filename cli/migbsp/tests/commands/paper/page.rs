//! `lab/docs/tables.md`, from the output of `migbsp reproduce all`.

use std::fmt::Write as _;

use serde_json::Value;

use super::mean;

/// The page, from the JSON and the summary that the command prints.
pub(super) fn page(report: &Value, summary: &str) -> String {
    let mut page = String::from(PREFACE);
    page.push_str("## Summary\n\n```console\n$ migbsp reproduce all --summary\n");
    page.push_str(summary);
    page.push_str("```\n\n## Goals\n\n");
    goals(&mut page, report);
    page.push_str(MISSES);
    means(&mut page, report);
    for (name, title, row) in TABLES {
        table(&mut page, report, name, title, row);
    }
    migrations(&mut page, report);
    page.push_str(FORMATS);
    page
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}

fn percent(value: f64) -> String {
    format!("{:.2} %", value * 100.0)
}

/// A number or a word as it is; empty for null.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The goals of this reproduction, and the results.
fn goals(page: &mut String, report: &Value) {
    page.push_str("| goal | reached | |\n|---|---|---|\n");
    let mut line = |goal: String, reached: String, holds: bool| {
        let verdict = if holds { "holds" } else { "**missed**" };
        writeln!(page, "| {goal} | {reached} | {verdict} |").unwrap();
    };
    for (over, name, scenario, limit) in [
        ("all", "all", "i", 0.01),
        ("all", "all", "ii", 0.015),
        ("all", "all", "iii", 0.04),
        ("all", "all", "iii-receive-time", 0.021),
        ("tables1-5", "Tables 1 to 5", "i", 0.01),
        ("tables1-5", "Tables 1 to 5", "ii", 0.015),
        ("tables1-5", "Tables 1 to 5", "iii", 0.04),
        (
            "tables1-5-below-2000",
            "Tables 1 to 5 without 2000 supersteps",
            "iii-forced",
            0.015,
        ),
        ("table7", "Table 7", "i", 0.01),
        ("table7", "Table 7", "ii", 0.015),
        ("table7", "Table 7", "iii", 0.04),
    ] {
        let error = mean(report, over, scenario);
        let goal = format!(
            "{name}: mean error of scenario {scenario} at most {:.1} %",
            limit * 100.0
        );
        line(goal, percent(error), error <= limit);
    }
    for total in array(report, "agreement") {
        let number = |key: &str| total[key].as_f64().unwrap();
        let scenario = total["scenario"].as_str().unwrap();
        for (key, what, least) in [
            ("set", "process and Set", 0.8),
            ("call", "the call, too,", 0.5),
        ] {
            let share = number(key) / number("stated");
            let goal = format!(
                "scenario {scenario}: {what} of {:.0} % of the stated migrations",
                least * 100.0
            );
            line(goal, format!("{:.0} %", share * 100.0), least <= share);
        }
    }
    for gain in array(report, "gains") {
        let (paper, ours) = (
            gain["paper"].as_f64().unwrap(),
            gain["ours"].as_f64().unwrap(),
        );
        let goal = format!(
            "{}: scenario iii saves about {:.0} %",
            case(gain),
            paper * 100.0
        );
        line(
            goal,
            format!("{:.1} %", ours * 100.0),
            (ours - paper).abs() <= 0.02,
        );
    }
}

/// The experiment of a gain.
fn case(gain: &Value) -> String {
    let (processes, row) = (&gain["processes"], &gain["row"]);
    if gain["application"] == "lbm" {
        format!("Lattice Boltzmann on {processes} processes, {row} supersteps")
    } else {
        format!("LU on {processes} processes, order {row}")
    }
}

fn means(page: &mut String, report: &Value) {
    page.push_str("\n## Mean absolute relative errors\n\nThe values in brackets leave out the cells that contradict others.\n\n");
    let scenarios = ["i", "ii", "iii", "iii-forced", "iii-receive-time"];
    writeln!(
        page,
        "| over | {} |\n|---|---|---|---|---|---|",
        scenarios.join(" | ")
    )
    .unwrap();
    let mut names: Vec<&str> = Vec::new();
    for mean in array(report, "means") {
        let name = mean["over"].as_str().unwrap();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        write!(page, "| {name} |").unwrap();
        for scenario in scenarios {
            let mut means = array(report, "means").iter();
            let found = means.find(|mean| mean["over"] == name && mean["scenario"] == scenario);
            let text = found.map_or_else(String::new, |mean| {
                let all = percent(mean["error"].as_f64().unwrap());
                match mean["unflagged_error"].as_f64() {
                    Some(error) if mean["unflagged_cells"] != mean["cells"] => {
                        format!("{all} ({})", percent(error))
                    }
                    Some(_) | None => all,
                }
            });
            write!(page, " {text} |").unwrap();
        }
        page.push('\n');
    }
}

fn table(page: &mut String, report: &Value, name: &str, title: &str, row: &str) {
    write!(page, "\n## {title}\n\n").unwrap();
    writeln!(
        page,
        "| {row} | processes | α | scenario | paper (s) | ours (s) | error | moves | |"
    )
    .unwrap();
    page.push_str("|---|---|---|---|---|---|---|---|---|\n");
    let decimals = if name == "table6" { 4 } else { 2 };
    let cells = array(report, "cells").iter();
    for cell in cells.filter(|cell| cell["table"] == name) {
        let number = |key: &str| cell[key].as_f64().unwrap();
        writeln!(
            page,
            "| {} | {} | {} | {} | {:.decimals$} | {:.decimals$} | {:+.2} % | {} | {} |",
            cell["row"],
            cell["processes"],
            shown(&cell["alpha"]),
            shown(&cell["scenario"]),
            number("paper"),
            number("ours"),
            number("error") * 100.0,
            cell["migrations"],
            if cell["flagged"] == true {
                "contradicts other cells"
            } else {
                ""
            },
        )
        .unwrap();
    }
}

fn migrations(page: &mut String, report: &Value) {
    page.push_str(
        "\n## Which processes move\n\nThe migrations that the papers state, with call and destination, and all moves of these processes in \
         our runs.\n\n\
         | application | processes | row | α | after | process | to | iii | iii-receive-time |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for stated in array(report, "migrations") {
        let ours = array(stated, "ours").iter().map(|ours| {
            let moves: Vec<String> = array(ours, "moves").iter().map(shown).collect();
            if moves.is_empty() {
                "stays".to_owned()
            } else {
                moves.join(", ")
            }
        });
        let keys = [
            "application",
            "processes",
            "row",
            "alpha",
            "call",
            "process",
            "destination",
        ];
        let cells: Vec<String> = keys
            .iter()
            .map(|key| shown(&stated[*key]))
            .chain(ours)
            .collect();
        writeln!(page, "| {} |", cells.join(" | ")).unwrap();
    }
}

const TABLES: [(&str, &str, &str); 9] = [
    (
        "table1",
        "Table 1: Lattice Boltzmann on 10 processes",
        "supersteps",
    ),
    (
        "table2",
        "Table 2: Lattice Boltzmann on 25 processes",
        "supersteps",
    ),
    (
        "table3",
        "Table 3: Lattice Boltzmann on 50 processes",
        "supersteps",
    ),
    (
        "table4",
        "Table 4: Lattice Boltzmann on 100 processes",
        "supersteps",
    ),
    (
        "table5",
        "Table 5: Lattice Boltzmann on 200 processes",
        "supersteps",
    ),
    (
        "table6",
        "Table 6: the rest of p1's last superstep of Lattice Boltzmann",
        "supersteps",
    ),
    ("table7", "Table 7: Smith-Waterman", "order"),
    ("table9", "Table 9: LU decomposition", "order"),
    ("fig16", "Fig. 16: LU decomposition of order 5000", "order"),
];

const PREFACE: &str = "\
# Does it reproduce the published results?

For readers of the papers, and for those who judge how far the implementation can be trusted. This page shows the output of
`migbsp reproduce all`: every number that the papers print, the number of our run (experiments in `conf/paper/`, on the papers' testbed), and the relative error. A test writes it
(`cli/migbsp/tests/commands/paper.rs`) and fails if the page differs from the output of the command.
`migbsp reproduce table2` prints a single table; `--html FILE` draws all of them. The command is in
builds with `--features laboratory`.

Only the network of `conf/platforms/testbed.toml` is fitted, and only to the 49 cells of scenario i (the
application alone): `cargo run --release -p integration-tests --example fit`. The cells of scenarios ii and
iii are not used. The cells of scenario i do not determine what a cluster's uplink carries when many long
messages cross it, as they do once neighbours run in different clusters: with anything from 17 to 30 MB/s
their error is 0.63 %. So the uplink is no separate number. It has the value fitted for a host's link, 18.8
MB/s, since both are Fast Ethernet. As a free number it was fitted to 21.6 MB/s by chance, and iii-forced was
1.95 % off instead of 1.71 %; this was known when the number was removed.

| scenario | run |
|---|---|
| **i** | the application alone |
| **ii** | rescheduling is computed and paid for, and no process moves |
| **iii** | processes migrate; of equal potentials the lowest rank comes first |
| **iii-receive-time** | scenario iii with the other rule for ties, `scheduler.tie_break = \"receive-time\"` |
| **iii-forced** | scenario iii with the migrations that the papers state and no others |

* **Forced migrations** are made in the call for which they are stated, which is held whether our run would
  hold one then or not. For Lattice Boltzmann the papers state moves for α = 4 alone. With another α they are
  made in the same order, in calls after α / 4 times as many supersteps (8, 24, 56, … and 16, 48, 112, …).
  With ten processes no process moves. If no host is named, it is the next one of Aquario, from the first
  again after the last. If it is not said which of several processes moved, those of lowest rank do. Cells for
  which the papers do not state the moves have no such run.
* **δ.** Smith-Waterman's scenario ii is run with δ = 0.01 and iii with δ = 0.5, as in the papers.
* **Contradictions.** Numbers that contradict other numbers of the papers are marked. They count in the means
  all the same.
* **Table 6** does not define what was timed. It is read here as the rest of p1's last superstep: all of it
  but p1's own computation. This agrees with the paper at 10 processes and contradicts Tables 1 and 2
  elsewhere. On 25 processes, by those tables, a superstep takes 0.347 s, of which p1 computes 0.267 s; Table
  6 has 0.024 s for the rest. What was timed is not known, so its errors say nothing about the model. The
  text does not agree with the table either: it states a gain of 22 % on 50 processes, where the table has
  24 %, and 22 % on 100. It is no makespan and not in the means over all.

";

const MISSES: &str = "
## Known misses

* **Lattice Boltzmann on 200 processes, scenario iii: up to 23 % too fast, and 29 % in a cell that contradicts
  others.** In the papers the supersteps stay unbalanced until twelve processes have moved, so that a call,
  which costs about a second, follows every fourth superstep. Ours count as balanced after seven. p175 moves
  where the papers go on with Frontal (its potential is 0.0792 s, theirs 0.0759 s, because p174 in Aquario
  favours Aquario). With it goes the slowest remaining pair, p1's. Forcing the stated moves and their calls
  halves the error. With ties by the time of receiving too few processes move: from 16 % too fast after 50
  supersteps to 22 % too slow after 1000.
* **Lattice Boltzmann on 25 processes, scenario iii-forced:** the moves of p18 to p20, which the papers state
  for the calls after 252, 508 and 1020 supersteps, make our runs slower: with α = 4 they are 0.9 % too slow
  after 1000 supersteps, where scenario iii, which leaves these moves out, is 0.3 % too fast. In the papers
  migration is cheaper than what is fitted here, or Aquario faster.
* **The definition of a process's time in the balance** decides about these calls, and the papers leave it
  open (`BALANCE` in `docs/model.md`). Computation and a part that is the same for all processes cannot be
  meant, unless that part shrinks after the moves. By hand calculation with the fitted speeds, α grows in
  scenario ii as stated only if the part is above 13 ms, and supersteps are still unbalanced after the twelve
  moves of scenario iii only if it is below 10 ms.
* **Lattice Boltzmann on 200 processes: which processes move.** The papers separate the pairs of processes
  that share Corisco's hosts by moving p195 to p200. Ours moves p21 to p26, which compute as long on the same
  hosts and have the lower rank. Their potentials are equal to the last bit (the process that starts first on
  a host ends first, by as much). So are the times that they receive for, except those of p21 and p195: no
  rule about ties leads to p195, p197, p196. A second implementation of the model decides as ours does here
  and is 2.9 to 3.4 % off in iii-receive-time. (Its network is the sum of what each link takes instead of
  flows that share bandwidth, and is fitted in the same way.) With the stated moves in place of its own in
  this table alone, and nothing else changed, it comes to 2.1 %.
* **Lattice Boltzmann on 50 and 100 processes, scenario iii: up to 9 % too fast.** The papers' moves leave
  gaps (p38, p40, p42, then p39, p41, p37), so that more messages cross Frontal's uplink. With ties by rank,
  neighbours move one after the other. With `scheduler.tie_break = \"receive-time\"` it is p38, p40, p42 as in
  the papers, and then p37, p39, p41: up to 7 % off, 11 % in a cell that contradicts others. A message has to
  count for the Set where its sender started (`scheduler.sender_set`). Otherwise p39, which receives from p38,
  would be drawn after it.
* **Smith-Waterman on 50 processes** moves no process after 14 supersteps in the papers. Ours moves twelve by
  a narrow margin, and later Aquario is full: 11 % off with α = 2 and 4. (On 100 with α = 16, 9 % off, the
  papers' number contradicts others.)
* **Smith-Waterman on 200 processes** moves more processes in the papers than Aquario has hosts, and their
  lists name p31 twice. Their call after 388 supersteps follows from figure 2 (`INTERVAL`), and ours is held
  then, too: 61 of the supersteps 127 to 254 are unbalanced. In it the papers move p189 to p200, because all
  processes that had gone to Aquario are inactive. Ours refuses p195 to p200: a processor takes one process in
  a run. If all processors were free when the migrants of their Set are idle, they would move (*Readings tried* in
  `docs/model.md`).
* **LU: the right processes move, at the wrong time.** In the papers the first call moves the processes of the
  slowest cluster, from order 2000 on. It is held after superstep 4, in which only one column of the processes
  computes. That halves the predicted times of the others, and with these every process has its highest
  potential in its own Set: none is a candidate. So they move in the next call; if more are to follow, that is
  late (500 on 25 processes 9 % off, 1000 on 50 8 %). Where own Sets do not compete and candidates that did not
  compute are judged, they move after 4, but other cells are missed (*Readings tried* in `docs/model.md`). The
  papers name no δ for LU: it is run with the 0.5 of Smith-Waterman, because with 0.01 no process moves.
* **LU of order 5000 on 200 processes, scenario iii** gains 13 % instead of 2 %: twenty processes move, where
  the papers say six.
";

const FORMATS: &str = "
## Output formats

`migbsp reproduce all --format json` prints one object with `\"schema\": \"migbsp.reproduce/1\"` and the build that made
it ([`results.md`](../../docs/reference/results.md) has its schema). Times are simulated seconds at full precision, errors and gains
fractions of 1.

| key | meaning |
|---|---|
| `cells[].table` | `table1` to `table9`, `fig16` |
| `cells[].row`, `processes`, `alpha` | supersteps of Lattice Boltzmann, order of the matrix of the others; number of processes; α, not in scenario i |
| `cells[].scenario` | `i`, `ii`, `iii`, `iii-forced`, `iii-receive-time` |
| `cells[].paper`, `ours`, `error` | the number of the papers, ours, `ours / paper - 1` |
| `cells[].flagged` | whether the papers' number contradicts other numbers of theirs |
| `cells[].migrations` | number of processes that moved in our run |
| `means[].over` | the cells: a table, `tables1-5`, `tables1-5-below-2000` (without their last row), `all` (without Table 6) |
| `means[].scenario`, `cells`, `error` | scenario, number of cells, mean absolute relative error |
| `means[].unflagged_cells`, `unflagged_error` | the same without the cells that are flagged |
| `gains[]` | `application`, `processes`, `row`, `alpha`; `paper` and `ours`: share of scenario i's time that scenario iii saves |
| `migrations[]` | statements of the papers: `application` (`lbm`, `sw`, `lu`), `processes`, `row`, `alpha`, `call` (number of supersteps completed), `process` (or `14 of p21 to p36`), `count`, `destination` (Set, or host if one is named) |
| `migrations[].ours[]` | by `scenario`: the numbers that agree in process and `set`, in these and the `call`, in process and `host` (if one is named), and all `moves` of these processes |
| `agreement[]` | totals by `scenario`: `stated`, `set`, `call`; `named` hosts, and the number of `host` that agree |

`--format csv` prints `cells`, one per row; for `migrations` alone one row per statement and scenario. Comments before
the header name the build.
`--html FILE` writes a self-contained page with the tables, a table of contents, and charts of our numbers divided
by the papers': 1 is equality, and variants of one scenario have one colour.
";
