//! Charts as data: measurements that a design exports. A report plots each of them.

use crate::Instant;

/// The definition of a chart, without its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chart {
    /// Name in lower-case letters and hyphens. A report prefixes the name of the design.
    pub name: &'static str,
    /// Title of the chart.
    pub title: &'static str,
    /// Caption: how to read the chart.
    pub caption: &'static str,
    /// Horizontal axis.
    pub over: ChartAxis,
    /// Title of the vertical axis.
    pub value: &'static str,
}

/// The horizontal axis of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartAxis {
    /// Simulated time, plotted as a line. The x value of a point is in seconds since the device was made, as
    /// in the points of a [`Series`](crate::Series).
    Time,
    /// Size of counted items, plotted as bars; the field is the title of the axis. A point is a size, and the
    /// number of items of this size since the device was made. A run shows the increase of that number.
    Sizes(&'static str),
}

/// A chart with its points.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartData {
    /// Definition of the chart.
    pub chart: &'static Chart,
    /// Points from left to right.
    pub points: Vec<[f64; 2]>,
}

impl ChartData {
    /// The part of the data that belongs to a run. The run began at `begin`, and the chart had the data
    /// `before` at that instant.
    #[must_use]
    pub fn since(mut self, begin: Instant, before: Option<&Self>) -> Self {
        match self.chart.over {
            ChartAxis::Time => {
                let begin = begin.ps() as f64 / 1e12;
                self.points.retain(|[time, _]| *time >= begin);
                self.points.iter_mut().for_each(|[time, _]| *time -= begin);
            }
            ChartAxis::Sizes(_) => {
                let earlier = |size: f64| {
                    let before = before.into_iter().flat_map(|before| &before.points);
                    before.filter(|[other, _]| *other == size).map(|[_, count]| count).sum::<f64>()
                };
                self.points.iter_mut().for_each(|[size, count]| *count -= earlier(*size));
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    const OVER: [ChartAxis; 2] = [ChartAxis::Time, ChartAxis::Sizes("Size")];
    static CHARTS: [Chart; 2] = [chart(OVER[0]), chart(OVER[1])];

    const fn chart(over: ChartAxis) -> Chart {
        Chart { name: "one", title: "One", caption: "One of them.", over, value: "Times" }
    }

    #[test]
    fn a_chart_of_a_run_shows_what_came_after_its_beginning() {
        let begin = Instant::ZERO + Duration::from_ms(2_000);
        let drawn = |n: usize, points: &[[f64; 2]]| ChartData { chart: &CHARTS[n], points: points.to_vec() };
        let times = drawn(0, &[[1.5, 7.0], [2.5, 8.0], [3.5, 9.0]]).since(begin, None);
        assert_eq!(times.points, [[0.5, 8.0], [1.5, 9.0]]);
        let before = drawn(1, &[[0.0, 4.0], [2.0, 1.0]]);
        let sizes = drawn(1, &[[0.0, 9.0], [1.0, 3.0], [2.0, 1.0]]).since(begin, Some(&before));
        assert_eq!(sizes.points, [[0.0, 5.0], [1.0, 3.0], [2.0, 0.0]]);
    }
}
