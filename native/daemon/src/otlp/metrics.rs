//! The text of `/metrics` as OTLP has metrics: one set of numbers, in two forms.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum, metric::Data,
    number_data_point,
};

use super::spans::attribute;

/// The metrics in an exposition that counts since `start_ns`.
pub(super) fn metrics(exposition: &str, start_ns: u64, now_ns: u64) -> Vec<Metric> {
    let mut families: Vec<Family<'_>> = Vec::new();
    let mut help = "";
    for line in exposition.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            if let Some((name, kind)) = rest.split_once(' ') {
                families.push(Family {
                    name,
                    help,
                    kind,
                    samples: Vec::new(),
                });
            }
        } else if let (Some(family), Some(sample)) = (families.last_mut(), Sample::of(line)) {
            family.samples.push(sample);
        }
    }
    let times = (start_ns, now_ns);
    families.iter().map(|family| family.metric(times)).collect()
}

struct Family<'a> {
    name: &'a str,
    help: &'a str,
    kind: &'a str,
    samples: Vec<Sample<'a>>,
}

struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

impl<'a> Sample<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (head, value) = line.rsplit_once(' ')?;
        let (name, labels) = match head.split_once('{') {
            Some((name, rest)) => (name, labels(rest.strip_suffix('}')?)?),
            None => (head, Vec::new()),
        };
        Some(Self {
            name,
            labels,
            value: value.parse().ok()?,
        })
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let labels = self.labels.iter().filter(|(key, _)| *key != "le");
        labels
            .map(|(key, value)| attribute(key, Value::StringValue(value.clone())))
            .collect()
    }
}

/// `key="value",key="value"`, with the escapes of the exposition.
fn labels(mut text: &str) -> Option<Vec<(&str, String)>> {
    let mut found = Vec::new();
    while !text.is_empty() {
        let (key, rest) = text.split_once("=\"")?;
        let (mut value, mut escaped, mut end) = (String::new(), false, None);
        for (at, letter) in rest.char_indices() {
            match (escaped, letter) {
                (false, '"') => {
                    end = Some(at);
                    break;
                }
                (false, '\\') => escaped = true,
                (true, 'n') => (escaped, _) = (false, value.push('\n')),
                (_, letter) => (escaped, _) = (false, value.push(letter)),
            }
        }
        found.push((key, value));
        text = rest.get(end? + 1..)?.trim_start_matches(',');
    }
    Some(found)
}

impl Family<'_> {
    fn metric(&self, times: (u64, u64)) -> Metric {
        let data = match self.kind {
            "counter" => Data::Sum(Sum {
                data_points: self.points(times),
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
                is_monotonic: true,
            }),
            "histogram" => Data::Histogram(Histogram {
                data_points: self.histograms(times),
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
            }),
            _ => Data::Gauge(Gauge {
                data_points: self.points(times),
            }),
        };
        Metric {
            // Series of a counter have its name with an ending.
            name: self
                .samples
                .first()
                .filter(|_| self.kind != "histogram")
                .map_or(self.name, |one| one.name)
                .to_owned(),
            description: self.help.to_owned(),
            data: Some(data),
            ..Metric::default()
        }
    }

    fn points(&self, (start, now): (u64, u64)) -> Vec<NumberDataPoint> {
        let point = |sample: &Sample<'_>| NumberDataPoint {
            attributes: sample.attributes(),
            start_time_unix_nano: start,
            time_unix_nano: now,
            value: Some(number_data_point::Value::AsDouble(sample.value)),
            ..NumberDataPoint::default()
        };
        self.samples.iter().map(point).collect()
    }

    fn histograms(&self, (start, now): (u64, u64)) -> Vec<HistogramDataPoint> {
        let mut points: BTreeMap<Vec<(&str, &str)>, HistogramDataPoint> = BTreeMap::new();
        for sample in &self.samples {
            let key = sample.labels.iter().filter(|(key, _)| *key != "le");
            let key = key.map(|(key, value)| (*key, value.as_str())).collect();
            let point = points.entry(key).or_insert_with(|| HistogramDataPoint {
                attributes: sample.attributes(),
                start_time_unix_nano: start,
                time_unix_nano: now,
                ..HistogramDataPoint::default()
            });
            let ending = sample.name.strip_prefix(self.name).unwrap_or_default();
            match ending {
                "_sum" => point.sum = Some(sample.value),
                "_count" => point.count = sample.value as u64,
                _ => {
                    // Buckets of the exposition count all below their bound; these count what is between two.
                    let below: u64 = point.bucket_counts.iter().sum();
                    point
                        .bucket_counts
                        .push((sample.value as u64).saturating_sub(below));
                    let bound = sample.labels.iter().find(|(key, _)| *key == "le");
                    let bound = bound.and_then(|(_, bound)| bound.parse::<f64>().ok());
                    point
                        .explicit_bounds
                        .extend(bound.filter(|bound| bound.is_finite()));
                }
            }
        }
        points.into_values().collect()
    }
}
