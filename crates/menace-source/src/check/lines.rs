//! From an offset in the source to its line.

use ruff_text_size::TextSize;

/// Where each line starts. Lines end as Python's tokenizer ends them: `\n`, `\r\n` or `\r`.
#[derive(Debug)]
pub(super) struct LineTable {
    starts: Vec<u32>,
}

impl LineTable {
    pub(super) fn new(source: &str) -> Self {
        let bytes = source.as_bytes();
        let mut starts = Vec::with_capacity(bytes.len() / 32 + 1);
        starts.push(0);
        for (at, byte) in bytes.iter().enumerate() {
            let ends = match byte {
                b'\n' => true,
                b'\r' => bytes.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            if ends {
                starts.push(at as u32 + 1);
            }
        }
        Self { starts }
    }

    /// The one-based line that holds `offset`.
    pub(super) fn line(&self, offset: TextSize) -> u32 {
        self.starts.partition_point(|start| *start <= u32::from(offset)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end_counts_once() {
        let table = LineTable::new("a\nb\r\nc\rd\x0ce");
        let lines: Vec<u32> = [0, 1, 2, 4, 5, 7, 8].map(|at| table.line(TextSize::new(at))).into();
        assert_eq!(lines, [1, 1, 2, 2, 3, 4, 4]);
    }

    #[test]
    fn an_offset_behind_the_end_is_on_the_last_line() {
        assert_eq!(LineTable::new("").line(TextSize::new(9)), 1);
    }
}
