//! `fit`: cost models from a profile, with their accuracy as tables and as a plot.

mod accelerator;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use millstream::{files, provenance, read_profile};
use millstream_cost::PowerOrigin;
use millstream_predict::calibration::AcceleratorCostModel;
use millstream_predict::published::GemmModel;
use millstream_predict::{Accuracy, CostModels, HeldOutErrors, Profile, compare, evaluate, predict_unseen};
use millstream_report::{Align, Axis, Marks, Plot, Series, Table, in_words, milliseconds};

use crate::arguments::{ConvolutionModel, FitCommand};
use crate::output;

pub(crate) fn run(command: &FitCommand) -> Result<()> {
    if let Some(base) = &command.accelerator.base {
        return accelerator::add_to_models(command, base);
    }
    let plot = command.plot.clone().unwrap_or_else(|| command.output.with_extension("svg"));
    files::check_writable(&command.output)?;
    files::check_writable(&plot)?;
    let profile = match (read_profile(&command.profile), &command.accelerator.phases) {
        (profile, None) => profile?,
        (profile, Some(_)) => {
            profile.context("what cores take comes from a profile, or from cost models that --base names")?
        }
    };

    let test = command.test.as_deref().map(read_profile).transpose()?;
    let named = || command.profile.display().to_string();
    let models = CostModels::fit(&profile, provenance()).with_context(named)?;
    let models = match command.convolutions {
        ConvolutionModel::Default => models,
        ConvolutionModel::PipeIt => models.with_pipe_it(&profile).with_context(named)?,
    };
    let (models, added) = match &command.accelerator.phases {
        Some(phases) => {
            let (models, added) = accelerator::add(models, phases, &command.accelerator)?;
            (models, Some(added))
        }
        None => (models, None),
    };

    remark_on(&profile);
    let svg = scatter(&profile)?;
    files::write(&command.output, &files::to_json(&models)?)?;
    files::write(&plot, &svg)?;
    if command.json {
        output::json(&models)?;
    } else {
        print(&models, added.as_deref());
    }

    if command.compare {
        output::line(format!(
            "\nModels on networks that were left out of the fit:\n\n{}",
            output::fitted(&comparison_table(&profile)?)
        ));
    }
    if let Some(test) = &test {
        let rows = evaluate(&models, &profile, test)?;
        output::line(format!(
            "\nNetworks that the models know nothing of:\n\n{}",
            output::fitted(&evaluation_table(&rows))
        ));
    }
    output::remark(format!("wrote {} and {}", command.output.display(), plot.display()));
    Ok(())
}

/// Says what was measured of some networks only, or not exactly.
fn remark_on(profile: &Profile) {
    let mut estimated: BTreeMap<String, usize> = BTreeMap::new();
    for network in &profile.networks {
        let left_out = network.left_out.iter().map(ToString::to_string);
        let refused = network.unsupported.iter().map(|operators| network.unsupported_text(operators));
        left_out.chain(refused).for_each(|text| output::remark(format!("in {}, {text}", network.name)));
        for processor in network.timed_together() {
            *estimated.entry(processor.to_string()).or_default() += 1;
        }
    }
    for (processor, networks) in estimated {
        output::remark(format!(
            "{processor} told only what several blocks take together, in {networks} of {} networks: times of single operators are parts of that, \
             by an estimate",
            profile.networks.len()
        ));
    }
}

fn print(models: &CostModels, added: Option<&str>) {
    output::table(&coefficient_table(models));
    output::line(format!("\n{}", output::fitted(&family_table(models))));
    if !models.convolutions.is_empty() {
        let table = output::fitted(&pipe_it_table(models));
        output::line(format!("\nConvolutions by Pipe-it's equations 5 and 8:\n\n{table}"));
    }
    if let Some(table) = convolution_table(models) {
        let title = "Convolutions of accelerators, mean error on shapes that were left out (MAPE):";
        output::line(format!("\n{title}\n\n{}", output::fitted(&table)));
    }
    output::line(format!("\n{}", output::fitted(&transfer_table(models))));
    output::prose(format!("\n{}", power_lines(models)));
    if let Some(added) = added {
        output::prose(format!("\n{added}"));
    }
}

