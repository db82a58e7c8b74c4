//! The kernels beside the same ones in C, on one core.
//!
//! ```text
//! cargo bench -p migbsp-workloads --bench kernels [-- WORD]
//! ```
//!
//! `WORD` selects the rows that have it in their names, and `RUNS` is how often each is measured (15). What is compared is the
//! processor time of a whole run by the reference runner, messages between processes included, and that of `kernels/kernels.c`, by
//! `gcc -O3`. The two take turns, and the table has the ratios of the pairs.
//!
//! Each row first checks that results are the same, bit by bit. So C has the operations of the programs in their order, and
//! `-ffp-contract=off` keeps it from joining a multiplication and an addition, which is rounded once then, on processors that can.
//! Nothing else of `-O3` changes results. Without `gcc` there is nothing to compare with.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bsp::Program;
use bsp::reference::{self, Limit};
use rustix::time::{ClockId, clock_gettime};
use workloads::smith_waterman::kernel::{Operation, Pair, Sequence, Substitution};
use workloads::{Common, heat, lbm, lu, matrix_product, smith_waterman};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A row of the table.
struct Row {
    name: String,
    /// The kernel and its numbers.
    words: Vec<String>,
    /// What is in the file that C reads.
    input: Vec<u8>,
    /// What should be in the one that it writes.
    output: Vec<u8>,
    /// Cells, or other pieces of work, in a run.
    pieces: f64,
    /// Seconds of a run.
    run: Box<dyn Fn() -> f64>,
}

fn main() -> Result<()> {
    // `cargo test --benches` only has it run once.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let word = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let runs = std::env::var("RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok());
    let runs = if is_test { 1 } else { runs.unwrap_or(15) };
    let folder = tempfile::tempdir()?;
    let Some(program) = compiled(folder.path()) else {
        println!("SKIPPED: gcc is not installed, so there is nothing to compare with");
        return Ok(());
    };
    let mut rows = rows(if is_test { 20 } else { 1 })?;
    rows.retain(|row| word.as_ref().is_none_or(|word| row.name.contains(word)));
    let mut others = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let files = ["in", "out"].map(|way| folder.path().join(format!("{index}.{way}")));
        fs::write(&files[0], &row.input)?;
        let mut other = Other::start(&program, &row.words, &files)?;
        other.run()?;
        let found = fs::read(&files[1])?;
        if found != row.output {
            return Err(format!("{}: results are not those of C", row.name).into());
        }
        others.push(other);
    }
    let mut pairs = vec![Vec::new(); rows.len()];
    for _ in 0..runs {
        for ((row, other), pairs) in rows.iter().zip(&mut others).zip(&mut pairs) {
            pairs.push(((row.run)(), other.run()?));
        }
    }
    println!(
        "| kernel | ratio to C, of {runs} pairs: median (range) | ns a piece: here | in C |\n|---|---|---|---|"
    );
    for (row, pairs) in rows.iter().zip(pairs) {
        let sorted = |of: &dyn Fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = pairs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let ratios = sorted(&|(own, other)| own / other);
        let middle = ratios.len() / 2;
        let [own, other] = [sorted(&|pair| pair.0), sorted(&|pair| pair.1)]
            .map(|seconds| seconds[middle] * 1e9 / row.pieces);
        println!(
            "| {} | {:.2} ({:.2} to {:.2}) | {own:.2} | {other:.2} |",
            row.name,
            ratios[middle],
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
    Ok(())
}

/// The program in C, if there is a compiler.
fn compiled(folder: &Path) -> Option<std::path::PathBuf> {
    let program = folder.join("kernels");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/kernels/kernels.c");
    let status = Command::new("gcc")
        .args(["-O3", "-ffp-contract=off", "-o"])
        .args([&program, &source])
        .arg("-lm")
        .status();
    status.ok()?.success().then_some(program)
}

/// A kernel in C: a child process that executes it once for each line of its standard input.
struct Other {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(program: &Path, words: &[String], files: &[std::path::PathBuf; 2]) -> Result<Self> {
        let mut child = Command::new(program)
            .arg(&words[0])
            .args(files)
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("no stdout")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    /// Seconds of a run.
    fn run(&mut self) -> Result<f64> {
        writeln!(self.input.as_ref().ok_or("no stdin")?)?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It ends when its stdin does.
        drop(self.input.take());
        drop(self.child.wait());
    }
}

/// All kernels, with `1 / divisor` of the work.
fn rows(divisor: u64) -> Result<Vec<Row>> {
    let root = f64::from(u32::try_from(divisor)?).sqrt();
    let cubic = f64::from(u32::try_from(divisor)?).cbrt();
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small positive numbers"
    )]
    let part = |length: u32, divisor: f64| (f64::from(length) / divisor) as u32;
    Ok(vec![
        plate(256, 1, 1000 / divisor)?,
        plate(1500, 16, 40 / divisor)?,
        cavity(128, 1, 400 / divisor)?,
        cavity(512, 16, 40 / divisor)?,
        alignment(part(4000, root))?,
        factors(part(1000, cubic))?,
        matrices(part(500, cubic))?,
    ])
}

