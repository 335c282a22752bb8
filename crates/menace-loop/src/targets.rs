//! How a section is called: its target, and the import roots of its module.

use menace_model::{AnalyzedModule, ModuleRef, Section, SectionKind, TargetKind};
use menace_sandbox::SandboxSpec;
use menace_source::Analysis;

/// Why a section cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncallableTarget {
    pub qualname: String,
    pub kind: TargetKind,
    pub why: String,
}

/// The name to call, and the kind of call.
pub fn resolve_target(section: &Section) -> Result<(String, TargetKind), UncallableTarget> {
    let bare = strip_definition_number(section.id.qualname());
    let kind = match section.kind {
        SectionKind::Function | SectionKind::Nested => TargetKind::Function,
        SectionKind::Method => TargetKind::Method,
        SectionKind::ClassMethod => TargetKind::ClassMethod,
        SectionKind::StaticMethod => TargetKind::StaticMethod,
        SectionKind::Property => TargetKind::Property,
        SectionKind::Module => return Ok((String::new(), TargetKind::Module)),
    };
    let uncallable = |kind, why| Err(UncallableTarget { qualname: bare.to_owned(), kind, why });
    if let Some((around, _)) = bare.split_once(".<locals>") {
        let why = format!("it is defined inside `{around}`: only a call of that can reach it");
        return uncallable(TargetKind::Function, why);
    }
    if let Some((class, "__init__" | "__new__")) = bare.rsplit_once('.') {
        // Calling the class runs both.
        return Ok((class.to_owned(), TargetKind::Function));
    }
    if let Some((property, accessor @ ("setter" | "deleter"))) = bare.rsplit_once('.')
        && kind == TargetKind::Property
    {
        let why = format!("it is the {accessor} of `{property}`, which cannot be called");
        return uncallable(kind, why);
    }
    Ok((bare.to_owned(), kind))
}

/// The qualified name without the number of the definition: `f#2` → `f`.
pub fn strip_definition_number(qualname: &str) -> &str {
    qualname.split_once('#').map_or(qualname, |(name, _)| name)
}

pub fn module_ref(module: &AnalyzedModule) -> ModuleRef {
    ModuleRef { name: module.name.clone(), path: Some(module.path.clone()) }
}

/// A sandbox that has imported the module.
pub fn module_spec(analysis: &Analysis, module: &AnalyzedModule) -> SandboxSpec {
    SandboxSpec {
        import_roots: import_roots(analysis, module),
        ..SandboxSpec::new(Some(module_ref(module)))
    }
}

/// The directory that a module's name is relative to; none when it is above the repository.
pub fn root_of(module: &AnalyzedModule) -> Option<&str> {
    let stem = module.path.strip_suffix(".py").unwrap_or(&module.path);
    let stem = stem.strip_suffix("/__init__").unwrap_or(stem);
    let below = module.name.replace('.', "/");
    if stem == below {
        return Some("");
    }
    stem.strip_suffix(&below)?.strip_suffix('/')
}

/// Import path of a module: its own root, the roots of all other modules, the repository.
pub fn import_roots(analysis: &Analysis, module: &AnalyzedModule) -> Vec<String> {
    let mut roots: Vec<&str> = root_of(module).into_iter().collect();
    let mut others: Vec<&str> = analysis.modules.iter().filter_map(root_of).collect();
    others.sort_by_key(|root| std::cmp::Reverse(root.len()));
    // Python puts a script's directory on the import path.
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
        if !unique.iter().any(|one| one == root) {
            unique.push(root.to_owned());
        }
    }
    unique
}