fn coefficient_table(models: &CostModels) -> Table {
    let mut table = Table::new([
        ("processor", Align::Left),
        ("family", Align::Left),
        ("seconds for each of", Align::Left),
        ("coefficient", Align::Right),
        ("standard error", Align::Right),
    ]);
    for processor in models.fitted() {
        for model in &processor.families {
            for term in &model.terms {
                table.row([
                    processor.processor.to_string(),
                    model.family.map_or("everything".to_owned(), |family| family.to_string()),
                    term.name.clone(),
                    format!("{:.3e}", term.seconds),
                    term.standard_error_seconds.map_or("-".to_owned(), |error| format!("{error:.1e}")),
                ]);
            }
        }
    }
    table
}

fn family_table(models: &CostModels) -> Table {
    let mut table = Table::new([
        ("processor", Align::Left),
        ("family", Align::Left),
        ("samples", Align::Right),
        ("R2", Align::Right),
        ("MAPE, networks left out", Align::Right),
        ("weighted by time", Align::Right),
        ("9 in 10 within", Align::Right),
    ]);
    for processor in models.fitted() {
        for model in processor.families.iter().chain([&processor.pooled]) {
            let accuracy = |text: &dyn Fn(&Accuracy) -> f64| {
                model.cross_validated.as_ref().map_or("-".to_owned(), |accuracy| fraction(text(accuracy)))
            };
            table.row([
                processor.processor.to_string(),
                model.family.map_or("all together".to_owned(), |family| family.to_string()),
                model.samples.to_string(),
                // As many coefficients as samples fit them always.
                if model.samples > model.terms.len() { format!("{:.3}", model.r_squared) } else { "-".to_owned() },
                accuracy(&|accuracy| accuracy.mape),
                accuracy(&|accuracy| accuracy.weighted_mape),
                accuracy(&|accuracy| accuracy.interval),
            ]);
        }
    }
    table
}

/// How well each formula predicts the convolutions of accelerators that were measured; `None` if there are none.
fn convolution_table(models: &CostModels) -> Option<Table> {
    let columns = [("accelerator", Align::Left), ("formula", Align::Left), ("MAPE", Align::Right), ("", Align::Left)];
    let mut table = Table::new(columns);
    for accelerator in &models.accelerators {
        let AcceleratorCostModel::Measured(measured) = &accelerator.model else { continue };
        let Some(choice) = &measured.convolutions else { continue };
        for (&name, error) in &choice.errors {
            let mark = if name == choice.chosen() { "used" } else { "" };
            table.row([accelerator.label.clone(), name.to_string(), fraction(*error), mark.to_owned()]);
        }
    }
    (!table.rows().is_empty()).then_some(table)
}

fn pipe_it_table(models: &CostModels) -> Table {
    let mut table = Table::new([
        ("cluster", Align::Left),
        ("term", Align::Left),
        ("seconds for each", Align::Right),
        ("R2, one core", Align::Right),
    ]);
    for model in &models.convolutions {
        let single = GemmModel::TERMS.into_iter().zip(model.coefficients);
        let several = model.several_cores.map_or(Vec::new(), |model| {
            vec![
                ("alpha_1", model.alpha_1_seconds),
                ("alpha_2", model.alpha_2_seconds),
                ("alpha_3", model.alpha_3_seconds),
            ]
        });
        for (term, seconds) in single.chain(several) {
            let r_squared = format!("{:.3}", model.r_squared);
            table.row([model.cluster.clone(), term.to_owned(), format!("{seconds:.3e}"), r_squared]);
        }
    }
    table
}

