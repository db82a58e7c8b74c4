//! Local alignment of real sequences.

use settings::Files;
use workloads::smith_waterman::kernel::{
    Alignment, Pair, Parameters, Part, Sequence, SequenceError, SmithWaterman, processes,
};

use crate::outputs::OutputFile;
use crate::workload::{Common, Rejection, Supersteps, Unbuilt, Workload};

/// The best local alignment of two sequences, by columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmithWatermanKernel;

impl Workload for SmithWatermanKernel {
    type Parameters = Parameters;
    type Program = SmithWaterman;
    const NAME: &'static str = "smith-waterman-kernel";
    const ABOUT: &'static str = "the best local alignment of two sequences, by columns";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn draws(parameters: &Parameters) -> bool {
        parameters.query.is_none()
    }

    fn build(parameters: &Parameters, common: Common) -> Result<Vec<SmithWaterman>, String> {
        Self::build_from(parameters, common, Files::here()).map_err(|unbuilt| unbuilt.to_string())
    }

    fn build_from(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<Vec<SmithWaterman>, Unbuilt> {
        let pair = pair(parameters, common.seed, files)?;
        Ok(processes(parameters, &pair, common).map_err(|error| error.to_string())?)
    }

    fn verify(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Part],
    ) -> Result<Option<String>, Rejection> {
        let pair = pair(parameters, common.seed, files)
            .map_err(|unbuilt| Rejection::Input(unbuilt.to_string()))?;
        let Some(alignment) = assemble(outputs, &pair)? else {
            return Ok(Some(NOTHING.to_owned()));
        };
        let scoring = parameters
            .scoring()
            .map_err(|error| Rejection::Input(error.to_string()))?;
        let (score, worth) = (alignment.score, alignment.rescore(&pair, &scoring));
        if score == worth {
            Ok(Some(alignment.to_string()))
        } else {
            let problem = format!("the alignment is worth {worth}, and its score is {score}");
            Err(Rejection::Outputs(problem))
        }
    }

    /// `alignment.txt`: the sentence about it, and its letters beside each other.
    fn files(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Part],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let pair = pair(parameters, common.seed, files)
            .map_err(|unbuilt| Rejection::Input(unbuilt.to_string()))?;
        let text = match assemble(outputs, &pair)? {
            None => NOTHING.to_owned() + "\n",
            Some(alignment) => {
                let letters = alignment.letters(&pair, parameters.scoring);
                format!("{alignment}\n\n{letters}")
            }
        };
        Ok(vec![OutputFile::new("alignment.txt", text)])
    }
}

/// The statement about sequences without an alignment.
const NOTHING: &str = "no alignment: no two letters score more than 0";

/// The alignment of `pair` that processes have output.
fn assemble(outputs: &[Part], pair: &Pair) -> Result<Option<Alignment>, Rejection> {
    Alignment::assemble(outputs, pair)
        .map_err(|misfit| Rejection::output(misfit.process.index(), misfit.problem))
}

/// The sequences in the files that are named, or drawn ones.
fn pair(parameters: &Parameters, seed: u64, files: Files<'_>) -> Result<Pair, Unbuilt> {
    let Parameters {
        query,
        subject,
        query_record,
        subject_record,
        ..
    } = parameters;
    let read = |key, file: &str, record: &Option<String>| {
        let text = files.read(key, file)?;
        let sequence = Sequence::from_fasta(&text, key, record.as_deref(), parameters.scoring);
        sequence.map_err(|error| {
            let problem = format!("`{key}`: {} {error}", files.path(key, file).display());
            match error {
                // The parameter selects the record.
                SequenceError::Several { .. } | SequenceError::NoSuchRecord { .. } => {
                    Unbuilt::Parameter(problem)
                }
                _ => Unbuilt::File(problem),
            }
        })
    };
    match (query, subject) {
        (Some(query), Some(subject)) => Ok(Pair {
            query: read("query", query, query_record)?,
            subject: read("subject", subject, subject_record)?,
        }),
        (Some(_), None) => Err(lacks("query", "subject").into()),
        (None, Some(_)) => Err(lacks("subject", "query").into()),
        (None, None) if query_record.is_some() => Err(lacks("query_record", "query").into()),
        (None, None) if subject_record.is_some() => Err(lacks("subject_record", "subject").into()),
        (None, None) => Ok(parameters.drawn(seed).map_err(|error| error.to_string())?),
    }
}

fn lacks(set: &str, missing: &str) -> String {
    format!("`{set}` is set, but `{missing}` is not; name two files, or none to have both drawn")
}
