//! What a storage holds, file by file, and what becomes of one that is deleted.

use std::fs;
use std::path::Path;

use lockgate::engine::storage::{
    CheckpointStorage, FileSystemStorage, MemoryStorage, SHARED, StorageError, StreamHandle,
};
use lockgate::model::{BackendKind, CheckpointId};

use crate::support::{CP1, CP2, PLACES, Place, World, files_in, fill, metadata};

fn paths(storage: &dyn CheckpointStorage) -> Vec<String> {
    let files = storage.stored_files().unwrap();
    files.into_iter().map(|file| file.path).collect()
}

/// Two complete checkpoints.
fn filled(kind: BackendKind, place: Place) -> World {
    let mut world = World::new(place);
    let mut backend = world.open(kind);
    fill(&mut backend);
    world.checkpoint(&mut backend, CP1);
    world.checkpoint(&mut backend, CP2);
    world
}

/// Catches a list made from what ought to be there, and a handle whose file is looked for somewhere else.
#[test]
fn every_file_is_listed_and_every_handle_finds_its_own() {
    for kind in BackendKind::ALL {
        for place in PLACES {
            let world = filled(kind, place);
            let storage = &*world.storage;
            let files = storage.stored_files().unwrap();
            if let Some(root) = storage.location() {
                let on_disk = files_in(root).into_iter().map(|file| {
                    let name = file.strip_prefix(root).unwrap().to_str().unwrap();
                    (name.replace('\\', "/"), file.metadata().unwrap().len())
                });
                let listed = files
                    .iter()
                    .map(|file| (file.path.clone(), file.size_bytes));
                assert!(listed.eq(on_disk), "{files:?}");
            }
            for checkpoint in [CP1, CP2] {
                let of_it = files
                    .iter()
                    .filter(|file| file.path.starts_with(&format!("chk-{checkpoint}/")));
                let bytes: u64 = of_it.map(|file| file.size_bytes).sum();
                assert_eq!(bytes, storage.stored_bytes(checkpoint).unwrap());
                let metadata = storage.read_metadata(checkpoint).unwrap();
                for stream in metadata.streams() {
                    let path = storage.path_of(stream);
                    let inline = matches!(stream, StreamHandle::Inline(_));
                    assert_eq!(path.is_none(), inline);
                    let is_there = |path| files.iter().any(|file| file.path == path);
                    assert!(path.is_none_or(is_there), "{stream:?}");
                }
            }
        }
    }
}

/// Catches a deletion that takes a neighbour along, or that a restore does not notice.
#[test]
fn what_is_deleted_is_missed_by_its_name() {
    for kind in BackendKind::ALL {
        for place in PLACES {
            let files = filled(kind, place).storage.stored_files().unwrap();
            for file in files.iter().filter(|file| file.path.starts_with("chk-2/")) {
                let world = filled(kind, place);
                world.storage.delete_stored(&file.path).unwrap();
                let rest = files.iter().filter(|other| *other != file).cloned();
                assert!(world.storage.stored_files().unwrap().into_iter().eq(rest));
                world.storage.verify(CP1).unwrap();
                let error = world.storage.verify(CP2).unwrap_err();
                assert!(error.is_damage(), "{error}");
                let name = file.path.trim_start_matches("chk-2/");
                assert!(
                    error.to_string().contains(name.trim_start_matches('_')),
                    "{error}"
                );
                let again = world.storage.delete_stored(&file.path).unwrap_err();
                assert!(
                    matches!(again, StorageError::NotDeletable { .. }),
                    "{again}"
                );
            }
        }
    }
}

#[test]
fn a_whole_checkpoint_is_deleted_by_its_folder() {
    for kind in BackendKind::ALL {
        for place in PLACES {
            let world = filled(kind, place);
            world.storage.delete_stored("chk-1").unwrap();
            assert_eq!(world.storage.list().unwrap(), [CP2]);
            assert!(
                paths(&*world.storage)
                    .iter()
                    .all(|path| path.starts_with("chk-2/"))
            );
            world.storage.verify(CP2).unwrap();
            assert!(world.storage.delete_stored("chk-1").is_err());
            assert!(world.storage.delete_stored("chk-3").is_err());
        }
    }
}

/// What nobody may delete through a storage.
const HOSTILE: [&str; 22] = [
    "",
    ".",
    "..",
    "/",
    "chk-1/",
    "./chk-1/_metadata",
    "chk-1//_metadata",
    "chk-1/./_metadata",
    "chk-1/../chk-1/_metadata",
    "../treasure",
    "../checkpoints/chk-1/_metadata",
    "../checkpoints/chk-1",
    "chk-1/..",
    "chk-1\\_metadata",
    "chk-01",
    "chk-+1",
    "CHK-1",
    "shared",
    "shared/",
    "treasure",
    "link",
    "chk-1/_metadata\0",
];

/// Everything in a folder, with its content.
fn all_in(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let files = files_in(folder).into_iter();
    files
        .map(|file| (file.clone(), fs::read(file).unwrap()))
        .collect()
}

