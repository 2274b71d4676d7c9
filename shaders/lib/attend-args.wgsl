// What both kernels of dense attention take and bind.
struct Args {
  queries: u32,   // of an item
  keys: u32,      // of an item
  heads: u32,
  share: u32,     // query heads to a key head
  dims: u32,      // of a head
  parts: u32,     // workgroups that share out a head's d's
  q_quads: u32,   // quads of columns from one row of q to the next
  q_first: u32,   // quad where its heads begin
  k_quads: u32,
  k_first: u32,
  v_quads: u32,
  v_first: u32,
  y_quads: u32,
  causal: u32,    // a query sees keys up to its own place
  scale: f32,     // on q, for powers of two
}

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
