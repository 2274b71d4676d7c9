// What both attention kernels take and bind.
struct Args {
  heads: u32,
  kv_heads: u32,
  dims: u32,     // of a head
  q_quads: u32,  // quads of columns from one row of q, and of y, to the next
  window: u32,   // tokens a query looks back on, itself included
}

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> rows: array<Row>;
@group(0) @binding(2) var<storage, read> tiles: array<Tile>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(7) var<storage, read> pages: array<u32>;
