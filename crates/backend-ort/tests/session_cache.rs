//! Sessions from the cache give the same bits as those made anew, and nothing that happens to the folder is an error.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use millstream_backend::{Backend, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend, SessionCache, SessionSettings};
use millstream_board::Processor;
use millstream_graph::{DataType, Value};
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

fn backend(model: &Arc<Model>) -> OrtBackend {
    OrtBackend::new(&Environment::load().unwrap(), Arc::clone(model))
}

fn cached(model: &Arc<Model>, folder: &Path) -> OrtBackend {
    backend(model).with_cache(SessionCache::new(folder))
}

fn input(value: &Value) -> Tensor {
    let shape = value.shape.clone().unwrap();
    let count = shape.elements() as usize;
    match value.data_type.unwrap() {
        DataType::I64 => Tensor::from_i64(shape, (0..count).map(|index| (index * 37 % 101) as i64).collect()),
        DataType::F32 => {
            Tensor::from_f32(shape, (0..count).map(|index| ((index * 37 % 101) as f32 - 50.0) / 50.0).collect())
        }
        other => Tensor::from_bytes(other, shape, (0..count).map(|index| (index * 37 % 251) as u8).collect()),
    }
}

/// The bytes of all results of a segment.
fn results(backend: &OrtBackend, model: &Model, segment: &Segment, cores: u32) -> Vec<Vec<u8>> {
    let inputs: Vec<Tensor> = segment.boundary.inputs.iter().map(|&id| input(model.graph().value(id))).collect();
    let mut prepared = backend.prepare(segment, &Processor::new("B", 0..cores)).unwrap();
    prepared.run(&inputs).unwrap().iter().map(|output| output.bytes().unwrap().to_vec()).collect()
}

/// Runs segments without a cache, with an empty one and with the one that they filled.
fn check(model: &Arc<Model>, segments: &[Segment], cores: u32) {
    let folder = tempfile::tempdir().unwrap();
    let (plain, first, second) = (backend(model), cached(model, folder.path()), cached(model, folder.path()));
    for segment in segments {
        let expected = results(&plain, model, segment, cores);
        assert_eq!(results(&first, model, segment, cores), expected, "{}", model.graph().name());
        assert_eq!(results(&second, model, segment, cores), expected, "{}", model.graph().name());
    }
    let name = model.graph().name();
    assert_eq!((plain.preparation().from_cache, plain.preparation().stored), (0, 0), "{name}");
    assert_eq!((first.preparation().from_cache, first.preparation().stored), (0, segments.len()), "{name}");
    assert_eq!((second.preparation().from_cache, second.preparation().stored), (segments.len(), 0), "{name}");
}

/// The entries in a folder; nothing else may be there but notes.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| !path.ends_with("notes.txt"));
    assert!(paths.iter().all(|path| path.join("entry.json").is_file()), "{paths:?}");
    paths
}

#[test]
fn networks_and_their_stages_give_the_same_bits() {
    for name in [
        "squeezenet",
        "mobilenet-v2",
        "googlenet",
        "resnet50-int8",
        "mobilenet-v2-int8",
        "minilm-like-int8",
        "bevformer-like",
    ] {
        let model = Arc::new(millstream_zoo::build(name).unwrap());
        let graph = model.graph();
        let (front, back) = graph.order().split_at(graph.order().len() / 3);
        let segments = [front, back].map(|operators| Segment::new(graph, operators.to_vec()));
        check(&model, &[Segment::whole(graph)], 1);
        check(&model, &segments, 2);
    }
}

/// A product of integers by a matrix whose columns differ.
fn integers() -> Model {
    let mut builder = ModelBuilder::new("integers");
    let values = builder.typed_open_input("values", DataType::U8, &["3", "64"]);
    let weight = |shape: &[usize]| {
        let count = shape.iter().product();
        let data: Vec<u8> = (0..count).map(|index| (index % 251) as u8).collect();
        Weight { data_type: DataType::I8, shape: shape.to_vec().into(), data: data.into() }
    };
    let zero = builder.weight("zero", &Weight { data_type: DataType::U8, ..weight(&[]) });
    let (matrix, zeros) = (builder.weight("matrix", &weight(&[64, 40])), builder.weight("zeros", &weight(&[40])));
    let sums = builder.node("MatMulInteger", &[&values, &matrix, &zero, &zeros]);
    builder.output(&sums);
    builder.build().unwrap()
}

