//! What is set for namespaces: it is what was set last, also when the process ends amid that.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::ErrorKind;
use crate::pool::region::Region;
use crate::pool::rule_table::{Rule, RuleTable};
use crate::pool::space_table::{MAX_RULES, RULES_AT, TABLES_END};
use crate::store::tests::crash_points;
use crate::sync::Arc;

fn file() -> Arc<File> {
    let file = File::from(memfd_create("rules", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(TABLES_END).unwrap();
    Arc::new(file)
}

fn table(file: &Arc<File>) -> RuleTable {
    let region = Region::map(&**file, TABLES_END, "a table").unwrap();
    RuleTable::new(Arc::new(region), Arc::clone(file))
}

type Known = BTreeMap<[u8; 32], (bool, Option<u64>)>;

fn known(table: &RuleTable) -> Known {
    let rules = table.all().into_iter();
    rules
        .map(|rule| (rule.namespace, (rule.is_pinned, rule.quota)))
        .collect()
}

/// What the next process reads.
fn read(file: &Arc<File>) -> Known {
    let next = table(file);
    next.read().unwrap();
    known(&next)
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let rule = (0..4_u8, any::<bool>(), any::<Option<u64>>());
    let rule = rule.prop_map(|(namespace, is_pinned, quota)| Rule {
        namespace: [namespace; 32],
        is_pinned,
        quota,
    });
    prop::collection::vec(rule, 1..20)
}

fn apply(known: &mut Known, rule: &Rule) {
    known.remove(&rule.namespace);
    if rule.is_pinned || rule.quota.is_some() {
        known.insert(rule.namespace, (rule.is_pinned, rule.quota));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whenever_the_process_ends_the_next_one_reads_what_was_set_before_or_after(rules in rules()) {
        let file = file();
        let rule_table = Rc::new(table(&file));
        let (mut before, ends) = (Known::new(), Rc::new(RefCell::new(Vec::new())));
        for rule in rules {
            let mut after = before.clone();
            apply(&mut after, &rule);
            let (ends_here, file_here) = (Rc::clone(&ends), Arc::clone(&file));
            let look = move || {
                let copy = self::file();
                let mut bytes = vec![0; MAX_RULES as usize * 64];
                file_here.read_exact_at(&mut bytes, RULES_AT).unwrap();
                copy.write_all_at(&bytes, RULES_AT).unwrap();
                ends_here.borrow_mut().push(read(&copy));
            };
            crash_points::at_each(look, || rule_table.set(&rule)).unwrap();
            for end in ends.take() {
                prop_assert!(end == before || end == after, "{:?} is neither {:?} nor {:?}", end, before, after);
            }
            prop_assert_eq!(&known(&rule_table), &after);
            prop_assert_eq!(&read(&file), &after);
            before = after;
        }
    }

    #[test]
    fn a_rule_with_any_bit_changed_is_passed_over(quota in any::<u64>(), at in 0..64_u64, bit in 0..8) {
        let file = file();
        let rules = [1_u8, 2].map(|byte| Rule {
            namespace: [byte; 32],
            is_pinned: true,
            quota: Some(quota),
        });
        let first = table(&file);
        rules.iter().for_each(|rule| first.set(rule).unwrap());
        let mut byte = [0];
        file.read_exact_at(&mut byte, RULES_AT + at).unwrap();
        file.write_all_at(&[byte[0] ^ 1_u8 << bit], RULES_AT + at).unwrap();
        prop_assert_eq!(read(&file), Known::from([([2; 32], (true, Some(quota)))]));
    }
}

#[test]
fn more_rules_than_there_are_entries_are_refused_with_a_remedy() {
    let table = table(&file());
    let rule = |number: u32| {
        let mut namespace = [0; 32];
        namespace[..4].copy_from_slice(&number.to_le_bytes());
        Rule {
            namespace,
            is_pinned: true,
            quota: None,
        }
    };
    (0..MAX_RULES).for_each(|number| table.set(&rule(number)).unwrap());
    let error = table.set(&rule(MAX_RULES)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.message().contains("unpin"), "{error}");
    let unpinned = Rule {
        is_pinned: false,
        ..rule(0)
    };
    table.set(&unpinned).unwrap();
    table.set(&rule(MAX_RULES)).unwrap();
    assert_eq!(table.all().len(), MAX_RULES as usize);
}
