//! Plans networks of the zoo on the fixtures' boards, checks each certificate, and prints what both took.
//!
//! `certificates PART PARTS`: one in so many pairs of a network and a board, from 0. It fails if a certificate does not
//! hold, or if it holds with another period.

#![allow(clippy::print_stdout, reason = "a program prints")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use millstream_api::{
    Aim, Control, CostSource, Machine, Network, PlanOn, Planned, ReadOptions, Scheduled, certify, files, plan,
};
use millstream_certify::Certificate;
use millstream_pipeline::PipelineError;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|own| own.parse()).collect::<Result<_, _>>()?;
    let [part, parts] = numbers.as_slice() else { return Err("give a part and how many there are".into()) };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let files = std::fs::read_dir(fixtures.join("boards"))?.map(|entry| Ok(entry?.path()));
    let mut boards: Vec<PathBuf> = files.collect::<Result<_, std::io::Error>>()?;
    boards.retain(|path| path.extension().is_some_and(|own| own == "json"));
    boards.sort();

    let pairs = millstream_zoo::names().flat_map(|name| boards.iter().map(move |board| (name, board)));
    let folder = std::env::temp_dir().join(format!("millstream-certificates-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    println!("| network | board | search [s] | check [s] | single processors | all that was searched |");
    println!("|---|---|---|---|---|---|");
    // Neighbours are alike: parts are dealt out like cards.
    for (name, board) in pairs.enumerate().filter(|(place, _)| place % parts == *part).map(|(_, pair)| pair) {
        let costs = fixtures.join("costs").join(board.file_name().ok_or("the board has no name")?);
        let row = row(name, board, &costs, &folder.join("certificate.json"));
        println!("{}", row.map_err(|error| format!("{name} on {}: {error}", board.display()))?);
    }
    Ok(std::fs::remove_dir_all(&folder)?)
}

/// Plans, checks, and says what that took.
fn row(name: &str, board: &Path, costs: &Path, file: &Path) -> Result<String, Box<dyn Error>> {
    let machine = Machine::read(board)?;
    let network = Network::open(&format!("zoo:{name}"), ReadOptions::default())?;
    let costs = CostSource::Models(costs);
    let begin = Instant::now();
    let planned = plan(&machine, &network, &Aim::default(), PlanOn::Costs(costs), &Control::new());
    let Planned { plans, document, .. } = match planned {
        Ok(planned) => planned,
        // Nothing to certify: the network does not fit on the board.
        Err(millstream_api::Error::Pipeline(PipelineError::Memory { .. })) => {
            return Ok(format!("| {name} | {} | - | - | does not fit | does not fit |", machine.board().name()));
        }
        Err(error) => return Err(error.into()),
    };
    let certificate = plans.certificate(&document, &network, machine.board())?;
    let searched = begin.elapsed();
    files::write(file, &files::to_json(&certificate)?)?;

    let scheduled = Scheduled::alone(network, document, machine.board())?;
    let begin = Instant::now();
    certify(file, &scheduled, &machine, costs)?;
    let checked = begin.elapsed();
    for changed in others(&certificate) {
        files::write(file, &files::to_json(&changed)?)?;
        if certify(file, &scheduled, &machine, costs).is_ok() {
            return Err("the certificate holds with another period as well".into());
        }
    }

    let proven = |is_there: bool| if is_there { "proven" } else { "not proven" };
    Ok(format!(
        "| {name} | {} | {:.2} | {:.2} | {} | {} |",
        machine.board().name(),
        searched.as_secs_f64(),
        checked.as_secs_f64(),
        proven(certificate.single_processors.is_some()),
        proven(certificate.searched.is_some())
    ))
}

/// The certificate with each proof for a nanosecond more or less.
fn others(certificate: &Certificate) -> Vec<Certificate> {
    let mut others = Vec::new();
    for change in [-1_i64, 1] {
        let mut other = certificate.clone();
        if let Some(proof) = &mut other.single_processors {
            proof.period_nanoseconds = proof.period_nanoseconds.wrapping_add_signed(change);
            others.push(other);
        }
        let mut other = certificate.clone();
        if let Some(proof) = &mut other.searched {
            proof.period_nanoseconds = proof.period_nanoseconds.wrapping_add_signed(change);
            others.push(other);
        }
    }
    others
}