/// Catches a path that is joined to the folder before it is compared with what is listed there.
#[test]
fn no_path_leads_out_of_the_storage() {
    for place in PLACES {
        let world = filled(BackendKind::Heap, place);
        fs::write(world.path().join("treasure"), "a person's own").unwrap();
        if let Some(root) = world.storage.location() {
            fs::create_dir_all(root.join(SHARED)).unwrap();
            fs::write(root.join("treasure"), "a person's own").unwrap();
        }
        let absolute = world.path().join("treasure");
        let inside = world.checkpoints().join("chk-1").join("_metadata");
        let before = (all_in(world.path()), paths(&*world.storage));
        let absolute = [absolute.to_str().unwrap(), inside.to_str().unwrap()];
        for path in HOSTILE.iter().chain(&absolute) {
            let error = world.storage.delete_stored(path).unwrap_err();
            assert!(
                matches!(error, StorageError::NotDeletable { .. }),
                "{path}: {error}"
            );
            assert_eq!(
                before,
                (all_in(world.path()), paths(&*world.storage)),
                "{path}"
            );
        }
    }
}

/// Catches a walk that follows a link: to a file, to a folder, or in place of a checkpoint's own folder.
#[cfg(unix)]
#[test]
fn no_link_is_followed() {
    use std::os::unix::fs::symlink;
    let world = filled(BackendKind::Heap, Place::Files);
    let elsewhere = world.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("treasure"), "a person's own").unwrap();
    fs::write(elsewhere.join("_metadata"), "a person's own").unwrap();
    let root = world.checkpoints();
    let listed = paths(&*world.storage);
    symlink(elsewhere.join("treasure"), root.join("chk-1/treasure")).unwrap();
    symlink(&elsewhere, root.join("chk-1/folder")).unwrap();
    symlink(&elsewhere, root.join("chk-7")).unwrap();
    symlink(&elsewhere, root.join(SHARED)).unwrap();
    assert_eq!(paths(&*world.storage), listed);
    for path in [
        "chk-1/treasure",
        "chk-1/folder",
        "chk-1/folder/treasure",
        "chk-7",
        "chk-7/treasure",
        "chk-7/_metadata",
        "shared/treasure",
    ] {
        assert!(world.storage.delete_stored(path).is_err(), "{path}");
    }
    assert_eq!(files_in(&elsewhere).len(), 2);
    // With the folder goes the link, and not what it leads to.
    world.storage.delete_stored("chk-1").unwrap();
    assert_eq!(files_in(&elsewhere).len(), 2);
}

/// Left-overs and what is still being written are there, too.
#[test]
fn what_is_not_complete_is_listed_as_what_it_is() {
    let world = World::new(Place::Files);
    let storage = &*world.storage;
    storage.begin(CP1).unwrap();
    assert_eq!(paths(storage), [""; 0]);
    storage.write_stream(CP1, "sum-0", b"four").unwrap();
    let root = world.checkpoints();
    fs::write(root.join("chk-1/.part-state-sum-1"), "half").unwrap();
    fs::create_dir(root.join(".discarded-2")).unwrap();
    fs::write(root.join(".discarded-2/_metadata"), "left over").unwrap();
    let all = [
        ".discarded-2/_metadata",
        "chk-1/.part-state-sum-1",
        "chk-1/state-sum-0",
    ];
    assert_eq!(paths(storage), all);
    for path in all {
        storage.delete_stored(path).unwrap();
    }
    assert_eq!(paths(storage), [""; 0]);
}

/// Streams of a checkpoint in the heap are in nobody's file: what was written is told, and stays in its handle.
#[test]
fn the_heap_tells_of_streams_before_and_of_metadata_after() {
    let storage = MemoryStorage::default();
    storage.begin(CP1).unwrap();
    let handle = storage.write_stream(CP1, "sum-0", b"four").unwrap();
    let files = storage.stored_files().unwrap();
    assert_eq!((files.len(), files[0].size_bytes), (1, 4));
    assert_eq!(files[0].path, "chk-1/state-sum-0");
    let error = storage.delete_stored("chk-1/state-sum-0").unwrap_err();
    assert!(error.to_string().contains("on its way"), "{error}");
    assert_eq!(storage.read_stream(&handle).unwrap(), b"four");
    storage.delete_stored("chk-1").unwrap();
    let late = storage.write_stream(CP1, "sum-1", b"late").unwrap_err();
    assert!(matches!(late, StorageError::NotOpen { .. }), "{late}");
}

