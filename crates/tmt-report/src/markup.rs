//! A page as data, and its HTML.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use tmt_plot::Picture;
use tmt_plot::render::{Size, svg};

use crate::text::{html, json};

/// Chart.js 4.5.1, as its package carries it.
const CHART: &str = include_str!(concat!(env!("OUT_DIR"), "/chart.js"));

/// SHA-256 of that text, in hexadecimal.
pub const CHART_SHA256: &str = "ecc3cd1eeb8c34d2178e3f59fd63ec5a3d84358c11730af0b9958dc886d7652a";

const CHART_LICENCE: &str = include_str!("../page/licence-chart.txt");
const STYLE: &str = include_str!("../page/page.css");
/// Parts of our script; each page has all of them, so that a policy has one hash.
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("../page/chart.js"),
    include_str!("../page/study.js"),
    include_str!("../page/run.js"),
    include_str!("../page/start.js"),
);

/// A table for people.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Name of it.
    pub caption: String,
    /// Names of the columns.
    pub headings: Vec<String>,
    /// Cells by row.
    pub rows: Vec<Vec<String>>,
    /// Number of leading columns that hold words.
    pub words: usize,
}

/// A page.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Title.
    pub title: String,
    /// The answer in one sentence, with its interval.
    pub answer: String,
    /// Notes on the answer: how intervals were made, what the runs have in common.
    pub notes: Vec<String>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Pictures without script, each with its name.
    pub pictures: Vec<(String, Picture)>,
    /// The main table.
    pub table: Table,
    /// Further tables, closed at first: name and value of settings.
    pub details: Vec<Table>,
    /// Commands that repeat the results.
    pub commands: Vec<String>,
    /// Versions of the programs that made the results, and of this one.
    pub versions: Vec<String>,
    /// Data of the scripts.
    pub data: Json,
}

/// The source of a script or style in a content security policy.
fn hash(text: &str) -> String {
    format!(
        "'sha256-{}'",
        STANDARD.encode(Sha256::digest(text.as_bytes()))
    )
}

