use super::*;

fn found(variables: &[(&str, &str)]) -> Result<Vec<Component>, Problem> {
    components(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

#[track_caller]
fn check(variables: &[(&str, &str)], expect: &[(&str, u32)]) {
    let components = found(variables).unwrap();
    let [component] = &components[..] else {
        panic!("{components:?}");
    };
    let hosts = component.hosts.iter();
    let hosts: Vec<(&str, u32)> = hosts.map(|(name, slots)| (name.as_str(), *slots)).collect();
    assert_eq!(hosts, expect);
}

#[test]
fn without_slurm_there_are_no_hosts() {
    assert_eq!(found(&[]), Ok(vec![]));
    assert_eq!(found(&[(PROCESSORS, "4")]), Ok(vec![]));
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
fn the_shell_of_salloc_has_all_hosts_of_the_job() {
    let shell = [
        (STEP, "n1"),
        ("SLURM_STEP_NUM_NODES", "1"),
        ("SLURM_STEP_ID", "4294967290"),
        (JOB, "n[1-3]"),
        (PROCESSORS, "4,8,16"),
        (TASKS, "1(x3)"),
    ];
    check(&shell, &[("n1", 4), ("n2", 8), ("n3", 16)]);
    let step = (STEP, "n[2-3]");
    check(&[step, (TASKS, "2(x2)")], &[("n2", 2), ("n3", 2)]);
}

#[test]
fn a_step_on_other_hosts_than_its_job_is_passed_over() {
    let passed = |variables: &[(&str, &str)]| {
        passed_step(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    let job = (JOB, "n[1-3]");
    assert_eq!(passed(&[job]), None);
    assert_eq!(passed(&[job, (STEP, "n[1,3,2]")]), None);
    let expect = |step: &str, is_shell| {
        let (job, step) = ("n[1-3]".to_owned(), step.to_owned());
        Some(PassedStep {
            job,
            step,
            is_shell,
        })
    };
    assert_eq!(
        passed(&[job, (STEP, "n1"), (STEP_ID, SHELL)]),
        expect("n1", true)
    );
    let inside = [job, (STEP, "n[2-3]"), (STEP_ID, "0")];
    assert_eq!(passed(&inside), expect("n[2-3]", false));
    assert_eq!(passed(&[&inside[..], &[(HET_SIZE, "2")]].concat()), None);
}

#[test]
fn each_component_of_a_heterogeneous_job_has_its_hosts() {
    let job = [
        (HET_SIZE, "2"),
        (JOB, "n[1-2]"),
        (PROCESSORS, "4(x2)"),
        ("SLURM_JOB_NODELIST_HET_GROUP_0", "n[1-2]"),
        ("SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0", "4(x2)"),
        ("SLURM_JOB_NODELIST_HET_GROUP_1", "gpu3"),
        ("SLURM_TASKS_PER_NODE_HET_GROUP_1", "8"),
    ];
    let components = found(&job).unwrap();
    let hosts = |number: usize| &components[number].hosts[..];
    assert_eq!(components.len(), 2);
    assert_eq!(hosts(0), [("n1".to_owned(), 4), ("n2".to_owned(), 4)]);
    assert_eq!(hosts(1), [("gpu3".to_owned(), 8)]);
    assert_eq!(components[1].number, Some(1));
    let (variable, problem) = found(&job[..5]).unwrap_err();
    assert_eq!(variable, "SLURM_JOB_NODELIST_HET_GROUP_1");
    assert!(problem.starts_with("is not set, expected"), "{problem}");
    for size in ["0", "-1", "two", "99999"] {
        let (variable, _) = found(&[(HET_SIZE, size)]).unwrap_err();
        assert_eq!(variable, HET_SIZE);
    }
    check(&[(HET_SIZE, "1"), (JOB, "n1")], &[("n1", 1)]);
}

#[test]
fn numbers_are_about_as_many_hosts() {
    let problem = "\"4(x3)\" is about 3 hosts, expected 2".to_owned();
    let found = found(&[(JOB, "n[1-2]"), (PROCESSORS, "4(x3)")]);
    assert_eq!(found, Err((PROCESSORS.to_owned(), problem)));
}