#[test]
fn parts_of_the_same_size_are_not_taken_for_each_other() {
    for model in [millstream_zoo::build("alexnet").unwrap(), millstream_zoo::build("mobilenet-v2").unwrap(), integers()]
    {
        let model = Arc::new(model);
        let graph = model.graph();
        let can_be_halved = |id| graph.channel_units(id).is_some_and(|units| units.channels % 2 == 0);
        let heads: Vec<_> = graph.operator_ids().filter(|&id| can_be_halved(id)).step_by(4).take(4).collect();
        assert!(!heads.is_empty(), "{}", graph.name());
        let halves = heads.iter().flat_map(|&id| {
            let channels = graph.channel_units(id).unwrap().channels;
            [0..channels / 2, channels / 2..channels].map(|half| Segment::part(graph, vec![id], half))
        });
        check(&model, &halves.collect::<Vec<_>>(), 1);
    }
}

/// What is passed on, what is there twice, and what depends on weights alone.
#[test]
fn results_that_are_inputs_or_constants_stay_what_they_are() {
    let mut builder = ModelBuilder::new("odd");
    let image = builder.input("image", [2, 300]);
    let table = builder.weight("table", &Weight::from_f32([2, 300], (0..600).map(|index| index as f32).collect()));
    let doubled = builder.node("Add", &[&table, &table]);
    let same = builder.node("Identity", &[&image]);
    let sum = builder.node("Add", &[&image, &doubled]);
    let again = builder.node("Add", &[&image, &doubled]);
    let constant = builder.node("Mul", &[&image, &table]);
    let flat = builder.node_with("Flatten", &[&constant], Attributes::new().int("axis", 0));
    for result in [&same, &sum, &again, &flat] {
        builder.output(result);
    }
    let model = Arc::new(builder.build().unwrap());
    check(&model, &[Segment::whole(model.graph())], 1);
}

#[test]
fn other_weights_or_threads_are_another_session_and_replicas_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let model = |offset: f32| {
        let mut builder = ModelBuilder::new("one");
        let image = builder.input("image", [1, 600]);
        let table = builder.weight("table", &Weight::from_f32([600], vec![offset; 600]));
        let sum = builder.node("Add", &[&image, &table]);
        builder.output(&sum);
        Arc::new(builder.build().unwrap())
    };
    for (offset, cores, count) in [(1.0, 1, 1), (1.0, 1, 1), (2.0, 1, 2), (1.0, 2, 3), (2.0, 2, 4), (1.0, 1, 4)] {
        let model = model(offset);
        let whole = Segment::whole(model.graph());
        let found = results(&cached(&model, folder.path()), &model, &whole, cores);
        assert_eq!(found, results(&backend(&model), &model, &whole, cores));
        assert_eq!(entries(folder.path()).len(), count, "{offset} {cores}");
    }
    // What is computed as it is defined has nothing to keep.
    let settings = SessionSettings { optimised: false, ..SessionSettings::default() };
    let model = model(3.0);
    let plain = OrtBackend::with_settings(&Environment::load().unwrap(), Arc::clone(&model), settings)
        .with_cache(SessionCache::new(folder.path()));
    results(&plain, &model, &Segment::whole(model.graph()), 1);
    assert_eq!(entries(folder.path()).len(), 4);
}

/// Replaces a part of a file without changing its size.
fn damage(path: &Path, place: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[place] ^= 0x40;
    fs::write(path, bytes).unwrap();
}

type Change = fn(&Path);

