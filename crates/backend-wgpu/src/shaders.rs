//! Shader texts, with the sizes of a layer written into them.

use std::fmt::Write;

/// Invocations of a workgroup.
pub(crate) const WORKGROUP: u32 = 64;
/// Workgroups in the first dimension of a dispatch at the most.
const MOST_WORKGROUPS: u32 = 65_535;

/// A compute shader and how many invocations it needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shader {
    pub(crate) text: String,
    pub(crate) invocations: u64,
}

impl Shader {
    /// Workgroups in the first two dimensions.
    pub(crate) fn workgroups(&self) -> (u32, u32) {
        let groups = self.invocations.div_ceil(u64::from(WORKGROUP)).max(1);
        let rows = groups.div_ceil(u64::from(MOST_WORKGROUPS)).max(1);
        (groups.div_ceil(rows) as u32, rows as u32)
    }
}

/// A shader whose `body` computes for the invocation `t`, with `reads` input buffers `x0`, `x1`, ... and the output
/// `y`.
pub(crate) fn shader(reads: usize, constants: &[(&str, u64)], functions: &str, body: &str, invocations: u64) -> Shader {
    let mut text = String::new();
    // Writing to a string can't fail.
    for index in 0..reads {
        let _ = writeln!(text, "@group(0) @binding({index}) var<storage, read> x{index}: array<f32>;");
    }
    let _ = writeln!(text, "@group(0) @binding({reads}) var<storage, read_write> y: array<f32>;");
    for (name, value) in constants {
        let _ = writeln!(text, "const {name} = {value}u;");
    }
    let _ = writeln!(text, "{functions}");
    let probe = Shader { text: String::new(), invocations };
    let row = u64::from(probe.workgroups().0) * u64::from(WORKGROUP);
    let _ = write!(
        text,
        "@compute @workgroup_size({WORKGROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
         let t = id.x + id.y * {row}u;\nif (t >= {invocations}u) {{ return; }}\n{body}\n}}\n"
    );
    Shader { text, invocations }
}

/// An element-wise function of `v`, as a shader expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Activation(pub(crate) String);

impl Activation {
    pub(crate) fn none() -> Self {
        Self("v".to_owned())
    }

    pub(crate) fn function(&self) -> String {
        format!("fn act(v: f32) -> f32 {{ return {}; }}", self.0)
    }
}

/// A floating-point number as the shader language writes it.
pub(crate) fn float(value: f32) -> String {
    format!("f32({value:?})")
}
