//! Torn, altered, missing and foreign files are refused: never other data, never a panic.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use lockgate::engine::storage::StorageError;
use lockgate::model::BackendKind;

use crate::support::{CP1, CP2, Place, World, files_in, fill};

/// A world with checkpoint 1, and the files that it consists of.
fn stored(kind: BackendKind, place: Place) -> (World, Vec<PathBuf>) {
    let mut world = World::new(place);
    let mut backend = world.open(kind);
    fill(&mut backend);
    world.checkpoint(&mut backend, CP1);
    let files = files_in(&world.checkpoints());
    (world, files)
}

/// The checkpoint is refused for damage to `file`, in words that name it.
fn assert_refused(world: &World, file: &Path, what: &str) {
    let error = world.storage.verify(CP1).expect_err(what);
    assert!(error.is_damage(), "{what}: {error}");
    let sentence = error.to_string();
    assert!(sentence.contains(&file.display().to_string()), "{sentence}");
    assert!(
        sentence.contains("ake another checkpoint or savepoint"),
        "{sentence}"
    );
}

/// Catches: a checksum or length that is not compared, a header field that no check covers, a decoder that panics.
#[test]
fn any_flipped_byte_and_any_cut_of_any_file_is_refused() {
    for kind in BackendKind::ALL {
        for place in [Place::Files, Place::InlineFiles] {
            let (world, files) = stored(kind, place);
            for file in &files {
                let good = fs::read(file).unwrap();
                // In place: to write a file anew for each byte would wait for the disk each time.
                let mut open = OpenOptions::new().write(true).open(file).unwrap();
                let mut put = |at: usize, bytes: &[u8]| {
                    open.seek(SeekFrom::Start(at as u64)).unwrap();
                    open.write_all(bytes).unwrap();
                };
                for at in 0..good.len() {
                    put(at, &[good[at] ^ (1 << (at % 8))]);
                    assert_refused(&world, file, &format!("byte {at} of {}", file.display()));
                    put(at, &good[at..=at]);
                }
                put(good.len(), b"x");
                assert_refused(&world, file, "a byte too many");
                for length in (0..good.len()).rev() {
                    open.set_len(length as u64).unwrap();
                    assert_refused(&world, file, &format!("cut {length} of {}", file.display()));
                }
                fs::write(file, &good).unwrap();
            }
            world.storage.verify(CP1).unwrap();
        }
    }
}

/// Catches a restore that reads files past their handles.
#[test]
fn a_restore_refuses_what_verify_refuses() {
    for kind in BackendKind::ALL {
        let (mut world, files) = stored(kind, Place::Files);
        let metadata = world.storage.read_metadata(CP1).unwrap();
        let handle = metadata.operators[1].subtasks[0].keyed.clone().unwrap();
        for file in files.iter().filter(|file| !file.ends_with("_metadata")) {
            let good = fs::read(file).unwrap();
            let mut bad = good.clone();
            bad[good.len() / 2] ^= 4;
            for bad in [&bad[..], &good[..good.len() - 1], &[]] {
                fs::write(file, bad).unwrap();
                let error = world.restore(kind, &handle).unwrap_err();
                assert!(
                    error.to_string().contains("Take another checkpoint"),
                    "{error}"
                );
            }
            fs::write(file, &good).unwrap();
        }
        world.restore(kind, &handle).unwrap();
    }
}

#[test]
fn a_missing_file_is_named() {
    for kind in BackendKind::ALL {
        let (world, files) = stored(kind, Place::Files);
        assert!(files.len() > 1);
        for file in &files {
            let good = fs::read(file).unwrap();
            fs::remove_file(file).unwrap();
            assert_refused(&world, file, "missing");
            let error = world.storage.verify(CP1).unwrap_err();
            assert!(matches!(error, StorageError::Missing { .. }));
            fs::write(file, good).unwrap();
        }
    }
}

/// Catches metadata that does not say whose it is.
#[test]
fn files_of_another_checkpoint_are_refused() {
    let mut world = World::new(Place::Files);
    let mut backend = world.open(BackendKind::Heap);
    fill(&mut backend);
    world.checkpoint(&mut backend, CP1);
    fill(&mut backend);
    world.checkpoint(&mut backend, CP2);

    for file in files_in(&world.checkpoints().join("chk-1")) {
        let good = fs::read(&file).unwrap();
        let name = file.file_name().unwrap();
        fs::copy(world.checkpoints().join("chk-2").join(name), &file).unwrap();
        assert_refused(&world, &file, "another checkpoint's");
        fs::write(&file, good).unwrap();
    }
    world.storage.verify(CP1).unwrap();
}

/// Catches a checkpoint that counts before its metadata is there, and names that only look like a checkpoint's.
#[test]
fn half_written_and_foreign_folders_are_not_listed() {
    let (world, _) = stored(BackendKind::Heap, Place::Files);
    world.storage.begin(CP2).unwrap();
    world
        .storage
        .write_stream(CP2, "sum-0", b"some state")
        .unwrap();
    fs::write(
        world.checkpoints().join("chk-2").join(".part-_metadata"),
        "half",
    )
    .unwrap();
    for foreign in ["chk-03", "chk-+4", "chk-", "chk-5x", "shared"] {
        let folder = world.checkpoints().join(foreign);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("_metadata"), "").unwrap();
    }
    assert_eq!(world.storage.list().unwrap(), [CP1]);
    let error = world.storage.verify(CP2).unwrap_err();
    assert!(matches!(error, StorageError::Missing { .. }), "{error}");
}
