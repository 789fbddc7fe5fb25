//! Where operators can be divided.

use millstream_backend::Segment;
use millstream_onnx::Model;

/// Whether the operators can be divided where the segment says.
pub(crate) fn check_part(model: &Model, segment: &Segment) -> Result<(), String> {
    let Some(portion) = &segment.portion else { return Ok(()) };
    let Some(channels) = segment.channels() else {
        return Err(format!("{} {:?} are no part by channels", portion.along.name(), portion.range));
    };
    let graph = model.graph();
    let (&head, followers) = segment.operators.split_first().ok_or("a part of no operator")?;
    let name = &graph.operator(head).name;
    let units = graph.channel_units(head).filter(|_| graph.can_divide_together(head, followers));
    let units = units.ok_or_else(|| format!("'{name}' and what comes with it can't be divided by channels"))?;
    let is_cut = [channels.start, channels.end].iter().any(|end| !end.is_multiple_of(units.unit));
    if channels.is_empty() || channels.end > units.channels || is_cut {
        return Err(format!(
            "'{name}' has no part {channels:?}: {} channels in groups of {}",
            units.channels, units.unit
        ));
    }
    Ok(())
}
