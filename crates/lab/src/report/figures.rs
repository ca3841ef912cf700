//! The charts of a page as figures, each with a title, a caption, the drawing, and its numbers as a table.

use super::charts::Chart;
use super::markup::{Section, add, escaped, scrolled};
use super::numbers;

/// The section with the figures of `charts`. A script in the page draws them.
pub fn section(charts: &[Chart]) -> Section {
    let mut out = "<noscript><p>The charts need JavaScript; the numbers do not.</p></noscript>\n\
                   <div class=\"charts\">\n"
        .to_owned();
    charts.iter().for_each(|chart| out += &figure(chart));
    if charts.is_empty() {
        out += "<p>There are none.</p>";
    }
    Section::new("charts", "Charts", out + "</div>\n")
}

/// A figure. A screen reader sees the drawing as one picture, which the caption describes. The table below
/// has the numbers.
fn figure(chart: &Chart) -> String {
    let [name, title, caption] = [&chart.name, &chart.title, &chart.caption].map(|text| escaped(text));
    let mut out = format!(
        "<figure aria-labelledby=\"figure-{name}-title\">\n<figcaption><h3 id=\"figure-{name}-title\">{title}</h3>\
         <p id=\"figure-{name}-caption\">{caption}</p></figcaption>\n\
         <div class=\"chart\" id=\"chart-{name}\" role=\"img\" aria-labelledby=\"figure-{name}-title\" \
         aria-describedby=\"figure-{name}-caption\"></div>\n"
    );
    add(
        &mut out,
        format_args!(
            "<details class=\"numbers\"><summary>Numbers<span class=\"unseen\"> of the chart {title}</span></summary>{}{}</div></details>\n",
            scrolled(&format!("Numbers of the chart {}", chart.title)),
            numbers::table(&chart.spec),
        ),
    );
    out += "<p class=\"save\" hidden>Save as";
    for kind in ["svg", "png", "csv"] {
        let shown = kind.to_uppercase();
        add(
            &mut out,
            format_args!(
                " <button type=\"button\" data-chart=\"{name}\" data-kind=\"{kind}\" aria-label=\"Save {title} as {shown}\">{shown}</button>"
            ),
        );
    }
    out + "</p>\n</figure>\n"
}
