//! Determines the dotted name of each file, and the file of a dotted name.
//!
//! The directories on Python's path are not known before something runs. They are assumed to be the
//! repository, every directory that contains a project file, and `src` in each of these.

use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Debug)]
struct ModuleNameEntry {
    path: String,
    name: String,
    /// Index of the import root that the name is relative to.
    root: usize,
    is_package: bool,
}

/// The names of all modules of a repository.
#[derive(Debug)]
pub(crate) struct ModuleNames {
    modules: Vec<ModuleNameEntry>,
    by_name: FxHashMap<String, Vec<usize>>,
    by_path: FxHashMap<String, usize>,
    /// The repository's own name, when its root is a package itself.
    root_package: Option<String>,
}

impl ModuleNames {
    /// `paths` below the repository; `projects` are directories that hold a project file;
    /// `repository` is the name of the repository's own directory.
    pub(crate) fn new(paths: Vec<String>, projects: &[String], repository: &str) -> Self {
        let packages: FxHashSet<&str> = paths
            .iter()
            .filter_map(|path| path.strip_suffix("__init__.py"))
            .map(|directory| directory.trim_end_matches('/'))
            .collect();
        let mut roots: Vec<String> = projects
            .iter()
            .map(String::as_str)
            .chain([""])
            .flat_map(|project| [project.to_owned(), join_path(project, "src")])
            .filter(|root| root.is_empty() || !packages.contains(root.as_str()))
            .collect();
        // Deepest first: the first root that holds a file is its own.
        roots.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        roots.dedup();
        let root_package = packages.contains("").then(|| repository.to_owned());

        let modules: Vec<ModuleNameEntry> = paths
            .iter()
            .map(|path| {
                let (root, below) = roots
                    .iter()
                    .enumerate()
                    .find_map(|(index, root)| Some((index, strip_root(path, root)?)))
                    .unwrap_or((roots.len() - 1, path));
                let stem = below.strip_suffix(".py").unwrap_or(below);
                let package = stem.strip_suffix("/__init__");
                let mut name = package.unwrap_or(stem).replace('/', ".");
                let is_package = package.is_some() || stem == "__init__";
                if let (Some(repository), true) = (&root_package, roots[root].is_empty()) {
                    let inside = stem != "__init__";
                    name = if inside { format!("{repository}.{name}") } else { repository.clone() };
                }
                ModuleNameEntry { path: path.clone(), name, root, is_package }
            })
            .collect();

        let mut by_name: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (index, module) in modules.iter().enumerate() {
            by_name.entry(module.name.clone()).or_default().push(index);
        }
        let by_path = paths.into_iter().enumerate().map(|(index, path)| (path, index)).collect();
        Self { modules, by_name, by_path, root_package }
    }

    pub(crate) fn path(&self, module: usize) -> &str {
        &self.modules[module].path
    }

    pub(crate) fn name(&self, module: usize) -> &str {
        &self.modules[module].name
    }

    /// The module at a path below the repository.
    pub(crate) fn module_at(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The file that `from` gets when it imports `name`.
    pub(crate) fn find_module(&self, from: usize, name: &str) -> Option<usize> {
        self.find_below_import_root(from, name).or_else(|| self.find_elsewhere(from, name))
    }

    fn find_below_import_root(&self, from: usize, name: &str) -> Option<usize> {
        let candidates = self.by_name.get(name)?;
        let root = self.modules[from].root;
        let near = candidates.iter().find(|&&candidate| self.modules[candidate].root == root);
        near.or(candidates.first()).copied()
    }

    fn find_elsewhere(&self, from: usize, name: &str) -> Option<usize> {
        self.find_beside(from, name).or_else(|| {
            // Run from inside of the package, its modules go by their own names.
            let package = self.root_package.as_deref()?;
            self.by_name.get(&format!("{package}.{name}"))?.first().copied()
        })
    }

    /// A script can import modules beside it, and a package those beside its topmost parent.
    fn find_beside(&self, from: usize, name: &str) -> Option<usize> {
        let mut directory = parent_path(&self.modules[from].path);
        while self.by_path.contains_key(&join_path(directory, "__init__.py"))
            && !directory.is_empty()
        {
            directory = parent_path(directory);
        }
        let stem = join_path(directory, &name.replace('.', "/"));
        let file = self.by_path.get(&format!("{stem}.py"));
        file.or_else(|| self.by_path.get(&format!("{stem}/__init__.py"))).copied()
    }

    /// Makes a module name as written in `from` absolute: `..x` becomes `package.x`.
    ///
    /// `None` when it leads out of the topmost package.
    pub(crate) fn absolute_name(&self, from: usize, written: &str) -> Option<String> {
        let level = written.bytes().take_while(|&byte| byte == b'.').count();
        let rest = &written[level..];
        if level == 0 {
            return Some(rest.to_owned());
        }
        let module = &self.modules[from];
        let mut package: Vec<&str> = module.name.split('.').collect();
        let up = level - usize::from(module.is_package);
        if up >= package.len() {
            return None;
        }
        package.truncate(package.len() - up);
        package.extend((!rest.is_empty()).then_some(rest));
        Some(package.join("."))
    }

    /// The packages that a module lies in, nearest first.
    pub(crate) fn enclosing_packages(&self, module: usize) -> impl Iterator<Item = usize> {
        let mut directory = parent_path(&self.modules[module].path);
        if self.modules[module].is_package {
            directory = parent_path(directory);
        }
        std::iter::from_fn(move || {
            let package = self.module_at(&join_path(directory, "__init__.py"))?;
            let found = (package != module).then_some(package);
            // The root has no parent, so it is searched once.
            directory = if directory.is_empty() { "/" } else { parent_path(directory) };
            found
        })
    }

    /// Whether a module is inside of a package.
    pub(crate) fn is_inside(&self, module: usize, package: usize) -> bool {
        let directory = parent_path(&self.modules[package].path);
        strip_root(&self.modules[module].path, directory).is_some()
    }

    /// The longest prefix of a dotted name that is a module, and the rest of the name.
    pub(crate) fn split_module_prefix<'n>(
        &self,
        from: usize,
        full: &'n str,
    ) -> Option<(usize, &'n str)> {
        // Nearly all names are found below a root, which takes one look-up per prefix.
        split_by(full, |prefix| self.find_below_import_root(from, prefix))
            .or_else(|| split_by(full, |prefix| self.find_elsewhere(from, prefix)))
    }
}