fn common(processes: u32, supersteps: Option<u64>) -> Common {
    Common {
        processes,
        supersteps,
        seed: 1,
    }
}

/// Seconds of processor time that these processes take.
fn timed<P: Program>(processes: Vec<P>) -> f64 {
    let began = seconds();
    let run = reference::run(processes, Limit::default()).expect("the program halts");
    let took = seconds() - began;
    black_box(run);
    took
}

fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

fn bytes(numbers: &[f64]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_ne_bytes())
        .collect()
}

fn words(kernel: &str, numbers: &[&dyn ToString]) -> Vec<String> {
    let numbers = numbers.iter().map(|number| number.to_string());
    std::iter::once(kernel.to_owned()).chain(numbers).collect()
}

/// C begins with what a plate is after one step.
fn plate(side: u32, processes: u32, steps: u64) -> Result<Row> {
    let parameters = heat::Parameters {
        width: side,
        height: side,
        diffusion: 0.2,
        ..heat::Parameters::default()
    };
    let after = |steps| -> Result<Vec<u8>> {
        let strips = heat::processes(&parameters, common(processes, Some(steps)))?;
        let run = reference::run(strips, Limit::default())?;
        Ok(bytes(&run.outputs.concat()))
    };
    let steps = steps.max(1);
    let strips = heat::processes(&parameters, common(processes, Some(steps)))?;
    Ok(Row {
        name: format!("heat, {side} x {side} cells, strips: {processes}"),
        words: words("heat", &[&side, &side, &steps, &parameters.diffusion]),
        input: after(1)?,
        output: after(steps + 1)?,
        pieces: f64::from(side) * f64::from(side) * steps as f64,
        run: Box::new(move || timed(strips.clone())),
    })
}

fn cavity(side: u32, processes: u32, steps: u64) -> Result<Row> {
    let parameters = lbm::kernel::Parameters {
        width: side,
        height: side,
        relaxation_time: Some(0.7),
        ..lbm::kernel::Parameters::default()
    };
    let steps = steps.max(1);
    let strips = lbm::kernel::processes(&parameters, common(processes, Some(steps)))?;
    let run = reference::run(strips.clone(), Limit::default())?;
    let fields = lbm::kernel::Fields::assemble(run.outputs);
    let places = (0..fields.width()).flat_map(|x| (0..fields.height()).map(move |y| (x, y)));
    let numbers = places.flat_map(|(x, y)| {
        let [east, north] = fields.velocity(x, y);
        [fields.density(x, y), east, north]
    });
    let numbers: Vec<f64> = numbers.collect();
    Ok(Row {
        name: format!("lbm-kernel, {side} x {side} cells, strips: {processes}"),
        words: words("lbm", &[&side, &side, &steps, &0.7, &parameters.velocity]),
        input: Vec::new(),
        output: bytes(&numbers),
        pieces: f64::from(side) * f64::from(side) * steps as f64,
        run: Box::new(move || timed(strips.clone())),
    })
}

