//! Execution providers: what a plug-in takes is computed by it, and what can't be used is told with the engine and a
//! remedy.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Observed, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::{EngineLabel, Processor, Provider, ProviderName};
use millstream_graph::OperatorId;
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};
use millstream_test_support::not_tested;

fn provider(name: &str, library: Option<&Path>) -> Provider {
    Provider {
        engine: EngineLabel::try_from("npu").unwrap(),
        provider: ProviderName::try_from(name.to_owned()).unwrap(),
        options: BTreeMap::new(),
        library: library.map(Path::to_owned),
        device: None,
    }
}

/// The plug-in that set-up fetches where there is one for the machine. It computes on cores, and stands for a device
/// here.
fn plugin() -> Option<Provider> {
    let library = std::env::var_os("MILLSTREAM_PLUGIN").map(PathBuf::from).filter(|file| file.is_file());
    if library.is_none() {
        not_tested("PLUGIN", "there is no plug-in here: run through `cargo xtask test` on Linux and x86-64");
    }
    Some(provider("cpu_ep", Some(&library?)))
}

fn environment() -> Environment {
    Environment::load().unwrap()
}

/// A convolution and an activation, an operator that the plug-in does not take, and a product.
fn model() -> Arc<Model> {
    let mut builder = ModelBuilder::new("mixed");
    let input = builder.input("image", [1, 4, 8, 8]);
    let filter = (0..4 * 4 * 9).map(|index| ((index * 31) % 17) as f32 / 17.0 - 0.5).collect();
    let filter = builder.weight("filter", &Weight::from_f32([4, 4, 3, 3], filter));
    let pads = Attributes::new().ints("pads", &[1; 4]);
    builder.named_node("convolution", "Conv", &[&input, &filter], &["a"], pads);
    builder.named_node("activation", "Tanh", &["a"], &["b"], Attributes::new());
    builder.named_node("determinant", "Det", &["b"], &["c"], Attributes::new());
    builder.named_node("sum", "Add", &["c", "c"], &["d"], Attributes::new());
    builder.output("d");
    Arc::new(builder.build().unwrap())
}

fn image() -> Tensor {
    Tensor::from_f32([1, 4, 8, 8], (0..256).map(|index| ((index * 37 % 101) as f32 - 50.0) / 50.0).collect())
}

fn operators(model: &Model, names: &[&str]) -> Vec<OperatorId> {
    let find = |name: &&str| model.graph().order().iter().copied().find(|&id| model.graph().operator(id).name == *name);
    names.iter().map(|name| find(name).unwrap()).collect()
}

fn segment(model: &Model, names: &[&str]) -> Segment {
    Segment::new(model.graph(), operators(model, names))
}

fn close(left: &Tensor, right: &Tensor) {
    let [left, right] = [left, right].map(|tensor| tensor.as_f32().unwrap());
    assert_eq!(left.len(), right.len());
    let far = left.iter().zip(right).find(|(left, right)| (*left - *right).abs() > 1e-5 * right.abs().max(1.0));
    assert_eq!(far, None);
}

#[test]
fn a_device_takes_what_its_own_partition_says_and_nothing_else() {
    let Some(plugin) = plugin() else { return };
    let model = model();
    let backend = OrtBackend::on_device(&environment(), Arc::clone(&model), &plugin, "N").unwrap();
    let (device, other, core) = (Processor::accelerator("N"), Processor::accelerator("G"), Processor::new("N", [0]));
    let takes = |name: &str, processor| backend.supports(operators(&model, &[name])[0], processor);
    assert!(takes("convolution", &device) && takes("activation", &device) && takes("sum", &device));
    assert!(!takes("determinant", &device));
    assert!(!takes("convolution", &other) && !takes("convolution", &core));

    let refused = |names: &[&str], processor: &Processor| {
        backend.prepare(&segment(&model, names), processor).err().unwrap().to_string()
    };
    let partly = refused(&["activation", "determinant"], &device);
    assert!(partly.contains("npu (cpu_ep)") && partly.contains("would leave some to the cores"), "{partly}");
    assert!(refused(&["activation"], &core).contains("it runs on N, not on N1"));
}

#[test]
fn a_device_gives_the_results_of_cores() {
    let Some(plugin) = plugin() else { return };
    let model = model();
    let environment = environment();
    let device = OrtBackend::on_device(&environment, Arc::clone(&model), &plugin, "N").unwrap();
    let cores = OrtBackend::new(&environment, Arc::clone(&model));
    let both = segment(&model, &["convolution", "activation"]);
    let run = |backend: &OrtBackend, processor: &Processor| {
        let mut prepared = backend.prepare(&both, processor).unwrap();
        let mut written = vec![0; 4 * 256];
        prepared.run_into(&[image()], &mut written).unwrap();
        let made = prepared.run(&[image()]).unwrap().remove(0);
        assert_eq!(made.bytes().unwrap(), written);
        made
    };
    close(&run(&device, &Processor::accelerator("N")), &run(&cores, &Processor::new("B", [0])));
}

