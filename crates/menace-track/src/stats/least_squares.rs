//! Ordinary least squares by Householder reflections.
//!
//! Callers choose the columns. Invariant: only a matrix of full rank has coefficients; for any
//! other the result is `None`.

/// A matrix of columns of equal length.
#[derive(Debug, Clone, Default)]
pub(crate) struct DesignMatrix {
    pub(crate) columns: Vec<Vec<f64>>,
}

/// The solution, with the values that tests need.
#[derive(Debug, Clone)]
pub(crate) struct LeastSquaresSolution {
    pub(crate) coefficients: Vec<f64>,
    /// The sum of squared residuals.
    pub(crate) residual_sum_of_squares: f64,
    /// The diagonal of (XᵀX)⁻¹.
    pub(crate) inverse_gram_diagonal: Vec<f64>,
}

/// The relative size below which a pivot counts as zero.
const RANK_TOLERANCE: f64 = 1e-12;

/// Reflects `target` and the columns so that the columns become upper triangular.
fn triangularise(matrix: &DesignMatrix, target: &[f64]) -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
    let rows = target.len();
    let count = matrix.columns.len();
    if rows < count {
        return None;
    }
    let mut columns = matrix.columns.clone();
    let mut target = target.to_vec();
    for pivot in 0..count {
        let whole = norm(&columns[pivot]);
        let length = norm(&columns[pivot][pivot..]);
        if length <= RANK_TOLERANCE * whole || length == 0.0 {
            return None;
        }
        let mut mirror = columns[pivot][pivot..].to_vec();
        mirror[0] += if mirror[0] < 0.0 { -length } else { length };
        let square: f64 = mirror.iter().map(|value| value * value).sum();
        for column in &mut columns[pivot..] {
            reflect(&mirror, square, &mut column[pivot..]);
        }
        reflect(&mirror, square, &mut target[pivot..]);
    }
    Some((columns, target))
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn reflect(mirror: &[f64], square: f64, column: &mut [f64]) {
    let factor = 2.0 * mirror.iter().zip(&*column).map(|(m, c)| m * c).sum::<f64>() / square;
    for (value, mirrored) in column.iter_mut().zip(mirror) {
        *value -= factor * mirrored;
    }
}

/// The coefficients of the least squares solution; `None` without full rank.
pub(crate) fn solve(matrix: &DesignMatrix, target: &[f64]) -> Option<LeastSquaresSolution> {
    let (upper, reflected) = triangularise(matrix, target)?;
    let count = upper.len();
    let mut coefficients = vec![0.0; count];
    for row in (0..count).rev() {
        let known: f64 =
            (row + 1..count).map(|column| upper[column][row] * coefficients[column]).sum();
        coefficients[row] = (reflected[row] - known) / upper[row][row];
    }
    let rest = reflected[count..].iter().map(|value| value * value).sum();
    // Inverts the triangle row by row; the squared norms of its rows are the diagonal.
    let mut spread = vec![0.0; count];
    for end in 0..count {
        let mut inverse = vec![0.0; count];
        inverse[end] = 1.0 / upper[end][end];
        for row in (0..end).rev() {
            let known: f64 =
                (row + 1..=end).map(|column| upper[column][row] * inverse[column]).sum();
            inverse[row] = -known / upper[row][row];
        }
        for row in 0..=end {
            spread[row] += inverse[row] * inverse[row];
        }
    }
    coefficients.iter().chain(&spread).all(|value| value.is_finite()).then_some(
        LeastSquaresSolution {
            coefficients,
            residual_sum_of_squares: rest,
            inverse_gram_diagonal: spread,
        },
    )
}

/// The sum of squared residuals for the first 1, 2 … all columns, from one decomposition.
pub(crate) fn nested_residual_sums(matrix: &DesignMatrix, target: &[f64]) -> Option<Vec<f64>> {
    let (upper, reflected) = triangularise(matrix, target)?;
    let mut rests = vec![0.0; upper.len()];
    let mut rest: f64 = reflected[upper.len()..].iter().map(|value| value * value).sum();
    for count in (0..upper.len()).rev() {
        rests[count] = rest;
        rest += reflected[count] * reflected[count];
    }
    Some(rests)
}

/// Solves a small square system by elimination with row pivoting; `None` when it is singular.
pub(crate) fn solve_square(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let count = right.len();
    for pivot in 0..count {
        let best = (pivot..count)
            .max_by(|a, b| rows[*a][pivot].abs().total_cmp(&rows[*b][pivot].abs()))?;
        if rows[best][pivot].abs() < 1e-300 {
            return None;
        }
        rows.swap(pivot, best);
        right.swap(pivot, best);
        let (upper, lower) = rows.split_at_mut(pivot + 1);
        let top = &upper[pivot];
        for (offset, row) in lower.iter_mut().enumerate() {
            let factor = row[pivot] / top[pivot];
            if factor != 0.0 {
                for column in pivot..count {
                    row[column] -= factor * top[column];
                }
                right[pivot + 1 + offset] -= factor * right[pivot];
            }
        }
    }
    let mut answer = vec![0.0; count];
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count).map(|column| rows[row][column] * answer[column]).sum();
        answer[row] = (right[row] - known) / rows[row][row];
    }
    answer.iter().all(|value| value.is_finite()).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let matrix = DesignMatrix { columns: vec![vec![1.0; 4], vec![0.0, 1.0, 2.0, 3.0]] };
        let solution = solve(&matrix, &[1.0, 3.0, 5.0, 7.0]).unwrap();
        assert!((solution.coefficients[0] - 1.0).abs() < 1e-12);
        assert!((solution.coefficients[1] - 2.0).abs() < 1e-12);
        assert!(solution.residual_sum_of_squares < 1e-24);
        // (XᵀX)⁻¹ of this matrix has 0.7 and 0.2 on its diagonal.
        assert!(
            (solution.inverse_gram_diagonal[0] - 0.7).abs() < 1e-12
                && (solution.inverse_gram_diagonal[1] - 0.2).abs() < 1e-12
        );
    }

    #[test]
    fn columns_that_depend_on_each_other_have_no_answer() {
        let matrix = DesignMatrix { columns: vec![vec![1.0; 3], vec![2.0; 3]] };
        assert!(solve(&matrix, &[1.0, 2.0, 3.0]).is_none());
        assert!(
            solve_square(vec![vec![1.0, 2.0], vec![2.0, 4.0]], vec![1.0, 2.0])
                .is_none_or(|answer| answer.iter().all(|value| value.is_finite()))
        );
    }

    #[test]
    fn residuals_shrink_with_every_column() {
        let matrix = DesignMatrix { columns: vec![vec![1.0; 4], vec![0.0, 1.0, 2.0, 3.5]] };
        let target = [1.0, 3.0, 5.5, 7.0];
        let rests = nested_residual_sums(&matrix, &target).unwrap();
        assert!(
            (rests[1] - solve(&matrix, &target).unwrap().residual_sum_of_squares).abs() < 1e-12
        );
        assert!(rests[0] > rests[1]);
    }
}
