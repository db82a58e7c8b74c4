use super::*;

/// The hosts and slots of an environment.
fn hosts_of(variables: &[(&str, &str)]) -> Result<Option<Hosts>, Problem> {
    hosts(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

#[track_caller]
fn check(variables: &[(&str, &str)], expect: &[(&str, u32)]) {
    let found = hosts_of(variables).unwrap().unwrap().list;
    let found: Vec<(&str, u32)> = found
        .iter()
        .map(|(name, slots)| (name.as_str(), *slots))
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn without_slurm_there_are_no_hosts() {
    assert_eq!(hosts_of(&[]), Ok(None));
    assert_eq!(hosts_of(&[(PROCESSORS, "4")]), Ok(None));
}

#[test]
fn slots_are_processors_else_tasks_else_one() {
    let (list, tasks, processors) = ((JOB, "n[1-3]"), (TASKS, "1(x3)"), (PROCESSORS, "72(x2),36"));
    check(
        &[list, tasks, processors],
        &[("n1", 72), ("n2", 72), ("n3", 36)],
    );
    check(&[list, tasks], &[("n1", 1), ("n2", 1), ("n3", 1)]);
    check(&[list], &[("n1", 1), ("n2", 1), ("n3", 1)]);
}

#[test]
fn a_step_has_its_part_of_the_job() {
    let step = (STEP, "n[2-3]");
    let job = [step, (JOB, "n[1-3]"), (PROCESSORS, "4,8,16")];
    check(&job, &[("n2", 8), ("n3", 16)]);
    check(&[step, (TASKS, "2(x2)")], &[("n2", 2), ("n3", 2)]);
}

#[test]
fn numbers_are_about_as_many_hosts() {
    let problem = "\"4(x3)\" is about 3 hosts, expected 2".to_owned();
    let found = hosts_of(&[(JOB, "n[1-2]"), (PROCESSORS, "4(x3)")]);
    assert_eq!(found, Err((PROCESSORS, problem)));
}

#[test]
fn hosts_have_names_of_their_own() {
    let found = hosts_of(&[(JOB, "n1,n1")]);
    let problem = "n1 twice, expected each host once".to_owned();
    assert_eq!(found, Err((JOB, problem)));
    let (variable, problem) = hosts_of(&[(STEP, "Tux[1-2]")]).unwrap_err();
    assert_eq!(variable, STEP);
    assert!(
        problem.starts_with("invalid name \"Tux1\": must be lower-case"),
        "{problem}"
    );
}
