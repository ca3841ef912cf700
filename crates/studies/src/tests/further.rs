//! Runs that a study adds, and those that another one has made.

use super::*;

#[test]
fn seeds_are_added_until_a_column_is_known_well_enough() {
    let text = STUDY.replace(
        "repeat = { seeds = 2 }",
        "repeat = { seeds = 2, until = { column = \"write_amplification\", half_width = \"0.0001 %\", at_most = 4 } }",
    );
    let store = Store::in_memory();
    let planned = |text: &str| {
        let plan = plan(&study(text), &store, "program").expect("a plan");
        (plan.runs, plan.further, plan.done)
    };
    let loose = text.replace("0.0001 %", "1000 %");
    assert_eq!([planned(&text), planned(&loose)], [(12, 12, 0); 2], "nothing is known of the means");
    assert!(done(&study(&loose), &store).rows.iter().all(|row| row.seeds() == 2));
    assert_eq!(planned(&loose), (12, 0, 12));
    assert_eq!(planned(&text), (18, 6, 12), "a third seed for each, and perhaps a fourth");
    let table = done(&study(&text), &store);
    assert!(table.rows.iter().all(|row| row.seeds() == 4), "no mean is known as well as that");
    assert_eq!(planned(&text), (24, 0, 24));
}

#[test]
fn a_trial_of_a_search_adds_seeds_as_a_study_does() {
    let study = study(&STUDY.replace(
        "repeat = { seeds = 2 }",
        "repeat = { seeds = 2, until = { column = \"write_amplification\", half_width = \"0.0001 %\", at_most = 3 } }",
    ));
    let at = done(&study, &Store::in_memory()).rows[0].at.clone();
    let tried =
        crate::run_at(&study, &[at], &Store::in_memory(), "program", &progress(&AtomicBool::new(false)))
            .expect("it runs");
    let crate::CombinationResult::Row(row) = &tried[0] else { panic!("{tried:?}") };
    assert_eq!(row.seeds(), 3);
}

#[test]
fn a_run_that_another_study_made_has_the_varied_keys_of_this_one() {
    let store = Store::in_memory();
    done(&study(STUDY), &store);
    let greedy = STUDY
        .replace("preset = \"tiny\"", "preset = \"tiny\"\ndevice.ftl.gc.victim.policy = \"greedy\"")
        .replace(
            "\"ftl.gc.victim.policy\"\nvalues = [\"greedy\", \"fifo\"]",
            "\"workload.requests\"\nvalues = [2000, 1000]",
        );
    let narrow = study(&greedy);
    assert_eq!(plan(&narrow, &store, "program").expect("a plan").done, 6, "half of the runs");
    let columns = done(&narrow, &store).run_columns();
    let requests = columns.iter().find(|column| column.name == "workload.requests").expect("it is varied");
    let wanted = [2_000.0, 2_000.0, 1_000.0, 1_000.0].repeat(3);
    assert_eq!(requests.values, crate::ColumnValues::Amounts(wanted));
}
