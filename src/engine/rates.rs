//! Commands and bytes a second, from samples that the server's ticks take.

use std::collections::VecDeque;

/// Samples that a rate is averaged over (Redis: STATS_METRIC_SAMPLES).
const SAMPLES_MAX: usize = 16;

#[derive(Clone, Copy, Default)]
struct Sample {
    monotonic_ns: u64,
    commands: u64,
    input_bytes: u64,
    output_bytes: u64,
}

/// The newest samples.
#[derive(Default)]
pub struct Rates {
    samples: VecDeque<Sample>,
}

impl Rates {
    /// Takes the running totals of this moment.
    pub fn sample(
        &mut self,
        monotonic_ns: u64,
        commands: u64,
        input_bytes: u64,
        output_bytes: u64,
    ) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample {
            monotonic_ns,
            commands,
            input_bytes,
            output_bytes,
        });
    }

    fn per_second(&self, total: impl Fn(&Sample) -> u64) -> f64 {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return 0.0;
        };
        let span_ns = last.monotonic_ns.saturating_sub(first.monotonic_ns);
        if span_ns == 0 {
            return 0.0;
        }
        total(last).saturating_sub(total(first)) as f64 * 1e9 / span_ns as f64
    }

    pub fn commands_per_second(&self) -> u64 {
        self.per_second(|sample| sample.commands) as u64
    }

    pub fn input_kib_per_second(&self) -> f64 {
        self.per_second(|sample| sample.input_bytes) / 1024.0
    }

    pub fn output_kib_per_second(&self) -> f64 {
        self.per_second(|sample| sample.output_bytes) / 1024.0
    }
}
