//! How sections are reached: what is called, how, and from where it is imported.

use menace_model::{How, ModuleRef, ModuleReport, Section, SectionKind};
use menace_sandbox::WarmSpec;
use menace_source::Analysis;

/// Why a section cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    pub qualname: String,
    pub how: How,
    pub why: String,
}

/// The name to call and how.
pub fn reach(section: &Section) -> Result<(String, How), Closed> {
    let bare = bare(section.id.qualname());
    let how = match section.kind {
        SectionKind::Function | SectionKind::Nested => How::Function,
        SectionKind::Method => How::Method,
        SectionKind::ClassMethod => How::ClassMethod,
        SectionKind::StaticMethod => How::StaticMethod,
        SectionKind::Property => How::Property,
        SectionKind::Module => return Ok((String::new(), How::Module)),
    };
    let closed = |how, why| Err(Closed { qualname: bare.to_owned(), how, why });
    if let Some((around, _)) = bare.split_once(".<locals>") {
        let why = format!("it is defined inside `{around}`: only a call of that can reach it");
        return closed(How::Function, why);
    }
    if let Some((class, "__init__" | "__new__")) = bare.rsplit_once('.') {
        // Making an instance is how Python itself gets there.
        return Ok((class.to_owned(), How::Function));
    }
    if let Some((property, accessor @ ("setter" | "deleter"))) = bare.rsplit_once('.')
        && how == How::Property
    {
        let why = format!("it is the {accessor} of `{property}`, which cannot be called");
        return closed(how, why);
    }
    Ok((bare.to_owned(), how))
}

/// Without the number of the definition.
pub fn bare(qualname: &str) -> &str {
    qualname.split_once('#').map_or(qualname, |(name, _)| name)
}

pub fn module_ref(module: &ModuleReport) -> ModuleRef {
    ModuleRef { name: module.name.clone(), path: Some(module.path.clone()) }
}

/// An interpreter that has imported the module.
pub fn warm_spec(analysis: &Analysis, module: &ModuleReport) -> WarmSpec {
    WarmSpec {
        import_roots: import_roots(analysis, module),
        ..WarmSpec::new(Some(module_ref(module)))
    }
}

/// The directory that a module's name is relative to; none when that lies above the repository.
pub fn root_of(module: &ModuleReport) -> Option<&str> {
    let stem = module.path.strip_suffix(".py").unwrap_or(&module.path);
    let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
    let below = module.name.replace('.', "/");
    if stem == below {
        return Some("");
    }
    stem.strip_suffix(&below)?.strip_suffix('/')
}

/// The module's own root first, then those of all others, then the repository.
pub fn import_roots(analysis: &Analysis, module: &ModuleReport) -> Vec<String> {
    let mut roots: Vec<&str> = root_of(module).into_iter().collect();
    let mut others: Vec<&str> = analysis.modules.iter().filter_map(root_of).collect();
    others.sort_by_key(|root| std::cmp::Reverse(root.len()));
    // A script sees what lies beside it.
    let beside = module.path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let uses_neighbours = module.imports.iter().any(|import| {
        let file = format!("{beside}/{}", import.module.replace('.', "/"));
        import.path.as_deref().is_some_and(|path| {
            path == format!("{file}.py") || path == format!("{file}/__init__.py")
        })
    });
    roots.extend(uses_neighbours.then_some(beside));
    roots.extend(others);
    roots.push("");
    let mut unique: Vec<String> = Vec::new();
    for root in roots {
        if !unique.iter().any(|known| known == root) {
            unique.push(root.to_owned());
        }
    }
    unique
}