/// Catches an opened snapshot that takes a person's other files for its own, or finds nothing under an unusual name.
#[test]
fn an_opened_snapshot_holds_its_own_files_only() {
    let world = filled(BackendKind::Heap, Place::Files);
    let folder = world.checkpoints().join("chk-1");
    fs::write(folder.join("treasure"), "a person's own").unwrap();
    fs::write(folder.join("state-mine"), "a person's own, too").unwrap();
    for root in [folder.clone(), folder.join("..").join("chk-1").join(".")] {
        let (opened, metadata) = FileSystemStorage::open_snapshot(&root).unwrap();
        let files = paths(&opened);
        assert_eq!(files.len(), 2, "{files:?}");
        assert!(
            files.iter().all(|path| path.starts_with("chk-1/")),
            "{files:?}"
        );
        let stream = metadata.streams().find_map(|stream| opened.path_of(stream));
        assert!(files.contains(&stream.unwrap()));
        for path in [
            "chk-1/treasure",
            "chk-1/state-mine",
            "chk-2",
            "chk-2/_metadata",
        ] {
            assert!(opened.delete_stored(path).is_err(), "{path}");
        }
    }
    let (opened, _) = FileSystemStorage::open_snapshot(&folder).unwrap();
    opened.delete_stored("chk-1").unwrap();
    assert_eq!(files_in(&folder).len(), 2);
    assert_eq!(paths(&opened), [""; 0]);
    world.storage.verify(CP2).unwrap();
}

/// A savepoint's folder is named as it is called; where its name is unknown, it gets one.
#[test]
fn a_single_snapshot_is_listed_under_its_own_name() {
    let mut world = World::new(Place::Files);
    let mut backend = world.open(BackendKind::Heap);
    fill(&mut backend);
    let root = world.path().join("savepoint-abc");
    fs::create_dir(&root).unwrap();
    let single = FileSystemStorage::single(&root, 0);
    let id = CheckpointId(5);
    single.begin(id).unwrap();
    let handle = backend
        .snapshot(id)
        .unwrap()
        .write((id, None), "sum-0", &single);
    single
        .write_metadata(&metadata(id, &handle.unwrap()))
        .unwrap();
    let files = paths(&single);
    assert_eq!(files[0], "savepoint-abc/_metadata");
    let unnamed = FileSystemStorage::single(&root.join("..").join("savepoint-abc").join(".."), 0);
    assert!(
        paths(&unnamed)
            .iter()
            .all(|path| path.starts_with("snapshot/"))
    );
    assert!(unnamed.delete_stored("/_metadata").is_err());
    assert!(single.delete_stored("chk-5").is_err());
    single.delete_stored(&files[1]).unwrap();
    assert!(single.verify(id).unwrap_err().is_damage());
    single.delete_stored("savepoint-abc").unwrap();
    assert!(!root.exists());
}

/// Catches a shared file that goes with the checkpoint that wrote it, or that is looked for in its folder.
#[test]
fn a_shared_file_lies_beside_the_checkpoints() {
    let world = World::new(Place::Files);
    let storage = &*world.storage;
    storage.begin(CP1).unwrap();
    let handle = storage
        .write_shared(CP1, "sum-0.000008.sst", b"entries")
        .unwrap();
    let path = storage.path_of(&handle).unwrap();
    assert_eq!(paths(storage), [&*path]);
    assert_eq!(path, "shared/state-sum-0.000008.sst");
    storage.delete_stored("chk-1").unwrap();
    assert_eq!(paths(storage), [&*path]);
    storage.delete_stored(&path).unwrap();
    let error = storage.read_stream(&handle).unwrap_err();
    assert!(matches!(error, StorageError::Missing { .. }), "{error}");
}

/// The real disk refuses at the last moment: where the file should appear, there is a folder. Breaks if what was written
/// by then stays, or if the next one of that name cannot be written.
#[test]
fn a_file_that_cannot_appear_leaves_nothing() {
    let world = World::new(Place::Files);
    let storage = &*world.storage;
    storage.begin(CP1).unwrap();
    let in_the_way = world.checkpoints().join(SHARED).join("state-sum-0");
    fs::create_dir_all(&in_the_way).unwrap();
    let error = storage.write_shared(CP1, "sum-0", b"entries").unwrap_err();
    assert!(matches!(error, StorageError::Io { .. }), "{error}");
    assert_eq!(paths(storage), [""; 0]);
    fs::remove_dir(in_the_way).unwrap();
    let handle = storage.write_shared(CP1, "sum-0", b"entries").unwrap();
    assert_eq!(storage.read_stream(&handle).unwrap(), b"entries");
}

/// Catches a shared file that is forgotten since it could not be removed once: here a folder is in its place, and that
/// is no file.
#[test]
fn a_shared_file_that_cannot_be_removed_is_tried_again() {
    let world = World::new(Place::Files);
    let storage = &*world.storage;
    storage.begin(CP1).unwrap();
    for name in ["sum-0", "sum-1"] {
        storage.write_shared(CP1, name, b"entries").unwrap();
    }
    let file = world.checkpoints().join(SHARED).join("state-sum-0");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let none = std::collections::BTreeSet::new();
    storage.retain_shared(&none, CP2).unwrap_err();
    assert_eq!(paths(storage), [""; 0], "the other one is gone");
    fs::remove_dir(&file).unwrap();
    fs::write(&file, "entries").unwrap();
    storage.retain_shared(&none, CP2).unwrap();
    assert_eq!(paths(storage), [""; 0]);
}
