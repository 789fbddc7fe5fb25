//! Reading a node's attributes.

use crate::proto::{AttributeProto, NodeProto, attribute_type};

impl NodeProto {
    /// The node's type, empty if the file leaves it out.
    pub(crate) fn op(&self) -> &str {
        self.op_type.as_deref().unwrap_or_default()
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.attribute.iter().find(|attribute| attribute.name.as_deref() == Some(name))
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.i
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.attribute(name)?.s.as_ref()?).ok()
    }

    pub(crate) fn ints(&self, name: &str) -> Option<&[i64]> {
        self.attribute(name).map(|attribute| attribute.ints.as_slice())
    }

    /// A list of sizes; `None` if absent or if one is negative.
    pub(crate) fn sizes(&self, name: &str) -> Option<Vec<usize>> {
        self.ints(name)?.iter().map(|&size| usize::try_from(size).ok()).collect()
    }
}

impl AttributeProto {
    pub(crate) fn from_int(name: &str, value: i64) -> Self {
        Self { name: Some(name.into()), i: Some(value), r#type: Some(attribute_type::INT), ..Self::default() }
    }

    pub(crate) fn from_float(name: &str, value: f32) -> Self {
        Self { name: Some(name.into()), f: Some(value), r#type: Some(attribute_type::FLOAT), ..Self::default() }
    }

    pub(crate) fn from_ints(name: &str, values: &[i64]) -> Self {
        Self { name: Some(name.into()), ints: values.to_vec(), r#type: Some(attribute_type::INTS), ..Self::default() }
    }

    pub(crate) fn from_text(name: &str, value: &str) -> Self {
        let s = Some(value.as_bytes().to_vec().into());
        Self { name: Some(name.into()), s, r#type: Some(attribute_type::STRING), ..Self::default() }
    }
}
