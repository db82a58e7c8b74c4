//! The physics of a flow: what drives and bounds it, in terms of the lattice.

use bsp::{Rank, Superstep};
use serde::{Deserialize, Serialize};

use super::lattice::Fluid;
use super::parameters::{Case, Parameters};
use crate::parameters::{Error, within};

/// What a process has to know of the flow besides its own strip.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Flow {
    case: Case,
    pub(super) fluid: Fluid,
    /// Velocity of the ceiling.
    pub(super) lid: f64,
}

impl Flow {
    /// # Errors
    ///
    /// [`Error::OutOfRange`].
    pub(super) fn new(parameters: &Parameters) -> Result<Self, Error> {
        let Parameters { case, velocity, .. } = *parameters;
        let height = f64::from(parameters.height);
        let velocity = within(
            ("velocity", velocity),
            f64::MIN_POSITIVE,
            VELOCITY_MAX,
            "a number above 0 and up to 0.17, 0.3 times the speed of sound",
        )?;
        let tau = if let Some(tau) = parameters.relaxation_time {
            stable(("relaxation_time", tau), tau)?
        } else {
            let reynolds = parameters.reynolds;
            within(
                ("reynolds", reynolds),
                f64::MIN_POSITIVE,
                f64::MAX,
                "a number above 0",
            )?;
            stable(
                ("reynolds", reynolds),
                0.5 + 3.0 * velocity * height / reynolds,
            )?
        };
        let viscosity = (tau - 0.5) / 3.0;
        let (force, lid) = match case {
            Case::Cavity => (0.0, velocity),
            // The parabola between walls `height` apart has this force at its top.
            Case::Poiseuille => (8.0 * viscosity * velocity / (height * height), 0.0),
        };
        let fluid = Fluid::new(tau, force);
        Ok(Self { case, fluid, lid })
    }

    /// Who is to the west and to the east; nobody where there is a wall.
    pub(super) fn neighbours<M>(self, ctx: &Superstep<'_, M>) -> [Option<Rank>; 2] {
        let last = Rank(ctx.size() - 1);
        match self.case {
            Case::Cavity => [ctx.left(), ctx.right()],
            Case::Poiseuille => [ctx.left().or(Some(last)), ctx.right().or(Some(Rank(0)))],
        }
    }
}

/// `tau`, which `key` with `value` leads to, if relaxation does not overshoot with it.
///
/// # Errors
///
/// [`Error::OutOfRange`].
fn stable((key, value): (&str, f64), tau: f64) -> Result<f64, Error> {
    if 0.5 < tau && tau.is_finite() {
        return Ok(tau);
    }
    let expected = "one that gives a finite relaxation time above 0.5, where the method is stable";
    Err(Error::OutOfRange {
        key: key.to_owned(),
        value,
        expected,
    })
}

/// A Mach number of 0.3, beyond which the fluid is compressed noticeably.
const VELOCITY_MAX: f64 = 0.17;