#[test]
fn what_is_damaged_or_foreign_is_made_again() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let whole = Segment::whole(model.graph());
    let expected = results(&backend(&model), &model, &whole, 1);
    let changes: &[(&str, Change)] = &[
        ("weights with a wrong bit", |entry| damage(&entry.join("weights.bin"), 100_000)),
        ("weights that end early", |entry| {
            fs::File::options().write(true).open(entry.join("weights.bin")).unwrap().set_len(5000).unwrap();
        }),
        ("no weights", |entry| fs::remove_file(entry.join("weights.bin")).unwrap()),
        ("a wrong graph", |entry| damage(&entry.join("model.onnx"), 300)),
        ("no graph", |entry| fs::remove_file(entry.join("model.onnx")).unwrap()),
        ("no description", |entry| fs::remove_file(entry.join("entry.json")).unwrap()),
        ("no text", |entry| fs::write(entry.join("entry.json"), [0xff, 0]).unwrap()),
        ("another format", |entry| {
            let text = fs::read_to_string(entry.join("entry.json")).unwrap();
            fs::write(entry.join("entry.json"), text.replace("session-1", "session-2")).unwrap();
        }),
        ("another machine", |entry| {
            let text = fs::read_to_string(entry.join("entry.json")).unwrap();
            assert!(text.contains(std::env::consts::ARCH));
            fs::write(entry.join("entry.json"), text.replace(std::env::consts::ARCH, "other")).unwrap();
        }),
        ("a file in its place", |entry| {
            fs::remove_dir_all(entry).unwrap();
            fs::write(entry, "no folder").unwrap();
        }),
    ];

    let folder = tempfile::tempdir().unwrap();
    results(&cached(&model, folder.path()), &model, &whole, 1);
    let entry = entries(folder.path()).remove(0);
    for (what, change) in changes {
        change(&entry);
        for (from_cache, stored) in [(0, 1), (1, 0)] {
            let backend = cached(&model, folder.path());
            assert_eq!(results(&backend, &model, &whole, 1), expected, "{what}");
            let preparation = backend.preparation();
            assert_eq!((preparation.from_cache, preparation.stored), (from_cache, stored), "{what}");
        }
        assert_eq!(entries(folder.path()), std::slice::from_ref(&entry), "{what}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "no folder").unwrap();
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let whole = Segment::whole(model.graph());
    let backend = cached(&model, &file);
    assert_eq!(results(&backend, &model, &whole, 1), results(&self::backend(&model), &model, &whole, 1));
    assert_eq!((backend.preparation().sessions, backend.preparation().stored), (1, 0));
    assert_eq!(fs::read_to_string(&file).unwrap(), "no folder");
}

#[test]
fn what_was_not_used_for_the_longest_time_is_removed_first() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let graph = model.graph();
    let thirds: Vec<Segment> =
        graph.order().chunks(graph.order().len() / 3).map(|part| Segment::new(graph, part.to_vec())).collect();
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("notes.txt");
    fs::write(&mine, "not of the cache").unwrap();
    let kept = |backend: &OrtBackend, segment: &Segment| {
        let before = backend.preparation().from_cache;
        results(backend, &model, segment, 1);
        backend.preparation().from_cache > before
    };
    let bytes = |folder: &Path| -> u64 {
        let files = entries(folder).into_iter().flat_map(|entry| [entry.join("model.onnx"), entry.join("weights.bin")]);
        files.map(|file| fs::metadata(file).unwrap().len()).sum()
    };

    // Room for the last two, which are larger than any other two.
    let measured = tempfile::tempdir().unwrap();
    thirds[1..3].iter().for_each(|segment| drop(results(&cached(&model, measured.path()), &model, segment, 1)));
    let room = bytes(measured.path());
    let backend = backend(&model).with_cache(SessionCache::new(folder.path()).with_most_bytes(room));
    assert!(!kept(&backend, &thirds[0]));
    let first = entries(folder.path()).remove(0);
    assert!(!kept(&backend, &thirds[1]));

    // Both are old, and the first one is used again.
    for entry in entries(folder.path()) {
        let hours = if entry == first { 3 } else { 2 };
        let file = fs::File::options().append(true).open(entry.join("entry.json")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600 * hours)).unwrap();
    }
    assert!(kept(&backend, &thirds[0]));
    assert!(!kept(&backend, &thirds[2]));
    assert!(bytes(folder.path()) <= room && first.exists());
    assert!(kept(&backend, &thirds[0]) && kept(&backend, &thirds[2]));
    assert!(!kept(&backend, &thirds[1]));
    // What is too large by itself removes nothing.
    let small = self::backend(&model).with_cache(SessionCache::new(folder.path()).with_most_bytes(100_000));
    let before = entries(folder.path());
    assert!(!kept(&small, &Segment::whole(graph)));
    assert_eq!(small.preparation().stored, 0);
    assert_eq!(entries(folder.path()), before);
    assert_eq!(fs::read_to_string(&mine).unwrap(), "not of the cache");
}

#[test]
fn several_backends_may_fill_a_folder_at_once() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let whole = Segment::whole(model.graph());
    let expected = results(&backend(&model), &model, &whole, 1);
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(results(&cached(&model, folder.path()), &model, &whole, 1), expected));
        }
    });
    assert_eq!(entries(folder.path()).len(), 1);
    let last = cached(&model, folder.path());
    assert_eq!(results(&last, &model, &whole, 1), expected);
    assert_eq!(last.preparation().from_cache, 1);
}

#[test]
fn what_is_kept_is_still_found_when_no_more_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let graph = model.graph();
    let (known, new) = (Segment::whole(graph), Segment::new(graph, graph.order()[..5].to_vec()));
    let backend = cached(&model, folder.path());
    results(&backend, &model, &known, 1);
    backend.stop_storing();
    results(&backend, &model, &new, 1);
    results(&backend, &model, &known, 1);
    assert_eq!((backend.preparation().stored, backend.preparation().from_cache), (1, 1));
    assert_eq!(entries(folder.path()).len(), 1);
}
