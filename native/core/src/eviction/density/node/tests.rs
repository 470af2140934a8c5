use super::{Class, NONE, Nodes, Place};
use crate::index::BlockId;

#[test]
fn children_are_counted_up_to_the_most_and_change_nothing_else() {
    let mut nodes = Nodes::default();
    let token = nodes.insert(BlockId(7), Class::UNANNOUNCED, 3);
    let node = nodes.get_mut(token).unwrap();
    node.set_place(Place::Inner);
    while node.has_room() {
        node.add_child();
    }
    assert_eq!(node.children(), (1 << 22) - 1);
    assert_eq!(
        (node.class(), node.place(), node.parent),
        (Class::UNANNOUNCED, Place::Inner, NONE)
    );
    node.remove_child();
    assert!(node.has_room());
}