/// The plug-in gives no value away that it goes on with.
#[test]
fn results_that_a_segment_needs_itself_are_handed_out() {
    let Some(plugin) = plugin() else { return };
    let mut builder = ModelBuilder::new("both");
    let input = builder.input("image", [1, 4, 8, 8]);
    builder.named_node("first", "Relu", &[&input], &["a"], Attributes::new());
    builder.named_node("second", "Tanh", &["a"], &["b"], Attributes::new());
    builder.output("a");
    builder.output("b");
    let model = Arc::new(builder.build().unwrap());
    let backend = OrtBackend::on_device(&environment(), Arc::clone(&model), &plugin, "N").unwrap();
    let (whole, device) = (Segment::whole(model.graph()), Processor::accelerator("N"));
    assert!(whole.operators.iter().all(|&id| backend.supports(id, &device)));
    let made = backend.prepare(&whole, &device).unwrap().run(&[image()]).unwrap();
    let plain = OrtBackend::new(&environment(), Arc::clone(&model));
    let expected = plain.prepare(&whole, &Processor::new("B", [0])).unwrap().run(&[image()]).unwrap();
    assert_eq!(made.len(), 2);
    made.iter().zip(&expected).for_each(|(made, expected)| close(made, expected));
    let times = backend.trace(&whole, &device, &[image()], &mut |_| false).unwrap();
    assert_eq!(times.iter().map(|kernel| kernel.operators.len()).sum::<usize>(), 2);
}

#[test]
fn cores_with_a_provider_compute_everything() {
    let Some(plugin) = plugin() else { return };
    let model = model();
    let environment = environment();
    let with = OrtBackend::with_provider(&environment, Arc::clone(&model), &plugin).unwrap();
    let plain = OrtBackend::new(&environment, Arc::clone(&model));
    let whole = Segment::whole(model.graph());
    for cores in [vec![0], vec![0, 1]] {
        let processor = Processor::new("B", cores);
        assert!(whole.operators.iter().all(|&id| with.supports(id, &processor)));
        let run =
            |backend: &OrtBackend| backend.prepare(&whole, &processor).unwrap().run(&[image()]).unwrap().remove(0);
        close(&run(&with), &run(&plain));
    }
    assert!(with.prepare(&whole, &Processor::accelerator("N")).is_err());
}

/// A provider's threads inherit where the thread that makes a session may run; it may run there again afterwards.
#[cfg(target_os = "linux")]
#[test]
fn the_calling_thread_stays_where_it_was() {
    let Some(plugin) = plugin() else { return };
    let model = model();
    let backend = OrtBackend::with_provider(&environment(), Arc::clone(&model), &plugin).unwrap();
    let usable: Vec<_> = millstream_machine::usable_cores().unwrap().into_iter().take(2).collect();
    let first = usable.iter().copied().take(1).collect();
    assert!(millstream_machine::confine_current_thread(&first));
    let processor = Processor::on_cores("B", usable);
    let prepared = backend.prepare(&Segment::whole(model.graph()), &processor);
    assert_eq!(millstream_machine::cores_of_current_thread(), Some(first));
    assert!(prepared.unwrap().run(&[image()]).is_ok());
}

#[test]
fn times_of_a_device_cover_all_operators() {
    let Some(plugin) = plugin() else { return };
    let model = model();
    let backend = OrtBackend::on_device(&environment(), Arc::clone(&model), &plugin, "N").unwrap();
    let (both, device) = (segment(&model, &["convolution", "activation"]), Processor::accelerator("N"));
    let mut frames = 0;
    let times = backend.trace(&both, &device, &[image()], &mut |_| {
        frames += 1;
        frames < 4
    });
    let times = times.unwrap();
    let covered: Vec<OperatorId> = times.iter().flat_map(|kernel| kernel.operators.clone()).collect();
    assert_eq!(covered, both.operators);
    assert!(times.iter().all(|kernel| kernel.seconds.len() == 4 && kernel.seconds.iter().all(|time| *time > 0.0)));
    // Its device is the cores, whose memory is the host's.
    assert_eq!(backend.transfer_times(&device, 4096).unwrap(), None);
}

fn refusal(provider: &Provider) -> String {
    let error = OrtBackend::on_device(&environment(), model(), provider, "N").err().unwrap();
    assert!(matches!(error, BackendError::Unavailable { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("'npu ({})'", provider.provider)), "{text} does not name the engine");
    assert_eq!(environment().device_of(provider).unwrap_err().to_string(), text);
    text
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{text} does not say {part}");
    }
}

