// Arguments and the input of products of few rows.

struct Args {
  x_quads: u32,     // quads of columns from one row of x to the next
  y_quads: u32,     // quads from one row of y to the next; pairs if the store halves the columns
  blocks: u32,      // K / 32
  first_group: u32, // groups of 32 columns before this window
  groups: u32,      // groups in this window
  expert_groups: u32, // groups of one expert's columns, if there are experts
  steps: u32,       // steps of the innermost loop; an argument so that drivers do not unroll it, which costs registers and compile time
  columns: u32,     // of x; this and the following member are for norms
  eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
