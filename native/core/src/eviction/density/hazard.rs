//! How soon blocks of a class are used again, as seen so far.

use super::age::{BUCKETS, YOUNG_MOMENTS, bucket, least_age};
use super::class::{CLASSES, Class};

/// So many blocks are added to what was seen of each class and age: as of the average class, times how much more than that the class
/// is used at all ages,
const PRIOR_WEIGHT: f64 = 64.0;
/// which so many uses are added to. To what all classes are on average, so many blocks are as at the age before.
const RATIO_WEIGHT: f64 = 8.0;
const AVERAGE_WEIGHT: f64 = 64.0;
/// The share of blocks used again in a bucket of age, when nothing was seen.
const PRIOR_HAZARD: f64 = 0.01;
const MOST_HAZARD: f64 = 0.99;

type ByAge = [f32; BUCKETS];

/// For each class and age: how many blocks came to that age unused, and how many of these were used in that bucket.
#[derive(Debug)]
pub(super) struct Hazards {
    at_risk: Box<[ByAge; CLASSES]>,
    used: Box<[ByAge; CLASSES]>,
    /// Hits that a block of this class and age is expected to give for each moment that it stays, over the best time to stay.
    density: Box<[ByAge; CLASSES]>,
}

impl Default for Hazards {
    fn default() -> Self {
        let mut hazards = Self {
            at_risk: Box::new([[0.0; BUCKETS]; CLASSES]),
            used: Box::new([[0.0; BUCKETS]; CLASSES]),
            density: Box::new([[0.0; BUCKETS]; CLASSES]),
        };
        hazards.learn();
        hazards
    }
}

impl Hazards {
    /// So many blocks have come to the age of this bucket.
    pub(super) fn came_to_age(&mut self, class: Class, bucket: usize, blocks: u32) {
        if let Some(count) = self
            .at_risk
            .get_mut(class.number())
            .and_then(|ages| ages.get_mut(bucket))
        {
            *count += blocks as f32;
        }
    }

    /// A block of this age was used again.
    pub(super) fn was_used(&mut self, class: Class, bucket: usize) {
        if let Some(count) = self
            .used
            .get_mut(class.number())
            .and_then(|ages| ages.get_mut(bucket))
        {
            *count += 1.0;
        }
    }

    /// The expected hits a moment; comparable among all classes and ages.
    pub(super) fn density(&self, class: Class, bucket: usize) -> f32 {
        let ages = self.density.get(class.number());
        ages.and_then(|ages| ages.get(bucket)).copied().unwrap_or(0.0)
    }

    /// Halves the weight of what was seen so far.
    pub(super) fn fade(&mut self) {
        let counts = self.at_risk.iter_mut().chain(self.used.iter_mut());
        counts.flatten().for_each(|count| *count /= 2.0);
    }

    /// Computes the densities anew.
    pub(super) fn learn(&mut self) {
        let mut average = [PRIOR_HAZARD; BUCKETS];
        // What is known of no age yet is as what is known of younger ones.
        let mut younger = PRIOR_HAZARD;
        for (bucket, average) in average.iter_mut().enumerate() {
            let sum = |counts: &[ByAge; CLASSES]| -> f64 {
                counts
                    .iter()
                    .filter_map(|ages| ages.get(bucket))
                    .map(|count| f64::from(*count))
                    .sum()
            };
            *average = (sum(&self.used) + AVERAGE_WEIGHT * younger) / (sum(&self.at_risk) + AVERAGE_WEIGHT);
            younger = *average;
        }
        let classes = self
            .at_risk
            .iter()
            .zip(self.used.iter())
            .zip(self.density.iter_mut());
        for ((at_risk, used), density) in classes {
            let expected: f64 = at_risk
                .iter()
                .zip(&average)
                .map(|(at_risk, average)| f64::from(*at_risk) * average)
                .sum();
            let seen: f64 = used.iter().map(|used| f64::from(*used)).sum();
            let ratio = (seen + RATIO_WEIGHT) / (expected + RATIO_WEIGHT);
            let counts = at_risk.iter().zip(used).zip(&average);
            let hazard = counts.map(|((at_risk, used), average)| {
                let hazard = (f64::from(*used) + PRIOR_WEIGHT * (average * ratio).min(MOST_HAZARD))
                    / (f64::from(*at_risk) + PRIOR_WEIGHT);
                hazard.min(MOST_HAZARD)
            });
            best_densities(hazard, density);
        }
    }
}

/// Of hits over occupancy from each age on, the most over all later ages.
///
/// With the hits H and the occupancy T expected from age 0 on as coordinates, it is the steepest line from the point of the age to a
/// later point: a slope of the upper hull of the later points, which grows from the last point to the first.
fn best_densities(hazard: impl Iterator<Item = f64>, density: &mut ByAge) {
    let mut points = [(0.0, 0.0); BUCKETS + 1];
    let (mut alive, mut hits, mut time) = (1.0, 0.0, 0.0);
    for (bucket, hazard) in hazard.enumerate() {
        if let Some(point) = points.get_mut(bucket) {
            *point = (time, hits);
        }
        let width = (least_age(bucket + 1) - least_age(bucket)) as f64;
        time += alive * width * (1.0 - hazard / 2.0);
        hits += alive * hazard;
        alive *= 1.0 - hazard;
    }
    if let Some(point) = points.last_mut() {
        *point = (time, hits);
    }
    let mut hull: Vec<(f64, f64)> = Vec::with_capacity(BUCKETS + 1);
    let slope = |from: (f64, f64), to: (f64, f64)| {
        let time = to.0 - from.0;
        if time > 0.0 { (to.1 - from.1) / time } else { 0.0 }
    };
    for (bucket, point) in points.iter().enumerate().rev() {
        while let [.., second, first] = hull[..]
            && slope(*point, first) <= slope(first, second)
        {
            hull.pop();
        }
        if let (Some(first), Some(density)) = (hull.last(), density.get_mut(bucket)) {
            *density = slope(*point, *first) as f32;
        }
        hull.push(*point);
    }
    // Young blocks have the same density: the oldest of them goes first.
    if let Some(young) = density.get_mut(..bucket(YOUNG_MOMENTS)) {
        young.fill(young.iter().copied().fold(0.0, f32::max));
    }
}
