use super::*;

fn parse(text: &str) -> Result<Vec<Member>, String> {
    let hosts = super::parse(text, "hosts").map_err(|failure| failure.to_string())?;
    Ok(hosts.members)
}

#[track_caller]
fn fails(text: &str, expect: &str) {
    assert_eq!(parse(text).unwrap_err(), expect);
}

fn member(name: &str, set: &str, slots: u32) -> Member {
    Member {
        name: name.to_owned(),
        set: set.to_owned(),
        slots,
        speed: 1.0,
        address: format!("{name}:7447"),
    }
}

#[test]
fn a_hostfile_of_open_mpi_is_read() {
    let text = "# nodes\n\naa slots=2 max_slots=4 # two\n  bb slots = 3\r\ncc max-slots=4\ndd\n";
    let cluster = parse(text).unwrap();
    let expect = [
        member("aa", "cluster", 2),
        member("bb", "cluster", 3),
        member("cc", "cluster", 4),
        member("dd", "cluster", 1),
    ];
    assert_eq!(cluster, expect);
    let slots = cluster.iter().map(|member| member.slots);
    assert_eq!(slots.sum::<u32>(), 10);
}

#[test]
fn open_mpi_has_other_comments_and_words() {
    let text = "// a comment\n\"node-1\" slots=2   /* quoted name,\n block comment */\nnode-2 cpu=2\n\
                node-3 count=1 max_count=2\nnode-4 cpu-max=\"3\"\n";
    let cluster = parse(text).unwrap();
    let expect = [
        member("node-1", "cluster", 2),
        member("node-2", "cluster", 2),
        member("node-3", "cluster", 1),
        member("node-4", "cluster", 3),
    ];
    assert_eq!(cluster, expect);
}

#[test]
fn ranges_of_hosts_keep_their_zeros() {
    let cluster = parse("n-09..10 slots=2 set=a\n").unwrap();
    assert_eq!(cluster, [member("n-09", "a", 2), member("n-10", "a", 2)]);
    fails(
        "a\nn-1..2 addr=h:1",
        "hosts:2: addr: one address of several hosts; give each a line of its own",
    );
    let error = parse("n-1..02").unwrap_err();
    let expect =
        "hosts:1: invalid value `n-1..02` for `range of names`: must be the first and last number";
    assert!(error.starts_with(expect), "{error}");
}

#[test]
fn what_open_mpi_reads_and_has_no_meaning_here_is_refused_with_the_remedy() {
    fails(
        "node-1:2",
        "hosts:1: node-1:2 has a colon; slots are written as `node-1 slots=2`, and a port as `node-1 addr=node-1:2`",
    );
    fails(
        "me@node-1",
        "hosts:1: the user of me@node-1 is for ssh, by which nothing is started here; leave `me@` out: `node-1`",
    );
    fails(
        "^node-1",
        "hosts:1: `^` excludes node-1 in Open MPI; leave the line out, or comment it",
    );
    fails(
        "+n0",
        "hosts:1: +n0 is a host of a resource manager in Open MPI; must be the name of a host",
    );
    fails(
        "rank 0=node-1 slot=0",
        "hosts:1: a line of a rankfile; `placement` of the experiment says where processes begin",
    );
    fails(
        "a /* b */ slots=2",
        "hosts:1: `slots` without a host before it; a line begins with a host, and `/*` ends one",
    );
    fails(
        "a username=me",
        "hosts:1: unknown key `username`; it is for ssh in Open MPI, by which nothing is started here; leave it out",
    );
    fails(
        "a port=22",
        "hosts:1: unknown key `port`; it is that of ssh in Open MPI, by which nothing is started here; the port of a \
         node is in `addr=HOST:PORT`",
    );
    fails("a\nb /* c\n", "hosts:2: the comment after `/*` has no `*/`");
    fails("a \"b", "hosts:1: a quote is not closed in its line");
}

#[test]
fn a_host_on_several_lines_has_the_slots_of_all() {
    let cluster = parse("aa slots=2 speed=2\nbb\naa\naa slots=3 set=cluster speed=2.0\n").unwrap();
    let expect = [
        Member {
            speed: 2.0,
            ..member("aa", "cluster", 6)
        },
        member("bb", "cluster", 1),
    ];
    assert_eq!(cluster, expect);
    for (line, key) in [
        ("set=a", "set"),
        ("speed=3", "speed"),
        ("addr=aa:1", "addr"),
    ] {
        let expect = format!(
            "hosts:2: aa has another `{key}` in line 1; a host that is mentioned again may get more \
             slots, but stays what it is"
        );
        fails(&format!("aa slots=2\naa {line}"), &expect);
    }
}

