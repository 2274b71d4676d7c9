// Arguments of rmsnorm-columns.wgsl and rmsnorm-columns-wide.wgsl, and what they read and write.
struct Args {
  stride: u32,  // quads from one row to the next
  first: u32,   // quads before the columns
  quads: u32,   // quads of these columns
  eps: f32,
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
