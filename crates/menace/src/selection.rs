//! Which modules and sections a command is about: `--module` and `--section`.

use anyhow::anyhow;
use clap::Args;
use globset::{Glob, GlobSet, GlobSetBuilder};

use menace_loop::cycle::SectionFilter;
use menace_model::{AnalyzedModule, Section};

use crate::exit::CommandError;

#[derive(Debug, Default, Args)]
pub(crate) struct SelectionArgs {
    /// Only modules whose path or dotted name matches; may be given more than once.
    #[arg(long, value_name = "GLOB")]
    pub module: Vec<String>,

    /// Only sections whose name matches, such as `shop/cart.py::Cart.add` or `shop.cart:Cart.*`;
    /// may be given more than once.
    #[arg(long, value_name = "GLOB")]
    pub section: Vec<String>,
}

/// The parsed selection.
#[derive(Debug)]
pub(crate) struct SectionSelection {
    modules: Option<GlobSet>,
    sections: Option<GlobSet>,
}

impl SelectionArgs {
    pub(crate) fn read(&self) -> Result<SectionSelection, CommandError> {
        Ok(SectionSelection {
            modules: build_globs(&self.module)?,
            sections: build_globs(&self.section)?,
        })
    }

    /// The selection as text; empty for everything.
    pub(crate) fn describe(&self) -> String {
        let modules = self.module.iter().map(|glob| format!("module {glob}"));
        let sections = self.section.iter().map(|glob| format!("section {glob}"));
        modules.chain(sections).collect::<Vec<_>>().join(", ")
    }

    /// The error for a selection without any section.
    pub(crate) fn nothing_selected(&self) -> CommandError {
        let patterns: Vec<&str> =
            self.module.iter().chain(&self.section).map(String::as_str).collect();
        CommandError::Request(anyhow!(
            "nothing matches {}; `menace analyze --format json` has the names of all sections",
            patterns.join(", ")
        ))
    }
}

fn build_globs(patterns: &[String]) -> Result<Option<GlobSet>, CommandError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut globs = GlobSetBuilder::new();
    for pattern in patterns {
        globs.add(Glob::new(pattern).map_err(CommandError::request)?);
    }
    globs.build().map(Some).map_err(CommandError::request)
}

impl SectionFilter for SectionSelection {
    fn has_module(&self, module: &AnalyzedModule) -> bool {
        let modules = self.modules.as_ref();
        modules.is_none_or(|globs| globs.is_match(&module.path) || globs.is_match(&module.name))
    }

    fn has_path(&self, path: &str) -> bool {
        let name = path.strip_suffix(".py").unwrap_or(path).replace('/', ".");
        let modules = self.modules.as_ref();
        modules.is_none_or(|globs| globs.is_match(path) || globs.is_match(name))
    }

    fn has(&self, module: &AnalyzedModule, section: &Section) -> bool {
        let is_selected = self.sections.as_ref().is_none_or(|globs| {
            let dotted = format!("{}:{}", module.name, section.id.qualname());
            globs.is_match(section.id.as_str()) || globs.is_match(dotted)
        });
        is_selected && self.has_module(module)
    }
}
