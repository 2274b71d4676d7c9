// Arguments of rmsnorm-add.wgsl and rmsnorm-add-wide.wgsl, and what they read and write.
struct Args {
  quads: u32,      // quads of columns per row
  columns: u32,
  eps: f32,
  first_row: u32,  // rows before this strip; this and the following members are for the gate
  item_rows: u32,  // rows that share a row of the gate
  gate_quads: u32, // quads from one row of the gate to the next
  gate_first: u32, // first quad of the gate's columns
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
