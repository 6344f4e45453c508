use super::*;

#[test]
fn every_file_of_the_registry_is_read() {
    let all = all().unwrap_or_else(|error| panic!("{error} at {:?}", error.place));
    let mut names: Vec<&str> = all.iter().flat_map(Figure::names).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name twice");
}
