//! Building a graph.

use std::collections::HashMap;

use crate::error::GraphError;
use crate::graph::Graph;
use crate::locality::Locality;
use crate::operator::{Constants, Operator, OperatorId, OperatorKind, Work};
use crate::value::{DataType, Shape, Value, ValueId};

/// Collects values and operators and checks them into a [`Graph`].
#[derive(Debug)]
pub struct GraphBuilder {
    name: String,
    operators: Vec<Operator>,
    values: Vec<Value>,
    value_names: HashMap<String, ValueId>,
    operator_names: HashMap<String, OperatorId>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

/// An operator to be added to a [`GraphBuilder`].
#[derive(Debug, Clone)]
pub struct NewOperator(Operator);

impl NewOperator {
    /// An operator that reads and makes nothing yet.
    pub fn new(name: impl Into<String>, op_type: impl Into<String>, kind: OperatorKind) -> Self {
        Self(Operator {
            name: name.into(),
            op_type: op_type.into(),
            kind,
            inputs: Vec::new(),
            outputs: Vec::new(),
            constants: Constants::default(),
            locality: Locality::default(),
            work: Work::default(),
        })
    }

    /// Adds values that it reads; repeated ones count once.
    #[must_use]
    pub fn reads(mut self, values: impl IntoIterator<Item = ValueId>) -> Self {
        for value in values {
            if !self.0.inputs.contains(&value) {
                self.0.inputs.push(value);
            }
        }
        self
    }

    /// Adds values that it makes.
    #[must_use]
    pub fn makes(mut self, values: impl IntoIterator<Item = ValueId>) -> Self {
        self.0.outputs.extend(values);
        self
    }

    /// Sets what its constant inputs mean for dividing it.
    #[must_use]
    pub fn constants(mut self, constants: Constants) -> Self {
        self.0.constants = constants;
        self
    }

    /// Sets which elements of its inputs it needs for one element of its output.
    #[must_use]
    pub fn locality(mut self, locality: Locality) -> Self {
        self.0.locality = locality;
        self
    }

    /// Sets how much it computes and moves.
    #[must_use]
    pub fn work(mut self, work: Work) -> Self {
        self.0.work = work;
        self
    }
}

impl GraphBuilder {
    /// An empty graph of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            operators: Vec::new(),
            values: Vec::new(),
            value_names: HashMap::new(),
            operator_names: HashMap::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Adds a value.
    ///
    /// # Errors
    /// [`GraphError::DuplicateValue`] if the name is taken.
    pub fn value(
        &mut self,
        name: impl Into<String>,
        data_type: Option<DataType>,
        shape: Option<Shape>,
    ) -> Result<ValueId, GraphError> {
        let name = name.into();
        let id = ValueId(self.values.len() as u32);
        if self.value_names.insert(name.clone(), id).is_some() {
            return Err(GraphError::DuplicateValue { name });
        }
        self.values.push(Value { name, data_type, shape });
        Ok(id)
    }

    /// The value of this name, if there is one.
    pub fn find_value(&self, name: &str) -> Option<ValueId> {
        self.value_names.get(name).copied()
    }

    /// Adds an operator. Operators may come in any order.
    ///
    /// # Errors
    /// [`GraphError::DuplicateOperator`] if the name is taken.
    pub fn operator(&mut self, operator: NewOperator) -> Result<OperatorId, GraphError> {
        let NewOperator(operator) = operator;
        let id = OperatorId(self.operators.len() as u32);
        if self.operator_names.insert(operator.name.clone(), id).is_some() {
            return Err(GraphError::DuplicateOperator { name: operator.name });
        }
        self.operators.push(operator);
        Ok(id)
    }

    /// Declares a value as supplied by the caller.
    pub fn input(&mut self, value: ValueId) {
        self.inputs.push(value);
    }

    /// Declares a value as a result of the network.
    pub fn output(&mut self, value: ValueId) {
        self.outputs.push(value);
    }

    /// Checks the graph and fixes its order.
    ///
    /// # Errors
    /// Any [`GraphError`]: no operators, cycles, values that are made twice or never.
    pub fn build(self) -> Result<Graph, GraphError> {
        if self.operators.is_empty() {
            return Err(GraphError::Empty { graph: self.name });
        }

        let value_name = |id: ValueId| self.values[id.index()].name.clone();
        let mut producers: Vec<Option<OperatorId>> = vec![None; self.values.len()];
        let mut supplied = vec![false; self.values.len()];
        for input in &self.inputs {
            supplied[input.index()] = true;
        }

        for (index, operator) in self.operators.iter().enumerate() {
            for &output in &operator.outputs {
                if supplied[output.index()] {
                    return Err(GraphError::MadeTwice { value: value_name(output), operator: operator.name.clone() });
                }
                supplied[output.index()] = true;
                producers[output.index()] = Some(OperatorId(index as u32));
            }
        }

        for operator in &self.operators {
            if let Some(&value) = operator.inputs.iter().find(|value| !supplied[value.index()]) {
                let use_of = format!("read by operator '{}'", operator.name);
                return Err(GraphError::NoProducer { value: value_name(value), use_of });
            }
        }
        if let Some(&value) = self.outputs.iter().find(|value| !supplied[value.index()]) {
            return Err(GraphError::NoProducer { value: value_name(value), use_of: "a graph output".to_owned() });
        }
        Graph::assemble(self.name, self.operators, self.values, producers, self.inputs, self.outputs)
    }
}