fn split_by(full: &str, find: impl Fn(&str) -> Option<usize>) -> Option<(usize, &str)> {
    let mut end = full.len();
    loop {
        if let Some(module) = find(&full[..end]) {
            return Some((module, full[end..].trim_start_matches('.')));
        }
        end = full[..end].rfind('.')?;
    }
}

fn parent_path(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn join_path(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

fn strip_root<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    if root.is_empty() {
        return Some(path);
    }
    path.strip_prefix(root)?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build_names(paths: &[&str], projects: &[&str]) -> ModuleNames {
        let owned = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect::<Vec<_>>();
        ModuleNames::new(owned(paths), &owned(projects), "repo")
    }

    fn find_path(names: &ModuleNames, from: &str, name: &str) -> Option<String> {
        let from = names.by_path[from];
        names.find_module(from, name).map(|module| names.path(module).to_owned())
    }

    #[test]
    fn names_are_relative_to_the_nearest_import_root() {
        let names = build_names(
            &["src/app/__init__.py", "src/app/main.py", "tools/x.py", "libs/a/src/a/b.py"],
            &["libs/a"],
        );
        let all: Vec<&str> = names.modules.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(all, ["app", "app.main", "tools.x", "a.b"]);
    }

    #[test]
    fn a_directory_called_src_that_is_a_package_stays_one() {
        let names = build_names(&["src/__init__.py", "src/x.py"], &[]);
        assert_eq!(names.name(1), "src.x");
    }

    #[test]
    fn namespace_packages_need_no_init() {
        let names = build_names(&["ns/part/mod.py", "main.py"], &[]);
        assert_eq!(find_path(&names, "main.py", "ns.part.mod").unwrap(), "ns/part/mod.py");
    }

    #[test]
    fn a_script_sees_its_neighbours_and_a_package_does_not() {
        let names = build_names(
            &["tools/run.py", "tools/helper.py", "pkg/__init__.py", "pkg/a.py", "pkg/helper.py"],
            &[],
        );
        assert_eq!(find_path(&names, "tools/run.py", "helper").unwrap(), "tools/helper.py");
        assert_eq!(find_path(&names, "pkg/a.py", "helper"), None);
    }

    #[test]
    fn relative_names_become_absolute_or_lead_nowhere() {
        let names = build_names(
            &["p/__init__.py", "p/q/__init__.py", "p/q/r.py", "__init__.py", "s.py"],
            &[],
        );
        let absolute = |from: &str, written| names.absolute_name(names.by_path[from], written);
        assert_eq!(absolute("p/q/r.py", ".x").unwrap(), "repo.p.q.x");
        assert_eq!(absolute("p/q/r.py", "..").unwrap(), "repo.p");
        assert_eq!(absolute("p/q/__init__.py", ".r").unwrap(), "repo.p.q.r");
        assert_eq!(absolute("p/__init__.py", "...x"), None);
        assert_eq!(absolute("s.py", ".p").unwrap(), "repo.p");
        // The repository is a package: its modules go by two names.
        assert_eq!(find_path(&names, "s.py", "repo.s").unwrap(), "s.py");
        assert_eq!(find_path(&names, "s.py", "p.q").unwrap(), "p/q/__init__.py");
        assert_eq!(find_path(&names, "s.py", "repo").unwrap(), "__init__.py");
    }

    #[test]
    fn the_longest_module_wins() {
        let names = build_names(&["a/__init__.py", "a/b.py", "main.py"], &[]);
        assert_eq!(names.split_module_prefix(2, "a.b.C.d"), Some((1, "C.d")));
        assert_eq!(names.split_module_prefix(2, "a.c"), Some((0, "c")));
        assert_eq!(names.split_module_prefix(2, "z.c"), None);
    }
}