#[test]
fn members_stand_set_by_set() {
    let text = "x set=fast\ny set=slow speed=0.5\nz set=fast addr=[::1]:7000\nw addr=10.0.0.7\n";
    let cluster = parse(text).unwrap();
    let expect = [
        member("x", "fast", 1),
        Member {
            address: "[::1]:7000".to_owned(),
            ..member("z", "fast", 1)
        },
        Member {
            speed: 0.5,
            ..member("y", "slow", 1)
        },
        Member {
            address: "10.0.0.7:7447".to_owned(),
            ..member("w", "cluster", 1)
        },
    ];
    assert_eq!(cluster, expect);
}

#[test]
fn a_fault_is_named_with_its_line() {
    fails(
        "",
        "hosts: no host; a line is `node-1 slots=4`, and `pool=yes` is for hosts that join",
    );
    fails(
        "a\nb slot=4",
        "hosts:2: unknown key `slot`; did you mean `slots`?",
    );
    fails(
        "a gravity=1",
        "hosts:1: unknown key `gravity`; known here: `slots`, `max_slots`, `set`, `speed`, `addr`, `pool`",
    );
    fails(
        "a slots",
        "hosts:1: `slots` without a value, must be `slots=…`",
    );
    fails(
        "a slots==4",
        "hosts:1: `slots` without a value, must be `slots=…`",
    );
    fails(
        "a slots=0",
        "hosts:1: slots: invalid value \"0\", must be a number from 1 on",
    );
    fails(
        "a slots=-1",
        "hosts:1: slots: invalid value \"-1\", must be a number from 1 on",
    );
    fails(
        "a slots=1 slots=2",
        "hosts:1: slots: said twice in one line",
    );
    fails(
        "a slots=4 max_slots=2",
        "hosts:1: slots: 4 is above max_slots, which is 2",
    );
    for speed in ["0", "-1", "inf", "NaN", "2.5Ginstr/s"] {
        let expect = format!(
            "hosts:1: speed: invalid value {speed:?}, must be a factor above zero, without a unit: 1.7 for \
             1.7 times what is measured"
        );
        fails(&format!("a speed={speed}"), &expect);
    }
    fails(
        "a addr=b:7000\nc addr=b:7000",
        "hosts:2: the address b:7000 is that of line 1 already; must be one per host, as in \
         `addr=HOST:PORT`",
    );
    let two = format!("a slots={}\nb", u32::MAX);
    fails(&two, "hosts:2: more than 4294967295 slots in all");
    assert!(
        parse("a set=x/y")
            .unwrap_err()
            .starts_with("hosts:1: set: invalid value \"x/y\"")
    );
    assert!(
        parse("a addr=b:x")
            .unwrap_err()
            .starts_with("hosts:1: addr: port \"x\"")
    );
}

#[test]
fn a_host_needs_a_name_that_a_certificate_can_say() {
    let error = parse("Node_1").unwrap_err();
    assert!(
        error.starts_with("hosts:1: invalid name \"Node_1\": must be lower-case"),
        "{error}"
    );
    fails(
        "10.0.0.7 slots=2",
        "hosts:1: 10.0.0.7 is an address; give the host a name: `node-1 addr=10.0.0.7`",
    );
    fails(
        "::1",
        "hosts:1: ::1 is an address; give the host a name: `node-1 addr=[::1]`",
    );
}