/// Two drawn proteins, and BLOSUM62 from the file that the crate's tests compare with.
fn alignment(length: u32) -> Result<Row> {
    use smith_waterman::kernel::{Alignment, Parameters, processes};
    let parameters = Parameters::default();
    let mut lines = BLOSUM62.lines().skip(1);
    let letters = lines
        .next()
        .unwrap_or_default()
        .replace(' ', "")
        .into_bytes();
    let residues = (0..letters.len()).filter(|code| !b"BZX*".contains(&letters[*code]));
    let residues: Vec<usize> = residues.collect();
    let mut state = 1_u32;
    let mut drawn = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::from(state.to_be_bytes()[0]) * below / 256
    };
    let query: Vec<usize> = (0..length).map(|_| residues[drawn(20)]).collect();
    // Three of ten letters are others, and one in a hundred is missing.
    let mut subject = query.clone();
    subject.retain_mut(|letter| {
        if drawn(10) < 3 {
            *letter = residues[drawn(20)];
        }
        drawn(100) != 0
    });
    let sequence = |codes: &[usize]| {
        let text: Vec<u8> = codes.iter().map(|code| letters[*code]).collect();
        let text = [b">one\n", &text[..]].concat();
        Sequence::from_fasta(&text, "query", None, Substitution::Blosum62)
    };
    let (rows, columns) = (query.len(), subject.len());
    let pair = Pair {
        query: sequence(&query)?,
        subject: sequence(&subject)?,
    };
    let processes = processes(&parameters, &pair, common(1, None))?;
    let run = reference::run(processes.clone(), Limit::default())?;
    let alignment = Alignment::assemble(&run.outputs, &pair)?.ok_or("no alignment")?;
    let path = &alignment.path;
    let mut output = Vec::new();
    output.extend(alignment.score.to_ne_bytes());
    for start in [path.query.start, path.subject.start] {
        output.extend(i64::try_from(start)?.to_ne_bytes());
    }
    for (operation, count) in path.operations.iter().rev() {
        let letter = match operation {
            Operation::Equal => b'=',
            Operation::Different => b'X',
            Operation::Insertion => b'I',
            Operation::Deletion => b'D',
        };
        output.extend(std::iter::repeat_n(letter, *count));
    }
    output.resize(24 + rows + columns, 0);
    let codes = query.iter().chain(&subject);
    let mut input = codes
        .map(|code| u8::try_from(*code))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    for row in lines {
        for score in row.split_whitespace().skip(1) {
            input.extend(score.parse::<i8>()?.to_ne_bytes());
        }
    }
    Ok(Row {
        name: format!("smith-waterman-kernel, {rows} x {columns} cells"),
        words: words("smith-waterman", &[&rows, &columns, &11, &1]),
        input,
        output,
        pieces: rows as f64 * columns as f64,
        run: Box::new(move || timed(processes.clone())),
    })
}

const BLOSUM62: &str = include_str!("../src/smith_waterman/kernel/blosum62/others.txt");

fn factors(order: u32) -> Result<Row> {
    let parameters = lu::kernel::Parameters {
        order,
        ..lu::kernel::Parameters::default()
    };
    let matrix = parameters.drawn(1)?;
    let parts = lu::kernel::processes(&parameters, &matrix, common(1, None))?;
    let run = reference::run(parts.clone(), Limit::default())?;
    let factors = lu::kernel::Factors::assemble(&run.outputs)?;
    let side = factors.order();
    let places = (0..side).flat_map(|row| (0..side).map(move |column| (row, column)));
    let permutation = factors.permutation().iter().map(|row| f64::from(*row));
    let elements = places.clone().map(|(i, j)| factors.element(i, j));
    let output: Vec<f64> = elements.chain(permutation).collect();
    let input: Vec<f64> = places.map(|(i, j)| matrix.element(i, j)).collect();
    Ok(Row {
        name: format!("lu-kernel, order {order}"),
        words: words("lu", &[&order]),
        input: bytes(&input),
        output: bytes(&output),
        pieces: f64::from(order).powi(3) / 3.0,
        run: Box::new(move || timed(parts.clone())),
    })
}

fn matrices(order: u32) -> Result<Row> {
    use matrix_product::{Parameters, Side};
    let parameters = Parameters {
        order,
        rows_per_task: order.div_ceil(4),
        ..Parameters::default()
    };
    let [a, b] = [Side::Left, Side::Right].map(|side| parameters.drawn(side, 1));
    let (a, b) = (a?, b?);
    let input: Vec<f64> = [&a, &b].into_iter().flat_map(elements).collect();
    let farm = move || matrix_product::processes(&parameters, (&a, &b), common(2, None));
    let run = reference::run(farm()?, Limit::default())?;
    Ok(Row {
        name: format!("matrix-product, order {order}"),
        words: words("product", &[&order]),
        input: bytes(&input),
        output: bytes(&matrix_product::elements(&run.outputs[0])),
        pieces: f64::from(order).powi(3),
        run: Box::new(move || timed(farm().expect("they have been built before"))),
    })
}

fn elements(matrix: &workloads::Matrix) -> Vec<f64> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    places
        .map(|(row, column)| matrix.element(row, column))
        .collect()
}
