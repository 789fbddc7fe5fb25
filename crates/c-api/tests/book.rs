//! The C of the README and of this crate's page, compiled in a function with what it takes for granted, and run.

#![cfg(all(unix, feature = "ort"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::Path;

use millstream_onnx::{Attributes, ModelBuilder, WeightStorage};
use support::{Language, Workplace, library, small_network};

/// Each page with declarations for its snippet, and what a program adds to end well.
const PAGES: [(&str, &str, &str); 2] = [
    (
        "README.md",
        "static float values[8 * 16 * 16];\n\
         static size_t sizes[] = {1, 8, 16, 16};\n\
         static MsTensor inputs[] = {{.name = \"image\", .data_type = MS_DATA_TYPE_F32, .rank = 4, .dimensions = sizes, .data = values, .bytes = sizeof values}};\n\
         static size_t input_count = 1;\n",
        "size_t outputs = ms_result_output_count(result);\nms_result_free(result);\nms_session_free(session);\nreturn outputs == 1 ? 0 : 1;\n",
    ),
    (
        "crates/c-api/README.md",
        "static float pixels[1 * 3 * 224 * 224];\n\
         static size_t used;\n\
         static void use(const float *scores, size_t count) { used += scores ? count : 0; }\n",
        "return used == 0;\n",
    ),
];

/// Measures for a moment only, which what follows then knows.
const QUICK: &str = "MsSession *quick = NULL;\n\
                     if (ms_session_open(\"net.onnx\", \"{ \\\"profile_seconds\\\": 0.2 }\", &quick) != MS_STATUS_OK) return 2;\n\
                     ms_session_free(quick);\n";

/// The only snippet in C of a page.
fn snippet(page: &str) -> String {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).unwrap();
    let (_, rest) = text.split_once("```c\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// A network for pictures of three channels, 224 by 224.
fn pooling() -> Vec<u8> {
    let mut builder = ModelBuilder::new("pooling");
    let image = builder.input("image", [1, 3, 224, 224]);
    let pooled = builder.node_with(
        "MaxPool",
        &[&image],
        Attributes::new().ints("kernel_shape", &[7, 7]).ints("strides", &[7, 7]),
    );
    let scores = builder.node("Relu", &[&pooled]);
    builder.output(&scores);
    let model = builder.build().unwrap();
    model.segment(model.graph().order(), WeightStorage::Inline).unwrap().bytes
}

#[test]
fn snippets_in_c_are_programs_that_work() {
    for (page, before, after) in PAGES {
        let workplace = Workplace::new();
        let snippet = snippet(page).replace("#include <millstream.h>\n", "");
        let source = format!(
            "#include <millstream.h>\n#include <stdio.h>\n\n{before}\nint main(void)\n{{\n{QUICK}{snippet}\n{after}}}\n"
        );
        let source = workplace.write("snippet.c", source.as_bytes());
        let program = workplace.compile(Language::C, source.to_str().unwrap(), library());
        workplace.write("net.onnx", &if page == "README.md" { small_network() } else { pooling() });
        workplace.succeed(&program, &[]);
    }
}