#[test]
fn providers_that_are_not_there_are_told_with_those_that_are() {
    let there: Vec<&str> = environment().providers().collect();
    // The library that set-up fetches has it.
    assert!(there.contains(&"AzureExecutionProvider"), "{there:?}");
    let missing = refusal(&provider("RknpuExecutionProvider", None));
    says(&missing, &["was built without it", "this one has", there[0], "ORT_DYLIB_PATH", "`library`"]);
    let unknown = refusal(&provider("HailoExecutionProvider", None));
    says(&unknown, &["no provider of this name is known", "QNNExecutionProvider", "this ONNX Runtime has", there[0]]);
    says(&refusal(&provider("CPUExecutionProvider", None)), &["the engine onnxruntime"]);
}

/// What is detected computes something. Azure's provider is in the library and can be opened, but takes nothing.
#[test]
fn providers_that_compute_nothing_are_not_detected() {
    let environment = environment();
    let azure = provider("AzureExecutionProvider", None);
    assert!(environment.device_of(&azure).is_ok() && !environment.drives_a_device(&azure));
    assert!(!environment.drives_a_device(&provider("RknpuExecutionProvider", None)), "it is not in the library");
    let for_devices: Vec<_> = environment.device_providers().map(|(found, _)| found.provider).collect();
    assert!(!for_devices.contains(&azure.provider), "it is for no device: {for_devices:?}");
    let Some(plugin) = plugin() else { return };
    assert!(environment.drives_a_device(&plugin));
}

#[test]
fn a_provider_of_the_library_that_takes_nothing_is_used_for_nothing() {
    let model = model();
    let azure = provider("AzureExecutionProvider", None);
    assert_eq!(environment().device_of(&azure).unwrap(), None);
    let backend = OrtBackend::on_device(&environment(), Arc::clone(&model), &azure, "N").unwrap();
    let device = Processor::accelerator("N");
    assert!(model.graph().order().iter().all(|&id| !backend.supports(id, &device)));
    let refused = backend.prepare(&Segment::whole(model.graph()), &device).err().unwrap().to_string();
    says(&refused, &["npu (AzureExecutionProvider)", "would leave some to the cores"]);
    assert_eq!(backend.transfer_times(&device, 4096).unwrap(), None);
    let on_cores = OrtBackend::with_provider(&environment(), Arc::clone(&model), &azure).err().unwrap().to_string();
    says(&on_cores, &["'npu (AzureExecutionProvider)'", "the `engine` of an accelerator, not of a cluster"]);
}

#[test]
fn libraries_that_are_no_plug_ins_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none.so");
    says(&refusal(&provider("cpu_ep", Some(&none))), &["there is no file", "none.so", "`library`"]);
    let text = folder.path().join("text.so");
    std::fs::write(&text, "not a library").unwrap();
    let expected = if cfg!(target_os = "linux") { "text.so is no library" } else { "text.so is no plug-in" };
    says(&refusal(&provider("cpu_ep", Some(&text))), &[expected]);
    let main_library = PathBuf::from(std::env::var_os("ORT_DYLIB_PATH").unwrap());
    says(&refusal(&provider("cpu_ep", Some(&main_library))), &["is no plug-in that this ONNX Runtime can use"]);
    let half = folder.path().join("half.so");
    let bytes = std::fs::read(main_library).unwrap();
    std::fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    says(&refusal(&provider("cpu_ep", Some(&half))), &["half.so is not whole"]);
}

/// A plug-in that was made for an interface which this ONNX Runtime does not have yet.
#[cfg(target_os = "linux")]
#[test]
fn a_plug_in_of_another_version_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("plugin.c"), folder.path().join("plugin.so"));
    let code = "
        typedef struct { const void *(*get_api)(unsigned); } base_t;
        typedef struct { void *(*create_status)(int, const char *); } api_t;
        void *CreateEpFactories(const char *name, const base_t *base, const void *logger, void **factories,
                                unsigned long most, unsigned long *count) {
            *count = 0;
            if (base->get_api(9999)) return 0;
            return ((const api_t *)base->get_api(1))->create_status(1, \"needs version 9999 of the interface\");
        }
        void *ReleaseEpFactory(void *factory) { return 0; }";
    std::fs::write(&source, code).unwrap();
    let mut compile = std::process::Command::new("cc");
    compile.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    assert!(compile.status().unwrap().success(), "a C compiler makes the library");
    let text = refusal(&provider("newer_ep", Some(&library)));
    says(&text, &["plugin.so", "needs version 9999 of the interface", "look whether it is made for this version"]);
}

#[test]
fn devices_that_a_plug_in_does_not_have_are_told_with_those_that_it_has() {
    let Some(plugin) = plugin() else { return };
    let second = Provider { device: Some(1), ..plugin.clone() };
    says(&refusal(&second), &["no device 1", "choose one with `device`", "0: CPU of "]);
    let first = Provider { device: Some(0), ..plugin.clone() };
    assert!(environment().device_of(&first).unwrap().unwrap().starts_with("CPU of "));
    let other = Provider { provider: ProviderName::try_from("QNNExecutionProvider".to_owned()).unwrap(), ..plugin };
    says(&refusal(&other), &["brings no device of QNNExecutionProvider", "cpu_ep", "Correct `provider`"]);
}
