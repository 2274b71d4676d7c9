// Arguments and operands of the kernels that scan rows by Mamba-2's rule, and the step that a row takes.
#import "lib/selective-scan-steps.wgsl"

struct Args {
  heads: u32,
  groups: u32,       // groups of heads that share B and C
  value_quads: u32,  // quads of a head's columns
  state_quads: u32,  // quads of B and of C of one group
  x_quads: u32,      // quads from one row of x to the next
  y_quads: u32,
  state_first: u32,  // quads of a slot before the states of the heads
  state_stride: u32, // quads of a slot
  step_stride: u32,  // values from one row of steps to the next
  step_first: u32,   // values of a row before the steps
  step_factor: f32,  // factor on steps before their offset
  least: f32,        // limits of a step
  most: f32,
  logarithms: u32,   // 1: rates are log(-rate)
  chunked: u32,      // 1: rows in chunks (selective-scan-outputs.wgsl) were computed before, and slots have the states behind them
}

@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;
@group(0) @binding(6) var<storage, read_write> states: array<vec4f>; // [slots]: [heads][state dims][value quads]
@group(0) @binding(7) var<storage, read> skips: array<f32>; // [heads]: factors of x in the output
@group(0) @binding(8) var<storage, read_write> y: array<vec4f>;

// By what a row's step multiplies the state, and its x.
fn step_of(row: u32, head: u32) -> vec2f {
  let taken = logarithm_and_step(row, head);
  return vec2f(exp(taken.x), taken.y);
}

// Quad of x before those of B that a head reads.
fn first_b(head: u32) -> u32 {
  return args.heads * args.value_quads + head / (args.heads / args.groups) * args.state_quads;
}
