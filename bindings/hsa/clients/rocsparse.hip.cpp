// rocSPARSE: products of sparse matrices with vectors and matrices in several formats, triangular solves, conversions; compared with
// plain loops in double precision.
#include <algorithm>

#include <hip/hip_runtime.h>
#include <rocsparse/rocsparse.h>

#include "check.hpp"

#define CHECK_SPARSE(call)                                                                                           \
    do {                                                                                                             \
        rocsparse_status status_ = (call);                                                                           \
        if (status_ != rocsparse_status_success) {                                                                   \
            std::printf("FAILED: %s:%d: %s: %d\n", __FILE__, __LINE__, #call, int(status_));                         \
            std::_Exit(1);                                                                                           \
        }                                                                                                            \
    } while (0)

template <class T> T *on_card(const std::vector<T> &values) {
    T *card;
    CHECK(hipMalloc(&card, values.size() * sizeof(T) + 1));
    CHECK(hipMemcpy(card, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
    return card;
}

template <class T> std::vector<T> read(const T *card, size_t count) {
    std::vector<T> values(count);
    CHECK(hipMemcpy(values.data(), card, count * sizeof(T), hipMemcpyDeviceToHost));
    return values;
}

struct Matrix {
    int rows, columns;
    std::vector<int> row_begin{0}, column;
    std::vector<float> value;
};

// A matrix with some entries in each row, sorted; with a diagonal that dominates if `solvable`.
static Matrix matrix(int rows, int columns, bool solvable, unsigned seed) {
    Matrix made{rows, columns};
    Numbers source(seed);
    for (int row = 0; row < rows; row++) {
        std::vector<int> columns_of_row;
        int some = row % 97 == 5 ? 0 : row % 31 == 3 ? 70 : 3 + int(source.next() % 9);
        for (int at = 0; at < some; at++) columns_of_row.push_back(int(source.next() % unsigned(columns)));
        if (solvable) columns_of_row.push_back(row);
        std::sort(columns_of_row.begin(), columns_of_row.end());
        columns_of_row.erase(std::unique(columns_of_row.begin(), columns_of_row.end()), columns_of_row.end());
        for (int column : columns_of_row) {
            made.column.push_back(column);
            made.value.push_back(solvable && column == row ? 40.0f + source.unit() : source.unit() - 0.5f);
        }
        made.row_begin.push_back(int(made.column.size()));
    }
    return made;
}

static std::vector<float> vector_of(int count, unsigned seed) {
    Numbers source(seed);
    std::vector<float> values(count);
    for (auto &value : values) value = source.unit() * 2 - 1;
    return values;
}

int main() {
    rocsparse_handle handle;
    CHECK_SPARSE(rocsparse_create_handle(&handle));
    Matrix a = matrix(2000, 1500, false, 1);
    int entries = a.row_begin.back();
    int *row_begin = on_card(a.row_begin), *column = on_card(a.column);
    float *value = on_card(a.value);
    rocsparse_mat_descr descr;
    CHECK_SPARSE(rocsparse_create_mat_descr(&descr));
    auto x = vector_of(a.columns, 2), y = vector_of(a.rows, 3);
    float alpha = 1.5f, beta = -0.5f;
    std::vector<float> want(a.rows);
    for (int row = 0; row < a.rows; row++) {
        double sum = 0;
        for (int at = a.row_begin[row]; at < a.row_begin[row + 1]; at++) sum += double(a.value[at]) * x[a.column[at]];
        want[row] = float(alpha * sum + beta * y[row]);
    }
    float *card_x = on_card(x), *card_y = on_card(y);
    CHECK_SPARSE(rocsparse_scsrmv(handle, rocsparse_operation_none, a.rows, a.columns, entries, &alpha, descr, value, row_begin, column,
                                  nullptr, card_x, &beta, card_y));
    near("csrmv", read(card_y, a.rows), want, 1e-5);

    rocsparse_mat_info info;
    CHECK_SPARSE(rocsparse_create_mat_info(&info));
    CHECK_SPARSE(rocsparse_scsrmv_analysis(handle, rocsparse_operation_none, a.rows, a.columns, entries, descr, value, row_begin, column, info));
    CHECK(hipMemcpy(card_y, y.data(), a.rows * sizeof(float), hipMemcpyHostToDevice));
    CHECK_SPARSE(rocsparse_scsrmv(handle, rocsparse_operation_none, a.rows, a.columns, entries, &alpha, descr, value, row_begin, column,
                                  info, card_x, &beta, card_y));
    near("csrmv after analysis", read(card_y, a.rows), want, 1e-5);

    // The transpose.
    std::vector<float> tx = vector_of(a.rows, 4), ty(a.columns, 0.0f);
    std::vector<double> sums(a.columns, 0.0);
    for (int row = 0; row < a.rows; row++)
        for (int at = a.row_begin[row]; at < a.row_begin[row + 1]; at++) sums[a.column[at]] += double(a.value[at]) * tx[row];
    std::vector<float> transposed_want(a.columns);
    for (int at = 0; at < a.columns; at++) transposed_want[at] = float(alpha * sums[at]);
    float *card_tx = on_card(tx), *card_ty = on_card(ty), zero = 0.0f;
    CHECK_SPARSE(rocsparse_scsrmv(handle, rocsparse_operation_transpose, a.rows, a.columns, entries, &alpha, descr, value, row_begin, column,
                                  nullptr, card_tx, &zero, card_ty));
    near("csrmv of the transpose", read(card_ty, a.columns), transposed_want, 1e-5);

    // Coordinates and back.
    int *row_index, *begin_again;
    CHECK(hipMalloc(&row_index, entries * sizeof(int)));
    CHECK(hipMalloc(&begin_again, (a.rows + 1) * sizeof(int)));
    CHECK_SPARSE(rocsparse_csr2coo(handle, row_begin, entries, a.rows, row_index, rocsparse_index_base_zero));
    CHECK_SPARSE(rocsparse_coo2csr(handle, row_index, entries, a.rows, begin_again, rocsparse_index_base_zero));
    same("csr to coo to csr", read(begin_again, a.rows + 1), a.row_begin);
    CHECK(hipMemcpy(card_y, y.data(), a.rows * sizeof(float), hipMemcpyHostToDevice));
    CHECK_SPARSE(rocsparse_scoomv(handle, rocsparse_operation_none, a.rows, a.columns, entries, &alpha, descr, value, row_index, column, card_x,
                                  &beta, card_y));
    near("coomv", read(card_y, a.rows), want, 1e-5);

    // With a dense matrix, stored by columns.
    const int width = 21;
    auto b = vector_of(a.columns * width, 5), c = vector_of(a.rows * width, 6);
    std::vector<float> product_want(a.rows * width);
    for (int row = 0; row < a.rows; row++)
        for (int col = 0; col < width; col++) {
            double sum = 0;
            for (int at = a.row_begin[row]; at < a.row_begin[row + 1]; at++) sum += double(a.value[at]) * b[a.column[at] + col * a.columns];
            product_want[row + col * a.rows] = float(alpha * sum + beta * c[row + col * a.rows]);
        }
    float *card_b = on_card(b), *card_c = on_card(c);
    CHECK_SPARSE(rocsparse_scsrmm(handle, rocsparse_operation_none, rocsparse_operation_none, a.rows, width, a.columns, entries, &alpha, descr,
                                  value, row_begin, column, card_b, a.columns, &beta, card_c, a.rows));
    near("csrmm", read(card_c, a.rows * width), product_want, 1e-5);

    // Sparse with sparse.
    Matrix s = matrix(300, 300, true, 7), t = matrix(300, 300, false, 8);
    int *s_begin = on_card(s.row_begin), *s_column = on_card(s.column), *t_begin = on_card(t.row_begin), *t_column = on_card(t.column);
    float *s_value = on_card(s.value), *t_value = on_card(t.value), one = 1.0f;
    int s_entries = s.row_begin.back(), t_entries = t.row_begin.back();
    rocsparse_mat_info product_info;
    CHECK_SPARSE(rocsparse_create_mat_info(&product_info));
    size_t bytes = 0;
    CHECK_SPARSE(rocsparse_scsrgemm_buffer_size(handle, rocsparse_operation_none, rocsparse_operation_none, 300, 300, 300, &one, descr, s_entries,
                                                s_begin, s_column, descr, t_entries, t_begin, t_column, nullptr, nullptr, 0, nullptr, nullptr,
                                                product_info, &bytes));
    char *buffer;
    CHECK(hipMalloc(&buffer, bytes + 1));
    int *p_begin, p_entries;
    CHECK(hipMalloc(&p_begin, 301 * sizeof(int)));
    CHECK_SPARSE(rocsparse_csrgemm_nnz(handle, rocsparse_operation_none, rocsparse_operation_none, 300, 300, 300, descr, s_entries, s_begin,
                                       s_column, descr, t_entries, t_begin, t_column, nullptr, 0, nullptr, nullptr, descr, p_begin, &p_entries,
                                       product_info, buffer));
    int *p_column;
    float *p_value;
    CHECK(hipMalloc(&p_column, p_entries * sizeof(int) + 1));
    CHECK(hipMalloc(&p_value, p_entries * sizeof(float) + 1));
    CHECK_SPARSE(rocsparse_scsrgemm(handle, rocsparse_operation_none, rocsparse_operation_none, 300, 300, 300, &one, descr, s_entries, s_value,
                                    s_begin, s_column, descr, t_entries, t_value, t_begin, t_column, nullptr, nullptr, 0, nullptr, nullptr,
                                    nullptr, descr, p_value, p_begin, p_column, product_info, buffer));
    std::vector<float> dense(300 * 300, 0.0f), dense_want(300 * 300, 0.0f);
    auto got_begin = read(p_begin, 301), got_column = read(p_column, p_entries);
    auto got_value = read(p_value, p_entries);
    equal("csrgemm, entries", got_begin[300], p_entries);
    for (int row = 0; row < 300; row++) {
        for (int at = got_begin[row]; at < got_begin[row + 1]; at++) dense[row * 300 + got_column[at]] += got_value[at];
        for (int at = s.row_begin[row]; at < s.row_begin[row + 1]; at++)
            for (int of = t.row_begin[s.column[at]]; of < t.row_begin[s.column[at] + 1]; of++)
                dense_want[row * 300 + t.column[of]] += s.value[at] * t.value[of];
    }
    near("csrgemm", dense, dense_want, 1e-4);

    // Triangular solves: lower and upper.
    Matrix m = matrix(900, 900, true, 9);
    int m_entries = m.row_begin.back();
    int *m_begin = on_card(m.row_begin), *m_column = on_card(m.column);
    float *m_value = on_card(m.value);
    auto right = vector_of(900, 10);
    float *card_right = on_card(right), *card_solution = on_card(right);
    for (bool lower : {true, false}) {
        rocsparse_mat_descr triangle;
        CHECK_SPARSE(rocsparse_create_mat_descr(&triangle));
        CHECK_SPARSE(rocsparse_set_mat_fill_mode(triangle, lower ? rocsparse_fill_mode_lower : rocsparse_fill_mode_upper));
        CHECK_SPARSE(rocsparse_set_mat_diag_type(triangle, rocsparse_diag_type_non_unit));
        rocsparse_mat_info solve_info;
        CHECK_SPARSE(rocsparse_create_mat_info(&solve_info));
        CHECK_SPARSE(rocsparse_scsrsv_buffer_size(handle, rocsparse_operation_none, 900, m_entries, triangle, m_value, m_begin, m_column, solve_info,
                                                  &bytes));
        char *solve_buffer;
        CHECK(hipMalloc(&solve_buffer, bytes + 1));
        CHECK_SPARSE(rocsparse_scsrsv_analysis(handle, rocsparse_operation_none, 900, m_entries, triangle, m_value, m_begin, m_column, solve_info,
                                               rocsparse_analysis_policy_force, rocsparse_solve_policy_auto, solve_buffer));
        CHECK_SPARSE(rocsparse_scsrsv_solve(handle, rocsparse_operation_none, 900, m_entries, &alpha, triangle, m_value, m_begin, m_column, solve_info,
                                            card_right, card_solution, rocsparse_solve_policy_auto, solve_buffer));
        std::vector<double> solution(900);
        for (int turn = 0; turn < 900; turn++) {
            int row = lower ? turn : 899 - turn;
            double rest = double(alpha) * right[row], diagonal = 1;
            for (int at = m.row_begin[row]; at < m.row_begin[row + 1]; at++) {
                int col = m.column[at];
                if (col == row) diagonal = m.value[at];
                else if ((col < row) == lower) rest -= double(m.value[at]) * solution[col];
            }
            solution[row] = rest / diagonal;
        }
        near(lower ? "csrsv, lower" : "csrsv, upper", read(card_solution, 900), std::vector<float>(solution.begin(), solution.end()), 1e-5);
        int pivot = -2;
        rocsparse_status zero_pivot = rocsparse_csrsv_zero_pivot(handle, triangle, solve_info, &pivot);
        holds("no zero pivot", zero_pivot == rocsparse_status_success && pivot == -1);
        CHECK_SPARSE(rocsparse_destroy_mat_info(solve_info));
        CHECK_SPARSE(rocsparse_destroy_mat_descr(triangle));
    }
    CHECK_SPARSE(rocsparse_destroy_handle(handle));
    return report();
}
