// Rows of Mamba-2's selective scan, and their steps. The importing file declares Args.
@group(0) @binding(0) var<storage, read> x: array<vec4f>; // columns of all heads, B of all groups, C of all
@group(0) @binding(1) var<storage, read> steps: array<f32>; // [rows][heads] before softplus
@group(0) @binding(2) var<storage, read> rates: array<f32>; // [heads]: rates of decay
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read> offsets: array<f32>; // [heads], added to steps

// Logarithm of the factor by which a row's step multiplies the state, and the step.
fn logarithm_and_step(row: u32, head: u32) -> vec2f {
  let stored = rates[head];
  let rate = select(stored, -exp(stored), args.logarithms == 1u);
  let raw = args.step_factor * steps[row * args.step_stride + args.step_first + head] + offsets[head];
  let size = clamp(softplus(raw), args.least, args.most);
  return vec2f(size * rate, size);
}
