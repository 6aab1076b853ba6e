//! Writes a profile as one self-contained HTML page.

use std::fmt::Write;

use super::{Access, Block, Profile, Shape};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Rows of the table of hot instructions.
const MOST_HOT: usize = 12;

/// Text with what HTML gives a meaning to replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}

fn percent(share: f64) -> String {
    format!("{:.1}&thinsp;%", share * 100.0)
}

/// A number with its thousands apart.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out += "&#8239;";
        }
        out.push(digit);
    }
    out
}

/// A bar of parts: class, share, what it says when pointed at.
fn bar<'a>(class: &str, parts: impl IntoIterator<Item = (&'a str, f64, String)>) -> String {
    let mut out = format!("<div class=\"bar {class}\">");
    for (part, share, title) in parts.into_iter().filter(|part| part.1 > 0.0) {
        let width = (share * 100.0).min(100.0);
        let _ =
            write!(out, "<i class=\"{part}\" style=\"width:{width:.2}%\" title=\"{}\"></i>", escaped(&title));
    }
    out + "</div>"
}

fn shape_bar(shape: &Shape) -> String {
    let parts = shape.parts();
    bar("", parts.map(|(name, share, what)| (name, share, format!("{:.1} % {name}: {what}", share * 100.0))))
}

fn lanes_bar(share: f64) -> String {
    bar("", [("lanes", share, format!("{:.1} % of lanes active", share * 100.0))])
}

fn legend(items: impl IntoIterator<Item = (String, String, String)>) -> String {
    let items: String = items
        .into_iter()
        .map(|(class, number, what)| {
            format!("<li><i class=\"{class}\"></i><b>{number}</b> {}</li>", escaped(&what))
        })
        .collect();
    format!("<ul class=\"legend\">{items}</ul>")
}