fn transfer_table(models: &CostModels) -> Table {
    let mut table =
        Table::new([("from", Align::Left), ("to", Align::Left), ("latency us", Align::Right), ("GB/s", Align::Right)]);
    for pair in &models.transfers {
        let rate = pair.model.seconds_per_byte;
        table.row([
            pair.from.clone(),
            pair.to.clone(),
            format!("{:.1}", pair.model.latency_seconds * 1e6),
            if rate > 0.0 { format!("{:.1}", 1e-9 / rate) } else { "not limited".to_owned() },
        ]);
    }
    table
}

fn power_lines(models: &CostModels) -> String {
    if models.power.is_empty() {
        return "Power: this machine shows no power sensors, and the board file gives no coefficients (`power` of a cluster)."
            .to_owned();
    }
    let line = |cluster: &millstream_predict::ClusterPower| {
        let origin = match cluster.origin {
            PowerOrigin::Measured => "measured",
            PowerOrigin::BoardFile => "as the board file says",
            PowerOrigin::PublishedAtWork => "as others measured it at work; idle power is not known",
        };
        format!(
            "Power of {}: {:.3e} F x V^2 x utilisation x Hz + {:.3e} A x V ({origin})",
            cluster.cluster, cluster.model.capacitance_farads, cluster.model.leakage_amperes
        )
    };
    models.power.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn comparison_table(profile: &Profile) -> Result<Table> {
    let mut table = Table::new([
        ("family", Align::Left),
        ("processor", Align::Left),
        ("model", Align::Left),
        ("samples", Align::Right),
        ("MAPE", Align::Right),
        ("weighted by time", Align::Right),
        ("sum of a network", Align::Right),
    ]);
    for row in compare(profile)? {
        table.row([
            row.family.to_string(),
            row.processor.to_string(),
            row.model.to_owned(),
            row.accuracy.samples.to_string(),
            fraction(row.accuracy.mape),
            fraction(row.accuracy.weighted_mape),
            fraction(row.network_error),
        ]);
    }
    Ok(table)
}

fn evaluation_table(rows: &[HeldOutErrors]) -> Table {
    let mut table = Table::new([
        ("network", Align::Left),
        ("processor", Align::Left),
        ("measured ms", Align::Right),
        ("predicted ms", Align::Right),
        ("that is", Align::Right),
        ("per operator", Align::Right),
        ("convolutions", Align::Right),
        ("by Pipe-it's eq. 5", Align::Right),
    ]);
    let weighted =
        |accuracy: Option<&Accuracy>| accuracy.map_or("-".to_owned(), |accuracy| fraction(accuracy.weighted_mape));
    for row in rows {
        table.row([
            row.network.clone(),
            row.processor.to_string(),
            milliseconds(row.measured_seconds),
            milliseconds(row.predicted_seconds),
            in_words(row.predicted_seconds / row.measured_seconds - 1.0, ["too long", "too short"]),
            weighted(Some(&row.operators)),
            weighted(row.convolutions.as_ref()),
            weighted(row.convolutions_by_gemm.as_ref()),
        ]);
    }
    table
}

fn fraction(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}

/// Every operator sample, with what models predict for it: models fitted to the other networks, where the profile has
/// any.
fn scatter(profile: &Profile) -> Result<String> {
    let points = predict_unseen(profile)?;
    let title = if points.iter().all(|point| point.is_unseen) {
        "Operators, predicted by models that do not know their network"
    } else {
        "Operators, predicted by models that were fitted to them: the profile has one network"
    };

    let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for point in points {
        let group = if point.is_product { "convolutions and products" } else { "other operators" };
        let points = series.entry(format!("{group} on {}", point.processor)).or_default();
        points.push((1e3 * point.measured_seconds, 1e3 * point.predicted_seconds));
    }
    let plot = Plot {
        title,
        x: Axis { label: "measured ms", is_logarithmic: true },
        y: Axis { label: "predicted ms", is_logarithmic: true },
        marks: Marks::DotsAndDiagonal,
        series: series.into_iter().map(|(name, points)| Series { name, points }).collect(),
    };
    Ok(plot.to_svg()?)
}
