//! How functions of a model call each other. Runtimes follow calls on their stack, which a deep enough chain of them
//! overflows.

use std::collections::HashMap;

use bytes::Bytes;
use prost::Message;

use crate::catalogue::is_default_domain;
use crate::error::OnnxError;
use crate::proto::{AttributeProto, NodeProto};

/// Calls inside each other that are let through: exporters nest a function for each level of modules, some dozens at
/// the most.
const DEEPEST: usize = 200;

/// What of a function says what it is called and what it calls.
#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(message, repeated, tag = "7")]
    nodes: Vec<NodeProto>,
    #[prost(string, optional, tag = "10")]
    domain: Option<String>,
    #[prost(string, optional, tag = "13")]
    overload: Option<String>,
}

/// A domain, a name, and which of several functions of that name.
type Name<'a> = (&'a str, &'a str, &'a str);

fn name<'a>(domain: Option<&'a str>, own: Option<&'a str>, overload: Option<&'a str>) -> Name<'a> {
    let domain = domain.filter(|domain| !is_default_domain(domain)).unwrap_or_default();
    (domain, own.unwrap_or_default(), overload.unwrap_or_default())
}

/// Refuses functions that call themselves, or that call each other too deeply.
pub(crate) fn check_depth(functions: &[Bytes]) -> Result<(), OnnxError> {
    let malformed = |error: prost::DecodeError| OnnxError::Malformed { detail: error.to_string() };
    let functions: Vec<Function> =
        functions.iter().map(|bytes| Function::decode(bytes.clone()).map_err(malformed)).collect::<Result<_, _>>()?;
    let mut calls: HashMap<Name<'_>, Vec<Name<'_>>> = HashMap::new();
    for function in &functions {
        let called = name(function.domain.as_deref(), function.name.as_deref(), function.overload.as_deref());
        add_calls(&function.nodes, calls.entry(called).or_default());
    }

    // From functions that call none to those that call them.
    let mut called_by: HashMap<Name<'_>, Vec<Name<'_>>> = HashMap::new();
    let mut open: HashMap<Name<'_>, usize> = HashMap::new();
    for (caller, called) in &calls {
        let functions = called.iter().filter(|name| calls.contains_key(*name));
        open.insert(*caller, functions.clone().count());
        functions.for_each(|name| called_by.entry(*name).or_default().push(*caller));
    }

    let mut ready: Vec<(Name<'_>, usize)> =
        open.iter().filter(|(_, calls)| **calls == 0).map(|(name, _)| (*name, 1)).collect();
    let mut depths: HashMap<Name<'_>, usize> = HashMap::new();
    while let Some((name, depth)) = ready.pop() {
        if depth > DEEPEST {
            return Err(refused(format!(
                "functions that call each other more than {DEEPEST} deep, such as '{}'",
                name.1
            )));
        }
        for caller in called_by.remove(&name).unwrap_or_default() {
            let deepest = depths.entry(caller).or_default();
            *deepest = (*deepest).max(depth + 1);
            let Some(left) = open.get_mut(&caller) else { continue };
            *left -= 1;
            if *left == 0 {
                ready.push((caller, *deepest));
            }
        }
        open.remove(&name);
    }

    match open.keys().min() {
        None => Ok(()),
        Some((_, name, _)) => Err(refused(format!("the function '{name}', which calls itself or one that does"))),
    }
}

fn refused(what: String) -> OnnxError {
    OnnxError::Unsupported { what, remedy: ": export the model with its functions inlined (onnx.inliner)".to_owned() }
}

// The reader of the format limits how deep graphs are inside each other.
fn add_calls<'a>(nodes: &'a [NodeProto], calls: &mut Vec<Name<'a>>) {
    for node in nodes {
        calls.push(name(node.domain.as_deref(), Some(node.op()), node.overload.as_deref()));
        node.attribute.iter().for_each(|attribute| add_nested(attribute, calls));
    }
}

fn add_nested<'a>(attribute: &'a AttributeProto, calls: &mut Vec<Name<'a>>) {
    attribute.g.iter().chain(&attribute.graphs).for_each(|graph| add_calls(&graph.node, calls));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::proto::GraphProto;

    fn call(name: &str) -> NodeProto {
        NodeProto { op_type: Some(name.to_owned()), domain: Some("own".to_owned()), ..NodeProto::default() }
    }

    fn function(name: &str, nodes: Vec<NodeProto>) -> Bytes {
        let function = Function { name: Some(name.to_owned()), nodes, domain: Some("own".to_owned()), overload: None };
        Bytes::from(function.encode_to_vec())
    }

    /// Each calls the one before it twice.
    fn chain(length: usize) -> Vec<Bytes> {
        let named = |index: usize| format!("f{index}");
        let nodes = |index: usize| index.checked_sub(1).map_or(Vec::new(), |before| vec![call(&named(before)); 2]);
        (0..length).map(|index| function(&named(index), nodes(index))).rev().collect()
    }

    #[test]
    fn functions_may_call_each_other_so_deep_and_no_deeper() {
        assert!(check_depth(&[]).is_ok());
        assert!(check_depth(&chain(DEEPEST)).is_ok());
        let refused = check_depth(&chain(DEEPEST + 1)).unwrap_err().to_string();
        assert!(refused.contains("more than 200 deep, such as 'f200'") && refused.contains("inlined"), "{refused}");
        // Many that do not call each other are no matter.
        let flat: Vec<Bytes> = (0..1000).map(|index| function(&format!("g{index}"), vec![call("elsewhere")])).collect();
        assert!(check_depth(&flat).is_ok());
    }

    #[test]
    fn functions_that_call_themselves_are_refused() {
        let itself = function("f", vec![call("f")]);
        let error = check_depth(std::slice::from_ref(&itself)).unwrap_err().to_string();
        assert!(error.contains("the function 'f', which calls itself"), "{error}");
        let around = [function("f", vec![call("g")]), function("g", vec![call("f")])];
        assert!(check_depth(&around).is_err());
        // Inside the body of a branch.
        let body = GraphProto { node: vec![call("f")], ..GraphProto::default() };
        let attribute = AttributeProto { g: Some(body), ..AttributeProto::default() };
        let branch = NodeProto { attribute: vec![attribute], ..call("If") };
        assert!(check_depth(&[function("f", vec![branch])]).is_err());
        // One of two functions of a name may call the other.
        let overload = |own: &str, node| Function {
            name: Some("f".to_owned()),
            nodes: vec![node],
            domain: Some("own".to_owned()),
            overload: Some(own.to_owned()),
        };
        let other = NodeProto { overload: Some("b".to_owned()), ..call("f") };
        let two = [overload("a", other), overload("b", call("g"))];
        assert!(check_depth(&two.map(|own| Bytes::from(own.encode_to_vec()))).is_ok());
        // The default domain has two names.
        let nodes = vec![NodeProto { domain: Some("ai.onnx".to_owned()), ..call("f") }];
        let default = Function { name: Some("f".to_owned()), nodes, domain: None, overload: None };
        assert!(check_depth(&[Bytes::from(default.encode_to_vec())]).is_err());
        // Another domain's operator of the same name.
        let other = NodeProto { domain: None, ..call("f") };
        assert!(check_depth(&[function("f", vec![other])]).is_ok());
    }
}