/// SHA-256 of Chart.js as it stands in pages, in hexadecimal.
#[must_use]
pub fn chart_sha256() -> String {
    let mut text = String::new();
    for byte in Sha256::digest(CHART.as_bytes()) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

impl Page {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let policy = format!(
            "default-src 'none'; script-src {} {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
            hash(CHART),
            hash(SCRIPT),
            hash(STYLE)
        );
        let mut page = String::with_capacity(CHART.len() + SCRIPT.len() + (1 << 17));
        page.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        page.push_str(&format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n"
        ));
        page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n");
        page.push_str(&format!(
            "<title>{}</title>\n<style>{STYLE}</style>\n</head>\n",
            html(&self.title)
        ));
        page.push_str("<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n");
        self.head(&mut page);
        page.push_str("<main id=\"main\">\n");
        page.push_str(
            "<section id=\"controls\" aria-label=\"Choice\" hidden><details id=\"choice\"><summary>Choose what is shown</summary></details></section>\n",
        );
        self.charts(&mut page);
        page.push_str("<section id=\"results\" aria-labelledby=\"results-title\">\n<h2 id=\"results-title\">Table</h2>\n");
        page.push_str("<div id=\"table-tools\" hidden></div>\n");
        table(&mut page, &self.table, "main-table");
        page.push_str("</section>\n");
        for (place, detail) in self.details.iter().enumerate() {
            page.push_str(&format!(
                "<details class=\"block\"><summary>{}</summary>\n",
                html(&detail.caption)
            ));
            table(&mut page, detail, &format!("detail-{place}"));
            page.push_str("</details>\n");
        }
        self.end(&mut page);
        page.push_str("</main>\n<p id=\"live\" class=\"unseen\" aria-live=\"polite\"></p>\n");
        page.push_str(&format!(
            "<script type=\"application/json\" id=\"data\">{}</script>\n",
            json(&self.data)
        ));
        page.push_str(&format!(
            "<script>{CHART}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        ));
        page
    }

    fn head(&self, page: &mut String) {
        page.push_str(&format!(
            "<header>\n<p class=\"kicker\">tmt report</p>\n<h1>{}</h1>\n<p class=\"answer\">{}</p>\n",
            html(&self.title),
            html(&self.answer)
        ));
        for note in &self.notes {
            page.push_str(&format!("<p class=\"note\">{}</p>\n", html(note)));
        }
        if !self.warnings.is_empty() {
            page.push_str("<div class=\"warnings\" role=\"note\" aria-label=\"Warnings\"><strong>Warnings</strong><ul>\n");
            for warning in &self.warnings {
                page.push_str(&format!("<li>{}</li>\n", html(warning)));
            }
            page.push_str("</ul></div>\n");
        }
        page.push_str("</header>\n");
    }

    fn charts(&self, page: &mut String) {
        page.push_str("<section aria-labelledby=\"charts-title\">\n<h2 id=\"charts-title\">Charts</h2>\n<div id=\"charts\" hidden></div>\n<div id=\"pictures\">\n");
        for (place, (name, picture)) in self.pictures.iter().enumerate() {
            let drawn = svg(picture, Size::default());
            // Ids differ between the pictures of a page.
            let drawn = drawn
                .replace("id=\"panel-", &format!("id=\"picture-{place}-panel-"))
                .replace("url(#panel-", &format!("url(#picture-{place}-panel-"));
            let drawn = drawn.replacen(
                "<svg ",
                &format!("<svg role=\"img\" aria-label=\"{}\" ", html(name)),
                1,
            );
            // Ids of its parts must differ from those of other pictures.
            page.push_str(&format!(
                "<figure>{drawn}<figcaption>{}</figcaption></figure>\n",
                html(name)
            ));
        }
        if self.pictures.is_empty() {
            page.push_str("<p>These data have no picture; the table has all of them.</p>\n");
        }
        page.push_str("</div>\n</section>\n");
    }

    fn end(&self, page: &mut String) {
        page.push_str("<section aria-labelledby=\"repeat-title\">\n<h2 id=\"repeat-title\">Repeat it</h2>\n<pre tabindex=\"0\" aria-label=\"Commands\">");
        page.push_str(&html(&self.commands.join("\n")));
        page.push_str("</pre>\n<p class=\"note\">");
        page.push_str(&html(&self.versions.join("; ")));
        page.push_str("</p>\n<details class=\"block\"><summary>Licence of Chart.js 4.5.1, which draws the charts</summary><pre tabindex=\"0\" aria-label=\"Licence\">");
        page.push_str(&html(CHART_LICENCE));
        page.push_str("</pre></details>\n</section>\n");
    }
}

/// A table, in a frame that scrolls.
fn table(page: &mut String, table: &Table, id: &str) {
    page.push_str(&format!(
        "<div class=\"frame\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table id=\"{id}\"><caption>{}</caption>\n<thead><tr>",
        html(&table.caption),
        html(&table.caption)
    ));
    let class = |place: usize| {
        if place < table.words {
            " class=\"word\""
        } else {
            ""
        }
    };
    for (place, heading) in table.headings.iter().enumerate() {
        page.push_str(&format!(
            "<th scope=\"col\"{}>{}</th>",
            class(place),
            html(heading)
        ));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            page.push_str(&format!("<td{}>{}</td>", class(place), html(cell)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_library_is_the_published_one() {
        assert_eq!(chart_sha256(), CHART_SHA256);
        assert!(CHART_LICENCE.contains("Chart.js Contributors"));
    }

    #[test]
    fn no_script_of_ours_can_end_its_element() {
        for text in [CHART, SCRIPT, STYLE] {
            let low = text.to_ascii_lowercase();
            assert!(!low.contains("</script") && !low.contains("<!--") && !low.contains("</style"));
        }
    }

    #[test]
    fn the_page_names_the_hashes_of_its_scripts() {
        let page = Page::default().html();
        for text in [CHART, SCRIPT, STYLE] {
            assert!(page.contains(&hash(text)));
        }
        // The hash of the empty text is published.
        assert_eq!(
            hash(""),
            "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
        );
    }
}