/// The profile as a page.
pub fn to_html(profile: &Profile) -> String {
    let title = format!("{} – warpjit profile", escaped(&profile.setting.kernel));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    page += &heading(profile);
    page += &cards(profile);
    page += &time(profile);
    page += &hot(profile);
    page += &accesses(profile);
    page += &branches(profile);
    page += &listing(profile);
    page += &footer(profile);
    let _ = write!(page, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

fn heading(profile: &Profile) -> String {
    let s = &profile.setting;
    let mut about = format!(
        "{} &middot; {} {} &middot; tier {} &middot; {} thread{} &middot; {}",
        escaped(&s.file),
        escaped(&s.isa),
        escaped(&s.chip),
        escaped(&s.tier),
        s.threads,
        if s.threads == 1 { "" } else { "s" },
        escaped(&s.cpu)
    );
    for (what, problem) in [("not sampled", &s.not_sampled), ("not compiled", &s.not_compiled)] {
        if let Some(problem) = problem {
            let _ = write!(about, " &middot; <span class=\"warn\">{what}: {}</span>", escaped(problem));
        }
    }
    format!(
        "<header><h1>{}</h1><p>{about}</p><button id=\"theme\" type=\"button\">Light / dark</button></header>\n",
        escaped(&s.kernel)
    )
}

fn cards(profile: &Profile) -> String {
    let c = &profile.counted;
    let gather = c.shape.strided + c.shape.scattered;
    let none = || "&ndash;".to_owned();
    let cards = [
        (format!("{:.3}&thinsp;ms", profile.run_ms), "processor time of a run"),
        (grouped(c.warp_instructions), "warp instructions"),
        (c.lanes_active.map_or_else(none, percent), "of lanes active"),
        (if c.accesses == 0 { none() } else { percent(1.0 - gather) }, "of accesses are vectors or scalars"),
        (if c.accesses == 0 { none() } else { percent(gather) }, "of accesses are gathers"),
    ];
    let cards =
        cards.map(|(number, what)| format!("<div class=\"card\"><b>{number}</b><span>{what}</span></div>"));
    format!("<div class=\"cards\">{}</div>\n", cards.concat())
}

fn time(profile: &Profile) -> String {
    let parts: Vec<_> = profile.time.iter().enumerate().filter(|(_, part)| part.ms > 0.0).collect();
    let classes: Vec<String> = parts.iter().map(|(at, _)| format!("t{at}")).collect();
    let of_bar = parts.iter().zip(&classes).map(|((_, part), class)| {
        (class.as_str(), part.share, format!("{:.1} %, {:.3} ms: {}", part.share * 100.0, part.ms, part.what))
    });
    let of_legend = parts
        .iter()
        .zip(&classes)
        .map(|((_, part), class)| (class.clone(), percent(part.share), part.what.to_owned()));
    format!("<section><h2>Where the time goes</h2>{}{}</section>\n", bar("big", of_bar), legend(of_legend))
}

/// A link to an instruction of the listing.
fn link(pc: u64, text: &str) -> String {
    format!("<a class=\"code\" href=\"#pc{pc:x}\">{pc:#06x}&ensp;{}</a>", escaped(text))
}

fn hot(profile: &Profile) -> String {
    let lines = profile.hottest(MOST_HOT);
    let Some(first) = lines.first() else { return String::new() };
    let most = first.ms;
    let rows: String = lines
        .iter()
        .map(|line| {
            let title = format!("{:.3} ms", line.ms);
            format!(
                "<tr><td class=\"n\">{}</td><td class=\"n\">{:.3}</td><td class=\"bars\">{}</td><td>{}</td></tr>\n",
                percent(line.share),
                line.ms,
                bar("", [("heat", line.ms / most, title)]),
                link(line.pc, &line.text)
            )
        })
        .collect();
    format!(
        "<section><h2>Hot instructions</h2><div class=\"scroll\"><table>\
         <tr><th class=\"n\">time</th><th class=\"n\">ms</th><th></th><th>instruction</th></tr>\n{rows}</table></div></section>\n"
    )
}

fn accesses(profile: &Profile) -> String {
    if profile.accesses.is_empty() {
        return String::new();
    }
    let row = |access: &Access| {
        let lines = format!("{:.1} / {:.1}", access.lines, access.ideal_lines);
        format!(
            "<tr><td class=\"bars\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{lines}</td>\
             <td>{} {} &times;&#8239;{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
            shape_bar(&access.shape),
            grouped(access.executions),
            percent(access.lanes_active),
            access.space,
            access.direction,
            access.bytes,
            percent(access.share),
            link(access.pc, &access.text)
        )
    };
    let rows: String = profile.accesses.iter().map(row).collect();
    let parts = profile.counted.shape.parts();
    let legend = legend(
        parts.map(|(name, share, what)| (name.to_owned(), percent(share), format!("{name} – {what}"))),
    );
    format!(
        "<section><h2>Memory accesses</h2>{legend}<div class=\"scroll\" style=\"margin-top:.8rem\"><table>\
         <tr><th>addresses of lanes</th><th class=\"n\">executions</th><th class=\"n\">lanes</th>\
         <th class=\"n\" title=\"stretches of 64 bytes that an execution touches, and the fewest that could hold its bytes\">\
         lines / ideal</th><th>access</th><th class=\"n\">time</th><th>instruction</th></tr>\n{rows}</table></div></section>\n"
    )
}

fn branches(profile: &Profile) -> String {
    let rows: String = profile
        .blocks
        .iter()
        .filter_map(|block| {
            let branch = block.branch?;
            let text = profile.line(block.end_pc).map_or("", |line| line.text.as_str());
            let title = format!("lanes part in {:.1} % of executions", branch.parted * 100.0);
            Some(format!(
                "<tr><td class=\"bars\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td>{}</td></tr>\n",
                bar("", [("parted", branch.parted, title)]),
                percent(branch.parted),
                grouped(block.executions),
                percent(branch.taken),
                block.lanes_active.map_or_else(String::new, percent),
                link(block.end_pc, text)
            ))
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<section><h2>Branches</h2><div class=\"scroll\"><table><tr><th>lanes part</th><th></th>\
         <th class=\"n\">executions</th><th class=\"n\">lanes taking it</th><th class=\"n\">lanes active</th>\
         <th>instruction</th></tr>\n{rows}</table></div></section>\n"
    )
}

fn block_row(block: &Block) -> String {
    let mut about = format!("{} executions", grouped(block.executions));
    if let Some(active) = block.lanes_active {
        let _ = write!(about, " &middot; {}{} of lanes active", lanes_bar(active), percent(active));
    }
    if block.share > 0.0 {
        let _ = write!(about, " &middot; {} of the time", percent(block.share));
    }
    if let Some(branch) = block.branch.filter(|branch| branch.parted > 0.0) {
        let title = format!("lanes part in {:.1} % of executions", branch.parted * 100.0);
        let parted = bar("", [("parted", branch.parted, title)]);
        let _ = write!(about, " &middot; {parted}lanes part {} of the time", percent(branch.parted));
    }
    format!("<tr class=\"block\"><td colspan=\"7\">block {:#x} &middot; {about}</td></tr>\n", block.pc)
}

fn listing(profile: &Profile) -> String {
    let most = profile.lines.iter().map(|line| line.ms).fold(0.0, f64::max);
    let mut blocks = profile.blocks.iter().peekable();
    let mut rows = String::new();
    for line in &profile.lines {
        while let Some(block) = blocks.next_if(|block| block.pc <= line.pc) {
            rows += &block_row(block);
        }
        // The eye sees small differences among the cold: the root lifts them.
        let heat = if most > 0.0 { (line.ms / most).sqrt() } else { 0.0 };
        let cold = if line.executions.is_none() && line.ms == 0.0 { " cold" } else { "" };
        let accesses: String =
            profile.accesses.iter().filter(|a| a.pc == line.pc).map(|a| shape_bar(&a.shape)).collect();
        let mut title = format!("{:.3} ms", line.ms);
        if line.helper_ms > 0.0 {
            let _ = write!(title, ", {:.3} of them in functions it calls", line.helper_ms);
        }
        if line.interpreter_ms > 0.0 {
            let _ = write!(title, ", {:.3} of them in the interpreter", line.interpreter_ms);
        }
        let _ = writeln!(
            rows,
            "<tr class=\"line{cold}\" id=\"pc{pc:x}\" style=\"--h:{heat:.3}\"><td class=\"n\" title=\"{title}\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td><td class=\"code note\">{pc:#06x}</td><td class=\"words\">{}</td>\
             <td class=\"text\">{}</td><td>{accesses}</td></tr>",
            if line.ms > 0.0 { percent(line.share) } else { String::new() },
            line.executions.map_or_else(String::new, grouped),
            line.lanes_active.map_or_else(String::new, lanes_bar),
            escaped(&line.words),
            escaped(&line.text),
            pc = line.pc,
        );
    }
    format!(
        "<section><h2>Listing <button id=\"words\" type=\"button\">Words</button></h2><div class=\"scroll\">\
         <table class=\"listing\"><tr><th class=\"n\">time</th><th class=\"n\">executions</th><th>lanes</th><th>address</th>\
         <th class=\"words\">words</th><th>instruction</th><th>access</th></tr>\n{rows}</table></div></section>\n"
    )
}

fn footer(profile: &Profile) -> String {
    let (s, c) = (&profile.setting, &profile.counted);
    let part = if c.complete { "" } else { " (a part of the grid: counting was stopped)" };
    let lost = if s.lost_samples > 0 { format!(", {} lost", grouped(s.lost_samples)) } else { String::new() };
    format!(
        "<footer><p>Time: {} samples of {} run{} at {} a second and thread{lost}, as processor time of one run over all threads. \
         Samples of the interpreter are taken by block and spread over its instructions.</p>\
         <p>Executions, lanes and addresses: counted by the interpreter in {} blocks{part}. A warp has {} lanes.</p>\
         <p>warpjit {}</p></footer>\n",
        grouped(s.samples),
        grouped(s.runs),
        if s.runs == 1 { "" } else { "s" },
        grouped(s.sample_rate.into()),
        grouped(c.blocks),
        c.lanes,
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_numbers_are_grouped() {
        assert_eq!(escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
        let plain = |n| grouped(n).replace("&#8239;", " ");
        assert_eq!([plain(0), plain(999), plain(1000), plain(1234567)], ["0", "999", "1 000", "1 234 567"]);
    }

    #[test]
    fn bars_have_the_parts_there_are() {
        let shape = Shape { contiguous: 0.25, same: 0.0, strided: 0.0, scattered: 0.75 };
        let bar = shape_bar(&shape);
        assert!(bar.contains("class=\"contiguous\" style=\"width:25.00%\""), "{bar}");
        assert!(
            bar.contains("class=\"scattered\" style=\"width:75.00%\"") && !bar.contains("\"same\""),
            "{bar}"
        );
    }
}