#[test]
fn slurm_describes_a_cluster() {
    let slurm = |list: &'static str| {
        ResourceManager::Slurm.hosts(move |name| match name {
            "SLURM_JOB_NODELIST" => Some(list.to_owned()),
            "SLURM_JOB_CPUS_PER_NODE" => Some("4(x2)".to_owned()),
            _ => None,
        })
    };
    let cluster = slurm("n[01-02]").unwrap().unwrap();
    assert_eq!(
        cluster,
        [member("n01", "cluster", 4), member("n02", "cluster", 4)]
    );
    let cluster = slurm("Rack_[1-2]").unwrap().unwrap();
    let named = |name: &str, address: &str| Member {
        address: address.to_owned(),
        ..member(name, "cluster", 4)
    };
    let expected = [
        named("rack-1", "Rack_1:7447"),
        named("rack-2", "Rack_2:7447"),
    ];
    assert_eq!(cluster, expected);
    for (list, problem) in [
        ("n[01-02", "ends too early"),
        ("n1,n1", "n1 twice, expected each host once"),
        ("N1,n1", "N1 and n1 would both be node n1"),
        ("n1-,n2", "invalid name \"n1-\""),
    ] {
        let error = slurm(list).unwrap_err();
        assert!(matches!(error, Failure::Usage(_)), "{error:?}");
        let expect = format!("environment SLURM_JOB_NODELIST: {problem}");
        assert!(error.to_string().starts_with(&expect), "{error}");
    }
    for manager in ResourceManager::ALL {
        assert_eq!(manager.hosts(|_| None).unwrap(), None);
    }
}

#[test]
fn the_components_of_a_heterogeneous_job_are_sets() {
    let hosts = ResourceManager::Slurm.hosts(|name| {
        let value = match name {
            "SLURM_HET_SIZE" => "2",
            "SLURM_JOB_NODELIST" | "SLURM_JOB_NODELIST_HET_GROUP_0" => "n[1-2]",
            "SLURM_JOB_NODELIST_HET_GROUP_1" => "n3",
            "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0" => "2(x2)",
            "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1" => "8",
            _ => return None,
        };
        Some(value.to_owned())
    });
    let expected = [
        member("n1", "group-0", 2),
        member("n2", "group-0", 2),
        member("n3", "group-1", 8),
    ];
    assert_eq!(hosts.unwrap().unwrap(), expected);
}

#[test]
fn node_files_have_a_line_for_each_slot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes");
    let hosts = |manager: ResourceManager, of: &'static str, text: &str| {
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap().to_owned();
        manager.hosts(move |name| (name == of).then(|| path.clone()))
    };
    let text = "n1.lab\nn1.lab\nN2\n\n";
    let expected = [
        member("n1.lab", "cluster", 2),
        Member {
            address: "N2:7447".to_owned(),
            ..member("n2", "cluster", 1)
        },
    ];
    for (manager, of) in [
        (ResourceManager::Pbs, "PBS_NODEFILE"),
        (ResourceManager::Oar, "OAR_NODEFILE"),
    ] {
        assert_eq!(hosts(manager, of, text).unwrap().unwrap(), expected);
        assert_eq!(hosts(manager, of, "\n").unwrap(), None);
        let error = hosts(manager, of, "n1\nn 2\n").unwrap_err().to_string();
        assert!(error.contains("nodes:2: invalid name"), "{error}");
    }
}

#[test]
fn the_hostfile_of_the_guide_is_read() {
    let guide = include_str!("../../../docs/guide/cluster.md");
    let (_, rest) = guide.split_once("```hostfile\n").unwrap();
    let cluster = parse(rest.split("```").next().unwrap()).unwrap();
    let expect = [
        member("node-1", "blue", 4),
        Member {
            speed: 0.5,
            ..member("node-2", "blue", 4)
        },
        Member {
            address: "10.0.0.3:7447".to_owned(),
            ..member("node-3", "green", 1)
        },
        Member {
            address: "[fd00::4]:7000".to_owned(),
            ..member("node-4", "green", 2)
        },
    ];
    assert_eq!(cluster, expect);
}

#[test]
fn hosts_of_the_pool_are_no_members() {
    let text = "a set=x\nb slots=2 set=y pool=yes\nc set=y pool=no\nd set=z pool=yes\n";
    let hosts = super::parse(text, "hosts").unwrap();
    let names = |members: &[Member]| -> Vec<String> {
        members.iter().map(|member| member.name.clone()).collect()
    };
    assert_eq!(names(&hosts.members), ["a", "c"]);
    assert_eq!(names(&hosts.pool), ["b", "d"]);
    assert_eq!(hosts.pool[0].slots, 2);
    let error = parse("a pool=yes\n").unwrap_err();
    assert!(
        error.contains("`pool=yes` is for hosts that join"),
        "{error}"
    );
    let error = parse("a pool=maybe\n").unwrap_err();
    assert!(
        error.ends_with("pool: `maybe` must be `yes` or `no`"),
        "{error}"
    );
}
