//! How exposed a section is: to users of the package, to its own code, or only to tests.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// From the most to the least exposed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ExposureLevel {
        /// Users of the package call it.
        Public = "public",
        /// Its name is public, its module is not, or `__all__` leaves it out.
        Internal = "internal",
        /// Its name, or its class, begins with an underscore; or it is local to a function.
        Private = "private",
        /// Tests, examples, demos, build scripts and vendored code.
        Test = "test",
    }
}

crate::named_enum! {
    /// What an exposure follows from, strongest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ExposureEvidence {
        /// README or documentation show it in code.
        Documented = "documented",
        /// `__all__` lists it, or a package imports it into its `__init__.py`.
        Exported = "exported",
        /// Its name.
        Named = "named",
        /// The path of its module.
        Located = "located",
    }
}

/// The exposure of a section, and what it follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SectionExposure {
    pub level: ExposureLevel,
    pub evidence: ExposureEvidence,
}

impl SectionExposure {
    pub const fn new(level: ExposureLevel, evidence: ExposureEvidence) -> Self {
        Self { level, evidence }
    }

    /// `public, documented`.
    pub fn describe(self) -> String {
        match self.level {
            ExposureLevel::Public => format!("public, {}", self.evidence),
            level => level.to_string(),
        }
    }
}

/// Directories whose code is no part of the product: examples, builds, copies of other projects.
const NON_PRODUCT_DIRECTORIES: [&str; 20] = crate::words![
    example examples demo demos sample samples tutorial tutorials benchmark benchmarks bench doc
    docs vendor vendored _vendor _vendored third_party extern externals
];
/// Files that build or check a project.
const BUILD_FILES: [&str; 6] =
    ["setup.py", "noxfile.py", "tasks.py", "fabfile.py", "dodo.py", "versioneer.py"];

/// Whether a file has no code of the product: tests, examples, demos, build scripts, copies of
/// other projects.
pub fn is_outside_product(path: &str) -> bool {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    crate::is_test_path(path)
        || BUILD_FILES.contains(&name)
        || directories.split('/').any(|part| NON_PRODUCT_DIRECTORIES.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_outside_of_the_product_is_known_by_its_path() {
        for path in
            ["tests/a.py", "examples/a.py", "pip/_vendor/six.py", "setup.py", "docs/conf.py"]
        {
            assert!(is_outside_product(path), "{path}");
        }
        for path in ["shop/cart.py", "example.py", "shop/setup_data.py", "doctor/core.py"] {
            assert!(!is_outside_product(path), "{path}");
        }
    }

    #[test]
    fn only_public_sections_say_why() {
        let public = SectionExposure::new(ExposureLevel::Public, ExposureEvidence::Documented);
        assert_eq!(public.describe(), "public, documented");
        let private = SectionExposure::new(ExposureLevel::Private, ExposureEvidence::Named);
        assert_eq!(private.describe(), "private");
    }
}
