//! Vectors and matrices, as far as the scene needs them. Matrices are rows; vectors are columns.

/// Three numbers.
pub type Vec3 = [f32; 3];

/// Four rows of four numbers.
pub type Mat4 = [[f32; 4]; 4];

/// The matrix that changes nothing.
pub const IDENTITY: Mat4 =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// First `b`, then `a`.
pub fn mul(a: &Mat4, b: &Mat4) -> Mat4 {
    std::array::from_fn(|row| std::array::from_fn(|column| (0..4).map(|k| a[row][k] * b[k][column]).sum()))
}

/// Moves.
pub fn translation([x, y, z]: Vec3) -> Mat4 {
    [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]]
}

/// Turns about the x axis.
pub fn rotation_x(angle: f32) -> Mat4 {
    let (s, c) = angle.sin_cos();
    [[1.0, 0.0, 0.0, 0.0], [0.0, c, -s, 0.0], [0.0, s, c, 0.0], [0.0, 0.0, 0.0, 1.0]]
}

/// Turns about the y axis.
pub fn rotation_y(angle: f32) -> Mat4 {
    let (s, c) = angle.sin_cos();
    [[c, 0.0, s, 0.0], [0.0, 1.0, 0.0, 0.0], [-s, 0.0, c, 0.0], [0.0, 0.0, 0.0, 1.0]]
}

/// From world space to the space of a camera at `eye` that looks at `target`, with y upwards.
pub fn look_at(eye: Vec3, target: Vec3) -> Mat4 {
    let back = normalise(sub(eye, target));
    let right = normalise(cross([0.0, 1.0, 0.0], back));
    let up = cross(back, right);
    let row = |axis: Vec3| [axis[0], axis[1], axis[2], -dot(axis, eye)];
    [row(right), row(up), row(back), [0.0, 0.0, 0.0, 1.0]]
}

/// From camera space to clip space, in which depth is 0 to w between `near` and `far`.
pub fn perspective(vertical_angle: f32, aspect: f32, near: f32, far: f32) -> Mat4 {
    let y = 1.0 / (vertical_angle / 2.0).tan();
    let z = far / (near - far);
    [[y / aspect, 0.0, 0.0, 0.0], [0.0, y, 0.0, 0.0], [0.0, 0.0, z, near * z], [0.0, 0.0, -1.0, 0.0]]
}

/// Difference.
pub fn sub(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[k] - b[k])
}

/// Sum.
pub fn add(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[k] + b[k])
}

/// Scalar product.
pub fn dot(a: Vec3, b: Vec3) -> f32 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

/// Vector product.
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The vector of length 1 in the same direction.
pub fn normalise(a: Vec3) -> Vec3 {
    let length = dot(a, a).sqrt();
    a.map(|k| k / length)
}
